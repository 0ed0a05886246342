"""The pages Today, Week and Errors: what happened, what is open, which errors came back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from kinen.errors import QueryError
from kinen.memory import Memory
from kinen.memory.federation import ask_spaces
from kinen.memory.reports import Point
from kinen.memory.today import LATEST, MOST, Days, days, outlook
from kinen.recall.errors import Fixes
from kinen.render.heat import COMMITS, EPOCH, Counts, Period, add, heat_map
from kinen.render.lanes import DAYS, lanes
from kinen.render.treemap import treemap
from kinen.text import epoch, estimate, iso, now
from kinen.times import milliseconds
from kinen.web.page import ALL, Page, Visit
from kinen.web.sent import sections

SPANS = (1, 7, 30, 90, 365)
"""Days that have a link of their own."""
USUAL = 7
LONGEST = 3_650
POINTS = 6
"""Decisions and open points that are shown."""
FILES = 30
"""Files in the map."""
WEEK = 7 * 86_400
LEAST = 2
"""Sessions in which an error was seen before it counts as one that comes back."""


def period_of(visit: Visit, last: str = "") -> Period:
    """The days that a visit asks for; without any, a week until `last`, the latest work."""
    days = max(1, visit.fields.number("days", USUAL, LONGEST))
    return Period.until(visit.fields.get("until") or last, days)


def page(memory: Memory, visit: Visit) -> Page:
    newest = memory.sessions.overviews(1, counts=False)
    period = period_of(visit, newest[0].ended or newest[0].started if newest else "")
    happened = days(memory, period)
    decided = memory.reports.decisions(period.start, period.end)
    edits = memory.journal.edited_files(milliseconds(period.start), milliseconds(period.end))
    values = {
        **_values(visit, period, happened, decided),
        "decided": decided,
        "files": treemap(edits[:FILES]),
        "more": [] if visit.reader else _what_is_next(memory),
        "known": bool(newest),
    }
    return Page(period.title, "today.html", values, ("today.js",), live=True)


def page_of_all(visit: Visit) -> Page:
    """What happened in all spaces."""
    remarks: list[str] = []
    period = period_of(visit)
    answers = ask_spaces(
        [ALL], lambda memory: days(memory, period, memory.space.name), remarks.append
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
    return Page(period.title, "today.html", values, ("today.js",), live=True)


def _values(
    visit: Visit, period: Period, happened: Days, decided: Sequence[Point]
) -> dict[str, Any]:
    sessions = [session for session, _ in happened.sessions]
    later = min(period.today, period.last + timedelta(days=period.days))
    url = visit.here(days="", until="")
    values: dict[str, Any] = {
        "period": period,
        "remarks": [],
        "spans": [(span, visit.url(days=span)) for span in SPANS],
        "earlier": _place(visit, period, period.first - timedelta(days=1)),
        "later": _place(visit, period, later) if period.last < period.today else "",
        "sessions": happened.sessions,
        "full": len(sessions) >= (MOST if period.days <= DAYS else LATEST),
        "most_commits": MOST,
        "totals": {
            name: sum(getattr(session, name) for session in sessions)
            for name in ("seconds", "prompts", "edits", "commands", "errors")
        },
        "heat": None,
        "lanes": None,
        "commits": len(happened.commits),
        "decided": (),
        "files": None,
        "more": [],
        "points": POINTS,
    }
    if period.days > DAYS:
        day = f"{url}{'&' if '?' in url else '?'}days=1&until="
        counts = happened.counts
        earliest = min((hour for hours in counts.values() for hour in hours), default=0)
        first = max(period.first, EPOCH + timedelta(hours=earliest))
        fitting = Period(first, period.last, period.today)
        values["heat"] = heat_map(counts, fitting, lambda _, last: day + last)
        values["commits"] = sum(happened.counts.get(COMMITS, {}).values())
        return values
    marks = [(epoch(point.at) / 1000, point.text, visit.record(point.ref)) for point in decided]
    values["lanes"] = lanes(
        period,
        [(session, visit.session(session, space)) for session, space in happened.sessions],
        [
            (epoch(record.at) / 1000, record.title, visit.record(record.ref, space=space))
            for record, space in happened.commits
        ],
        marks,
    )
    return values


def _place(visit: Visit, period: Period, last: date) -> str:
    until = "" if last >= period.today else last.isoformat()
    return visit.here(days=period.days, until=until)


def _what_is_next(memory: Memory) -> dict[str, Any]:
    """What is open, and what an agent that begins now is told of everything."""
    next_ = outlook(memory)
    return {
        "open": next_.open,
        "tokens": estimate(next_.text),
        "budget": next_.budget,
        "parts": sections(next_.text),
        "fits": len(next_.fitting),
        "all": len(next_.fitting) + len(next_.left_out),
        "left_out": [
            (ref, title if title != ref else text)
            for ref, text in [*next_.left_out.items()][:POINTS]
            for title in (memory.records.title(ref),)
        ],
        "missing": len(next_.left_out),
    }


def week_page(memory: Memory, visit: Visit) -> Page:
    """What was done since a time, by default in the last week."""
    since = visit.fields.get("since")
    begin = milliseconds(since) / 1000 if since else now() - WEEK
    values = {"report": memory.reports.standup_report(iso(begin)), "since": since or "1w"}
    return Page("Week", "week.html", values)


def errors_page(memory: Memory, visit: Visit) -> Page:
    """How an error was fixed before, and which errors come back."""
    error = visit.fields.get("q")
    fixes: Fixes | None = None
    problem = ""
    if error:
        try:
            fixes = memory.experience.fix(error)
        except QueryError as refusal:
            problem = f"{refusal.message}: {refusal.hint}"
    recurring, read = memory.experience.friction(LEAST)
    values = {
        "error": error,
        "fixes": fixes,
        "problem": problem,
        "recurring": recurring,
        "corrections": memory.experience.corrections(LEAST),
        "read": read,
        "least": LEAST,
    }
    return Page("Errors", "errors.html", values)
