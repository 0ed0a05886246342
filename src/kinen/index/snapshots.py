"""Copies of an index, each tied to the commit it had read up to.

Copied by SQLite itself, never as a file: what is still in the log is part of it.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator

from kinen.errors import Ambiguous, NotFound, StoreError
from kinen.index.schema import SCHEMA
from kinen.index.writer import Writer
from kinen.model.tuples import NamedTuple
from kinen.storage import private
from kinen.storage.database import BUSY_MS, remove_database, translated
from kinen.text import iso, now

KEEP = 2
"""Automatic snapshots that are kept."""
_COUNT = "SELECT COUNT(*) FROM commits"


class Snapshot(NamedTuple):
    """One copy; its name has the time, the commit, and whether it was made automatically."""

    name: str
    head: str
    at: str
    bytes: int
    automatic: bool


def create(index: str, folder: str, at: float, *, automatic: bool = False) -> Snapshot:
    """Copy the index as it is now; whole or not at all."""
    with _open(index) as source:
        row = source.execute("SELECT stamp FROM states WHERE source = 'git' AND key = ''")
        head = (row.fetchone() or ("",))[0]
        moment = iso(at).replace("-", "").replace(":", "").replace(".", "")[:18] + "Z"
        name = f"{moment}-{head or 'none'}{'-auto' if automatic else ''}"
        private.folder(folder)
        draft = os.path.join(folder, f".{name}.{os.getpid()}.tmp")
        try:
            private.database(draft)
            with translated(draft), contextlib.closing(sqlite3.connect(draft)) as copy:
                source.backup(copy)
            os.replace(draft, os.path.join(folder, f"{name}.db"))
        finally:
            remove_database(draft)
    return next(snapshot for snapshot in list_all(folder) if snapshot.name == name)


def list_all(folder: str) -> list[Snapshot]:
    """All snapshots, the newest first."""
    snapshots = []
    names: list[str] = []
    with contextlib.suppress(FileNotFoundError):
        names = os.listdir(folder)
    for file in names:
        name, dot, end = file.rpartition(".")
        moment, _, rest = name.partition("-")
        if end == "db" and dot and len(moment) == 19:
            head = rest.removesuffix("-auto").replace("none", "")
            at = f"{moment[:4]}-{moment[4:6]}-{moment[6:8]}T{moment[9:11]}:{moment[11:13]}"
            at += f":{moment[13:15]}.{moment[15:18]}Z"
            with contextlib.suppress(FileNotFoundError):  # deleted meanwhile by another process
                size = os.path.getsize(os.path.join(folder, file))
                snapshots.append(Snapshot(name, head, at, size, rest.endswith("-auto")))
    return sorted(snapshots, reverse=True)


def find(folder: str, name: str) -> Snapshot:
    """A snapshot by the beginning of its name or commit; the newest for an empty name."""
    snapshots = list_all(folder)
    for snapshot in snapshots:
        if snapshot.name == name or snapshot.head.startswith(name):
            return snapshot
    matches = [snapshot for snapshot in snapshots if snapshot.name.startswith(name.upper())]
    if len(matches) > 1:
        names = [snapshot.name for snapshot in matches]
        raise Ambiguous(name, names, "give more of the name")
    if matches:
        return matches[0]
    fact = f"no snapshot {name!r}" if name else "there is no snapshot yet"
    raise NotFound(fact, "`kinen snapshot list` shows them, `kinen snapshot create` makes one")


def restore(index: str, folder: str, snapshot: Snapshot) -> None:
    """Replace the index by a copy, in one transaction, while others may read it."""
    path = os.path.join(folder, f"{snapshot.name}.db")
    with contextlib.closing(sqlite3.connect(path)) as copy:
        hint = "`kinen snapshot prune --keep 0` removes it, `kinen index --rebuild` builds anew"
        try:
            if copy.execute("PRAGMA user_version").fetchone()[0] != SCHEMA:
                raise StoreError(f"{snapshot.name} is of another version of kinen", hint)
            wrong = copy.execute("PRAGMA quick_check(1)").fetchone()[0]
        except sqlite3.Error as error:
            wrong = str(error)
        if wrong != "ok":
            raise StoreError(f"the snapshot {snapshot.name} is damaged: {wrong}", hint)
        with _open(index) as live:
            was = int(_meta(live, "generation") or "0")
            copy.backup(live)
            # Caches that were derived from the replaced index are stale.
            new = max(was, int(_meta(live, "generation") or "0")) + 1
            live.execute("INSERT OR REPLACE INTO meta VALUES ('generation', ?)", (str(new),))
            live.commit()


def prune(folder: str, keep: int, *, automatic: bool = False) -> list[Snapshot]:
    """Remove all but the newest `keep`; with `automatic`, only of the automatic ones."""
    candidates = [each for each in list_all(folder) if each.automatic or not automatic]
    old = candidates[keep:]
    for snapshot in old:
        remove_database(os.path.join(folder, f"{snapshot.name}.db"))
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(folder):
            if name.startswith("."):  # of a process that was killed
                os.unlink(os.path.join(folder, name))
    return old


def create_if_due(writer: Writer, folder: str, frequency: int) -> None:
    """Copy the index if it has read `frequency` commits since the last copy."""
    if not frequency:
        return
    place = 0
    for snapshot in list_all(folder)[:1]:
        query = "SELECT place FROM commits WHERE sha = ?"
        row = writer.db.execute(query, (snapshot.head,)).fetchone()
        place = row[0] if row else 0
    if writer.db.execute(f"{_COUNT} WHERE place > ?", (place,)).fetchone()[0] >= frequency:
        with contextlib.suppress(StoreError):  # such as a full disk: continue without a snapshot
            create(writer.path, folder, now(), automatic=True)
            prune(folder, KEEP, automatic=True)


def _meta(db: sqlite3.Connection, key: str) -> str:
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return str(row[0]) if row else ""


@contextlib.contextmanager
def _open(path: str) -> Iterator[sqlite3.Connection]:
    with translated(path):
        db = sqlite3.connect(path, timeout=BUSY_MS / 1000)
        try:
            yield db
        finally:
            db.close()
