"""Text of the daemon's state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinen.ipc import extras
from kinen.render.screen import PLAIN, Style, readable
from kinen.render.text import counted
from kinen.text import excerpt, iso

if TYPE_CHECKING:
    from kinen.journal.queries import Activity
    from kinen.render.screen import Screen

EVENTS = 5
"""Number of recent events shown."""


def daemon_text(
    state: dict[str, Any],
    last: dict[str, Any],
    *,
    held: bool = False,
    refusal: str = "",
    style: Style = PLAIN,
    whole: bool = False,
    root: str = "",
) -> str:
    """The daemon's state: one line and the space at `root`, or with `whole` everything.

    `state` is what the daemon reports, empty if it does not answer; `last` is what the last daemon
    wrote to disk; `held` says whether a process holds its lock.
    """
    state = readable(state)
    last = readable(last)
    root = readable(root)
    if not state:
        absence = f"does not serve this version of kinen: {refusal}" if refusal else ""
        absence = absence or _absence(last, held=held)
        return "\n".join([absence, *_events(last, style)]) if whole else absence
    queued = len(state["queue"])
    facts = [
        f"pid {state['pid']}",
        f"since {state['started']}",
        f"{state['memory_mb']:.0f} MB",
        f"{counted(queued, 'spaces')} queued" if queued else "idle",
        *([f"port {state['port']}"] if state.get("port") else []),
    ]
    line = ", ".join(facts)
    if not whole:
        here = [_space(space, style) for space in state["spaces"] if space["root"] == root]
        others = [
            space
            for space in state["spaces"]
            if space["root"] != root and (space["error"] or space["watch"] == "polling")
        ]
        return "\n".join([line, *here, *(_trouble(space, style) for space in others)])
    left = state["idle_seconds_left"]
    end = "no idle timeout" if left is None else f"exits after {left / 60:.0f} more idle minutes"
    rows = [f"{style('bold', 'running')}, {line}, {end}"]
    names = [space["name"] for space in state["spaces"]]
    for space in state["spaces"]:
        # Clones of one name are called by their folders.
        name = space["root"] if names.count(space["name"]) > 1 else space["name"]
        rows.append(_space({**space, "name": name}, style))
    return "\n".join([*rows, *_events(state, style)])


def _absence(last: dict[str, Any], *, held: bool) -> str:
    if held:
        starting = not last or last.get("ended")  # it has not written its own record yet
        return "is starting" if starting else "does not answer: run `kinen doctor`"
    if not extras.installed("http"):
        return "optional: " + extras.missing("kinen daemon", "http")
    if not last:
        return "has not run yet: the first search starts it"
    if not last.get("ended"):
        return f"not running: pid {last.get('pid')} was killed; the next search starts it again"
    return f"stopped at {last['ended']}: {last.get('why', '')}"


def _space(space: dict[str, Any], style: Style) -> str:
    reason = f" ({space['why']})" if space["why"] else ""
    watch = f"{space['watch'] or 'not watched'}{reason}"
    sync = f"{space['synced']}: {space['done']}" if space["synced"] else "not synced yet"
    line = f"  {style('path', space['name'])}  {space['state']}, {watch}, {sync}"
    return f"{line}\n{_trouble(space, style)}" if space["error"] else line


def _trouble(space: dict[str, Any], style: Style) -> str:
    trouble = space["error"] or f"is polled: {space['why']}"
    return style("warn", f"    {space['name']}: {trouble}")


def _events(state: dict[str, Any], style: Style) -> list[str]:
    events = state.get("happened") or []
    return [
        f"  {style('dim', event['at'])} {excerpt(event['what'], 160)}" for event in events[-EVENTS:]
    ]


BARS = "▁▂▃▄▅▆▇█"
"""For the events of a day, compared with the busiest; a dot stands for none."""
MOST = 4
"""Number of agents or sessions that are listed."""


def activity_rows(activity: Activity, screen: Screen) -> list[tuple[str, str]]:
    """The rows of `kinen status`: events, open sessions and agents."""
    rows = []
    if activity.observations:
        top = max(activity.days, default=0)
        step = len(BARS) - 1
        bars = (BARS[round(step * count / top)] if count else "·" for count in activity.days)
        days = f"{''.join(bars)} last {len(activity.days)} days"
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
