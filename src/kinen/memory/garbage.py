"""What takes disk space in kinen's home: sizes, deleting a space for good, and leftovers."""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import TYPE_CHECKING

from kinen import config as configuration
from kinen.errors import KinenError
from kinen.index import snapshots
from kinen.index.cache import Cache
from kinen.index.glance import note_count
from kinen.index.lock import sync_lock
from kinen.index.metafile import subfolders
from kinen.index.reader import Reader
from kinen.memory.core import Core
from kinen.model.tuples import NamedTuple
from kinen.space import early, registry
from kinen.space.registry import Space
from kinen.storage.sqlite import sqlite3
from kinen.text import now

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kinen.index.snapshots import Snapshot
    from kinen.memory.index import Index
    from kinen.space.registry import Table

KEPT = ("journal.", "ledger.")
"""Prefixes of files that cannot be built again; only deleting the space removes them."""


class Usage(NamedTuple):
    """What a space has on disk."""

    notes: int
    """Notes in the index of its first clone."""
    bytes: int
    """The bytes of all its clones and worktrees."""
    used: float
    """When something was last written, in seconds since the epoch; 0 if nothing was."""


class Garbage(NamedTuple):
    """A folder or file to delete, or a file with something in it to delete."""

    path: str
    reason: str
    bytes: int


def usage(space: Space) -> Usage:
    """The notes, the size and the last use of a space."""
    folders = {space.data, _index_folder(space)}
    tops = {folder.partition(f"{os.sep}checkouts{os.sep}")[0] for folder in folders}
    files = [path for top in tops for path in _files(top)]
    stats = list(_stats(files))
    return Usage(
        notes=note_count(_index_folder(space)),
        bytes=sum(stat.st_size for stat in stats),
        used=max((stat.st_mtime for stat in stats), default=0.0),
    )


def _index_folder(space: Space) -> str:
    path = ""
    with contextlib.suppress(KinenError):
        path = configuration.load(space.home, space.root).index.path
    return space.index_folder(path)


def _files(folder: str) -> list[str]:
    paths = []
    for above in (folder, *_below(folder)):
        with contextlib.suppress(OSError), os.scandir(above) as entries:
            paths += [entry.path for entry in entries if entry.is_file(follow_symlinks=False)]
    return paths


def _below(folder: str) -> list[str]:
    inner = subfolders(folder)
    return [path for above in inner for path in (above, *_below(above))]


def purge(space: Space) -> int:
    """Delete everything that kinen has of a space, its journal too; the number of bytes.

    The folder of the space itself is not touched.
    """
    size = usage(space).bytes
    ids = (space.id, *(alias for alias in space.aliases if len(alias) == 64))
    folders = [os.path.join(space.home, "spool", id_[:16]) for id_ in ids]
    index = _index_folder(space).partition(f"{os.sep}checkouts{os.sep}")[0]
    for folder in (*folders, space.data, index):
        shutil.rmtree(folder, ignore_errors=True)
    return size


def garbage(home: str) -> list[Garbage]:
    """What can be deleted without losing anything that cannot be built again.

    These are indexes of spaces that are not registered, and of clones and worktrees that are gone,
    and vectors of texts that are gone.
    """
    return [*_folders(home), *_vectors(home)]


def _folders(home: str) -> list[Garbage]:
    table = registry.read(home)
    by_folder = {registry.data_folder(home, key): entry for key, entry in table.items()}
    items = []
    for folder in subfolders(os.path.join(home, "spaces")):
        entry = by_folder.get(folder)
        if entry is None:
            items += _derived(folder, "the space is not registered")
            continue
        names = {
            registry.checkout_name(entry, root) for root in entry["roots"] if os.path.isdir(root)
        }
        for checkout in subfolders(os.path.join(folder, "checkouts")):
            if os.path.basename(checkout) not in names:
                items.append(_item(checkout, "the clone or worktree is gone"))
    return items


def collect(home: str) -> list[Garbage]:
    """Delete what `garbage` lists, and forget clones that are gone where another one is there.

    Events that waited for too long for a space go, too.
    """
    early.expire(home)
    items = _folders(home)
    for item in items:
        if os.path.isdir(item.path):
            shutil.rmtree(item.path, ignore_errors=True)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(item.path)
    if any(_gone(entry["roots"]) for entry in registry.read(home).values()):
        registry.update(home, _forget_roots)
    return [*items, *_vectors(home, delete=True)]


def _forget_roots(table: Table) -> None:
    for entry in table.values():
        gone = _gone(entry["roots"])
        entry["roots"] = [root for root in entry["roots"] if root not in gone]


def _gone(roots: list[str]) -> set[str]:
    """The roots that do not exist; none if no root does, as when a disk is not mounted."""
    gone = {root for root in roots if not os.path.isdir(root)}
    return gone if len(gone) < len(roots) else set()


def _derived(folder: str, reason: str) -> list[Garbage]:
    """The whole folder of a space if it has no journal, else everything but that."""
    names = os.listdir(folder)
    irreplaceable = [name for name in names if name.startswith(KEPT)]
    if not irreplaceable:
        return [_item(folder, reason)]
    return [
        _item(os.path.join(folder, name), reason) for name in names if name not in irreplaceable
    ]


def _item(path: str, reason: str) -> Garbage:
    files = [path] if os.path.isfile(path) else _files(path)
    return Garbage(path, reason, sum(about.st_size for about in _stats(files)))


def _stats(files: Iterable[str]) -> Iterator[os.stat_result]:
    """What the system knows of files; one that another process took away meanwhile has nothing."""
    for file in files:
        with contextlib.suppress(FileNotFoundError):
            yield os.stat(file)


WAIT = 1.0
"""Seconds to wait for a process that indexes a space; its vectors are left to the next run."""


def _vectors(home: str, *, delete: bool = False) -> list[Garbage]:
    """The unused vectors of every space whose folder is there; with `delete` they are gone then."""
    items = []
    for space in registry.registered(home):
        with contextlib.suppress(KinenError, sqlite3.Error):  # indexed just now, or damaged
            if not space.missing:
                items += _vectors_of(space, delete=delete)
    return items


def _vectors_of(space: Space, *, delete: bool) -> list[Garbage]:
    core = Core(space, configuration.load(space.home, space.root))
    folders = [folder for folder in core.all_folders() if os.path.isdir(folder)]
    with contextlib.ExitStack() as locks:
        for folder in folders:
            locks.enter_context(sync_lock(os.path.join(folder, "sync.lock"), WAIT))
        digests, models = _in_use(folders)
        caches = [os.path.join(folder, "cache.db") for folder in folders] if digests else []
        items = (_unused(cache, digests, models, delete=delete) for cache in caches)
        return [item for item in items if item]


def _in_use(folders: list[str]) -> tuple[set[str], set[str]]:
    """The digests of all texts in some indexes, and the models; none of either if any is empty.

    An index without texts is about to be built again, and one without a model is not complete.
    """
    digests: set[str] = set()
    models: set[str] = set()
    for folder in folders:
        file = os.path.join(folder, "index.db")
        if not os.path.exists(file):
            continue
        with contextlib.closing(Reader(file)) as reader:
            texts = reader.digests()
            if not texts:
                return set(), set()
            digests.update(texts)
            models.add(reader.meta("embedded").rpartition(":")[0])
    return digests, set() if "" in models else models


def _unused(file: str, digests: set[str], models: set[str], *, delete: bool) -> Garbage | None:
    """The vectors in a cache that no text and no model has; None if there are none."""
    if not os.path.exists(file):
        return None
    with contextlib.closing(Cache(file)) as cache:
        rows = [
            (model, digest, size)
            for model, digest, size in cache.sizes()
            if digest not in digests or (models and model not in models)
        ]
        if rows and delete:
            cache.remove((model, digest) for model, digest, _ in rows)
    if not rows:
        return None
    return Garbage(file, f"unused vectors: {len(rows):,}", sum(size for _, _, size in rows))


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
        self._core.opened_reader.meta("synced")  # lays the tables of an index that is not there
        with sync_lock(self._core.file("sync.lock"), LOCK_SECONDS):
            snapshots.restore(self._core.file("index.db"), self._core.file("snapshots"), chosen)
        self._index.sync(embed=embed)
        return chosen

    def prune(self, keep: int = 3) -> list[Snapshot]:
        """Remove all copies of the index but the newest."""
        with sync_lock(self._core.file("sync.lock"), LOCK_SECONDS):
            return snapshots.prune(self._core.file("snapshots"), keep)
