"""Text of a file, a variable or a flag → the value of a key, or ConfigError."""

from __future__ import annotations

import os

from kinen.errors import ConfigError
from kinen.model.kinds import MODE_ALIASES, MODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kinen.config.keys import Row

    Raw = str | list[str] | dict[str, Any]

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
        expected = _expected_number(row, text)
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
            return _absolute(text, base) if row.kind == "path" and text else text
    # An API key may have been pasted there: it is not repeated.
    value = "value" if row.kind == "variable" else f"value {text!r}"
    raise ConfigError(f"invalid {value} for {row.dotted} ({source})", f"use {expected}")


def _expected_number(row: Row, text: str) -> str:
    from kinen.config import former

    number = f"{'a whole' if row.kind == 'int' else 'a'} number from {row.low} to {row.high}"
    seconds = former.seconds(row.dotted, text)
    return f"{number}; {seconds}" if seconds else number


def _parse_number(row: Row, text: str) -> float | None:
    try:
        number = int(text) if row.kind == "int" else float(text)
    except ValueError:
        return None
    return number if row.low <= number <= row.high else None


def _absolute(path: str, base: str) -> str:
    return os.path.abspath(os.path.join(base, os.path.expanduser(path)))


def _parse_list(row: Row, raw: Raw, source: str) -> tuple[str, ...]:
    """The texts of a list, or of one text with commas; `[]` as text is an empty list."""
    if isinstance(raw, str):
        parts = raw.split(",") if row.kind == "globs" or raw.strip() != "[]" else []
        raw = [part.strip() for part in parts if part.strip()]
    if not isinstance(raw, list):
        raise ConfigError(f"{row.dotted} cannot be a section ({source})", "use a list")
    expected = _misfit("text", "".join(raw)) if row.kind == "words" else ""
    if expected:
        raise ConfigError(f"invalid value {raw} for {row.dotted} ({source})", f"use {expected}")
    return tuple(raw)


def _parse_mapping(row: Row, raw: Any, source: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Globs with their tags, in order, from a mapping or from `glob=tag tag, glob=tag`."""
    if isinstance(raw, str):
        parts = filter(None, map(str.strip, raw.split(","))) if raw.strip() != "{}" else ()
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
