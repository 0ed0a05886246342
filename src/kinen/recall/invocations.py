"""How a command or a tool was used: equal invocations folded, newest first; pure functions."""

from __future__ import annotations

from collections.abc import Iterable

from kinen.journal import events
from kinen.model.journal import Observation
from kinen.model.tuples import NamedTuple


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


def runs(line: str, program: list[str]) -> bool:
    """Does a command line run a program with these first words, such as `docker compose`?

    `python -m pytest` runs pytest as well as python.
    """
    return any(
        _begins(words, program) or (words[1:2] == ["-m"] and _begins(words[2:], program))
        for words in events.invoked(line)
    )


def _begins(words: list[str], program: list[str]) -> bool:
    name = words[0].rsplit("/", 1)[-1] if words else ""
    return [name, *words[1 : len(program)]] == program


def uses(event: Observation, program: list[str]) -> str:
    """The invocation that an observation tells of, if it is of the command or tool wanted."""
    line = events.command(event)
    if line:
        return line if runs(line, program) else ""
    tool = events.string(event, "toolName") or events.labelled(event, "Tool: ")
    if len(program) == 1 and tool.lower() == program[0].lower():
        return events.tool_use(event) or tool
    return ""


def fold(observations: Iterable[Observation], program: list[str]) -> list[Invocation]:
    """Every invocation once, with counts of success and failure, the latest success first."""
    folded: dict[str, Invocation] = {}
    for event in observations:
        text = uses(event, program)
        if not text:
            continue
        key = " ".join(text.split())
        failed = events.failed(event)
        invocation = folded.get(key, Invocation(text, 0, 0, 0, "", ""))
        latest = event.ts >= invocation.at and not (failed and invocation.succeeded)
        if latest or (not failed and not invocation.succeeded):
            invocation = invocation._replace(
                at=event.ts, session=event.scope.session, ref=event.ref
            )
        folded[key] = invocation._replace(
            succeeded=invocation.succeeded + (not failed), failed=invocation.failed + failed
        )
    return sorted(folded.values(), key=lambda entry: (entry.at, entry.ref), reverse=True)
