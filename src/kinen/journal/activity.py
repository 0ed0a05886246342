"""What happened lately: events per day, agents with their last event, open sessions."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from kinen.model.tuples import NamedTuple

if TYPE_CHECKING:
    import sqlite3

DAYS = 14
DAY_MS = 86_400_000


class AgentActivity(NamedTuple):
    """An agent and its last event, in epoch milliseconds."""

    agent: str
    at: int


class Activity(NamedTuple):
    """What happened lately in a space."""

    observations: int = 0
    days: tuple[int, ...] = (0,) * DAYS
    """Events of each of the last days, today last."""
    agents: tuple[AgentActivity, ...] = ()
    """The last active first."""
    open_sessions: tuple[AgentActivity, ...] = ()
    """The agent of each open session, and when it began; the newest first."""


def observations(db: sqlite3.Connection) -> int:
    """How many observations there are that were not forgotten."""
    count = db.execute("SELECT COUNT(*) FROM observations WHERE forgotten_at = 0").fetchone()[0]
    return int(count)


def first_at(db: sqlite3.Connection) -> int:
    """When the first observation was made, in epoch milliseconds; 0 without any."""
    return int(db.execute("SELECT IFNULL(MIN(ts), 0) FROM observations").fetchone()[0])


def only_open_session(db: sqlite3.Connection, agent: str) -> str:
    """The session that an agent has open, if it is one."""
    rows = db.execute(
        "SELECT session FROM capsules WHERE status = 'open' AND type = 'session'"
        " AND agent = ? LIMIT 2",
        (agent,),
    ).fetchall()
    return str(rows[0][0]) if len(rows) == 1 else ""


def recent_activity(db: sqlite3.Connection, now: float) -> Activity:
    """The activity until now, in days of local time."""
    today = time.localtime(now)
    midnight = time.mktime((*today[:3], 0, 0, 0, 0, 0, -1)) * 1000
    first = midnight - (DAYS - 1) * DAY_MS
    days = [0] * DAYS
    rows = db.execute(
        "SELECT CAST((ts - ?) / ? AS INTEGER), COUNT(*) FROM observations"
        " WHERE ts >= ? AND forgotten_at = 0 GROUP BY 1",
        (first, DAY_MS, first),
    )
    for day, count in rows:
        days[min(day, DAYS - 1)] += count
    agents = db.execute(
        "SELECT agent, MAX(ts) FROM observations WHERE agent != '' AND forgotten_at = 0"
        " GROUP BY agent ORDER BY 2 DESC"
    )
    sessions = db.execute(
        "SELECT agent, opened_at FROM capsules WHERE status = 'open' AND type = 'session'"
        " AND forgotten_at = 0 ORDER BY opened_at DESC"
    )
    return Activity(
        observations(db),
        tuple(days),
        tuple(AgentActivity(*row) for row in agents),
        tuple(AgentActivity(*row) for row in sessions),
    )
