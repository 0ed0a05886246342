"""Draws memories from commands that fail: what made one work, and what keeps failing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from kinen.journal import events
from kinen.markdown.sentences import statement
from kinen.model.journal import Finding
from kinen.privacy.injected import asks_kinen, is_kinen_tool
from kinen.text import excerpt, iso

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kinen.model.journal import Observation

OFTEN = 3
"""How many times something fails before it is more than bad luck."""

_VARYING = re.compile(
    r"0x[0-9a-f]+|\b[0-9a-f]{7,64}\b|\d+(?:\.\d+)*|(?:/[\w.@-]+){2,}", re.IGNORECASE
)


def is_ours(event: Observation) -> bool:
    """Is it a use of kinen? What that returned is known already."""
    return is_kinen_tool(events.string(event, "toolName")) or asks_kinen(events.command(event)) > 0


class _Trouble(NamedTuple):
    """A command that fails the same way, and what was done since it last did."""

    error: str
    failures: tuple[Observation, ...]
    since: tuple[str, ...] = ()
    """Other commands that succeeded."""
    edited: bool = False

    @property
    def refs(self) -> tuple[str, ...]:
        return tuple(one.ref for one in self.failures)

    @property
    def at(self) -> str:
        return iso(self.failures[0].ts / 1000)


def from_repeated(observations: Iterable[Observation]) -> Iterator[Finding]:
    """Commands that failed often and then worked, with nothing between but one other command."""
    open_: dict[str, _Trouble] = {}
    for one in observations:
        command, error = _command(one), _error(one)
        if command and error:
            known = open_.get(command, _Trouble(error, ()))
            again = known.failures if _signature(known.error) == _signature(error) else ()
            open_[command] = _Trouble(error, (*again, one))
        elif one.kind == "file_diff":
            open_ = {name: trouble._replace(edited=True) for name, trouble in open_.items()}
        elif command and not events.failed(one):
            was = open_.pop(command, None)
            if was and len(was.failures) >= OFTEN and len(was.since) == 1 and not was.edited:
                text = f"`{command}` failed with `{was.error}` until `{was.since[0]}` was run"
                sources = (*was.refs, one.ref)
                yield Finding("lesson", statement("", text), 0.75, sources, was.at)
            open_ = {
                name: trouble._replace(since=(*trouble.since, command))
                for name, trouble in open_.items()
            }


def from_events(observations: Iterable[Observation]) -> list[Finding]:
    """Trouble that comes back: what failed the same way often, and in more than one session."""
    found: dict[tuple[str, str], _Trouble] = {}
    for one in observations:
        command, error = _command(one), _error(one)
        if command and error and not (one.redacted or one.forgotten_at or is_ours(one)):
            key = command, _signature(error)
            known = found.get(key, _Trouble(error, ()))
            found[key] = known._replace(failures=(*known.failures, one))
    return [
        Finding(
            "pattern",
            statement("", f"`{command}` keeps failing: `{one.error}`"),
            0.7,
            one.refs,
            one.at,
        )
        for (command, _), one in found.items()
        if len(one.failures) >= OFTEN and len({each.capsule for each in one.failures}) > 1
    ]


def _command(one: Observation) -> str:
    return excerpt(events.command(one), 120)


def _error(one: Observation) -> str:
    """The line that says what went wrong, where one does."""
    line = events.named_error(one) if events.failed(one) else ""
    return excerpt(line, 160).replace("`", "'")


def _signature(error: str) -> str:
    return _VARYING.sub("#", error)
