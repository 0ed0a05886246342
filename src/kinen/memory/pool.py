"""The memories that a server has open: two per space, one for questions and one for writing.

Each is used by one request at a time. Writing to the journal has a memory and a lock of its own, so
that it never waits for a search, and a search never waits for it.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from kinen.errors import SpaceError
from kinen.memory.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    T = TypeVar("T")
    Open = Callable[[str], Memory]

PATIENCE = 2.0
"""Seconds that a question has to end when the server does."""


ASK, JOURNAL = "ask", "journal"
"""Lanes: for everything that reads the index, and for what only writes to the journal."""


class Kept(NamedTuple):
    memory: Memory
    lock: Lock


class Spaces:
    """One given memory, or those that `open_` gives by folder; empty is the working folder's."""

    def __init__(self, memory: Memory | Open) -> None:
        self.fixed = isinstance(memory, Memory)
        self._open: Open = memory if not isinstance(memory, Memory) else lambda _: memory
        self._kept: dict[tuple[str, str], Kept] = {}
        self._guard = Lock()

    def ask(self, folders: Sequence[str], call: Callable[[Memory], T], *, lane: str = ASK) -> T:
        """Ask the memory of the first folder that is in a space, in turn with its lane."""
        memory, lock = self._keep(self._first(folders), lane)
        with lock:
            memory.renew()
            return call(memory)

    def apart(self, folders: Sequence[str], call: Callable[[Memory], T]) -> T:
        """Something long, with a memory of its own, so that questions are answered meanwhile."""
        if self.fixed:
            return self.ask(folders, call)
        with self._first(folders) as memory:
            return call(memory)

    def close(self) -> None:
        for (_, lane), (memory, lock) in self._kept.items():
            if (not self.fixed or lane != ASK) and lock.acquire(timeout=PATIENCE):
                memory.close()
                lock.release()

    def _first(self, folders: Sequence[str]) -> Memory:
        told: SpaceError | None = None
        for folder in folders:
            try:
                return self._open(folder)
            except SpaceError as error:
                told = told or error
        try:
            return self._open("")
        except SpaceError as error:
            raise told or error from None

    def _keep(self, made: Memory, lane: str) -> Kept:
        """The open memory of the same space, unless its settings or its data have moved since."""
        key = (made.space.root, lane)
        with self._guard:
            known = self._kept.get(key)
            if known and _alike(known.memory, made):
                return known
            if self.fixed and lane != ASK:
                made = Memory(made.space, made.config)
            kept = Kept(made, Lock())
            self._kept[key] = kept
        if known:
            with known.lock:
                known.memory.close()
        return kept


def _alike(one: Memory, other: Memory) -> bool:
    return one.space.data == other.space.data and one.config == other.config
