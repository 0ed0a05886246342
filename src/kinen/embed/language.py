"""Which of the built-in models suits a text: how much of it is in the English vocabulary."""

from __future__ import annotations

import os
import re
from functools import cache

from kinen.model.late import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ENGLISH = "english"
MULTILINGUAL = "multilingual"
LEAST_LETTERS = 20
"""Letters of the different words of a text below which its language is not known."""
ENGLISH_LETTERS = 0.4
"""The share of these letters in English words below which a text is in another language."""
SURELY_ENGLISH = 0.6
"""The same from which on a question is in English: other languages have some of its words, too."""
FOREIGN = 0.1
"""The share of texts in another language from which on a space has the multilingual model."""
SAMPLE = 500
"""Texts of a space that are looked at."""
_WORD = re.compile(r"[^\W\d_]+")
_PARTS = re.compile(r"(?<=[a-z])(?=[A-Z])")


def best_model(texts: Iterable[str]) -> str:
    """The built-in model for a space, by a sample of its texts."""
    foreign = [verdict for verdict in map(is_foreign, texts) if verdict is not None]
    return MULTILINGUAL if foreign and sum(foreign) >= FOREIGN * len(foreign) else ENGLISH


def is_foreign(text: str) -> bool | None:
    """Is a text in another language than English? None if it has too few words to tell."""
    letters, english = _letters(text)
    return english < ENGLISH_LETTERS * letters if letters >= LEAST_LETTERS else None


def elsewhere(question: str, texts: Sequence[str]) -> float:
    """The share of some texts that are in another language than a question in English."""
    letters, english = _letters(question)
    known = [verdict for verdict in map(is_foreign, texts) if verdict is not None]
    asked_in_english = letters and english >= SURELY_ENGLISH * letters
    return sum(known) / len(known) if known and asked_in_english else 0.0


def _letters(text: str) -> tuple[int, int]:
    """How many letters the different words of a text have, and how many of them are English.

    Letters are counted by their bytes: one of Han or Hangul says as much as three Latin ones.
    """
    words = {word.lower() for word in _WORD.findall(_PARTS.sub(" ", text))}
    words = {word for word in words if len(word) > 1 or not word.isascii()}
    pieces = vocabulary()
    english = (word for word in words if word in pieces and word.isalpha())
    return sum(len(word.encode()) for word in words), sum(len(word.encode()) for word in english)


@cache
def vocabulary() -> dict[str, int]:
    """The pieces that the English model's tokenizer knows, with their numbers."""
    path = os.path.join(os.path.dirname(__file__), "model", ENGLISH, "tokenizer.json")
    with open(path, "rb") as file:
        pieces: dict[str, int] = json.loads(file.read())["model"]["vocab"]
    return pieces


@cache
def dictionary() -> frozenset[str]:
    """The whole words among them, some twenty thousand."""
    return frozenset(word for word in vocabulary() if word.isalpha())
