"""Lists for people: columns that fit the terminal, with local times."""

from __future__ import annotations

import time
import unicodedata
from itertools import groupby
from typing import TYPE_CHECKING

from kinen.characters import visible_line
from kinen.model.tuples import NamedTuple
from kinen.render.style import PLAIN, Style
from kinen.text import bounded, iso

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeVar

    T = TypeVar("T")

LEAST_TEXT = 20
"""Columns that the last cell of a row gets at least."""
DAY = 86_400


class Screen(NamedTuple):
    """Where a list is printed. A width of 0 is not a terminal: ids and times stay whole."""

    style: Style = PLAIN
    width: int = 0
    now: float = 0.0

    @property
    def terminal(self) -> bool:
        return self.width > 0

    def time(self, seconds: float) -> str:
        """A moment as a person reads it, or in a pipe as ISO 8601 in UTC."""
        return when(seconds, self.now) if self.terminal else iso(seconds)

    def rows(self, rows: Iterable[Sequence[str]], styles: Sequence[str] = ("path", "dim")) -> str:
        """Rows of cells as aligned columns; the last cell is cut to the rest of the width.

        The first columns have the given styles. Without a terminal, cells are only separated.
        """
        table = [[visible_line(cell) for cell in row] for row in rows]
        if not self.terminal:
            return "\n".join("  ".join(filter(None, row)).rstrip() for row in table)
        widths = [max(map(columns, column)) for column in zip(*table, strict=True)]
        room = self.width - sum(width + 2 for width in widths[:-1] if width)
        lines = []
        for *cells, text in table:
            padded = [
                self._paint(styles, n, cell + " " * (width - columns(cell)))
                for n, (cell, width) in enumerate(zip(cells, widths, strict=False))
                if width
            ]
            lines.append("  ".join([*padded, fit(text, max(LEAST_TEXT, room))]).rstrip())
        return "\n".join(lines)

    def grouped(
        self, entries: Iterable[T], heading: Callable[[T], str], cells: Callable[[T], Sequence[str]]
    ) -> str:
        """Rows of entries, under a line for each run of entries with the same heading."""
        blocks = []
        for title, group in groupby(entries, heading):
            if title:
                blocks.append(self.style("bold", fit(visible_line(title), self.width)))
            blocks.append(self.rows([cells(entry) for entry in group]))
        return "\n".join(blocks)

    def _paint(self, styles: Sequence[str], n: int, cell: str) -> str:
        return self.style(styles[n], cell) if n < len(styles) and styles[n] else cell


def when(seconds: float, now: float) -> str:
    """A moment in local time: `2 min ago`, `yesterday 14:05`, `3 Mar 14:05`, `3 Mar 2025`."""
    age = now - seconds
    if 0 <= age < 60:
        return "just now"
    if 0 <= age < 3600:
        return f"{age // 60:.0f} min ago"
    moment = time.localtime(bounded(seconds))
    today = time.localtime(now)
    clock = time.strftime("%H:%M", moment)
    if moment[:3] == today[:3]:
        return clock if age < 0 else f"{age // 3600:.0f} h ago"
    if moment[:3] == time.localtime(now - DAY)[:3]:
        return f"yesterday {clock}"
    day = f"{moment.tm_mday} {time.strftime('%b', moment)}"
    return f"{day} {clock}" if moment.tm_year == today.tm_year else f"{day} {moment.tm_year}"


def session_heading(agent: str, session: str) -> str:
    """The line above entries of a session."""
    return " · ".join(filter(None, (agent, session and f"session {session}")))


def columns(text: str) -> int:
    """The number of terminal columns that a text takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def fit(text: str, width: int) -> str:
    """A text on one line, cut to a number of terminal columns."""
    text = " ".join(text.split())
    if columns(text) <= width:
        return text
    used = 0
    start = ""
    for character in text:
        used += _columns(character)
        if used > width - 1:
            break
        start += character
    return start.rstrip() + "…"
