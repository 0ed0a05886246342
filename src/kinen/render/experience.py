"""Text and JSON of fixes of errors and invocations of commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kinen.characters import visible_line
from kinen.render.style import PLAIN, Style
from kinen.text import excerpt, iso

if TYPE_CHECKING:
    from kinen.recall.errors import Fix
    from kinen.recall.invocations import Invocation

WIDTH = 300
SHORT_SESSION = 8
NOT_KNOWN = "this error did not occur here before"
NOT_USED = "no recorded command matches"


def _moment(at: int) -> str | None:
    return iso(at / 1000) if at else None


def _day(at: int) -> str:
    return iso(at / 1000)[:10]


def fix_json(fix: Fix) -> dict[str, Any]:
    return {
        "error": fix.error,
        "ref": fix.ref,
        "at": _moment(fix.at),
        "session": fix.session,
        "command": fix.command,
        "likeness": fix.likeness,
        "fixed_at": _moment(fix.fixed_at),
        "steps": [dict(step._asdict()) for step in fix.steps],
        "more_steps": fix.more_steps,
        "success": fix.success,
        "commit": fix.commit,
        "came_back": _moment(fix.came_back),
    }


def fixes_text(fixes: Sequence[Fix], style: Style = PLAIN) -> str:
    return "\n\n".join(fix_text(fix, style) for fix in fixes)


def fix_text(fix: Fix, style: Style = PLAIN) -> str:
    """An occurrence of an error: what failed, what was done, what succeeded afterwards."""
    session = f" in session {fix.session[:SHORT_SESSION]}" if fix.session else ""
    where = visible_line(f"{_day(fix.at)}{session}")
    lines = [_line(fix.error), style("dim", f"  {fix.likeness:.0%} similar, {where} [{fix.ref}]")]
    if fix.command:
        lines.append(f"  failed: {_line(fix.command)}")
    for step in fix.steps:
        word = "changed" if step.kind == "edit" else "ran"
        lines.append(f"  {word}: {_line(step.text)}")
    if fix.more_steps:
        lines.append(f"  and {fix.more_steps} earlier steps")
    if not fix.fixed_at:
        lines.append("  not fixed in that session")
        return "\n".join(lines)
    lines.append(f"  then succeeded: {_line(fix.success)} ({_day(fix.fixed_at)})")
    if fix.commit:
        lines.append(f"  commit: {_line(fix.commit)}")
    if fix.came_back:
        lines.append(f"  it came back on {_day(fix.came_back)}")
    return "\n".join(lines)


def _line(text: str) -> str:
    return visible_line(excerpt(" ".join(text.split()), WIDTH))


def invocation_json(invocation: Invocation) -> dict[str, Any]:
    return {
        "invocation": invocation.text,
        "succeeded": invocation.succeeded,
        "failed": invocation.failed,
        "at": _moment(invocation.at),
        "session": invocation.session,
        "ref": invocation.ref,
    }


def invocations_text(invocations: Sequence[Invocation], style: Style = PLAIN) -> str:
    return "\n".join(_invocation_text(invocation, style) for invocation in invocations)


def _invocation_text(invocation: Invocation, style: Style) -> str:
    count = invocation.succeeded or invocation.failed
    times = f"  ×{count}" if count > 1 else ""
    session = f"  ({invocation.session[:SHORT_SESSION]})" if invocation.session else ""
    about = f"{times}  {_day(invocation.at)}{session}  [{invocation.ref}]"
    return f"{_line(invocation.text)}{style('dim', visible_line(about))}"
