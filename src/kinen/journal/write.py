"""The write path of hooks: one observation, checked, durable, once, whatever else happens.

Light on purpose: it loads no more than `sqlite3` does, no `typing`, `re` or `json`.
"""

from __future__ import annotations

import os

from kinen import ids
from kinen.errors import Excluded, QueryError
from kinen.journal import spool
from kinen.journal.schema import COLUMNS, LATEST, SCHEMA, insert
from kinen.model.kinds import EVENTS
from kinen.privacy import entrance
from kinen.privacy.exclude import matching_glob
from kinen.space import read_head
from kinen.storage import private
from kinen.storage.sqlite import sqlite3

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from kinen.journal.schema import Row

HOOK_MS = 60
"""How long a hook waits for its turn before it spools."""
LONGEST = 16 << 20
CHECKPOINT = 200
"""Pages of write-ahead log before they move into the database: a hook may have to read them."""
PAGE = 4096
SEEN = "journal.seen"
"""The file with the number of the last observation, as of the last write."""


def observation_row(
    text: str,
    kind: str,
    at: int = 0,
    *,
    git_folders: tuple[str, str],
    files: Sequence[str] = (),
    excluded: Iterable[str] = (),
    **columns: Any,
) -> Row:
    """The row of a new observation: checked, masked, with the branch and commit of now.

    `at` is epoch milliseconds, 0 for now; `columns` are as in `row`. Raises QueryError for
    what cannot be an observation, and Excluded for a file that matches one of the globs.
    """
    text = entrance.plain(text)
    if kind not in EVENTS:
        raise QueryError(f"invalid kind {kind!r}", "use one of " + ", ".join(EVENTS))
    if not text.strip():
        raise QueryError("the text is empty", "say what happened")
    if len(text) > LONGEST:
        most = f"at most {LONGEST >> 20} million are stored"
        raise QueryError(f"the text has {len(text):,} characters", most)
    if not 0 <= at < LATEST:
        raise QueryError(f"invalid time {at}", "use epoch milliseconds before the year 10000")
    for file in files:
        glob = matching_glob(file, excluded)
        if glob:
            raise Excluded(f"{file} is never captured", f"privacy.exclude has {glob}")
    branch, head = read_head(*git_folders)
    return row(text, kind, at, files=files, branch=branch, head=head, **columns)


def row(
    content: str,
    kind: str,
    ts: int = 0,
    *,
    provenance: dict[str, Any] | None = None,
    files: Iterable[str] = (),
    masked_before: dict[str, int] | None = None,
    **names: str,
) -> Row:
    """An observation as the table has it, with secrets masked in every column.

    `names` are the other columns. `masked_before` counts secrets that were masked in the content
    before, by class.
    """
    text, counts = entrance.masked(content)
    about, more = entrance.masked_values(provenance or {})
    for secrets in (more, masked_before or {}):
        for name, count in secrets.items():
            counts[name] = counts.get(name, 0) + count
    values: dict[str, str | int] = {**entrance.named_fields(names)}
    paths = entrance.names(files)
    id_ = names.get("id")
    values["id"] = entrance.identifier(id_) if id_ else ids.ulid()
    values["kind"] = kind
    values["content"] = text
    values["ts"] = ts or ids.milliseconds()
    values["files"] = array(paths)
    values["masked"] = evidence(counts)
    values["provenance"] = entrance.plain(encoded(about))
    return tuple(values.get(name, "") for name in COLUMNS)


def evidence(counts: dict[str, int]) -> str:
    """Evidence of masking as JSON."""
    if not counts:
        return "{}"
    names = ", ".join(f'"{name}"' for name in sorted(counts))
    return f'{{"count": {sum(counts.values())}, "classes": [{names}]}}'


def array(items: Iterable[str]) -> str:
    """A JSON array of strings."""
    return encoded(list(items))


def encoded(value: Any) -> str:
    """JSON with sorted keys. Importing `json` would cost a hook as much as all the rest.

    Raises TypeError or ValueError for what JSON cannot hold.
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
    return _connected(path, timeout_ms)[0]


def _connected(path: str, timeout_ms: int) -> tuple[sqlite3.Connection, tuple[int, int]]:
    """The journal, brought up to date, and which file it is."""
    if not os.path.exists(path):
        from kinen.journal.migrate import create

        create(path)
    file = private.identity(private.database(path))
    db = sqlite3.connect(
        path,
        timeout=timeout_ms / 1000,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        # SQLite opens the log by its path when it first reads. If the home was moved in between,
        # the log belongs to the journal that took its place, and must not be written to.
        if private.identity(path) != file:
            raise sqlite3.OperationalError("the journal was moved while it was opened")
        if version != SCHEMA:
            from kinen.journal.migrate import migrate

            migrate(db, version)
        db.execute("PRAGMA synchronous=FULL")
        db.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT}")
    except BaseException:
        db.close()
        raise
    return db, file


def keep(
    data: str,
    spools: list[str],
    row: Row,
    before: Callable[[sqlite3.Connection], None] | None = None,
) -> bool:
    """Write an observation, or spool it when that cannot be done now; True if it was written.

    `before` writes what has to come first, such as the capsule of the observation. The connection
    stays open until the process ends: closing it would move the whole log into the database, which
    costs more than the write. A long log is moved all the same, because every process has to read
    the log from its beginning.
    """
    try:
        private.folder(data)
        path = os.path.join(data, "journal.db")
        db, file = _connected(path, HOOK_MS)
        open_connections.append(db)
        files = spool.waiting(spools)
        if files:
            spool.drain(db, files)
        if before:
            before(db)
        insert(db, [row])
        if private.identity(path) != file or not file[1]:
            # The home was moved or deleted: the row is in a file that has no name any more.
            raise OSError(path)
        remember(db, data)
    except Exception:  # whatever it is: an observation that is not written waits in the spool
        spool.put(spools[0], row)
        return False
    try:
        if os.path.getsize(f"{path}-wal") > CHECKPOINT * PAGE:
            open_connections.pop().close()
    except (sqlite3.Error, OSError):
        pass  # the observation is written, whatever becomes of the log
    return True


open_connections: list[sqlite3.Connection] = []
"""Connections of `keep`, which the end of the process closes."""


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
    """How many observations the journal has and had, and when; three zeros if none is missing.

    They are lost when the write-ahead log is removed or not copied: SQLite opens the rest without
    an error.
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
