"""Where in the lines of a file the links are that the inline parser finds.

The inline parser gets the text of a paragraph without list marks, quote marks and indentation, and
that of a table cell without its bars; here its positions become lines and columns of the file.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from kinen.model.tuples import NamedTuple


class Span(NamedTuple):
    """A part of a file: lines from 1, columns from 0 in characters, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


class Places:
    """Positions in the inline text that is being parsed, as lines and columns of the file."""

    __slots__ = ("_breaks", "_end", "_line", "_lines", "_low", "_piece", "_place")

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._piece = ""
        self._line = 0
        self._breaks: list[int] = []
        self._low = 0
        self._end = 0
        self._place = _Row()

    def enter(self, piece: str, line: int, breaks: list[int]) -> None:
        """Begin with an inline text that starts in a line and has line breaks at `breaks`."""
        # Cells of a table share their line: each is searched after the one before.
        self._low = self._end if line == self._line else 0
        self._piece = piece
        self._line = line
        self._breaks = breaks
        self._place = self._find(0)
        self._end = self._place.end

    def line_at(self, position: int) -> int:
        return self._line + bisect_left(self._breaks, position)

    def span(self, start: int, end: int) -> Span:
        return Span(*self._locate(start), *self._locate(end))

    def _locate(self, position: int) -> tuple[int, int]:
        number = bisect_left(self._breaks, position)
        if number != self._place.number:
            self._place = self._find(number)
        row = self._place
        bars = self._piece.count("|", row.start, position) if row.escaped else 0
        return self._line + number, row.column + max(0, position - row.start) + bars

    def _find(self, number: int) -> _Row:
        """Where a line of the text is in the line of the file that it comes from."""
        start = self._breaks[number - 1] + 1 if number else 0
        stop = self._breaks[number] if number < len(self._breaks) else len(self._piece)
        text = self._piece[start:stop]
        start += len(text) - len(text.lstrip())
        text = text.strip()
        at = self._line + number - 1
        source = self._lines[at] if at < len(self._lines) else ""
        low = 0 if number else self._low
        for written in (text, text.replace("|", "\\|")):  # a bar in a cell has a backslash
            column = source.find(written, low)
            if column >= 0:
                return _Row(number, start, column, column + len(written), written != text)
        return _Row(number, start)


class _Row(NamedTuple):
    """A line of an inline text: where its words begin, there and in the line of the file."""

    number: int = -1
    start: int = 0
    column: int = 0
    end: int = 0
    escaped: bool = False
