"""Text as it reads: `%3D`, `\\u0026`, `&quot;` and `\\/` for the signs that they stand for, colours
and backslashes at the end of a line left out.

A secret that is there is replaced in the text as it stands, and nothing else is.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from kinen.privacy.shapes import EXPRESSIONS, compiled

LONGEST_ESCAPED = 250_000
"""Characters of lines with escapes that are looked at."""


def readable(text: str) -> list[View]:
    """The lines of a text that have escapes, as they read; lines that continue are one."""
    views: list[View] = []
    left = LONGEST_ESCAPED
    place = 0
    while left > 0 and (match := compiled(EXPRESSIONS["escape"]).search(text, place)):
        start = text.rfind("\n", place, match.start()) + 1 or place
        while start > place and text[start - 2] == "\\":
            start = text.rfind("\n", place, start - 1) + 1 or place
        end = compiled(EXPRESSIONS["continued"]).match(text, match.end(), match.end() + left)
        place = end.end() if end else match.end()
        left -= place - start
        views.append(_view(text, start, place))
    return views


class View:
    """A part of a text with its escapes resolved, and where its characters stand in the text."""

    def __init__(self, text: str, starts: list[int], ends: list[int], gained: list[int]) -> None:
        self.text = text
        self._starts = starts
        self._ends = ends
        self._gained = gained

    def edits(self, masked: str) -> list[tuple[int, int, str]]:
        """What has to be replaced in the text so that it reads like this one with marks."""
        edits: list[tuple[int, int, str]] = []
        mark = compiled(EXPRESSIONS["mark"])
        pieces = mark.split(masked)
        start = len(pieces[0])
        for number, match in enumerate(mark.finditer(masked), 1):
            if number == len(pieces) - 1:
                stop = len(self.text) - len(pieces[number])
            else:
                stop = self.text.index(pieces[number], start + 1)
            first = start + self._gained[bisect_right(self._ends, start)]
            last = stop + self._gained[bisect_left(self._starts, stop)]
            edits.append((first, last, match[0]))
            start = stop + len(pieces[number])
        return edits


def _view(text: str, start: int, stop: int) -> View:
    """A part of a text as it reads, without its escapes."""
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    gained = [start]
    length = 0
    place = start
    for match in compiled(EXPRESSIONS["escape"]).finditer(text, start, stop):
        plain = _meaning(match[0])
        length += match.start() - place
        pieces += (text[place : match.start()], plain)
        starts.append(length)
        length += len(plain)
        ends.append(length)
        place = match.end()
        gained.append(place - length)
    pieces.append(text[place:stop])
    return View("".join(pieces), starts, ends, gained)


_ENTITIES = {"&quot;": '"', "&apos;": "'", "&amp;": "&", "&lt;": "<", "&gt;": ">"}


def _meaning(escape: str) -> str:
    """The character that an escape stands for; none for a colour or a line that goes on."""
    if escape[-1] in "m\n":
        return ""
    if escape[0] == "&":
        digits = escape[2:-1]
        number = int(digits[1:], 16) if digits[0] == "x" else int(digits) if digits.isdigit() else 0
        return _ENTITIES.get(escape) or chr(number)
    return escape[-1] if escape[-1] in "/\"'" else chr(int(escape[-2:], 16))
