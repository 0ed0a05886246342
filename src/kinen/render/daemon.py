"""The daemon's state → text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinen.ipc import extras
from kinen.render.style import PLAIN, readable
from kinen.text import excerpt

if TYPE_CHECKING:
    from kinen.render.style import Style

LAST = 5
"""Happenings that are shown."""


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
    """How the daemon is: in short, with one space of it, or with all and what happened."""
    state, last, root = readable(state), readable(last), readable(root)
    if not state:
        said = f"does not serve this kinen: {refusal}" if refusal else _absent(last, held=held)
        return "\n".join([said, *_happened(last, style)]) if whole else said
    queue = ", ".join(state["queue"])
    words = [f"pid {state['pid']}", f"since {state['started']}", f"{state['memory_mb']:.0f} MB"]
    words += [f"waiting: {queue}" if queue else "nothing waits"]
    if state.get("port"):
        words.append(f"port {state['port']}")
    line = ", ".join(words)
    if not whole:
        here = [_space(one, style) for one in state["spaces"] if one["root"] == root]
        others = [one for one in state["spaces"] if one["root"] != root and _bad(one)]
        return "\n".join([line, *here, *(_trouble(one, style) for one in others)])
    left = state["idle_seconds_left"]
    ends = "stays" if left is None else f"ends in {left / 60:.0f} min if nobody asks"
    rows = [f"{style('bold', 'running')}, {line}, {ends}"]
    return "\n".join(
        [*rows, *(_space(one, style) for one in state["spaces"]), *_happened(state, style)]
    )


def _absent(last: dict[str, Any], *, held: bool) -> str:
    if held:
        return "does not answer: `kinen doctor` looks after it"
    if not extras.installed("http"):
        return "optional: " + extras.missing("kinen daemon", "http")
    if not last:
        return "has never run: it starts with a search"
    if not last.get("ended"):
        return f"not running: pid {last.get('pid')} did not end by itself; a search starts it again"
    return f"not running since {last['ended']}: {last.get('why', '')}"


def _space(one: dict[str, Any], style: Style) -> str:
    how = f"{one['watch'] or 'not watched'}{f' ({why})' if (why := one['why']) else ''}"
    done = f"{one['synced']}: {one['done']}" if one["synced"] else "not synced yet"
    line = f"  {style('path', one['name'])}  {one['state']}, {how}, {done}"
    return f"{line}\n{_trouble(one, style)}" if one["error"] else line


def _bad(one: dict[str, Any]) -> bool:
    return bool(one["error"] or one["watch"] == "polling")


def _trouble(one: dict[str, Any], style: Style) -> str:
    said = one["error"] or f"is polled: {one['why']}"
    return style("warn", f"    {one['name']}: {said}")


def _happened(told: dict[str, Any], style: Style) -> list[str]:
    found = told.get("happened") or []
    return [f"  {style('dim', one['at'])} {excerpt(one['what'], 160)}" for one in found[-LAST:]]
