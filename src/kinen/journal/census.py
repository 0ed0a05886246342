"""Counts of a journal that follow it as it grows.

A server shows the same counts again and again. Each is read once; after that only observations that
were added since are read, however large the journal is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kinen.journal.mark import mark
from kinen.journal.queries import Mark, changed, grown
from kinen.journal.tally import Tally, tallies

if TYPE_CHECKING:
    import sqlite3

    Hours = dict[tuple[str, int], int]
    """Observations by agent and hour since 1970."""
    Words = tuple[str, str]
    """The title and the outcome of a session."""
    Parts = dict[str, str]
    """What a session came to, by the labels of its summary."""

START = Mark("", 0, 0)


class Census:
    """What happened in sessions and in each hour, up to a mark of one journal."""

    def __init__(self) -> None:
        self._end = START
        self._tallies: dict[str, Tally] = {}
        self._words: dict[str, Words] = {}
        self._parts: dict[str, Parts] = {}
        self._hours: Hours | None = None

    def _forget(self) -> None:
        self._tallies.clear()
        self._words.clear()
        self._parts.clear()
        self._hours = None

    def tallies(self, db: sqlite3.Connection, capsules: Sequence[str]) -> dict[str, Tally]:
        """The counts of capsules by their id."""
        self.follow(db)
        unread = [capsule for capsule in capsules if capsule not in self._tallies]
        self._tallies |= tallies(db, unread, 0, self._end.added)
        return {capsule: self._tallies[capsule] for capsule in capsules}

    def hours(self, db: sqlite3.Connection) -> Hours:
        """Observations by agent and hour."""
        self.follow(db)
        if self._hours is None:
            self._hours = _hours(db, 0, self._end.added)
        return self._hours

    def words(self, capsule: str, read: Callable[[], Words]) -> Words:
        """The title and the outcome of a capsule, read again once it has changed; see `follow`."""
        if capsule not in self._words:
            self._words[capsule] = read()
        return self._words[capsule]

    def parts(self, capsule: str, read: Callable[[], Parts]) -> Parts:
        """The parts of a capsule's summary, in the same way."""
        if capsule not in self._parts:
            self._parts[capsule] = read()
        return dict(self._parts[capsule])

    def follow(self, db: sqlite3.Connection) -> None:
        """Count what was added since the last call; start again if something was taken away."""
        since = self._end
        end = Mark(*mark(db))
        if end == since:
            return
        refs = changed(db, since, end) if end.journal == since.journal else []
        shrunk = end.journal != since.journal or end.added < since.added
        if shrunk or any(ref.startswith("observation:") for ref in refs):
            self._forget()
        else:
            self._add(db, since, end, refs)
        self._end = end

    def _add(self, db: sqlite3.Connection, since: Mark, end: Mark, refs: list[str]) -> None:
        capsules = grown(db, since, end)
        counted = [capsule for capsule in capsules if capsule in self._tallies]
        for capsule, more in tallies(db, counted, since.added, end.added).items():
            self._tallies[capsule] = self._tallies[capsule].joined(more)
        if self._hours is not None:
            for hour, count in _hours(db, since.added, end.added).items():
                self._hours[hour] = self._hours.get(hour, 0) + count
        if any(ref.startswith("summary:") for ref in refs):
            self._words.clear()
            self._parts.clear()
        for capsule in (*capsules, *(ref.removeprefix("capsule:") for ref in refs)):
            self._words.pop(capsule, None)
            self._parts.pop(capsule, None)


def _hours(db: sqlite3.Connection, after: int, until: int) -> Hours:
    """Observations by agent and hour, from a place in the journal to another."""
    rows = db.execute(
        "SELECT agent, ts / 3600000, COUNT(*) FROM observations"
        " WHERE seq > ? AND seq <= ? AND forgotten_at = 0 GROUP BY 1, 2",
        (after, until),
    )
    return {(agent, hour): count for agent, hour, count in rows}
