"""The page Timeline: activity by agent as a heat map, sessions and commits as a stream."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial

from kinen.characters import visible_line
from kinen.errors import QueryError
from kinen.memory import Memory
from kinen.memory.federation import ask_spaces
from kinen.model.records import Record
from kinen.text import excerpt, now
from kinen.web import html
from kinen.web.html import Html
from kinen.web.markdown import code_line
from kinen.web.page import ALL, Page, Visit, empty, notes
from kinen.web.page import date as moment
from kinen.web.sessions import card

LEVELS = (2, 7, 14, 30, 90, 180, 365, 1_095, 3_650)
"""Days that the zoom goes through."""
SPANS = (30, 90, 365)
"""Days that have a link of their own."""
USUAL = 90
ROWS = 6
"""Agents with a row of their own; the others share one."""
STREAM = 30
"""Sessions and commits in the stream."""
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
Entry = tuple[str, Callable[[], "Html"]]
"""When something began, and what shows it: only the latest are."""


@dataclass(frozen=True, slots=True)
class Period:
    """The days that are shown, the last included."""

    first: date
    last: date
    today: date

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


def period_of(visit: Visit) -> Period:
    """The days that a visit asks for; without any, the last ones until today."""
    days = max(1, visit.fields.number("days", USUAL, LEVELS[-1]))
    today = datetime.fromtimestamp(now(), UTC).date()
    try:
        last = min(today, date.fromisoformat(visit.fields.get("until") or today.isoformat()))
        return Period(last - timedelta(days=days - 1), last, today)
    except (OverflowError, ValueError) as error:
        until = visit.fields.get("until")
        raise QueryError(f"invalid date {until!r}", "use a date such as 2026-03-01") from error


def page(memory: Memory, visit: Visit) -> Page:
    period = period_of(visit)
    return _page(visit, period, _counts(memory, period), _entries(memory, visit, period))


def page_of_all(visit: Visit) -> Page:
    """Activity in all spaces: a row for each agent, and the latest sessions and commits."""
    period = period_of(visit)
    remarks: list[str] = []
    answers = ask_spaces(
        [ALL],
        lambda memory: (
            _counts(memory, period),
            _entries(memory, visit, period, memory.space.name),
        ),
        remarks.append,
    )
    merged: Counts = {}
    for counts, _ in answers:
        for name, by_hour in counts.items():
            _add(merged.setdefault(name, {}), by_hour)
    return _page(visit, period, merged, [item for _, items in answers for item in items], remarks)


def _page(
    visit: Visit, period: Period, counts: Counts, entries: list[Entry], remarks: Sequence[str] = ()
) -> Page:
    day = visit.fields.get("day")
    title = f"On {day}" if day else "Lately"
    if not day and period.last < period.today:
        title = f"{period.first} to {period.last}"
    body = html.section(
        notes(remarks),
        _zoom(visit, period),
        heat_map(visit, rows_of(counts), period),
        html.h2(title),
        html.p(html.a("all days", href=visit.here(day=""))) if day else None,
        _stream(entries),
        id="timeline",
        data_first=period.start,
        data_days=period.days,
        data_levels=",".join(map(str, LEVELS)),
        aria_label="Timeline",
    )
    return Page("Timeline", body, ("timeline.js",), live=True)


def _zoom(visit: Visit, period: Period) -> Html:
    """Links that show more or fewer days, or earlier and later ones; keys and gestures use them."""
    closer = max((days for days in LEVELS if days < period.days), default=0)
    wider = min((days for days in LEVELS if days > period.days), default=0)
    middle = period.last - timedelta(days=period.days // 2)
    half = timedelta(days=max(1, period.days // 2))
    into = middle + timedelta(days=closer // 2)
    if period.last == period.today:
        into = period.today  # what happened lately is looked at most
    moves = (
        ("in", "+", "Zoom in", closer and _place(visit, period, closer, into)),
        ("out", "−", "Zoom out", wider and _place(visit, period, wider, period.last)),
        ("earlier", "←", "Earlier", _place(visit, period, period.days, period.last - half)),
        (
            "later",
            "→",
            "Later",
            period.last < period.today and _place(visit, period, period.days, period.last + half),
        ),
    )
    links = [
        html.li(html.a(label, href=place, aria_label=name, title=name, data_zoom=move))
        if place
        else html.li(html.span(label, class_="quiet", aria_hidden="true"))
        for move, label, name, place in moves
    ]
    spans = [
        html.li(
            html.a(
                f"{span} days",
                href=visit.url(days=span),
                aria_current="true" if (span, period.last) == (period.days, period.today) else None,
                data_zoom="reset" if span == USUAL else None,
            )
        )
        for span in SPANS
    ]
    about = f"{period.first} to {period.last}"
    hint = "Keys: + and − zoom, Shift and an arrow move, 0 goes back."
    return html.div(
        html.ul(links, spans, html.li(about, class_="quiet"), class_="legend zoom"),
        html.p(hint, class_="quiet scripted keys"),
    )


def _place(visit: Visit, period: Period, days: int, last: date) -> str:
    until = min(last, period.today)
    return visit.here(days=days, until="" if until == period.today else until.isoformat(), day="")


def _counts(memory: Memory, period: Period) -> Counts:
    hours = period.hours
    counts: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for (agent, hour), count in memory.journal.activity().items():
        if hour in hours:
            counts[agent or "by hand"][hour] = count
    commits = memory.git.commit_hours(period.start, period.end)
    return {**counts, COMMITS: commits} if commits else dict(counts)


def _add(sums: dict[int, int], more: dict[int, int]) -> None:
    for hour, count in more.items():
        sums[hour] = sums.get(hour, 0) + count


def rows_of(counts: Counts) -> Counts:
    """The busiest agents, the others together, and commits last."""
    agents = counts.keys() - {COMMITS}
    busiest = sorted(agents, key=lambda agent: (-sum(counts[agent].values()), agent))
    rows: Counts = {agent: counts[agent] for agent in busiest[:ROWS]}
    for agent in busiest[ROWS:]:
        _add(rows.setdefault("others", {}), counts[agent])
    commits = counts.get(COMMITS)
    return {**rows, COMMITS: commits} if commits else rows


def heat_map(visit: Visit, counts: Counts, period: Period) -> Html:
    """A row for each agent and one for commits; columns are hours, days or weeks."""
    if not counts:
        return html.div(empty("Nothing was recorded in this time."), class_="activity")
    width = period.columns * period.cell
    height = TOP + len(counts) * ROW
    cells = [_grid(period.cell, width, height), *_labels(period)]
    for number, (name, by_hour) in enumerate(counts.items()):
        cells += _row(visit, name, by_hour, period, TOP + number * ROW)
    picture = html.element(
        "svg",
        cells,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        class_="heat",
        role="group",
        aria_label="Events by time and agent",
    )
    names = html.ul([html.li(visible_line(name), title=name) for name in counts])
    days_shown = html.div(
        picture, class_="wide", tabindex="0", role="region", aria_label="Activity", id="activity"
    )
    return html.div(names, days_shown, class_="activity")


def _grid(cell: int, width: int, height: int) -> Html:
    """Empty cells, as one pattern: there are many."""
    pattern = html.element(
        "pattern",
        html.element("rect", y=2, width=cell - 1, height=ROW - 4, class_="h0"),
        id="cell",
        y=TOP,
        width=cell,
        height=ROW,
        patternUnits="userSpaceOnUse",
    )
    area = {"y": TOP, "width": width, "height": height - TOP, "fill": "url(#cell)"}
    return html.join([html.element("defs", pattern), html.element("rect", **area)])


def _labels(period: Period) -> list[Html]:
    """The names of hours, days, months or years above the columns, where there is room."""
    labels = []
    before = ""
    room = 0
    for number in range(period.columns):
        name = _label(period, number)
        if name != before and number >= room:
            labels.append(html.element("text", name, x=number * period.cell, y=12))
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


def _row(visit: Visit, name: str, by_hour: dict[int, int], period: Period, y: int) -> list[Html]:
    """The cells of an agent: the darker, the more events, compared with its busiest time."""
    start = period.hours.start
    step = period.step
    width = period.cell
    sums: dict[int, int] = {}
    latest: dict[int, int] = {}
    for hour, count in by_hour.items():
        column = (hour - start) // step
        sums[column] = sums.get(column, 0) + count
        latest[column] = max(hour, latest.get(column, 0))
    most = max(sums.values(), default=1)
    here = visit.here(day="")
    place = f"{here}{'&' if '?' in here else '?'}day="
    cells = []
    for column, count in sorted(sums.items()):
        day = (EPOCH + timedelta(hours=latest[column])).isoformat()
        begin = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(hours=start + column * step)
        title = f"{begin:{'%Y-%m-%d %H:00' if step == 1 else '%Y-%m-%d'}}, {name}: {count:,}"
        rect = html.element(
            "rect",
            html.element("title", title),
            x=column * width,
            y=y + 2,
            width=width - 1,
            height=ROW - 4,
            class_=f"h{1 + min(3, int(4 * count / (most + 1)))}",
        )
        cells.append(html.a(rect, href=place + day, aria_label=title))
    return cells


def _entries(memory: Memory, visit: Visit, period: Period, space: str = "") -> list[Entry]:
    """Sessions and commits of a time, each with when it began; of a long time the latest."""
    day = visit.fields.get("day")
    since = day or period.start
    end = f"{day}T23:59:59.999Z" if day else period.end
    sessions = memory.sessions.overviews(STREAM + 1, since=since, until=end)
    entries: list[Entry] = [
        (session.started, partial(card, visit, session, space))
        for session in sessions
        if not day or session.started.startswith(day)
    ]
    commits = memory.git.commits_between(since, end, STREAM + 1)
    return entries + [(record.at, partial(_commit, visit, record, space)) for record in commits]


def _commit(visit: Visit, record: Record, space: str) -> Html:
    author = str((record.metadata or {}).get("author", ""))
    return html.li(
        html.p(
            html.span(f"commit {space}".strip(), class_="chip"),
            " ",
            html.a(
                code_line(excerpt(record.title, 120)), href=visit.record(record.ref, space=space)
            ),
            html.small(f" {author} ", moment(record.at)),
        )
    )


def _stream(entries: list[Entry]) -> Html:
    """Sessions and commits by time, the newest first."""
    if not entries:
        return empty("No session and no commit in this time.")
    newest = sorted(entries, key=lambda pair: pair[0], reverse=True)
    more = len(newest) > STREAM
    return html.join(
        [
            html.ol([show() for _, show in newest[:STREAM]], class_="cards"),
            html.p("There are more: choose a day.", class_="quiet") if more else None,
        ]
    )
