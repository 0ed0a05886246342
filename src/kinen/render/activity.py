"""Text and JSON of what happened lately."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinen.render.text import counted
from kinen.text import iso

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kinen.journal.queries import Activity
    from kinen.render.screen import Screen

BARS = "▁▂▃▄▅▆▇█"
MOST = 4
"""Number of agents or sessions that are listed."""


def sparkline(counts: Sequence[int]) -> str:
    """A bar for each count; a dot for none."""
    top = max(counts, default=0)
    step = len(BARS) - 1
    return "".join(BARS[round(step * count / top)] if count else "·" for count in counts)


def activity_rows(activity: Activity, screen: Screen) -> list[tuple[str, str]]:
    """The rows of `kinen status`: events, open sessions and agents."""
    rows = []
    days = f"{sparkline(activity.days)} last {len(activity.days)} days"
    if activity.observations:
        rows.append(("events", f"{activity.observations:,} · {days}"))
    if activity.open_sessions:
        began = [
            f"{session.agent or 'an agent'} since {screen.time(session.at / 1000)}"
            for session in activity.open_sessions[:MOST]
        ]
        count = counted(len(activity.open_sessions), "sessions")
        rows.append(("open", f"{count}: {', '.join(began)}"))
    if activity.agents:
        last = [f"{agent.agent} {screen.time(agent.at / 1000)}" for agent in activity.agents[:MOST]]
        rows.append(("agents", ", ".join(last)))
    return rows


def activity_json(activity: Activity) -> dict[str, Any]:
    return {
        "observations": activity.observations,
        "days": list(activity.days),
        "agents": [
            {"agent": agent.agent, "last_event": iso(agent.at / 1000)} for agent in activity.agents
        ],
        "open_sessions": [
            {"agent": session.agent, "opened_at": iso(session.at / 1000)}
            for session in activity.open_sessions
        ],
    }
