"""The forms of settings files: how each is read, and how one entry is put in or taken out.

Everything else in a file stays as it is. Commands of a user are `kinen install` and `uninstall`;
no hook loads this module.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from kinen.config import edit
from kinen.config.edit import newline
from kinen.errors import ConfigError, KinenError
from kinen.hooks import jsontext, tomltext
from kinen.model.tuples import NamedTuple
from kinen.text.frontmatter import check_depth

Keys = tuple[str | int | None, ...]

BEGIN = "<!-- kinen: begin -->"
END = "<!-- kinen: end -->"
"""Lines around our text in a file of rules."""
FIX = "fix it; nothing was written"
BOM = "\ufeff"
_BLOCK = re.compile(f"{BEGIN}(?:(?!{BEGIN}).)*?{END}", re.DOTALL)


class Form(NamedTuple):
    """A form of settings whose values are objects."""

    parse: Callable[[str, str], dict[str, Any]]
    insert: Callable[[str, Keys, Any], str]
    delete: Callable[[str, Keys], str]
    locate: Callable[[str, Keys], tuple[int, int] | None]
    empty: str
    """The text of a new file before the first entry."""

    def put(self, text: str, path: Keys, value: Any) -> str:
        """The text with an entry that is not there yet."""
        bom = BOM if text.startswith(BOM) else ""
        try:
            return bom + self.insert(text.removeprefix(BOM), path, value)
        except ConfigError as error:
            raise KinenError(error.message, f"{error.hint}; nothing was written") from None

    def drop(self, text: str, path: Keys) -> str:
        """The text without an entry."""
        bom = BOM if text.startswith(BOM) else ""
        return bom + self.delete(text.removeprefix(BOM), path)

    def restored(self, text: str, path: Keys, before: str) -> str:
        """The text with the value of a key as another text has it."""
        bom = BOM if text.startswith(BOM) else ""
        text = text.removeprefix(BOM)
        before = before.removeprefix(BOM)
        span = self.locate(text, path)
        former = self.locate(before, path)
        if span is None or former is None:
            return bom + text
        return bom + text[: span[0]] + before[slice(*former)] + text[span[1] :]

    def is_bare(self, text: str, defaults: str) -> bool:
        """Whether a text has nothing, or nothing but the defaults of a new file."""
        return "".join(text.split()) in ("".join(new.split()) for new in (self.empty, defaults))

    def check(self, text: str, path: str, settings: Any) -> str:
        """The text, if it reads as settings should; otherwise an error, before it is written."""
        try:
            if same(self.parse(text, path), settings):
                return text
        except (KinenError, RecursionError):
            pass
        fact = f"cannot change {path} without changing other settings in it"
        raise KinenError(fact, "edit it by hand; nothing was written")


def value_at(value: Any, path: Keys) -> Any:
    """The value at a path, or None."""
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def has(value: Any, path: Keys) -> bool:
    """Whether there is something at a path, if only null."""
    inner = value_at(value, path[:-1])
    return isinstance(inner, dict) and path[-1] in inner


def with_values(settings: Any, entries: Mapping[Keys, Any]) -> Any:
    """Settings with an entry at each path; null counts as an empty container."""
    for path, value in entries.items():
        settings = _with(settings, path, value)
    return settings


def _with(outer: Any, path: Keys, value: Any) -> Any:
    """A copy, since what an alias of YAML stands for is one object in several places."""
    if not path:
        return value
    key = path[0]
    if key is None:
        return [*(outer or ()), _with(None, path[1:], value)]
    return {**(outer or {}), key: _with((outer or {}).get(key), path[1:], value)}


def without_value(outer: Any, path: Keys) -> Any:
    """Settings without what is at a path."""
    outer = copy.copy(outer)
    if len(path) > 1:
        outer[path[0]] = without_value(outer[path[0]], path[1:])
    else:
        del outer[path[0]]
    return outer


def same(first: Any, second: Any, compared: set[tuple[int, int]] | None = None) -> bool:
    """Whether two values are equal, types included; aliases of YAML may repeat or nest them."""
    compared = set() if compared is None else compared
    if type(first) is not type(second):
        return False
    if not isinstance(first, (dict, list)):
        return bool(first == second) or repr(first) == repr(second)  # NaN
    pair = (id(first), id(second))
    if pair in compared:
        return True
    compared.add(pair)
    if len(first) != len(second):
        return False
    keys = first if isinstance(first, dict) else range(len(first))
    if isinstance(first, dict) and first.keys() != second.keys():
        return False
    return all(same(first[key], second[key], compared) for key in keys)


def _object(settings: Any, path: str, form: str) -> dict[str, Any]:
    if not isinstance(settings, dict):
        raise KinenError(f"{path} is not a {form} object", FIX)
    return settings


def _parse_json(text: str, path: str) -> dict[str, Any]:
    try:
        settings = json.loads(text.removeprefix(BOM)) if text else {}
    except (ValueError, RecursionError) as error:
        raise KinenError(f"{path} is not valid JSON: {error}", FIX) from None
    return _object(settings, path, "JSON")


def _parse_jsonc(text: str, path: str) -> dict[str, Any]:
    return _parse_json(jsontext.bare(text), path)


def _parse_toml(text: str, path: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise KinenError(f"{path} is not valid TOML: {error}", FIX) from None


def _parse_yaml(text: str, path: str) -> dict[str, Any]:
    import yaml

    try:
        check_depth(text)
        settings = yaml.safe_load(text) if text else {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        raise KinenError(f"{path} is not valid YAML: {reason}", FIX) from None
    return _object({} if settings is None else settings, path, "YAML")


def _names(path: Keys) -> list[str]:
    return [str(key) for key in path]


_JSON = (jsontext.put, jsontext.drop, jsontext.span, "{}\n")
FORMS = {
    "json": Form(_parse_json, *_JSON),
    "jsonc": Form(_parse_jsonc, *_JSON),
    "toml": Form(_parse_toml, tomltext.put, tomltext.drop, tomltext.span, ""),
    "yaml": Form(
        _parse_yaml,
        lambda text, path, value: edit.put(text, "the file", _names(path), value),
        lambda text, path: edit.drop(text, "the file", _names(path)),
        lambda text, path: edit.span(text, "the file", _names(path)),
        "",
    ),
}


def put_block(text: str, block: str) -> str:
    """A text with our block: in the place of the one that is there, else at its end."""
    line = newline(text)
    block = f"{BEGIN}\n{block}\n{END}".replace("\n", line)
    if _BLOCK.search(text):
        return _BLOCK.sub(lambda _: block, text, count=1)
    if not text:
        return block + line
    return f"{text}{line}{block}{line}" if text.endswith(line) else f"{text}{line * 2}{block}"


def without_block(text: str) -> str:
    """A text without our block and the empty line before it."""
    match = _BLOCK.search(text)
    if match is None:
        return text
    line = newline(text)
    before = text[: match.start()]
    after = text[match.end() :]
    if not after:
        return before.removesuffix(line * 2)
    if before.endswith(line * 2):
        before = before.removesuffix(line)
    return before + after.removeprefix(line)
