"""Observations that could not be written at once, one file each; the next writer drains them.

A file is named by its observation's id, so that files are drained in order and an observation that
was spooled twice is stored once. When the disk is full, a reserve file is deleted to make room, and
then the system's temporary folder is used. Hooks list the spool, so the module needs only `os`.
"""

from __future__ import annotations

import os

from kinen.ids import is_ulid
from kinen.storage import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from kinen.journal.schema import Row

RESERVE = 1 << 20
BATCH = 500
"""Observations that are drained in one transaction."""


def waiting(spools: list[str]) -> list[str]:
    """The files of spooled observations, oldest first; a missing folder counts as empty."""
    files = []
    for folder in (*spools, *map(elsewhere, spools)):
        try:
            names = os.listdir(folder)
            if folder not in spools:
                _require_private(folder)
        except OSError:
            continue
        files += [os.path.join(folder, name) for name in names if "." not in name]
    return sorted(files, key=os.path.basename)


def elsewhere(spool: str) -> str:
    """The same spool in the system's temporary folder, for when the home's disk is full."""
    top = os.environ.get("TEMP" if os.name == "nt" else "TMPDIR") or "/tmp"  # noqa: S108
    user = os.getuid() if hasattr(os, "getuid") else ""
    home, name = os.path.split(os.path.abspath(spool))
    flat = home.replace(os.sep, "%").replace(":", "%")
    return os.path.join(top, f"kinen-spool-{user}", flat, name)


def _require_private(folder: str) -> None:
    """Refuse a spool in the temporary folder that another user has made, or can read or write."""
    top = os.path.dirname(os.path.dirname(folder))
    if hasattr(os, "getuid"):
        info = os.lstat(top)
        if info.st_uid != os.getuid() or info.st_mode & private.OTHERS:
            raise PermissionError(13, "open to other users", top)


def put(folder: str, row: Row) -> str:
    """Store an observation on disk until it can be written; returns the file's path."""
    import json

    name = _file_name(str(row[0]))
    data = json.dumps(row).encode()
    try:
        return _write(folder, name, data)
    except OSError as error:
        try:
            os.unlink(_reserve(folder))
            return _write(folder, name, data)
        except OSError:
            pass
        try:
            temporary = elsewhere(folder)
            private.folder(os.path.dirname(os.path.dirname(temporary)), tighten=False)
            _require_private(temporary)
            return _write(temporary, name, data)
        except OSError:
            raise error from None


def _file_name(id_: str) -> str:
    """The id as the name of a file; an id that is no ULID may contain anything."""
    if is_ulid(id_):
        return id_
    from hashlib import sha256

    return sha256(id_.encode()).hexdigest()


def _write(folder: str, name: str, data: bytes) -> str:
    path = os.path.join(folder, name)
    private.write(path, data)
    return path


def _reserve(folder: str) -> str:
    return os.path.join(os.path.dirname(folder), ".reserve")


def keep_reserve(folder: str) -> None:
    """Create the file that is deleted when the disk is full, so that there is room to spool."""
    path = _reserve(folder)
    try:
        if not os.path.exists(path):
            private.folder(os.path.dirname(path))
            with open(path, "xb", opener=private.opener) as file:
                file.write(os.urandom(RESERVE))
    except OSError:
        return


def drain(db: sqlite3.Connection, files: list[str]) -> int:
    """Write spooled observations and remove their files; returns how many there were."""
    from kinen.ids import key_id  # a search only looks whether anything waits
    from kinen.journal import capsules
    from kinen.journal.schema import COLUMNS, insert

    count = 0
    for start in range(0, len(files), BATCH):
        batch = files[start : start + BATCH]
        rows = [row for row in map(_read, batch) if row]
        insert(db, rows)
        # Their sessions are opened as if they had been written at once: a session begins with its
        # first event, and its first prompt is its intent.
        entries = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
        first: dict[str, dict[str, str | int]] = {}
        for entry in sorted(entries, key=lambda entry: entry["ts"]):
            key = key_id(str(entry["agent"]), str(entry["session"]))
            if entry["session"] and entry["capsule"] == key:
                first.setdefault(str(entry["capsule"]), entry)
        for capsule, entry in first.items():
            session, repo, agent = (str(entry[name]) for name in ("session", "repo", "agent"))
            capsules.begin(db, capsule, int(entry["ts"]), (session, repo, agent))
            capsules.begin_earlier(db, capsule, int(entry["ts"]))
            capsules.call(db, capsule, capsules.first_prompt(db, capsule))
        count += len(rows)
        for path in batch:
            _remove(path)
    return count


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return


def _read(path: str) -> Row:
    """A spooled observation; a file that cannot be read is set aside as `.bad`."""
    import json

    try:
        values = json.loads(private.read(path))
        if valid(values) and _file_name(values[0]) == os.path.basename(path):
            return tuple(values)
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, RecursionError):
        pass
    try:
        os.replace(path, path + ".bad")
    except OSError:
        return ()
    return ()


def valid(values: object) -> bool:
    """Whether a file has what `put` wrote: a row that the table refuses would block all others."""
    from kinen.journal.schema import COLUMNS, LATEST

    if not isinstance(values, list) or len(values) != len(COLUMNS):
        return False
    kinds = [int if name == "ts" else str for name in COLUMNS]
    if list(map(type, values)) != kinds:
        return False
    "".join(value for value in values if isinstance(value, str)).encode()  # may raise ValueError
    return bool(0 <= values[COLUMNS.index("ts")] < LATEST)


def discard(spools: list[str], ids: Iterable[str]) -> None:
    """Remove what is left of observations besides the journal: drafts, and files set aside."""
    prefixes = tuple(_file_name(id_) for id_ in ids)
    for folder in (*spools, *map(elsewhere, spools)):
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            if name.lstrip(".").startswith(prefixes):
                _remove(os.path.join(folder, name))
