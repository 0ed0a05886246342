"""The page Today: what happened in some days, what was decided, what is open, what comes next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from kinen.errors import QueryError
from kinen.journal.ledger import cites
from kinen.journal.timeline import SessionOverview
from kinen.journal.worth import by_worth
from kinen.memory import Memory
from kinen.memory.federation import ask_spaces
from kinen.memory.reports import Point
from kinen.model.records import Record
from kinen.render.heat import COMMITS, EPOCH, Counts, Period, add, heat_map
from kinen.render.lanes import DAYS, lanes
from kinen.render.treemap import treemap
from kinen.text import epoch, estimate, now
from kinen.times import milliseconds
from kinen.web.page import ALL, Page, Visit
from kinen.web.records import title_of
from kinen.web.sent import sections

SPANS = (1, 7, 30, 90, 365)
"""Days that have a link of their own."""
USUAL = 7
LONGEST = 3_650
MOST = 200
"""Sessions and commits of some days that are read."""
LATEST = 50
"""Sessions of a time that is too long for bars."""
POINTS = 6
"""Decisions and open points that are shown."""
FILES = 30
"""Files in the map."""
OPEN = ("next", "failed", "stopped")
"""Kinds of what a session left open."""

Dated = tuple[SessionOverview, str]
"""A session, and its space where that is not the one of the page."""


@dataclass(frozen=True, slots=True)
class Days:
    """What happened in a time."""

    sessions: list[Dated]
    commits: list[tuple[Record, str]]
    counts: Counts
    """By agent and hour, for a time that is too long for bars."""


def period_of(visit: Visit, last: str = "") -> Period:
    """The days that a visit asks for; without any, a week until `last`, the latest work."""
    days = max(1, visit.fields.number("days", USUAL, LONGEST))
    today = datetime.fromtimestamp(now(), UTC).date()
    until = visit.fields.get("until") or last or today.isoformat()
    try:
        end = min(today, date.fromisoformat(until[:10]))
        return Period(end - timedelta(days=days - 1), end, today)
    except (OverflowError, ValueError) as error:
        raise QueryError(f"invalid date {until!r}", "use a date such as 2026-03-01") from error


def page(memory: Memory, visit: Visit) -> Page:
    newest = memory.sessions.overviews(1, counts=False)
    period = period_of(visit, newest[0].ended or newest[0].started if newest else "")
    days = _days(memory, period)
    points = memory.reports.decisions(period.start)
    decided = [point for point in points if point.at <= period.end]
    edits = memory.journal.edited_files(milliseconds(period.start), milliseconds(period.end))
    values = {
        **_values(visit, period, days, decided),
        "decided": decided,
        "files": treemap(edits[:FILES]),
        "more": [] if visit.reader else _what_is_next(memory),
        "known": bool(newest),
    }
    return Page(_title(period), "today.html", values, ("today.js",), live=True)


def page_of_all(visit: Visit) -> Page:
    """What happened in all spaces."""
    remarks: list[str] = []
    period = period_of(visit)
    answers = ask_spaces(
        [ALL], lambda memory: _days(memory, period, memory.space.name), remarks.append
    )
    counts: Counts = {}
    for answer in answers:
        for name, by_hour in answer.counts.items():
            add(counts.setdefault(name, {}), by_hour)
    sessions = [pair for answer in answers for pair in answer.sessions]
    sessions.sort(key=lambda pair: pair[0].started, reverse=True)
    commits = [pair for answer in answers for pair in answer.commits]
    values = {
        **_values(visit, period, Days(sessions, commits, counts), ()),
        "remarks": remarks,
        "known": True,
    }
    return Page(_title(period), "today.html", values, ("today.js",), live=True)


def _title(period: Period) -> str:
    """The days in words: `Today`, `Last 7 days`, `9 Nov`, `9 to 15 Nov`."""
    if period.last == period.today:
        return "Today" if period.days == 1 else f"Last {period.days} days"
    end = f"{period.last:%-d %b}"
    if period.last.year != period.today.year:
        end += f" {period.last.year}"
    if period.days == 1:
        return end
    same = (period.first.year, period.first.month) == (period.last.year, period.last.month)
    begin = f"{period.first:{'%-d' if same else '%-d %b'}}"
    if period.first.year != period.last.year:
        begin += f" {period.first.year}"
    return f"{begin} to {end}"


def _days(memory: Memory, period: Period, space: str = "") -> Days:
    """What happened in a time: of a long one the latest sessions, and counts instead of commits."""
    most = MOST if period.days <= DAYS else LATEST
    overviews = memory.sessions.overviews(most, since=period.start, until=period.end)
    sessions = [(session, space) for session in overviews if session.started >= period.start]
    if period.days <= DAYS:
        commits = memory.git.commits_between(period.start, period.end, MOST)
        return Days(sessions, [(record, space) for record in commits], {})
    counts: Counts = {}
    for (agent, hour), count in memory.journal.activity().items():
        if hour in period.hours:
            counts.setdefault(agent or "by hand", {})[hour] = count
    by_hour = memory.git.commit_hours(period.start, period.end)
    return Days(sessions, [], {**counts, COMMITS: by_hour} if by_hour else counts)


def _values(visit: Visit, period: Period, days: Days, decided: Sequence[Point]) -> dict[str, Any]:
    sessions = [session for session, _ in days.sessions]
    later = min(period.today, period.last + timedelta(days=period.days))
    url = visit.here(days="", until="")
    values: dict[str, Any] = {
        "period": period,
        "remarks": [],
        "spans": [(span, visit.url(days=span)) for span in SPANS],
        "earlier": _place(visit, period, period.first - timedelta(days=1)),
        "later": _place(visit, period, later) if period.last < period.today else "",
        "sessions": days.sessions,
        "full": len(sessions) >= (MOST if period.days <= DAYS else LATEST),
        "totals": {
            name: sum(getattr(session, name) for session in sessions)
            for name in ("seconds", "prompts", "edits", "commands", "errors")
        },
        "heat": None,
        "lanes": None,
        "commits": len(days.commits),
        "decided": (),
        "files": None,
        "more": [],
        "points": POINTS,
    }
    if period.days > DAYS:
        day = f"{url}{'&' if '?' in url else '?'}days=1&until="
        earliest = min((hour for hours in days.counts.values() for hour in hours), default=0)
        first = max(period.first, EPOCH + timedelta(hours=earliest))
        fitting = Period(first, period.last, period.today)
        values["heat"] = heat_map(days.counts, fitting, lambda _, last: day + last)
        values["commits"] = sum(days.counts.get(COMMITS, {}).values())
        return values
    marks = [(epoch(point.at) / 1000, point.text, visit.record(point.ref)) for point in decided]
    values["lanes"] = lanes(
        period,
        [(session, visit.session(session, space)) for session, space in days.sessions],
        _commit_marks(visit, days.commits),
        marks,
    )
    return values


def _place(visit: Visit, period: Period, last: date) -> str:
    until = "" if last >= period.today else last.isoformat()
    return visit.here(days=period.days, until=until)


def _commit_marks(
    visit: Visit, commits: Iterable[tuple[Record, str]]
) -> list[tuple[float, str, str]]:
    return [
        (epoch(record.at) / 1000, record.title, visit.record(record.ref, space=space))
        for record, space in commits
    ]


def _what_is_next(memory: Memory) -> dict[str, Any]:
    """What is open, and what an agent that begins now is told of everything."""
    start = memory.journal.start()
    text, refs = start.brief()
    entries = start.entries()
    texts = {entry.ref: entry.text for entry in entries}  # what is not indexed yet has no title
    left = by_worth(entry for entry in entries if entry.kind in OPEN)
    fits = [ref for ref in refs if cites(text, ref)]
    left_out = [ref for ref in refs if ref not in fits]
    return {
        "open": left,
        "tokens": estimate(text),
        "budget": start.budget,
        "parts": sections(text),
        "fits": len(fits),
        "all": len(refs),
        "left_out": [
            (ref, title if title != ref else texts.get(ref, ref))
            for ref in left_out[:POINTS]
            for title in (title_of(memory, ref),)
        ],
        "missing": len(left_out),
    }
