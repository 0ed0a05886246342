"""Errors that come back: failures grouped by what identifies them; pure functions."""

from __future__ import annotations

from collections.abc import Iterable

from kinen.journal import events
from kinen.model.journal import Observation
from kinen.model.tuples import NamedTuple
from kinen.recall.errors import Fix, naming_line, normalised


class Friction(NamedTuple):
    """An error that came back in several sessions."""

    error: str
    command: str
    sessions: int
    failures: int
    first: int
    last: int
    ref: str
    helped: list[Fix]


def recurring(failures: Iterable[Observation], least: int) -> list[list[Observation]]:
    """Failures with the same error in at least some sessions, newest first in each group.

    The groups of the most sessions come first, then those seen last.
    """
    groups: dict[str, list[Observation]] = {}
    for failure in failures:
        line = naming_line(events.body(failure))
        if line:
            groups.setdefault(normalised(line), []).append(failure)
    for group in groups.values():
        group.sort(key=lambda event: (event.ts, event.id), reverse=True)
    chosen = [group for group in groups.values() if sessions(group) >= least]
    return sorted(chosen, key=lambda group: (sessions(group), group[0].ts), reverse=True)


def sessions(group: Iterable[Observation]) -> int:
    """How many sessions some events are from."""
    return len({event.capsule or event.scope.session for event in group})
