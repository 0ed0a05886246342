"""The page Timeline: activity by agent as a heat map, sessions and commits as a stream."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

from kinen.errors import QueryError
from kinen.journal.timeline import SessionOverview
from kinen.memory import Memory
from kinen.memory.federation import ask_spaces
from kinen.model.records import Record
from kinen.render.heat import COMMITS, Counts, Period, add, heat_map
from kinen.text import now
from kinen.web.page import ALL, Page, Visit

LEVELS = (2, 7, 14, 30, 90, 180, 365, 1_095, 3_650)
"""Days that the zoom goes through."""
SPANS = (30, 90, 365)
"""Days that have a link of their own."""
USUAL = 90
STREAM = 30
"""Sessions and commits in the stream."""

Entry = tuple[str, SessionOverview | Record, str]
"""When something began, what it is, and its space."""


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
            add(merged.setdefault(name, {}), by_hour)
    return _page(visit, period, merged, [item for _, items in answers for item in items], remarks)


def _page(
    visit: Visit, period: Period, counts: Counts, entries: list[Entry], remarks: Sequence[str] = ()
) -> Page:
    here = visit.here(day="")
    place = f"{here}{'&' if '?' in here else '?'}day="
    values = {
        "day": visit.fields.get("day"),
        "period": period,
        "remarks": remarks,
        "moves": _moves(visit, period),
        "spans": SPANS,
        "usual": USUAL,
        "levels": LEVELS,
        "heat": heat_map(counts, period, lambda _, last: place + last),
        "stream": sorted(entries, key=lambda entry: entry[0], reverse=True),
        "most": STREAM,
    }
    return Page("Timeline", "timeline.html", values, ("timeline.js",), live=True)


def _moves(visit: Visit, period: Period) -> list[tuple[str, str, str, str]]:
    """Links that show more or fewer days, or earlier and later ones; keys and gestures use them."""
    closer = max((days for days in LEVELS if days < period.days), default=0)
    wider = min((days for days in LEVELS if days > period.days), default=0)
    middle = period.last - timedelta(days=period.days // 2)
    half = timedelta(days=max(1, period.days // 2))
    into = middle + timedelta(days=closer // 2)
    if period.last == period.today:
        into = period.today  # what happened lately is looked at most

    def place(days: int, last: date) -> str:
        until = "" if last >= period.today else last.isoformat()
        return visit.here(days=days, until=until, day="")

    later = place(period.days, period.last + half) if period.last < period.today else ""
    return [
        ("in", "+", "Zoom in", place(closer, into) if closer else ""),
        ("out", "−", "Zoom out", place(wider, period.last) if wider else ""),
        ("earlier", "←", "Earlier", place(period.days, period.last - half)),
        ("later", "→", "Later", later),
    ]


def _counts(memory: Memory, period: Period) -> Counts:
    hours = period.hours
    counts: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for (agent, hour), count in memory.journal.activity().items():
        if hour in hours:
            counts[agent or "by hand"][hour] = count
    commits = memory.git.commit_hours(period.start, period.end)
    return {**counts, COMMITS: commits} if commits else dict(counts)


def _entries(memory: Memory, visit: Visit, period: Period, space: str = "") -> list[Entry]:
    """Sessions and commits of a time, each with when it began; of a long time the latest."""
    day = visit.fields.get("day")
    since = day or period.start
    end = f"{day}T23:59:59.999Z" if day else period.end
    sessions = memory.sessions.overviews(STREAM + 1, since=since, until=end)
    entries: list[Entry] = [
        (session.started, session, space)
        for session in sessions
        if not day or session.started.startswith(day)
    ]
    commits = memory.git.commits_between(since, end, STREAM + 1)
    return entries + [(record.at, record, space) for record in commits]
