"""Extracts findings from failed commands: what fixed a command, and what keeps failing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kinen.journal import events
from kinen.journal.action import bare_command
from kinen.model.journal import Finding, Observation
from kinen.model.tuples import NamedTuple
from kinen.privacy.injected import asks_kinen, is_kinen_tool
from kinen.text import excerpt, iso
from kinen.text.sentences import statement

OFTEN = 3
"""The number of failures from which a command yields a finding."""

_NOTHING_SAID = re.compile(r"(?i)\bexit(?:ed)?\b.{0,20}\b(?:code|status)\b|\bcommand failed\b")
"""An error that only says that there was one."""
_VARYING = re.compile(r"(?i)0x[0-9a-f]+|\b[0-9a-f]{7,64}\b|\d+(?:\.\d+)*|(?:/[\w.@-]+){2,}")


def is_ours(event: Observation) -> bool:
    """Whether an event is a use of kinen, whose results are already stored."""
    return is_kinen_tool(events.string(event, "toolName")) or asks_kinen(events.command(event)) > 0


class _Trouble(NamedTuple):
    """The failures of a command with the same error, and the activity since the last of them."""

    error: str
    failures: tuple[Observation, ...]
    since: tuple[str, ...] = ()
    """Other commands that succeeded."""
    edited: bool = False

    @property
    def refs(self) -> tuple[str, ...]:
        return tuple(failure.ref for failure in self.failures)

    @property
    def at(self) -> str:
        return iso(self.failures[0].ts / 1000)


def from_repeated(observations: Iterable[Observation]) -> Iterator[Finding]:
    """Commands that failed often and succeeded after exactly one other command."""
    open_: dict[str, _Trouble] = {}
    for event in observations:
        command = _command(event)
        error = _error(event)
        if command and error:
            before = open_.get(command, _Trouble(error, ()))
            again = before.failures if _signature(before.error) == _signature(error) else ()
            open_[command] = _Trouble(error, (*again, event))
        elif event.kind == "file_diff":
            open_ = {name: trouble._replace(edited=True) for name, trouble in open_.items()}
        elif command and events.succeeded(event):
            was = open_.pop(command, None)
            if was and len(was.failures) >= OFTEN and len(was.since) == 1 and not was.edited:
                text = f"`{command}` failed with `{was.error}` until `{was.since[0]}` was run"
                sources = (*was.refs, event.ref)
                yield Finding("lesson", statement("", text), 0.75, sources, was.at)
            open_ = {
                name: trouble._replace(since=(*trouble.since, command))
                for name, trouble in open_.items()
            }


def from_events(observations: Iterable[Observation]) -> list[Finding]:
    """Commands that failed often with the same error, in two sessions, and did not pass since."""
    troubles: dict[tuple[str, str], _Trouble] = {}
    for event in observations:
        command = _command(event)
        error = _error(event)
        if command and events.succeeded(event):
            troubles = {key: trouble for key, trouble in troubles.items() if key[0] != command}
        elif command and error and not (event.redacted or event.forgotten_at or is_ours(event)):
            key = command, _signature(error)
            trouble = troubles.get(key, _Trouble(error, ()))
            troubles[key] = trouble._replace(failures=(*trouble.failures, event))
    return [
        Finding(
            "pattern",
            statement("", f"`{command}` keeps failing: `{trouble.error}`"),
            0.7,
            trouble.refs,
            trouble.at,
        )
        for (command, _), trouble in troubles.items()
        if len(trouble.failures) >= OFTEN
        and len({failure.capsule for failure in trouble.failures}) > 1
    ]


def _command(event: Observation) -> str:
    return excerpt(bare_command(events.command(event)), 120)


def _error(event: Observation) -> str:
    """The line with the error of a failed command, or an empty string."""
    line = events.named_error(event) if events.failed(event) else ""
    return "" if _NOTHING_SAID.search(line) else excerpt(line, 160).replace("`", "'")


def _signature(error: str) -> str:
    return _VARYING.sub("#", error)
