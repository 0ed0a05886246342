"""The page Timeline: activity by day and agent as a heat map, sessions and commits as a stream."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from kinen.characters import visible_line
from kinen.memory import Memory
from kinen.memory.federation import ask_spaces
from kinen.text import excerpt, now
from kinen.web import html
from kinen.web.page import ALL, Page, Visit, empty, notes
from kinen.web.sessions import card

if TYPE_CHECKING:
    from kinen.model.records import Record
    from kinen.web.html import Html

SPANS = (30, 90, 365)
ROWS = 6
"""Agents with a row of their own; the others share one."""
STREAM = 30
"""Sessions and commits in the stream."""
CELL = 12
"""Width of a column."""
ROW = 20
"""Height of a row; the names beside them are as high."""
TOP = 18
"""Height of the names of months."""
COMMITS = "commits"
WEEKLY = 120
"""Days above which a column is a week."""

Counts = dict[str, dict[str, int]]
"""Events by row and day."""


def page(memory: Memory, visit: Visit) -> Page:
    days = visit.fields.number("days", 90, 3_660)
    last = visit.fields.get("day")
    today = datetime.fromtimestamp(now(), UTC).date()
    first = today - timedelta(days=max(7, days) - 1)
    counts = rows_of(_counts(memory, first))
    body = html.join(
        [
            _spans(visit, days),
            heat_map(visit, counts, first, today),
            html.h2(f"On {last}" if last else "Lately"),
            html.p(html.a("all days", href=visit.url(days=days))) if last else None,
            _stream(_entries(memory, visit, last or first.isoformat(), last)),
        ]
    )
    return Page("Timeline", body, live=True)


def page_of_all(visit: Visit) -> Page:
    """Activity in all spaces: a row for each agent, and the latest sessions and commits."""
    days = visit.fields.number("days", 90, 3_660)
    last = visit.fields.get("day")
    today = datetime.fromtimestamp(now(), UTC).date()
    first = today - timedelta(days=max(7, days) - 1)
    since = last or first.isoformat()
    remarks: list[str] = []
    answers = ask_spaces(
        [ALL],
        lambda memory: (
            _counts(memory, first),
            _entries(memory, visit, since, last, memory.space.name),
        ),
        remarks.append,
    )
    merged: Counts = {}
    for counts, _ in answers:
        for name, by_day in counts.items():
            row = merged.setdefault(name, {})
            for day, count in by_day.items():
                row[day] = row.get(day, 0) + count
    body = html.join(
        [
            notes(remarks),
            _spans(visit, days),
            heat_map(visit, rows_of(merged), first, today),
            html.h2(f"On {last}" if last else "Lately"),
            html.p(html.a("all days", href=visit.url(days=days))) if last else None,
            _stream([entry for _, entries in answers for entry in entries]),
        ]
    )
    return Page("Timeline", body)


def _spans(visit: Visit, days: int) -> Html:
    links = [
        html.li(
            html.a(
                f"{span} days",
                href=visit.url(days=span),
                aria_current="true" if span == days else None,
            )
        )
        for span in SPANS
    ]
    return html.ul(links, class_="legend")


def _counts(memory: Memory, first: date) -> Counts:
    start = datetime(first.year, first.month, first.day, tzinfo=UTC)
    by_agent: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for agent, day, count in memory.journal.activity(round(start.timestamp() * 1000)):
        by_agent[agent or "by hand"][day] = count
    commits: dict[str, int] = {}
    for record in memory.records.select(("commit",)):
        if record.at[:10] >= first.isoformat():
            commits[record.at[:10]] = commits.get(record.at[:10], 0) + 1
    return {**by_agent, COMMITS: commits} if commits else dict(by_agent)


def rows_of(by_agent: Counts) -> Counts:
    """The busiest agents, the others together, and commits last."""
    agents = by_agent.keys() - {COMMITS}
    busiest = sorted(agents, key=lambda agent: (-sum(by_agent[agent].values()), agent))
    rows: Counts = {agent: by_agent[agent] for agent in busiest[:ROWS]}
    for agent in busiest[ROWS:]:
        others = rows.setdefault("others", {})
        for day, count in by_agent[agent].items():
            others[day] = others.get(day, 0) + count
    commits = by_agent.get(COMMITS)
    return {**rows, COMMITS: commits} if commits else rows


def heat_map(visit: Visit, counts: Counts, first: date, today: date) -> Html:
    """A row for each agent and one for commits; a column for each day, or week of a long time."""
    if not counts:
        return empty("Nothing was recorded in this time.")
    days = [first + timedelta(days=number) for number in range((today - first).days + 1)]
    step = 7 if len(days) > WEEKLY else 1
    columns = [days[number : number + step] for number in range(0, len(days), step)]
    cells = [
        html.element("text", f"{column[0]:%b}", x=place * CELL, y=12)
        for place, column in enumerate(columns)
        if any(day.day == 1 for day in column)
    ]
    for number, (name, by_day) in enumerate(counts.items()):
        cells += _row(visit, name, by_day, columns, TOP + number * ROW)
    height = TOP + len(counts) * ROW
    width = len(columns) * CELL
    picture = html.element(
        "svg",
        cells,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        class_="heat",
        role="group",
        aria_label="Events by day and agent",
    )
    names = html.ul([html.li(visible_line(name), title=name) for name in counts])
    days_shown = html.div(
        picture, class_="wide", tabindex="0", role="region", aria_label="Activity"
    )
    return html.div(names, days_shown, class_="activity")


def _row(
    visit: Visit, name: str, by_day: dict[str, int], columns: list[list[date]], y: int
) -> list[Html]:
    """The cells of an agent: the darker, the more events, compared with its busiest day."""
    cells = []
    sums = [sum(by_day.get(day.isoformat(), 0) for day in column) for column in columns]
    most = max(sums, default=1)
    for place, (column, count) in enumerate(zip(columns, sums, strict=True)):
        level = 0 if not count else 1 + min(3, int(4 * count / (most + 1)))
        busy = [day for day in column if by_day.get(day.isoformat())]
        title = f"{column[0]}, {name}: {count:,}"
        rect = html.element(
            "rect",
            html.element("title", title),
            x=place * CELL,
            y=y + 2,
            width=CELL - 1,
            height=ROW - 4,
            class_=f"h{level}",
        )
        if busy:
            rect = html.a(rect, href=visit.here(day=busy[-1].isoformat()), aria_label=title)
        cells.append(rect)
    return cells


def _entries(
    memory: Memory, visit: Visit, since: str, day: str, space: str = ""
) -> list[tuple[str, Html]]:
    """Sessions and commits of a time, each with when it began; of a long time the latest."""
    end = f"{day}T23:59:59.999Z" if day else ""
    entries: list[tuple[str, Html]] = [
        (session.started, card(visit, session, space))
        for session in memory.sessions.overviews(STREAM + 1, since=since, until=end)
        if not day or session.started.startswith(day)
    ]
    commits = [
        record
        for record in memory.records.select(("commit",))
        if record.at >= since and (not day or record.at.startswith(day))
    ]
    commits.sort(key=lambda record: record.at, reverse=True)
    entries += [(record.at, _commit(visit, record, space)) for record in commits[: STREAM + 1]]
    return entries


def _commit(visit: Visit, record: Record, space: str) -> Html:
    author = str((record.metadata or {}).get("author", ""))
    return html.li(
        html.p(
            html.span(f"commit {space}".strip(), class_="chip"),
            " ",
            html.a(excerpt(record.title, 120), href=visit.record(record.ref, space=space)),
            html.small(f" {author} {record.at[:16].replace('T', ' ')}"),
        )
    )


def _stream(entries: list[tuple[str, Html]]) -> Html:
    """Sessions and commits by time, the newest first."""
    if not entries:
        return empty("No session and no commit in this time.")
    newest = sorted(entries, key=lambda pair: pair[0], reverse=True)
    more = len(newest) > STREAM
    return html.join(
        [
            html.ol([item for _, item in newest[:STREAM]], class_="cards"),
            html.p("There are more: choose a day.", class_="quiet") if more else None,
        ]
    )
