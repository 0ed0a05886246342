"""Text → the pieces that a built-in model knows, as the `tokenizers` library cuts it.

They differ in marks that are younger than the library's tables, which are of 2015.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from kinen.model.late import json

LONGEST_WORD = 100
"""Letters from which on a word is unknown, as the models learned it."""
UNKNOWN = "[UNK]"
_HAN = (
    *(("\u3400", "\u4dbf"), ("\u4e00", "\u9fff"), ("\uf900", "\ufaff")),
    *(("\U00020000", "\U0002a6df"), ("\U0002a700", "\U0002b73f"), ("\U0002b740", "\U0002b81f")),
    *(("\U0002b920", "\U0002ceaf"), ("\U0002f800", "\U0002fa1f")),
)
"""Not quite all of Han: those that the models were trained with as single letters."""


class Letters(dict[int, str]):
    """What `str.translate` puts for a character: spaces stand around what is a word alone."""

    def __init__(self, accents: bool) -> None:
        self.accents = accents

    def __missing__(self, code: int) -> str:
        self[code] = self._words(chr(code))
        return self[code]

    def _words(self, letter: str) -> str:
        kind = unicodedata.category(letter)
        if letter.isspace() and letter not in "\x0b\x0c\x1c\x1d\x1e\x1f\x85":
            return " "
        if letter == "\ufffd" or (kind[0] == "C" and kind != "Cn"):
            return ""
        plain = letter
        if not self.accents:
            apart = unicodedata.normalize("NFD", letter)
            plain = "".join(part for part in apart if unicodedata.category(part) != "Mn")
        alone = "".join(f" {part} " if is_mark(part) else part for part in plain.lower())
        is_han = any(first <= letter <= last for first, last in _HAN)
        return f" {alone} " if is_han else alone


def is_mark(letter: str) -> bool:
    """Punctuation, and what else of ASCII is neither a letter nor a digit."""
    symbol = letter.isascii() and letter.isprintable() and not letter.isalnum() and letter != " "
    return symbol or unicodedata.category(letter)[0] == "P"


class WordPiece:
    """The tokenizer of a built-in model: of each word the longest pieces, from left to right."""

    def __init__(self, path: str, limit: int, overlap: int) -> None:
        """`limit` is the tokens of a window, of which neighbours share `overlap`."""
        with open(path, "rb") as file:
            rules = json.loads(file.read())
        self.vocabulary: dict[str, int] = rules["model"]["vocab"]
        self._letters = Letters(accents=rules["normalizer"]["strip_accents"] is False)
        self._longest = max(map(len, self.vocabulary))
        special = (re.escape(token["content"]) for token in rules["added_tokens"])
        self._special = re.compile(f"({'|'.join(special)})")
        self._room = limit - 2
        self._step = self._room - overlap

    def words(self, text: str) -> Iterator[list[str]]:
        """The pieces of each word."""
        for number, part in enumerate(self._special.split(text)):
            if number % 2:
                yield [part]
            else:
                yield from map(self._pieces, part.translate(self._letters).split())

    def windows(self, text: str) -> list[list[int]]:
        """The ids of a text, in windows that begin and end with the token for that."""
        numbers = self.vocabulary
        ids = [numbers[piece] for word in self.words(text) for piece in word]
        starts = range(0, max(1, len(ids) - self._room + self._step), self._step)
        parts = (ids[start : start + self._room] for start in starts)
        return [[numbers["[CLS]"], *part, numbers["[SEP]"]] for part in parts]

    def _pieces(self, word: str) -> list[str]:
        if word in self.vocabulary:
            return [word]
        if len(word) > LONGEST_WORD:
            return [UNKNOWN]
        pieces: list[str] = []
        start = 0
        while start < len(word):
            beside = "##" if start else ""
            ends = range(min(len(word), start + self._longest), start, -1)
            end = next((end for end in ends if beside + word[start:end] in self.vocabulary), 0)
            if not end:
                return [UNKNOWN]
            pieces.append(beside + word[start:end])
            start = end
        return pieces
