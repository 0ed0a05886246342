"""Activity by time and agent as cells of a heat map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from kinen.errors import QueryError
from kinen.model.tuples import NamedTuple
from kinen.render.text import counted
from kinen.text import now

ROWS = 6
"""Agents with a row of their own; the others share one."""
CELL = 12
WIDEST = 40
"""Least and greatest width of a column."""
FULL = 1_000
"""Width that few columns grow to."""
ROW = 20
"""Height of a row; the names beside them are as high."""
TOP = 18
"""Height of the names of months or days."""
COMMITS = "commits"
STEPS = ((3, 1), (120, 24), (1_000, 7 * 24))
"""Days, and the hours of a column up to that number of days; beyond, a column is four weeks."""
DAYS_WITH_NAMES = 30
"""The most days that have their number above them."""
EPOCH = date(1970, 1, 1)

Counts = dict[str, dict[int, int]]
"""Events by row and hour since 1970."""


@dataclass(frozen=True, slots=True)
class Period:
    """The days that are shown, the last included."""

    first: date
    last: date
    today: date

    @classmethod
    def until(cls, last: str, days: int) -> Period:
        """Some days up to a date, the latest of which is today."""
        today = datetime.fromtimestamp(now(), UTC).date()
        try:
            end = min(today, date.fromisoformat(last[:10] or today.isoformat()))
            return cls(end - timedelta(days=days - 1), end, today)
        except (OverflowError, ValueError) as error:
            raise QueryError(f"invalid date {last!r}", "use a date such as 2026-03-01") from error

    @property
    def title(self) -> str:
        """The days in words: `Today`, `Last 7 days`, `9 Nov`, `9 to 15 Nov`."""
        if self.last == self.today:
            return "Today" if self.days == 1 else f"Last {self.days} days"
        end = f"{self.last:%-d %b}"
        if self.last.year != self.today.year:
            end += f" {self.last.year}"
        if self.days == 1:
            return end
        same = (self.first.year, self.first.month) == (self.last.year, self.last.month)
        begin = f"{self.first:{'%-d' if same else '%-d %b'}}"
        if self.first.year != self.last.year:
            begin += f" {self.first.year}"
        return f"{begin} to {end}"

    @property
    def days(self) -> int:
        return (self.last - self.first).days + 1

    @property
    def hours(self) -> range:
        start = (self.first - EPOCH).days * 24
        return range(start, start + self.days * 24)

    @property
    def step(self) -> int:
        """Hours of a column."""
        return next((hours for days, hours in STEPS if self.days <= days), 4 * 7 * 24)

    @property
    def columns(self) -> int:
        return -(-len(self.hours) // self.step)

    @property
    def cell(self) -> int:
        """The width of a column: wider if there are few."""
        return max(CELL, min(WIDEST, FULL // self.columns))

    @property
    def start(self) -> str:
        return self.first.isoformat()

    @property
    def end(self) -> str:
        return f"{self.last.isoformat()}T23:59:59.999Z"


class Cell(NamedTuple):
    """Something happened in a column of a row."""

    x: int
    y: int
    level: int
    title: str
    url: str


class Heat(NamedTuple):
    """A heat map: its measures, the names of its rows and columns, and its cells."""

    names: tuple[str, ...]
    rows: tuple[Cell, ...]
    labels: tuple[tuple[int, str], ...]
    width: int
    height: int
    cell: int
    id: str = ""
    pattern: str = "cell"
    """The id of the pattern of empty cells: one for all of them."""
    row: int = ROW
    top: int = TOP


def add(sums: dict[int, int], more: dict[int, int]) -> None:
    for hour, count in more.items():
        sums[hour] = sums.get(hour, 0) + count


def rows_of(counts: Counts) -> Counts:
    """The busiest agents, the others together, and commits last."""
    agents = counts.keys() - {COMMITS}
    busiest = sorted(agents, key=lambda agent: (-sum(counts[agent].values()), agent))
    rows: Counts = {agent: counts[agent] for agent in busiest[:ROWS]}
    for agent in busiest[ROWS:]:
        add(rows.setdefault("others", {}), counts[agent])
    commits = counts.get(COMMITS)
    return {**rows, COMMITS: commits} if commits else rows


def heat_map(
    counts: Counts,
    period: Period,
    url: Callable[[str, str], str],
    name: str = "activity",
    noun: str = "events",
) -> Heat:
    """A row for each agent and one for commits; columns are hours, days or weeks.

    A cell is the darker, the more events it has, compared with the busiest time of its row.
    `noun` is what is counted. `url` leads to a time, by the first day of its column and by the last
    with an event.
    """
    shown = rows_of(counts)
    start = period.hours.start
    step = period.step
    cells = []
    for number, (agent, by_hour) in enumerate(shown.items()):
        sums: dict[int, int] = {}
        latest: dict[int, int] = {}
        for hour, count in by_hour.items():
            column = (hour - start) // step
            sums[column] = sums.get(column, 0) + count
            latest[column] = max(hour, latest.get(column, 0))
        most = max(sums.values(), default=1)
        for column, count in sorted(sums.items()):
            begin = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(hours=start + column * step)
            last = (EPOCH + timedelta(hours=latest[column])).isoformat()
            time = f"{begin:{'%Y-%m-%d %H:00' if step == 1 else '%Y-%m-%d'}}"
            what = counted(count, COMMITS if agent == COMMITS else noun)
            cells.append(
                Cell(
                    x=column * period.cell,
                    y=TOP + number * ROW + 2,
                    level=1 + min(3, int(4 * count / (most + 1))),
                    title=f"{time}, {agent}: {what}",
                    url=url(f"{begin:%Y-%m-%d}", last),
                )
            )
    return Heat(
        names=tuple(shown),
        rows=tuple(cells),
        labels=tuple(_labels(period)),
        width=period.columns * period.cell,
        height=TOP + len(shown) * ROW,
        cell=period.cell,
        id=name,
        pattern="cell" if name == "activity" else f"{name}-cell",
    )


def _labels(period: Period) -> list[tuple[int, str]]:
    """The names of hours, days, months or years above the columns, where there is room."""
    labels = []
    before = ""
    room = 0
    for number in range(period.columns):
        name = _label(period, number)
        if name != before and number >= room:
            labels.append((number * period.cell, name))
            room = number + -(-4 * CELL // period.cell)
        before = name
    return labels


def _label(period: Period, number: int) -> str:
    """The name of the time that a column is in."""
    day = period.first + timedelta(hours=number * period.step)
    if period.step == 1:
        part = number % 24 // 6 * 6
        return f"{part:02}:00" if part else f"{day:%b %-d}"
    if period.step > STEPS[-1][1]:
        return f"{day:%Y}"
    if period.days <= DAYS_WITH_NAMES:
        return f"{day:%-d}" if day.day > 1 and number else f"{day:%b %-d}"
    return f"{day:%b}"
