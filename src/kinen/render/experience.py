"""Text and JSON of fixes of errors and invocations of commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kinen.characters import visible_line
from kinen.render.style import PLAIN, Style
from kinen.render.text import counted
from kinen.text import excerpt, iso

if TYPE_CHECKING:
    from kinen.recall.errors import Fix, Step
    from kinen.recall.invocations import Invocation

WIDTH = 300
SHORT_SESSION = 8
NOT_KNOWN = "not among the recorded failures"
ANSWER = 600
"""Characters of what an agent answered to a pasted error."""
NOT_USED = "no recorded command matches"


def latest_note(latest: int) -> str:
    """The note that only the latest observations of a command were looked at; empty for all."""
    return f"only the latest {latest:,} observations that name it were looked at" if latest else ""


def omitted_note(omitted: int) -> str:
    """The note that the search for fixes stopped early; empty if it did not."""
    return f"stopped early: {counted(omitted, 'similar failures')} not followed" if omitted else ""


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
        "pasted": fix.pasted,
        "answer": fix.answer,
        "fixed_at": _moment(fix.fixed_at),
        "steps": [dict(step._asdict()) for step in fix.steps],
        "cured": bool(fix.cure),
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
    if fix.pasted:
        answer = visible_line(excerpt(" ".join(fix.answer.split()), ANSWER))
        lines.append(f"  pasted by the user; the answer: {answer or 'none recorded'}")
        return "\n".join(lines)
    if not fix.fixed_at:
        lines += [f"  {_done(step)}" for step in fix.steps]
        lines.append("  not seen to pass again in that session")
        return "\n".join(lines)
    passed = f"{_line(fix.success)} ({_day(fix.fixed_at)})"
    if fix.cure:
        lines += [f"  {_done(step)}" for step in fix.cure]
        lines.append(f"  then succeeded: {passed}")
    else:
        lines.append(f"  afterwards it passed: {passed}")
    others = [step for step in fix.steps if step not in fix.cure]
    if others:
        lines.append("  done in between:" if fix.cure else "  changed or run in between:")
        lines += [f"    {_done(step)}" for step in others]
    if fix.more_steps:
        lines.append(f"    and {fix.more_steps} earlier steps")
    if fix.commit:
        lines.append(f"  commit: {_line(fix.commit)}")
    if fix.came_back:
        lines.append(f"  it came back on {_day(fix.came_back)}")
    return "\n".join(lines)


def _done(step: Step) -> str:
    return f"{'changed' if step.kind == 'edit' else 'ran'}: {_line(step.text)}"


def _line(text: str) -> str:
    return visible_line(excerpt(" ".join(text.split()), WIDTH))


def invocation_json(invocation: Invocation) -> dict[str, Any]:
    return {
        "invocation": invocation.text,
        "succeeded": invocation.succeeded,
        "failed": invocation.failed,
        "unknown": invocation.unknown,
        "at": _moment(invocation.at),
        "session": invocation.session,
        "ref": invocation.ref,
    }


def invocations_text(invocations: Sequence[Invocation], style: Style = PLAIN) -> str:
    return "\n".join(_invocation_text(invocation, style) for invocation in invocations)


def _invocation_text(invocation: Invocation, style: Style) -> str:
    count = invocation.succeeded or invocation.failed or invocation.unknown
    times = f"  ×{count}" if count > 1 else ""
    if not (invocation.succeeded or invocation.failed):
        times += "  ? outcome unknown"
    session = f"  ({invocation.session[:SHORT_SESSION]})" if invocation.session else ""
    about = f"{times}  {_day(invocation.at)}{session}  [{invocation.ref}]"
    return f"{_line(invocation.text)}{style('dim', visible_line(about))}"
