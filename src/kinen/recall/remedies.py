"""Commands that failed and what was run instead: known before an agent runs them again. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from kinen.journal import events
from kinen.journal.action import bare_command
from kinen.model.journal import Observation
from kinen.model.tuples import NamedTuple
from kinen.recall.invocations import form
from kinen.text import excerpt

WITHIN = 6
"""Actions after a failure in which another way has to succeed, so that it is one."""
LONGEST = 160
"""Characters of a command; a longer one is not run again as it is."""
ERROR = 120
CHECKS = frozenset(
    """--check --dry-run check lint fmt format clippy credo dialyzer vet build compile tsc eslint
    prettier ruff mypy pyright flake8 pylint black isort shellcheck pre-commit diff""".split()
)
"""Words of commands whose failure is about the code and not about how they are called."""


class Remedy(NamedTuple):
    """A command line that fails here, and the one that worked in its place."""

    command: str
    error: str
    instead: str
    ref: str
    at: int


def remedies(observations: Iterable[Observation]) -> list[Remedy]:
    """The commands of a session that failed and for which another one worked at once.

    Left out: what was fixed by an edit, for then the code was wrong and not the command; tests;
    what only looks around; and commands that succeed elsewhere in the session.
    """
    actions = [event for event in observations if event.kind in (*events.ACTIONS, "error")]
    succeeded = {
        bare_command(events.command(event)) for event in actions if events.succeeded(event)
    }
    found: dict[str, Remedy] = {}
    for place, event in enumerate(actions):
        command = bare_command(events.command(event))
        if not _is_candidate(event, command) or command in succeeded:
            continue
        instead = _instead(event, actions[place + 1 : place + 1 + WITHIN])
        error = excerpt(events.named_error(event).strip("(+- "), ERROR)
        if instead and error:
            found[command] = Remedy(command, error, instead, event.ref, event.ts)
    return list(found.values())


def _is_candidate(event: Observation, command: str) -> bool:
    return (
        0 < len(command) <= LONGEST
        and "\n" not in command
        and events.failed(event)
        and not events.is_test(event)
        and not events.looks_around(event)
        and not _judges_code(command)
    )


def _judges_code(command: str) -> bool:
    """Does a command fail because of the code it looks at, as compilers and linters do?"""
    return any(CHECKS & set(words) for words in events.invoked(command))


def _purpose(event: Observation) -> set[str]:
    """The words of a command that say what it is for: no options, values and numbers."""
    return {word for word in form(events.command(event)).split() if word[0].isalpha()}


def _instead(failure: Observation, later: list[Observation]) -> str:
    """Another command line for the same purpose that worked, before anything was edited.

    All that the first one names is there: `docker compose ps` is not run in place of `… up db`.
    """
    purpose = _purpose(failure)
    failed_command = bare_command(events.command(failure))
    for event in later:
        if event.kind == "file_diff":
            return ""
        command = bare_command(events.command(event))
        if not (events.succeeded(event) and purpose and purpose <= _purpose(event)):
            continue
        if command != failed_command and len(command) <= LONGEST and "\n" not in command:
            return command
        return ""
    return ""
