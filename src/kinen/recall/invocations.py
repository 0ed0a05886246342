"""How a command or a tool was used: equal invocations folded, newest first; pure functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kinen.journal import events

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kinen.model.journal import Observation


class Invocation(NamedTuple):
    """A command line or a use of a tool, and how often it was made."""

    text: str
    succeeded: int
    failed: int
    at: int
    """When it last succeeded, or last failed if it never did; epoch milliseconds."""
    session: str
    ref: str
    """The observation of that time."""


def runs(line: str, wanted: list[str]) -> bool:
    """Does a command line run a program with these first words, such as `docker compose`?

    `python -m pytest` runs pytest as well as python.
    """
    return any(
        _begins(words, wanted) or (words[1:2] == ["-m"] and _begins(words[2:], wanted))
        for words in events.invoked(line)
    )


def _begins(words: list[str], wanted: list[str]) -> bool:
    name = words[0].rsplit("/", 1)[-1] if words else ""
    return [name, *words[1 : len(wanted)]] == wanted


def uses(event: Observation, wanted: list[str]) -> str:
    """The invocation that an observation tells of, if it is of the command or tool wanted."""
    line = events.command(event)
    if line:
        return line if runs(line, wanted) else ""
    tool = events.string(event, "toolName") or events.labelled(event, "Tool: ")
    if len(wanted) == 1 and tool.lower() == wanted[0].lower():
        return events.tool_use(event) or tool
    return ""


def fold(observations: Iterable[Observation], wanted: list[str]) -> list[Invocation]:
    """Every invocation once, with counts of success and failure, the latest success first."""
    folded: dict[str, Invocation] = {}
    for event in observations:
        text = uses(event, wanted)
        if not text:
            continue
        key = " ".join(text.split())
        failed = events.failed(event)
        known = folded.get(key, Invocation(text, 0, 0, 0, "", ""))
        latest = event.ts >= known.at and not (failed and known.succeeded)
        if latest or (not failed and not known.succeeded):
            known = known._replace(at=event.ts, session=event.scope.session, ref=event.ref)
        folded[key] = known._replace(
            succeeded=known.succeeded + (not failed), failed=known.failed + failed
        )
    return sorted(folded.values(), key=lambda one: (one.at, one.ref), reverse=True)
