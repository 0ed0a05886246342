"""Lists for people: columns that fit the terminal, days as headings, times relative to now."""

from __future__ import annotations

import time

from kinen.characters import STYLES, visible, visible_line
from kinen.model.tuples import NamedTuple
from kinen.text import bounded, epoch, iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeVar

    T = TypeVar("T")
    from typing import Any

SIGNS = {"decision": "◆", "session": "▬", "commit": "○", "error": "✗", "open": "☐"}
"""What a record is, on pages and in the terminal by the same sign; its colours are in pages.css."""
LONG = ("text", "content")
"""Fields that keep their line breaks; all others are put on one line."""


def readable(value: Any, *, lines: bool = False) -> Any:
    """A copy of a value in which control characters of all texts are escaped.

    Texts are put on one line, except in the fields in LONG; with `lines` all keep line breaks.
    """
    if isinstance(value, str):
        if value.isprintable():
            return value
        return visible(value) if lines else visible_line(value)
    if isinstance(value, dict):
        long = {key: lines or key in LONG for key in value}
        return {readable(key): readable(item, lines=long[key]) for key, item in value.items()}
    if hasattr(value, "_fields"):
        pairs = zip(value._fields, value, strict=True)
        return type(value)(*(readable(item, lines=lines or name in LONG) for name, item in pairs))
    if isinstance(value, (list, tuple)):
        return type(value)(readable(item, lines=lines) for item in value)
    return value


class Style:
    """Colours for a terminal, or none. It escapes the text, so styles cannot be nested."""

    def __init__(self, *, colour: bool, mark: str = "\x1b[") -> None:
        self.colour = colour
        self.mark = mark

    def __call__(self, name: str, text: str) -> str:
        escaped = text if text.isprintable() else visible(text)
        if not (self.colour and text):
            return escaped
        return f"{self.mark}{STYLES[name]}m{escaped}{self.mark}0m"


PLAIN = Style(colour=False)


LEAST_TEXT = 20
"""Columns that the last cell of a row gets at least."""
TITLE = 50
"""Columns that are left for a title where ids of unusual length would take more."""
HOUR = 3600
DAY = 24 * HOUR
EMOJI = "\ufe0f"
"""Makes a picture of the character before it, which then takes two columns."""


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

    def at(self, moment: str) -> str:
        """The same of a moment as records have it."""
        return when(epoch(moment) / 1000, self.now) if self.terminal and moment else moment

    def rows(
        self,
        rows: Iterable[Sequence[str]],
        styles: Sequence[str] = ("path", "dim"),
        *,
        ids: bool = False,
    ) -> str:
        """Rows of cells as aligned columns; the last cell is cut to the rest of the width.

        The first columns have the given styles. Without a terminal, cells are only separated.
        With `ids` in the first column, a long one pushes its own line and not all of them.
        """
        table = [[visible_line(cell) for cell in row] for row in rows]
        if not self.terminal:
            return "\n".join("  ".join(filter(None, row)).rstrip() for row in table)
        widths = [max(map(columns, column)) for column in zip(*table, strict=True)]
        if ids and table:
            room = self.width - sum(width + 2 for width in widths[:-1] if width)
            least = min(columns(row[0]) for row in table)
            widths[0] = max(least, widths[0] - max(0, TITLE - room))
        lines = []
        for *cells, text in table:
            padded = [
                self._paint(styles, n, cell + " " * (width - columns(cell)))
                for n, (cell, width) in enumerate(zip(cells, widths, strict=False))
                if width
            ]
            pairs = zip(cells, widths, strict=False)
            room = self.width - sum(max(columns(cell), width) + 2 for cell, width in pairs if width)
            lines.append("  ".join([*padded, fit(text, max(LEAST_TEXT, room))]).rstrip())
        return "\n".join(lines)

    def by_day(
        self, entries: Sequence[T], at: Callable[[T], float], cells: Callable[[T], Sequence[str]]
    ) -> str:
        """Rows of entries below the days that they are of; the second column is the time.

        `at` gives the epoch seconds of an entry.
        """
        rows = []
        for entry in entries:
            name, *rest = cells(entry)
            rows.append((name, clock(at(entry), self.now), *rest))
        lines = []
        last = ""
        for entry, line in zip(entries, self.rows(rows, ids=True).splitlines(), strict=True):
            heading = day(at(entry), self.now)
            if heading != last:
                lines.append(self.style("bold", heading))
                last = heading
            lines.append(line)
        return "\n".join(lines)

    def _paint(self, styles: Sequence[str], n: int, cell: str) -> str:
        return self.style(styles[n], cell) if n < len(styles) and styles[n] else cell


def when(seconds: float, now: float) -> str:
    """A moment in local time: `2 min ago`, `3 h ago`, `yesterday 14:05`, `3 Mar 14:05`, `3 Mar`.

    Midnight in UTC stands for a day of which no time is known.
    """
    moment, today = _local(seconds, now)
    if moment[:3] == today[:3] or 0 <= now - seconds < HOUR:
        return clock(seconds, now) or "today"
    if moment[:3] == time.localtime(now - DAY)[:3]:
        return f"yesterday {clock(seconds, now)}".strip()
    date = f"{moment.tm_mday} {time.strftime('%b', moment)}"
    if moment.tm_year != today.tm_year:
        return f"{date} {moment.tm_year}"
    return f"{date} {clock(seconds, now)}".strip()


def day(seconds: float, now: float) -> str:
    """The local day of a moment as a heading: `Today`, `Yesterday`, `Mon 16 Nov`."""
    moment, today = _local(seconds, now)
    if moment[:3] == today[:3]:
        return "Today"
    if moment[:3] == time.localtime(now - DAY)[:3]:
        return "Yesterday"
    year = f" {moment.tm_year}" if moment.tm_year != today.tm_year else ""
    return f"{time.strftime('%a', moment)} {moment.tm_mday} {time.strftime('%b', moment)}{year}"


def clock(seconds: float, now: float) -> str:
    """The time of a moment within its day: `2 min ago` or `3 h ago` today, else `14:05`."""
    moment, today = _local(seconds, now)
    age = now - seconds
    if not seconds % DAY:
        return ""
    if 0 <= age < 60:
        return "just now"
    if 0 <= age < HOUR:
        return f"{age // 60:.0f} min ago"
    if moment[:3] != today[:3] or age < 0:
        return time.strftime("%H:%M", moment)
    return f"{age // HOUR:.0f} h ago"


def _local(seconds: float, now: float) -> tuple[time.struct_time, time.struct_time]:
    """A moment and now in local time; a day without a time is the same day everywhere."""
    local = time.localtime if seconds % DAY else time.gmtime
    return local(bounded(seconds)), time.localtime(now)


def distinct(names: Iterable[str]) -> bool:
    """Whether names in a list tell its entries apart; one that all have is not repeated."""
    return len(set(names)) > 1


def columns(text: str) -> int:
    """The number of terminal columns that a text takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    import unicodedata

    if character != EMOJI and unicodedata.category(character) in ("Mn", "Me", "Cf"):
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
