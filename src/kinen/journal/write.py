"""The write path of hooks: one observation, durable, once, whatever else goes on.

Light on purpose: less than what `sqlite3` loads anyway, no `typing`, `re` or `json`.
"""

from __future__ import annotations

import os
import time

from kinen.storage import private
from kinen.storage.sqlite import sqlite3

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    Row = tuple[str | int, ...]

SCHEMA = 4
"""The newest migration."""
COLUMNS = (
    *("id", "kind", "content", "provenance", "ts", "session", "repo", "agent", "user", "task"),
    *("capsule", "branch", "head", "files", "masked"),
)
HOOK_MS = 60
"""How long a hook waits for its turn before it spools."""
LONGEST = 16 << 20
LATEST = 253_402_300_800_000
"""The year 10000 in epoch milliseconds: no calendar has what comes after."""
CHECKPOINT = 200
"""Pages of write-ahead log before they move into the database: a hook may have to read them."""
PAGE = 4096
SEEN = "journal.seen"
"""The file that says how far the journal went when it was last written."""

_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_INSERT = "INSERT OR IGNORE INTO observations({}) VALUES ({})".format(
    ", ".join(COLUMNS), ", ".join("?" * len(COLUMNS))
)
_OPEN = "SELECT id FROM capsules WHERE session = ? AND type = 'session' AND status = 'open'"
_last = [0, 0]


def ulid(ms: int = 0) -> str:
    """A new id: it sorts by time, and within a process by the order of making."""
    ms = ms or time.time_ns() // 1_000_000
    if ms == _last[0]:
        _last[1] += 1
    else:
        _last[:] = [ms, int.from_bytes(os.urandom(10), "big") >> 1]
    number, digits = ms << 80 | _last[1], ""
    for _ in range(26):
        digits = _DIGITS[number & 31] + digits
        number >>= 5
    return digits


def row(
    content: str,
    kind: str,
    ts: int = 0,
    *,
    provenance: dict[str, Any] | None = None,
    files: Iterable[str] = (),
    found: dict[str, int] | None = None,
    **names: str,
) -> Row:
    """An observation as the table has it, with secrets masked in every column.

    `names` are the other columns. `found` counts what was masked in the content before.
    """
    from kinen.privacy import entrance

    text, counts = entrance.masked(content)
    about, more = entrance.masked_values(provenance or {})
    for secrets in (more, found or {}):
        for name, count in secrets.items():
            counts[name] = counts.get(name, 0) + count
    values: dict[str, str | int] = {name: entrance.name(cell) for name, cell in names.items()}
    values["id"] = entrance.identifier(names.get("id", "")) or ulid()
    values["kind"] = kind
    values["content"] = text
    values["ts"] = ts or time.time_ns() // 1_000_000
    values["provenance"] = entrance.plain(encoded(about))
    values["files"] = array(entrance.names(files))
    values["masked"] = proof(counts)
    return tuple(values.get(name, "") for name in COLUMNS)


def proof(found: dict[str, int]) -> str:
    """Evidence of masking as JSON."""
    if not found:
        return "{}"
    names = ", ".join(f'"{name}"' for name in sorted(found))
    return f'{{"count": {sum(found.values())}, "classes": [{names}]}}'


def array(items: Iterable[str]) -> str:
    """A JSON array of strings."""
    return encoded(list(items))


def encoded(value: Any) -> str:
    """JSON with the keys in order. `json` would cost a hook as much as all the rest.

    TypeError or ValueError for what JSON cannot say.
    """
    from _json import encode_basestring

    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, dict):
        pairs = [f"{encode_basestring(key)}: {encoded(value[key])}" for key in sorted(value)]
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join([encoded(item) for item in value])}]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return int.__repr__(value)
    if not isinstance(value, float):
        raise TypeError(f"{type(value).__name__} is not a JSON value")
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError(f"{value} is not a JSON number")
    return float.__repr__(value)


def connect(path: str, timeout_ms: int) -> sqlite3.Connection:
    """The journal, brought up to date; a newer one is refused with sqlite3.NotSupportedError."""
    db = sqlite3.connect(
        private.database(path),
        timeout=timeout_ms / 1000,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version != SCHEMA:
            from kinen.journal.migrate import migrate

            migrate(db, version)
        db.execute("PRAGMA synchronous=FULL")
        db.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT}")
    except BaseException:
        db.close()
        raise
    return db


def insert(db: sqlite3.Connection, rows: Sequence[Row]) -> list[Row]:
    """Write observations in one transaction; one that is there already stays as it is.

    They come back as they were written, or none if one was there.
    """
    db.execute("BEGIN IMMEDIATE")
    try:
        placed = [_placed(db, one) for one in rows]
        count = db.executemany(_INSERT, placed).rowcount
        db.execute("COMMIT")
        return placed if count == len(rows) else []
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _placed(db: sqlite3.Connection, one: Row) -> Row:
    """An observation of a session is part of the session's open capsule."""
    session, capsule = one[5], one[10]
    found = db.execute(_OPEN, (session,)).fetchone() if session and not capsule else None
    return (*one[:10], found[0], *one[11:]) if found else one


def keep(
    data: str,
    spools: list[str],
    one: Row,
    timeout_ms: int = HOOK_MS,
    before: Callable[[sqlite3.Connection], None] | None = None,
) -> bool:
    """Write an observation, or spool it when that cannot be done now; True if it was written.

    `before` is what else is to be written, such as the capsule that it is part of. The connection
    is left open for the process to end with: closing it would move the whole log into the database,
    which costs more than the write. Once the log is long that is done all the same: what a process
    has moved is forgotten with it, and the next one would have to read it all.
    """
    try:
        private.folder(data)
        path = os.path.join(data, "journal.db")
        file = private.identity(private.database(path))
        db = connect(path, timeout_ms)
        held.append(db)
        files = waiting(spools)
        if files:
            from kinen.journal.spool import drain

            drain(db, files)
        if before:
            before(db)
        insert(db, [one])
        if private.identity(path) != file or not file[1]:
            raise OSError(path)  # the home was moved or deleted: what was written is in no file
        remember(db, data)
    except Exception:  # whatever it is: an event that is not written waits in the spool
        from kinen.journal.spool import put

        put(spools[0], one)
        return False
    try:
        if os.path.getsize(f"{path}-wal") > CHECKPOINT * PAGE:
            held.pop().close()
    except (sqlite3.Error, OSError):
        pass  # it is written, whatever becomes of the log
    return True


held: list[sqlite3.Connection] = []


def remember(db: sqlite3.Connection, data: str) -> None:
    """Note how far the journal goes, in a file beside it: see `missing`."""
    last = db.execute("SELECT IFNULL(MAX(seq), 0) FROM observations").fetchone()[0]
    try:
        file = private.opener(os.path.join(data, SEEN), os.O_RDWR | os.O_CREAT)
    except OSError:
        return
    try:
        if last > _number(os.read(file, 20)):
            os.lseek(file, 0, os.SEEK_SET)
            os.write(file, b"%020d" % last)
    except OSError:
        pass  # a full disk: an older mark is still true
    finally:
        os.close(file)


def missing(db: sqlite3.Connection, data: str) -> tuple[int, int, float]:
    """How many observations the journal has and once had, and when; three zeros if none is missing.

    They are lost when the write-ahead log is removed or left out of a copy: SQLite opens what is
    left without a word.
    """
    path = os.path.join(data, SEEN)
    try:
        with open(path, "rb") as file:
            before = _number(file.read(20))
        moment = os.stat(path).st_mtime
    except OSError:
        return 0, 0, 0.0
    last = db.execute("SELECT IFNULL(MAX(seq), 0) FROM observations").fetchone()[0]
    return (last, before, moment) if last < before else (0, 0, 0.0)


def _number(digits: bytes) -> int:
    return int(digits) if digits.isdigit() else 0


def glance(path: str) -> str:
    """The mark of a journal as text, empty if there is none; read only, so that closing is free."""
    try:
        db = snapshot(path)
    except sqlite3.Error:
        return ""
    try:
        return "|".join(map(str, mark(db)))
    except sqlite3.Error:
        return "unknown" if os.path.exists(path) else ""
    finally:
        db.close()


def snapshot(path: str) -> sqlite3.Connection:
    """The journal to read from as it is now, whatever others write."""
    db = sqlite3.connect(f"file:{_quoted(path)}?mode=ro", uri=True, isolation_level=None)
    db.execute("BEGIN")
    return db


def _quoted(path: str) -> str:
    return os.path.abspath(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def mark(db: sqlite3.Connection) -> tuple[str, int, int]:
    """The journal's own id, and how far it goes: the last observation, the last change."""
    found: tuple[str, int, int] = db.execute(
        "SELECT (SELECT value FROM meta WHERE key = 'id'),"
        " (SELECT IFNULL(MAX(seq), 0) FROM observations),"
        " (SELECT IFNULL(MAX(seq), 0) FROM changes)"
    ).fetchone()
    return found


def waiting(spools: list[str]) -> list[str]:
    """The files of spooled observations, oldest first; folders that are not there are empty."""
    found = []
    for folder in (*spools, *map(elsewhere, spools)):
        try:
            names = os.listdir(folder)
            if folder not in spools:
                only_ours(folder)
        except OSError:
            continue
        found += [os.path.join(folder, name) for name in names if "." not in name]
    return sorted(found, key=os.path.basename)


def elsewhere(spool: str) -> str:
    """The same spool in the system's temporary folder, for when the home's disk is full."""
    top = os.environ.get("TEMP" if os.name == "nt" else "TMPDIR") or "/tmp"  # noqa: S108
    user = os.getuid() if hasattr(os, "getuid") else ""
    home, name = os.path.split(os.path.abspath(spool))
    flat = home.replace(os.sep, "%").replace(":", "%")
    return os.path.join(top, f"kinen-spool-{user}", flat, name)


def only_ours(folder: str) -> None:
    """Refuse a spool in the temporary folder where others may read along, or write."""
    top = os.path.dirname(os.path.dirname(folder))
    if hasattr(os, "getuid"):
        found = os.lstat(top)
        if found.st_uid != os.getuid() or found.st_mode & 0o077:
            raise PermissionError(13, "not ours alone", top)
