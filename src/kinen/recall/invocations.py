"""How a command or a tool was used: runs of one form folded, newest first; pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kinen.journal import events, shell
from kinen.model.journal import Observation
from kinen.model.tuples import NamedTuple

SELECTORS = frozenset("-run -k -t -g --grep --filter --tests --testNamePattern -count".split())
"""Options whose value says which tests run, which differs from run to run."""
_VALUE = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|(?<!\S)\d+(?!\S)")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_WORD = re.compile(r"\w+")


class Invocation(NamedTuple):
    """The uses of a command or a tool that have one form."""

    text: str
    """The latest of them that succeeded, else the latest."""
    succeeded: int
    failed: int
    unknown: int
    """How often nobody knows how it ended."""
    at: int
    """When it last succeeded, or was last used if it never did; epoch milliseconds."""
    session: str
    ref: str
    """The observation of that time."""
    by: str = ""
    """Whose session it was, if it was somebody else's."""


class Invocations(NamedTuple):
    """How a command or a tool was used."""

    invocations: list[Invocation]
    latest: int = 0
    """How many observations were looked at, the latest, if there are more; 0 if all were."""


def names(line: str, searched: list[str]) -> bool:
    """Whether each searched word stands in a command line, anywhere: as a word or a part of one.

    What is quoted is text, such as the message of a commit.
    """
    run = " ".join(_QUOTED.sub(" ", part.text) for part in shell.parts(line))
    words = set(_WORD.findall(run.lower()))
    return all(set(_WORD.findall(word.lower())) <= words for word in searched)


def runs(line: str, program: list[str]) -> bool:
    """Whether a command line runs a program with these first words, such as `docker compose`.

    `python -m pytest` runs pytest as well as python.
    """
    return any(
        _begins(words, program) or (words[1:2] == ["-m"] and _begins(words[2:], program))
        for words in events.invoked(line)
    )


def _begins(words: list[str], program: list[str]) -> bool:
    name = words[0].rsplit("/", 1)[-1] if words else ""
    return [name, *words[1 : len(program)]] == program


def form(line: str) -> str:
    """What invocations of one form have in common: no values, pipes, redirections or selections."""
    forms = []
    for words in events.invoked(_VALUE.sub("…", line)):
        chosen = []
        for before, word in zip(["", *words], words, strict=False):
            if ">" in word:
                break
            chosen.append("…" if before in SELECTORS else word.partition("::")[0])
        forms.append(" ".join(chosen))
    return " && ".join(forms)


def uses(event: Observation, searched: list[str]) -> str:
    """The invocation that an observation records, if it is of the command or tool searched."""
    line = events.command(event)
    if line:
        return line if names(line, searched) else ""
    tool = events.string(event, "toolName") or events.labelled(event, "Tool: ")
    if len(searched) == 1 and tool.lower() == searched[0].lower():
        return events.tool_use(event) or tool
    return ""


def fold(observations: Iterable[Observation], searched: list[str]) -> list[Invocation]:
    """Every form once, with how often it succeeded and failed.

    What begins with the given words comes first, then the latest success.
    """
    folded: dict[str, Invocation] = {}
    for event in observations:
        text = uses(event, searched)
        if not text:
            continue
        key = form(text) if events.command(event) else text
        succeeded = events.succeeded(event)
        invocation = folded.get(key, Invocation(text, 0, 0, 0, 0, "", ""))
        latest = event.ts >= invocation.at and (succeeded or not invocation.succeeded)
        if latest or (succeeded and not invocation.succeeded):
            invocation = invocation._replace(
                text=" ".join(text.split()),
                at=event.ts,
                session=event.scope.session,
                ref=event.ref,
                by=event.by,
            )
        folded[key] = invocation._replace(
            succeeded=invocation.succeeded + (succeeded is True),
            failed=invocation.failed + (succeeded is False),
            unknown=invocation.unknown + (succeeded is None),
        )
    newest = sorted(folded.values(), key=lambda entry: (entry.at, entry.ref), reverse=True)
    return sorted(newest, key=lambda entry: not runs(entry.text, searched))
