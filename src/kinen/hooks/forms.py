"""The forms of settings files: how each is read, and how one entry is put in or taken out.

Everything else in a file stays as it is. Commands of a user are `kinen install` and `uninstall`;
no hook loads this module.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from kinen.config import file as yamltext
from kinen.errors import ConfigError, KinenError
from kinen.hooks import jsontext
from kinen.model.tuples import NamedTuple

Keys = tuple[str | int | None, ...]

BEGIN = "<!-- kinen: begin -->"
END = "<!-- kinen: end -->"
"""Lines around our text in a file of rules."""
FIX = "fix it; nothing was written"


class Form(NamedTuple):
    """A form of settings whose values are objects."""

    parse: Callable[[str, str], dict[str, Any]]
    put: Callable[[str, Keys, Any], str]
    drop: Callable[[str, Keys], str]
    empty: str
    """The text of a new file before the first entry."""


def value_at(value: Any, path: Keys) -> Any:
    """The value at a path, or None."""
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _object(settings: Any, path: str, form: str) -> dict[str, Any]:
    if not isinstance(settings, dict):
        raise KinenError(f"{path} is not a {form} object", FIX)
    return settings


def _parse_json(text: str, path: str) -> dict[str, Any]:
    try:
        settings = json.loads(text.removeprefix("\ufeff")) if text else {}
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


def _put_toml(text: str, path: Keys, value: Any) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    parent: Any = document
    for key in path[:-1]:
        if key not in parent:
            parent.add(str(key), tomlkit.table(is_super_table=True))
        parent = parent[key]
    parent.add(str(path[-1]), value)
    return tomlkit.dumps(document)


def _drop_toml(text: str, path: Keys) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    parent: Any = document
    for key in path[:-1]:
        parent = parent[key]
    parent.remove(str(path[-1]))
    return tomlkit.dumps(document)


def _parse_yaml(text: str, path: str) -> dict[str, Any]:
    import yaml

    try:
        yamltext.check_depth(text)
        settings = yaml.safe_load(text) if text else {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        raise KinenError(f"{path} is not valid YAML: {reason}", FIX) from None
    return _object({} if settings is None else settings, path, "YAML")


def _put_yaml(text: str, path: Keys, value: Any) -> str:
    if len(path) == 1:
        start = f"{text}\n" if text and not text.endswith("\n") else text
        return f"{start}{path[0]}: {yamltext.written(value)}\n"
    try:
        return yamltext.edit(text, "the file", ".".join(map(str, path)), value)
    except ConfigError as error:
        raise KinenError(error.message, FIX) from None


def _drop_yaml(text: str, path: Keys) -> str:
    if len(path) == 1:
        lines = text.splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith(f"{path[0]}:"))
    return yamltext.remove(text, "the file", ".".join(map(str, path)))


FORMS = {
    "json": Form(_parse_json, jsontext.put, jsontext.drop, "{}\n"),
    "jsonc": Form(_parse_jsonc, jsontext.put, jsontext.drop, "{}\n"),
    "toml": Form(_parse_toml, _put_toml, _drop_toml, ""),
    "yaml": Form(_parse_yaml, _put_yaml, _drop_yaml, ""),
}


def put_block(text: str, block: str) -> str:
    """A text with our block at its end."""
    line = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text else line if text.endswith(line) else line * 2
    return text + gap + f"{BEGIN}\n{block}\n{END}\n".replace("\n", line)


def without_block(text: str) -> str:
    """A text without our block and the empty line before it."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        return text
    line = "\r\n" if "\r\n" in text else "\n"
    return before.removesuffix(line) + after.removeprefix(line)
