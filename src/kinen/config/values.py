"""Text of a file, a variable or a flag → the value of a key, or ConfigError."""

from __future__ import annotations

import os

from kinen.config.keys import ADDED, HARMLESS, HIGHER, LOWER
from kinen.errors import ConfigError
from kinen.model.kinds import MODE_ALIASES, MODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from kinen.config.file import Raw
    from kinen.config.keys import Row

TRUE = ("true", "yes", "on", "1")
FALSE = ("false", "no", "off", "0")


def parse_value(row: Row, raw: Raw, source: str, base: str = "") -> Any:
    """The value of a key from what `source` has for it.

    A relative path is resolved against `base`.
    """
    if row.kind == "mapping":
        return _parse_mapping(row, raw, source)
    if row.kind in ("globs", "words"):
        return _parse_list(row, raw, source)
    if not isinstance(raw, str):
        shape = "list" if isinstance(raw, list) else "section"
        raise ConfigError(f"{row.dotted} cannot be a {shape} ({source})", "use a single value")
    text = raw.strip()
    if row.kind in ("int", "float"):
        number = _parse_number(row, text)
        if number is not None:
            return number
        from kinen.config import former

        expected = f"{'a whole' if row.kind == 'int' else 'a'} number from {row.low} to {row.high}"
        seconds = former.seconds(row.dotted, text)
        if seconds:
            expected += f"; {seconds}"
    elif row.kind == "bool":
        if text.lower() in TRUE + FALSE:
            return text.lower() in TRUE
        expected = "true or false"
    elif row.kind == "choice":
        text = MODE_ALIASES.get(text, text) if row.choices is MODES else text
        if text in row.choices:
            return text
        expected = ", ".join(row.choices[:-1]) + f" or {row.choices[-1]}"
    else:
        expected = _misfit(row.kind, text)
        if not expected:
            path = os.path.join(base, os.path.expanduser(text))
            return os.path.abspath(path) if row.kind == "path" and text else text
    # An API key may have been pasted there: it is not repeated.
    value = "value" if row.kind == "variable" else f"value {text!r}"
    raise ConfigError(f"invalid {value} for {row.dotted} ({source})", f"use {expected}")


def untrusted_value(row: Row, value: Any, before: Any) -> Any:
    """What counts of a value in a file that is not trusted, after the value of earlier layers."""
    if row.mark == HARMLESS:
        return value
    if row.mark == ADDED:
        if set(before) <= set(value) and not any(rule.startswith("!") for rule in value):
            return value
        # As in .gitignore the last rule wins: a `!rule` before the others takes nothing back.
        return (*(rule for rule in value if rule not in before), *before)
    if row.mark in (LOWER, HIGHER):
        rank = row.choices.index if row.choices else None
        return (min if row.mark == LOWER else max)(before, value, key=rank)
    return before


def _parse_number(row: Row, text: str) -> float | None:
    try:
        number = int(text) if row.kind == "int" else float(text)
    except ValueError:
        return None
    return number if row.low <= number <= row.high else None


def _parse_list(row: Row, raw: Raw, source: str) -> tuple[str, ...]:
    """The texts of a list, or of one text: a list of YAML or JSON, or with commas."""
    if isinstance(raw, str):
        raw = _written(row, raw.strip(), "[]", source)
        if isinstance(raw, str):
            raw = [part.strip() for part in raw.split(",") if part.strip()]
    if not isinstance(raw, list):
        raise ConfigError(f"{row.dotted} cannot be a section ({source})", "use a list")
    if any(map(_is_list, raw)):  # a list that was stored as a text
        raw = [
            part
            for item in raw
            for part in (_parse_list(row, item, source) if _is_list(item) else [item])
        ]
    expected = _misfit("text", "".join(raw)) if row.kind == "words" else ""
    if expected:
        raise ConfigError(f"invalid value {raw} for {row.dotted} ({source})", f"use {expected}")
    if row.kind == "globs":
        raw = [item.removeprefix("./") for item in raw]
    return tuple(raw)


def _is_list(text: str) -> bool:
    return text.startswith(('["', "['")) and text.endswith("]")


def _parse_mapping(row: Row, raw: Any, source: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Globs with their tags, in order, from a mapping or from `glob=tag tag, glob=tag`."""
    if isinstance(raw, str):
        raw = _written(row, raw.strip(), "{}", source)
    if isinstance(raw, str):
        parts = filter(None, map(str.strip, raw.split(",")))
        pairs = [(glob, tags) for glob, _, tags in (part.rpartition("=") for part in parts)]
    elif isinstance(raw, dict):
        pairs = list(raw.items())
    else:
        hint = "use globs with their tags: {docs/**: [docs]}"
        raise ConfigError(f"{row.dotted} cannot be a list ({source})", hint)
    mapping: dict[str, tuple[str, ...]] = {}
    for glob, tags in pairs:
        name = glob.strip()
        words = tags.split() if isinstance(tags, str) else tags
        if not name or name in mapping or not _are_tags(words) or _misfit("text", name):
            hint = "use each glob once, with tags of one word each: docs/**=docs"
            raise ConfigError(f"{row.dotted} cannot have {glob!r}: {tags!r} ({source})", hint)
        mapping[name] = tuple(dict.fromkeys(words))
    return tuple(mapping.items())


def _written(row: Row, text: str, brackets: str, source: str) -> Any:
    """A text in brackets as the list or mapping that it spells; any other as it is."""
    if (text[:1], text[-1:]) != (brackets[0], brackets[1]):
        return text
    from kinen.config.file import inline

    value = inline(text)
    if value is not None:
        return value
    if text.find(brackets[1]) < len(text) - 1:
        return text  # a glob that begins and ends with a set of characters
    example = """'["docs/*.md", notes]'""" if brackets == "[]" else "'{docs/**: [docs]}'"
    hint = f"quote what has a star first, such as {example}, or use commas"
    raise ConfigError(f"{row.dotted} cannot be read: {text} ({source})", hint)


def check_globs(row: Row, globs: Iterable[str], root: str) -> None:
    """Refuse a glob of paths in a space that cannot match any."""
    for glob in globs:
        wrong = misfit_glob(glob, root)
        if wrong:
            raise ConfigError(f"{row.dotted} cannot have {glob!r}: {wrong[0]}", wrong[1])


def misfit_glob(glob: str, root: str) -> tuple[str, str] | None:
    """Why a glob can match no path of a space, and what to use; None if it can."""
    relative = "use a path from the top of the space, such as docs/*.md"
    if not glob.strip("/ "):
        return "it is empty", relative
    if not glob.isprintable():
        return "it has a control character", "use a list: one glob, or several with commas"
    if "\\" in glob:
        return "it has a backslash", "use / between folders, and [*] for a star itself"
    pieces = glob.split()
    if len(pieces) > 1 and all("*" in piece for piece in pieces):
        return "it is one glob with spaces", f"use commas: {', '.join(pieces)}"
    if {"", "."} & set(glob.strip("/").split("/")):
        return "a folder in it has no name", relative
    if glob[0] in "\"'" or glob[-1] in "\"'":
        return "the quotes are part of it", f"use {glob.strip(chr(34) + chr(39))}"
    if glob.count("[") != glob.count("]"):
        return "a bracket is not closed", "use [ab] for one of two characters"
    if ".." in glob.split("/") or glob[0] == "~":
        return "it leads out of the space", relative
    if root and glob.startswith(f"{root}/"):
        return "paths begin at the top of the space", f"use {glob.removeprefix(root + '/')}"
    top, _, rest = glob.lstrip("/").partition("/")
    elsewhere = glob[0] == "/" and rest and os.path.lexists(f"/{top}")
    if elsewhere and root and not os.path.lexists(os.path.join(root, top)):
        return "it leads out of the space", relative
    return None


def _are_tags(words: Any) -> bool:
    """Whether words can be written on one line and read back as the same tags."""
    if not words or not isinstance(words, list) or _misfit("text", "".join(words)):
        return False
    return all(word.split() == [word] and "," not in word for word in words)


def _misfit(kind: str, text: str) -> str:
    """What a text should be instead, empty if it fits its kind."""
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in text):
        return "text without control characters"
    if not text:
        return ""
    if kind == "url" and not text.startswith(("http://", "https://")):
        return "an address that starts with http:// or https://"
    if kind == "variable" and not (text.isidentifier() and text.isascii()):
        return "the name of an environment variable, never the key itself"
    if kind == "name" and (text[0] in ".-~" or text == "all" or set(text) & set('/\\,"')):
        return "a name without slashes, commas or quotes that starts with a letter or digit"
    return ""


def to_raw(value: Any) -> Raw:
    """A value of Python as a file would have it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return {str(key): to_raw(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [str(item) for item in value]
    return str(value)
