"""Text is cleaned here before kinen writes it anywhere: storable characters, then masking.

Names that are looked up are cleaned too, so that a lookup finds what was stored. Hooks import this
module, so it needs nothing outside kinen.
"""

from __future__ import annotations

from kinen.characters import storable
from kinen.ids import is_ulid, key_id
from kinen.model.late import lru_cache
from kinen.privacy.words import commands_in, has_word, lower, token_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

SHORTEST = 10
"""A name of fewer characters cannot contain a secret: `pwd=abc123` has ten."""
_HALVES = (b"\\ud", b"\\uD", b"\\u0000", b"\0")
"""The JSON of a lone surrogate or a NUL contains one of these."""


def plain(text: str) -> str:
    """Text that every store can hold: U+FFFD for lone surrogates, and no NUL characters.

    NULs are dropped because SQLite's functions and the file system end a text there. Text with NULs
    is mostly UTF-16 read as UTF-8, which becomes readable without them.
    """
    if not text.isascii():
        text = storable(text)
    return text.replace("\0", "") if "\0" in text else text


def masked(text: str) -> tuple[str, dict[str, int]]:
    """Text that may be stored, and how many secrets of each class were masked in it."""
    text = plain(text)
    if not _may_hold_secret(text):
        return text, {}
    from kinen.privacy.masking import mask

    return mask(text)


_SIGNS = (("%25", "%"), ("%3a", ":"), ("%2f", "/"), ("%3d", "="), ("%20", " "), ("%40", "@"))
"""Escapes of the signs in words of secrets."""


# What a reader of transcripts masks is masked again on its way into the journal, soon after.
@lru_cache(8)
def _may_hold_secret(text: str) -> bool:
    """Whether a text has one of the words without which no rule of `masking` finds anything."""
    if "%" in text:
        for escape, sign in _SIGNS:
            text = text.replace(escape, sign).replace(escape.upper(), sign)
    if "\\/" in text:
        text = text.replace("\\/", "/")
    low = text.lower() if text.isascii() else lower(text)
    return (
        has_word(low)
        or ("@" in text and "://" in text)
        or ("<" in text and "private" in low)
        or "\\\n" in text
        or "\x1b[" in text
        or "-----BEGIN" in text
        or bool(commands_in(text))
        or bool(token_words(text))
    )


def name(text: str) -> str:
    """A name, title or filter as it is stored and looked up. Masking is not counted."""
    return masked(text)[0] if len(text) >= SHORTEST else plain(text)


def names(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(name(text) for text in texts)


def named_fields(fields: dict[str, str]) -> dict[str, str]:
    """`name` for each value of a mapping; the words of secrets are looked for in all at once."""
    if _may_hold_secret(plain("\n".join(fields.values()))):
        return {key: name(text) for key, text in fields.items()}
    return {key: plain(text) for key, text in fields.items()}


def identifier(text: str) -> str:
    """An id that was chosen elsewhere; one that looks like a secret becomes a digest of itself.

    Unlike a name it stays unique, so that two events never become one.
    """
    if is_ulid(text) or name(text) == text:
        return text
    return key_id("id", text)


def suspicious(data: bytes) -> bool:
    """Whether JSON may contain strings that `plain` changes."""
    return any(half in data for half in _HALVES)


def plain_values(value: Any) -> Any:
    """`plain` for every string and key of parsed JSON, in place, however deep it is nested."""
    if isinstance(value, str):
        return plain(value)
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        if isinstance(holder, dict):
            pairs = list(holder.items())
            holder.clear()
        elif isinstance(holder, list):
            pairs = list(enumerate(holder))
        else:
            continue
        for key, item in pairs:
            if isinstance(item, (dict, list)):
                waiting.append(item)
            place = plain(key) if isinstance(key, str) else key
            holder[place] = plain(item) if isinstance(item, str) else item
    return value


def masked_values(value: dict[str, Any]) -> tuple[dict[str, Any], dict[str, int]]:
    """Nested values without secrets, in their keys too, and how many were masked."""
    text = _joined(value)
    if text is not None and text == plain(text) and not _may_hold_secret(text):
        return value, {}
    from kinen.privacy.masking import mask_values

    values, counts = mask_values(value)
    return _masked_keys(values, counts), counts  # type: ignore[return-value]


def _joined(value: dict[str, Any]) -> str | None:
    """The keys and strings of a flat mapping in one text; None for a mapping with other values."""
    texts: list[str] = []
    for key, item in value.items():
        if not isinstance(key, str) or not key.isprintable():
            return None
        if isinstance(item, str) or len(key) >= SHORTEST:  # a short name only masks text
            texts.append(key)
        for part in item if isinstance(item, list) else [item]:
            if isinstance(part, str):
                texts.append(part)
            elif part is not None and not isinstance(part, (bool, int, float)):
                return None
    return "\n".join(texts)


def _masked_keys(value: object, counts: dict[str, int]) -> object:
    if isinstance(value, list):
        return [_masked_keys(item, counts) for item in value]
    if not isinstance(value, dict):
        return value
    renamed = {}
    for key, item in value.items():
        text, secrets = masked(str(key)) if len(str(key)) >= SHORTEST else (plain(str(key)), {})
        for kind, count in secrets.items():
            counts[kind] = counts.get(kind, 0) + count
        renamed[text] = _masked_keys(item, counts)
    return renamed
