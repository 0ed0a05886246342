"""Copies of an index, to restore it faster than by a rebuild."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinen.index import snapshots
from kinen.index.lock import sync_lock
from kinen.text import now

if TYPE_CHECKING:
    from kinen.index.snapshots import Snapshot
    from kinen.memory.core import Core
    from kinen.memory.index import Index

LOCK_SECONDS = 600
"""How long a change waits for whoever writes the index."""


class Snapshots:
    """Makes, lists, restores and removes copies of the index."""

    def __init__(self, core: Core, index: Index) -> None:
        self._core = core
        self._index = index

    def create(self) -> Snapshot:
        """Copy the index as it is, tied to the commit that it has read up to."""
        self._index.prepare()
        with sync_lock(self._core.file("sync.lock"), LOCK_SECONDS):
            return snapshots.create(
                self._core.file("index.db"), self._core.file("snapshots"), now()
            )

    def list_all(self) -> list[Snapshot]:
        """All copies of the index, the newest first."""
        return snapshots.list_all(self._core.file("snapshots"))

    def restore(self, name: str = "", *, embed: bool = True) -> Snapshot:
        """Put the index back to a copy and catch up from there; the newest if none is named."""
        chosen = snapshots.find(self._core.file("snapshots"), name)
        self._core.reader.meta("synced")  # lays the tables of an index that is not there
        with sync_lock(self._core.file("sync.lock"), LOCK_SECONDS):
            snapshots.restore(self._core.file("index.db"), self._core.file("snapshots"), chosen)
        self._index.sync(embed=embed)
        return chosen

    def prune(self, keep: int = 3) -> list[Snapshot]:
        """Remove all copies of the index but the newest."""
        with sync_lock(self._core.file("sync.lock"), LOCK_SECONDS):
            return snapshots.prune(self._core.file("snapshots"), keep)
