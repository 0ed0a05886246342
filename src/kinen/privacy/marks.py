"""Marks that stand for secrets, `[masked:password]`, as one character each while rules are applied.

As one character a mark does not make the text longer, and its words (`password`, `secret`) do not
look like names to the rules that see the text next. The characters are halves of surrogate pairs
for planes that have no characters: they stand in no valid text, and cannot be stored.
"""

from __future__ import annotations

from kinen.characters import storable
from kinen.privacy.shapes import EXPRESSIONS, FIRST_MARK, PHRASES, PLACED, compiled
from kinen.privacy.words import TOKENS

_OTHER_CLASSES = ("private_key", "private", "password", "secret", "url_password")
CLASSES: tuple[str, ...] = tuple(
    sorted(
        {
            *(row[0] for row in TOKENS),
            *(row[0] for row in PLACED),
            *(row[0] for row in PHRASES),
            *_OTHER_CLASSES,
        }
    )
)
CHARACTERS = {name: chr(ord(FIRST_MARK) + number) for number, name in enumerate(CLASSES)}


def spelled(name: str) -> str:
    """The mark of a class as text."""
    return "[private]" if name == "private" else f"[masked:{name}]"


def mark_of(counts: dict[str, int], name: str) -> str:
    """Adds one to the count of a class; returns the character that stands for its mark."""
    counts[name] = counts.get(name, 0) + 1
    return CHARACTERS[name]


def fold(text: str) -> str:
    """The text with a character for each of its marks."""
    if storable(text) != text:
        text = compiled(EXPRESSIONS["mark"]).sub("\ufffd", text)
    if "[masked:" in text or "[private]" in text:
        for name, character in CHARACTERS.items():
            text = text.replace(spelled(name), character)
    return text


def unfold(text: str) -> str:
    """The text with its marks spelled, as they are stored."""
    if not text.isascii():
        for name, character in CHARACTERS.items():
            text = text.replace(character, spelled(name))
    return text
