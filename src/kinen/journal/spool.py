"""What could not be written at once waits here, one file each, and is written by the next writer.

One file per observation, named by its id: whoever drains reads them in order, and what was written
by two is stored once. When the disk is full, a reserve is given up, and then the system's
temporary folder is used.
"""

from __future__ import annotations

import contextlib
import os

from kinen.journal.write import COLUMNS, LATEST, elsewhere, insert, only_ours
from kinen.storage import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from kinen.journal.write import Row

RESERVE = 1 << 20
BATCH = 500
"""Observations that are drained in one transaction."""


def put(folder: str, one: Row) -> str:
    """Keep an observation on disk until somebody can write it; the file's path."""
    import json

    name, data = _name(str(one[0])), json.dumps(one).encode()
    try:
        return _write(folder, name, data)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(_reserve(folder))
            return _write(folder, name, data)
        with contextlib.suppress(OSError):
            return _write(_ours(elsewhere(folder)), name, data)
        raise


def _name(id_: str) -> str:
    """The id as the name of a file; one that is no ULID may not be fit for that."""
    if len(id_) == 26 and id_.isascii() and id_.isalnum() and id_ == id_.upper():
        return id_
    from hashlib import sha256

    return sha256(id_.encode()).hexdigest()


def _ours(folder: str) -> str:
    """The folder, once it is certain that nobody else made it to read along."""
    top = os.path.dirname(os.path.dirname(folder))
    private.folder(top, tighten=False)  # one that others made or could write to is refused
    only_ours(folder)
    return folder


def _write(folder: str, name: str, data: bytes) -> str:
    private.folder(folder)
    path = os.path.join(folder, name)
    draft = f"{path}.{os.getpid()}.tmp"
    try:
        with open(draft, "xb", opener=private.opener) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise
    return path


def _reserve(folder: str) -> str:
    return os.path.join(os.path.dirname(folder), ".reserve")


def keep_reserve(folder: str) -> None:
    """A file to give up when the disk is full, so that there is room to spool."""
    path = _reserve(folder)
    with contextlib.suppress(OSError):
        if not os.path.exists(path):
            private.folder(os.path.dirname(path))
            with open(path, "xb", opener=private.opener) as file:
                file.write(os.urandom(RESERVE))


def drain(db: sqlite3.Connection, files: list[str]) -> int:
    """Write what was spooled and remove its files; how many observations there were."""
    done = 0
    for start in range(0, len(files), BATCH):
        some = files[start : start + BATCH]
        rows = [one for one in map(_read, some) if one]
        insert(db, rows)
        done += len(rows)
        for path in some:
            with contextlib.suppress(OSError):
                os.unlink(path)
    return done


def _read(path: str) -> Row:
    """A spooled observation; one that cannot be read is put aside, not lost."""
    import json

    try:
        found = json.loads(private.read(path))
        if _sound(found) and _name(found[0]) == os.path.basename(path):
            return tuple(found)
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, RecursionError):
        pass
    with contextlib.suppress(OSError):
        os.replace(path, path + ".bad")
    return ()


def _sound(found: object) -> bool:
    """Whether it is what `put` wrote: one that the table refuses would hold up all others."""
    if not isinstance(found, list) or len(found) != len(COLUMNS):
        return False
    kinds = [int if name == "ts" else str for name in COLUMNS]
    if list(map(type, found)) != kinds:
        return False
    "".join(one for one in found if isinstance(one, str)).encode()  # ValueError if it is no text
    return bool(0 <= found[COLUMNS.index("ts")] < LATEST)


def discard(spools: list[str], ids: Iterable[str]) -> None:
    """Remove what is left of observations besides the journal: drafts, and files set aside."""
    names = tuple(_name(one) for one in ids)
    for folder in (*spools, *map(elsewhere, spools)):
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                if name.startswith(names):
                    os.unlink(os.path.join(folder, name))
