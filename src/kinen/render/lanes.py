"""Sessions of some days as bars in a lane for each agent, with commits and decisions as marks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta

from kinen.journal.authors import signature
from kinen.journal.timeline import SessionOverview
from kinen.model.tuples import NamedTuple
from kinen.render.heat import Period
from kinen.render.screen import SIGNS
from kinen.render.sessions import duration
from kinen.render.text import counted
from kinen.text import epoch, excerpt

DAYS = 14
"""The most days that have bars; of more, hours are counted."""
WIDTH = 1200
LEFT = 110
"""Width of the names of lanes."""
RIGHT = 6
"""Beside the last day: room for a mark at its end."""
TOP = 22
"""Height of the names of days."""
ROW = 16
GAP = 8
"""Height of a bar with its margin, and between lanes."""
LEAST = 5
"""The least width of a bar."""
ROWS = 6
"""Bars above each other in a lane; further ones cover the last."""
HOURS = 8
"""Hours of a day that are shown at least: nights are left out where nothing happened."""
TITLE = 100
NAME = 15
BARS = " ▂▄▆█"
"""One to four sessions at the same time, or more."""

Mark = tuple[float, str, str]
"""When, what, and the address."""


class Bar(NamedTuple):
    x: float
    y: float
    width: float
    title: str
    url: str
    errors: int = 0


class Lane(NamedTuple):
    name: str
    title: str
    y: float
    kind: str
    bars: tuple[Bar, ...]


class Lanes(NamedTuple):
    """A picture: its height, the days with their places, the lanes, and the hours of a day."""

    height: float
    days: tuple[tuple[float, str, str], ...]
    """Place, name and date of each."""
    day: float
    """The width of a day."""
    lanes: tuple[Lane, ...]
    hours: tuple[int, int]
    width: int = WIDTH
    left: int = LEFT
    row: int = ROW
    top: int = TOP


def lanes(
    period: Period,
    sessions: Sequence[tuple[SessionOverview, str]],
    commits: Sequence[Mark],
    decisions: Sequence[Mark],
) -> Lanes:
    """The lanes of the days of a period."""
    spans = []
    for session, url in sessions:  # the hours of its first day in which it went on
        start = epoch_hour(epoch(session.started) / 1000)
        spans.append((start, min(24.0, start + session.seconds / 3_600), session, url))
    marks = [epoch_hour(at) for at, _, _ in (*commits, *decisions)]
    first, last = _window([*marks, *(hour for start, end, *_ in spans for hour in (start, end))])
    day = (WIDTH - LEFT - RIGHT) / period.days

    def place(at: float, hour: float) -> float:
        number = (_day(at) - period.first).days
        share = (min(max(hour, first), last) - first) / (last - first)
        return LEFT + day * (number + share)

    y = float(TOP)
    lanes: list[Lane] = []
    for name, kind, some in (("decided", "decision", decisions), ("commits", "commit", commits)):
        within = [mark for mark in some if period.first <= _day(mark[0]) <= period.last]
        if within:
            bars = tuple(
                Bar(place(at, epoch_hour(at)), y + ROW / 2, 0, excerpt(text, TITLE), url)
                for at, text, url in within
            )
            lanes.append(Lane(name, name, y + ROW / 2 + 4, kind, bars))
            y += ROW + GAP
    by_name: dict[str, list[tuple[float, float, SessionOverview, str]]] = {}
    for start, end, session, url in sorted(spans, key=lambda span: span[2].started):
        who = f"{session.agent or 'by hand'}{signature(session.by)}"
        by_name.setdefault(who, []).append((start, end, session, url))
    for name, group in sorted(by_name.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        ends: list[float] = []
        bars_: list[Bar] = []
        for start, end, session, url in group:
            at = epoch(session.started) / 1000
            x = place(at, start)
            width = max(LEAST, place(at, end) - x)
            row = next((n for n, free in enumerate(ends) if free <= x), min(len(ends), ROWS - 1))
            ends[row : row + 1] = [x + width + 1]
            title = _title(session)
            bars_.append(Bar(x, y + row * ROW, width, title, url, session.errors))
        lanes.append(Lane(excerpt(name, NAME), name, y + ROW / 2 + 4, "session", tuple(bars_)))
        y += len(ends) * ROW + GAP
    names = tuple(
        (LEFT + day * number, f"{each:%a %-d %b}", each.isoformat())
        for number in range(period.days)
        for each in (period.first + timedelta(days=number),)
    )
    return Lanes(y, names, day, tuple(lanes), (first, last))


def text_cells(picture: Lanes, lane: Lane, columns: int) -> str:
    """A lane as characters: how many sessions there were at a time, or the sign of its marks."""
    scale = columns / (picture.day * len(picture.days))
    counts = [0] * columns
    for bar in lane.bars:
        start = min(columns - 1, int((bar.x - picture.left) * scale))
        end = max(start + 1, int((bar.x + bar.width - picture.left) * scale))
        for place in range(start, min(columns, end)):
            counts[place] += 1
    signs = BARS if lane.kind == "session" else f" {SIGNS[lane.kind]}"
    cells = [signs[min(count, len(signs) - 1)] for count in counts]
    for x, _, _ in picture.days:
        place = int((x - picture.left) * scale)
        cells[place] = "·" if cells[place] == " " else cells[place]
    return "".join(cells)


def failures(picture: Lanes) -> Lane:
    """A lane with the ends of sessions that had errors, for text, where bars have no notches."""
    bars = [bar for lane in picture.lanes if lane.kind == "session" for bar in lane.bars]
    ends = tuple(Bar(bar.x + bar.width, 0, 0, bar.title, bar.url) for bar in bars if bar.errors)
    return Lane("errors", "errors", 0, "error", ends)


def epoch_hour(at: float) -> float:
    """The hour of the day of a moment, with its part."""
    return at % 86_400 / 3_600


def _day(at: float) -> date:
    return datetime.fromtimestamp(at, UTC).date()


def _window(hours: Iterable[float]) -> tuple[int, int]:
    """The hours of a day from the earliest to the latest."""
    times = list(hours) or [9.0, 17.0]
    first = int(min(times))
    last = min(24, int(max(times)) + 1)
    missing = max(0, HOURS - (last - first))
    first = max(0, first - missing // 2)
    return first, min(24, max(last, first + HOURS))


def _title(session: SessionOverview) -> str:
    facts = [duration(session.seconds)] if session.seconds else []
    facts += [
        counted(getattr(session, noun), noun)
        for noun in ("edits", "commands", "errors")
        if getattr(session, noun)
    ]
    return f"{excerpt(session.title, TITLE) or '(no prompt)'} · {', '.join(facts)}".rstrip(" ·")
