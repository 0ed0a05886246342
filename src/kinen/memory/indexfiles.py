"""Files beside an index: copies of it, what its writer is doing, and the switch for vectors."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from kinen.errors import StoreError
from kinen.memory.core import Part
from kinen.storage import private
from kinen.text import now

if TYPE_CHECKING:
    from kinen.index.lock import Work
    from kinen.index.snapshots import Snapshot

NO_VECTORS = "vectors.off"
"""The file that says that nothing is embedded unless `kinen index` asks for it."""


class IndexFiles(Part):
    """Everything about an index that is not in the index itself."""

    def snapshot_if_due(self) -> None:
        """Copy the index every N commits, to restore it faster than a rebuild."""
        from kinen.index import snapshots

        index = self._core.file("index.db")
        folder = self._core.file("snapshots")
        if snapshots.due(index, folder, self._memory.index.rules.snapshot_frequency):
            with contextlib.suppress(StoreError):  # a full disk: go on without a snapshot
                snapshots.create(index, folder, now(), automatic=True)
                snapshots.prune(folder, snapshots.KEEP, automatic=True)

    def create_snapshot(self) -> Snapshot:
        """Copy the index as it is, tied to the commit that it has read up to."""
        from kinen.index import snapshots
        from kinen.index.lock import sync_lock

        self._memory.index.prepare()
        with sync_lock(self._core.file("sync.lock"), 600):
            return snapshots.create(
                self._core.file("index.db"), self._core.file("snapshots"), now()
            )

    def snapshots(self) -> list[Snapshot]:
        """All copies of the index, the newest first."""
        from kinen.index import snapshots

        return snapshots.list_all(self._core.file("snapshots"))

    def restore_snapshot(self, name: str = "", *, embed: bool = True) -> Snapshot:
        """Put the index back to a copy and catch up from there; the newest if none is named."""
        from kinen.index import snapshots
        from kinen.index.lock import sync_lock

        chosen = snapshots.find(self._core.file("snapshots"), name)
        self._core.reader.meta("synced")  # lays the tables of an index that is not there
        with sync_lock(self._core.file("sync.lock"), 600):
            snapshots.restore(self._core.file("index.db"), self._core.file("snapshots"), chosen)
        self._memory.index.sync(embed=embed)
        return chosen

    def prune_snapshots(self, keep: int = 3) -> list[Snapshot]:
        """Remove all copies of the index but the newest."""
        from kinen.index import snapshots
        from kinen.index.lock import sync_lock

        with sync_lock(self._core.file("sync.lock"), 600):
            return snapshots.prune(self._core.file("snapshots"), keep)

    def work(self) -> Work | None:
        """Which process indexes this space now, and how far it is; None if none does."""
        from kinen.index.lock import work_at

        return work_at(self._core.file("sync.lock"))

    @property
    def vectors_off(self) -> bool:
        """Whether the last `kinen index` had --no-embed: then only another one makes vectors."""
        return os.path.exists(os.path.join(self._core.folder, NO_VECTORS))

    def switch_vectors(self, *, on: bool) -> None:
        """Have searches and the daemon embed new text, or not; an explicit sync does either."""
        file = self._core.file(NO_VECTORS)
        if on:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(file)
        else:
            private.write(file, "")
