"""What happened in some days, what is open, and what an agent that begins now is told of it."""

from __future__ import annotations

from dataclasses import dataclass

from kinen.journal.brief import Entry, by_worth
from kinen.journal.ledger import cites
from kinen.journal.timeline import SessionOverview
from kinen.memory.memory import Memory
from kinen.model.records import Record
from kinen.model.tuples import NamedTuple
from kinen.render.heat import COMMITS, Counts, Period
from kinen.render.lanes import DAYS
from kinen.times import milliseconds

MOST = 200
"""Sessions and commits of some days that are read."""
LATEST = 50
"""Sessions of a time that is too long for bars."""
OPEN = ("next", "failed", "stopped")
"""Kinds of what a session left open."""


@dataclass(frozen=True, slots=True)
class Days:
    """What happened in a time; beside sessions and commits, the space that was given."""

    sessions: list[tuple[SessionOverview, str]]
    commits: list[tuple[Record, str]]
    counts: Counts
    """By agent and hour, for a time that is too long for bars."""


def days(memory: Memory, period: Period, space: str = "", *, commits: bool = True) -> Days:
    """What happened in a time: of a long one the latest sessions, and counts instead of commits.

    Without `commits` the index is not needed, which may not be there yet.
    """
    most = MOST if period.days <= DAYS else LATEST
    overviews = memory.sessions.overviews(most, since=period.start, until=period.end)
    sessions = [(session, space) for session in overviews if session.started >= period.start]
    if period.days <= DAYS or not commits:
        records = memory.git.commits_between(period.start, period.end, MOST) if commits else []
        return Days(sessions, [(record, space) for record in records], {})
    counts: Counts = {}
    for (agent, hour), count in memory.journal.activity().items():
        if hour in period.hours:
            counts.setdefault(agent or "by hand", {})[hour] = count
    by_hour = memory.git.commit_hours(period.start, period.end)
    return Days(sessions, [], {**counts, COMMITS: by_hour} if by_hour else counts)


class Outlook(NamedTuple):
    """What is open, and what an agent that begins now is told."""

    open: list[Entry]
    """Also what sessions of the repository left, which no agent is told."""
    text: str
    budget: int
    fitting: list[str]
    """Refs of what the text cites."""
    left_out: dict[str, str]
    """With their texts: what is not indexed yet has no title."""


def outlook(memory: Memory) -> Outlook:
    start = memory.journal.start()
    text, refs = start.brief()
    entries = start.entries()
    left = by_worth(entry for entry in entries if entry.kind in OPEN)
    left += (
        Entry("next", point, report.ref, report.by, milliseconds(report.at))
        for report in memory.reports.of_clone()
        for point in report.next
    )
    fitting = [ref for ref in refs if cites(text, ref)]
    texts = {entry.ref: entry.text for entry in entries}
    left_out = {ref: texts.get(ref, ref) for ref in refs if ref not in fitting}
    return Outlook(left, text, start.budget, fitting, left_out)
