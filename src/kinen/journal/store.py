"""The journal of one space, as everything but hooks writes it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum

from kinen import ids
from kinen.errors import Busy, DiskFull, NotFound
from kinen.journal import capsules, queries, spool, write
from kinen.journal.schema import COLUMNS, OF_CAPSULE, insert
from kinen.journal.selection import TABLES
from kinen.model.journal import Capsule, Observation, Pin, Scope, Summary
from kinen.model.late import Any, cache, json
from kinen.privacy import entrance
from kinen.storage import private
from kinen.storage.database import integrity, path_of, translated, writing
from kinen.storage.sqlite import sqlite3
from kinen.text import iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kinen.journal.account import History
    from kinen.journal.schema import Row

PATIENCE_MS = 20_000
"""How long a write waits for its turn; an observation is spooled after that."""
BRIEFLY_MS = 200
"""How long a reader waits to write what was spooled: it can do without."""
HINT = "run `kinen doctor`; your journal was not changed"


class Journal:
    """Read and write access to one journal; the database is opened when it is first needed."""

    def __init__(
        self,
        data: str,
        spools: list[str],
        patience_ms: int = PATIENCE_MS,
        on_write: Callable[[], None] = lambda: None,
        history: History | None = None,
    ) -> None:
        """`on_write` is called before something is written; `history` knows the commits."""
        self.path = os.path.join(data, "journal.db")
        self.spools = spools
        self._patience = patience_ms
        self._on_write = on_write
        self.history = history
        self._db: sqlite3.Connection | None = None
        self._file: tuple[int, int] = (0, 0)

    @property
    def exists(self) -> bool:
        return os.path.exists(self.path) or bool(spool.waiting(self.spools))

    @property
    def db(self) -> sqlite3.Connection:
        """The database, with everything that had been spooled written to it."""
        if (
            self._db is not None
            and not self._db.in_transaction
            and (private.identity(self.path) != self._file)
        ):
            self.close()
        if self._db is None:
            with self.translated():
                private.folder(os.path.dirname(self.path))
                self._db = write.connect(self.path, self._patience)
            self._file = private.identity(self.path)
            spool.keep_reserve(self.spools[0])
        self.drain(BRIEFLY_MS)
        return self._db

    def ready(self) -> str:
        """The path of the database, up to date and with nothing left in the spool."""
        return self.path if self.db else ""

    def close(self) -> None:
        """Close the database, with as much of its log moved into it as others allow."""
        if self._db is not None:
            with contextlib.suppress(sqlite3.Error):
                write.remember(self._db, os.path.dirname(self.path))
                self._db.execute("PRAGMA busy_timeout=0")
                self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")
            self._db.close()
            self._db = None

    def lost(self) -> str:
        """A message if observations are missing that the journal had before; empty if none are."""
        with self.translated():
            count, before, moment = write.missing(self.db, os.path.dirname(self.path))
        if not before:
            return ""
        return (
            f"journal.db has {count:,} observations, {before:,} were seen on"
            f" {iso(moment)[:10]}: its write-ahead log was removed"
        )

    def translated(self) -> contextlib.AbstractContextManager[None]:
        """Errors of SQLite as errors of the journal."""
        return translated(self.path, HINT)

    def tag(self, path: str, ops: list[str], head: str, now: int) -> None:
        """Store tags that were set on a file by hand: `+tag` or `-tag`."""
        place = entrance.name(path)
        rows = [(ids.ulid(), place, op[0], entrance.name(op[1:]), head, now) for op in ops]
        with self.writing() as db:
            db.executemany(
                "INSERT INTO tag_ops(id, path, op, tag, head, created_at)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                rows,
            )

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        self._on_write()
        with self.translated():
            db = self.db
            self.drain(self._patience)  # what happened before comes first
            with writing(db):
                yield db

    def noted(self, key: str) -> str:
        """A value that is stored beside the entries; empty if there is none."""
        if not self.exists:
            return ""
        row = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else ""

    def note(self, texts: Mapping[str, str]) -> None:
        """Store texts beside the entries, by their keys."""
        with self.writing() as db:
            db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", texts.items())

    def check(self) -> str:
        return integrity(self.db) if self.exists else ""

    def drain(self, patience_ms: int) -> int:
        """Write what was spooled; if that cannot be done now, it stays where it is."""
        files = spool.waiting(self.spools)
        if not files or self._db is None:
            return 0
        try:
            self._db.execute(f"PRAGMA busy_timeout={min(patience_ms, self._patience)}")
            return spool.drain(self._db, files)
        except sqlite3.Error:
            return 0
        finally:
            self._db.execute(f"PRAGMA busy_timeout={self._patience}")

    def observe(self, row: Row) -> Observation:
        """Store an observation; when this returns, it is on disk. An existing id stays as it is."""
        self._on_write()
        try:
            db = self.db
            written = insert(db, [row])
        except (sqlite3.OperationalError, Busy) as error:
            try:
                spool.put(self.spools[0], row)
            except OSError as fault:
                message = f"cannot store the observation: {fault.strerror or fault} ({error})"
                raise DiskFull(self.path, message) from error
            written = [row]
        if written:
            cells = {**dict(zip(COLUMNS, written[0], strict=True)), "redacted": 0}
            observation: Observation = queries.decode_cells("observation", cells)
        else:
            observation = queries.entry(db, "observation", str(row[0]))
        return observation

    def entry(self, kind: str, id_: str) -> Any:
        """One entry, forgotten or not, or None."""
        return queries.entry(self.db, kind, id_)

    def entries(self, plural: str, chosen: queries.EntryFilter) -> tuple[list[Any], int]:
        """The newest entries that match, newest first, and how many match in all."""
        return queries.entries(self.db, plural, chosen)

    def stream(self, capsule: str, after: tuple[int, str] = (0, "")) -> Iterator[Observation]:
        """The observations of a capsule that are not forgotten, as they happened."""
        return queries.stream(self.db, capsule, after)

    def resolve(self, name: str, kinds: Sequence[str] = ()) -> tuple[str, str]:
        """The kind and id that a ref, an id or the beginning of one stands for."""
        return queries.resolve(self.db, name, kinds)

    def open_capsule(
        self,
        intent: str,
        type_: str,
        scope: Scope,
        now: int,
        *,
        resume: bool = False,
        id_: str = "",
        parent: str = "",
    ) -> Capsule:
        """Open a capsule. One of the same session that is still open was left by a crash.

        It is closed, or returned if `resume` is set. If the id exists, that capsule is returned.
        """
        id_ = entrance.identifier(id_)
        scope = Scope(*entrance.names(scope))
        with self.writing() as db:
            existing: Capsule | None = queries.entry(db, "capsule", id_) if id_ else None
            if existing:
                return existing
            columns = queries.NOUNS["capsules"].columns
            rows = db.execute(
                f"SELECT {columns} FROM capsules WHERE status = 'open' AND type = ?"
                " AND session = ? ORDER BY id",
                (type_, scope.session),
            ).fetchall()
            same: list[Capsule] = [queries.decode("capsule", row) for row in rows]
            if same and resume:
                return same[-1]
            for left in same:
                self._close(db, left, "", "abandoned", now)
            self._close_idle(db, now)
            parent_id = queries.resolve(db, parent, ["capsule"])[1] if parent else ""
            capsule = Capsule(
                id_ or ids.ulid(now),
                type_,
                entrance.name(intent),
                "open",
                now,
                scope=scope,
                parent=parent_id,
            )
            db.execute(
                "INSERT INTO capsules(id, type, intent, status, opened_at, session, repo, agent,"
                " user, task, parent) VALUES (?, ?, ?, 'open', ?, ?, ?, ?, ?, ?, ?)",
                (capsule.id, type_, capsule.intent, now, *scope, parent_id),
            )
        return capsule

    def close_idle(self, now: int) -> None:
        """Close the capsules that a crash left open."""
        with self.writing() as db:
            self._close_idle(db, now)

    def _close_idle(self, db: sqlite3.Connection, now: int) -> None:
        from kinen.journal import recent

        for id_ in recent.gone(db, now):
            self._close(db, queries.entry(db, "capsule", id_), "", "abandoned", now)

    def close_capsule(
        self, name: str, summary: str, now: int, confidence: float = 1.0
    ) -> tuple[Capsule, Summary | None]:
        """Close a capsule; without a summary one is made from its observations."""
        with self.writing() as db:
            capsule: Capsule = queries.entry(db, *queries.resolve(db, name, ["capsule"]))
            if capsule.status != "open" or capsule.forgotten_at:
                raise NotFound(f"{capsule.ref} is closed already", "`kinen list capsules` shows it")
            written = self._close(db, capsule, summary, "", now, confidence)
            return queries.entry(db, "capsule", capsule.id), written

    def _close(
        self,
        db: sqlite3.Connection,
        capsule: Capsule,
        summary: str,
        reason: str,
        now: int,
        confidence: float = 1.0,
    ) -> Summary | None:
        last = db.execute(
            f"SELECT MAX(ts) FROM observations WHERE {OF_CAPSULE} AND forgotten_at = 0",
            (capsule.id,),
        ).fetchone()[0]
        ended = max(capsule.opened_at, last or 0) if reason else max(now, capsule.opened_at)
        if not capsule.intent:  # its first prompt had to wait in the spool
            prompt = capsules.first_prompt(db, capsule.id)
            capsules.call(db, capsule.id, prompt)
            capsule = capsule._replace(intent=prompt.partition("\n")[0][: capsules.INTENT])
        db.execute(
            "UPDATE capsules SET status = 'closed', closed_at = ?, reason = ? WHERE id = ?",
            (ended, reason, capsule.id),
        )
        db.execute("DELETE FROM meta WHERE key = ?", (capsules.CLIENT + capsule.id,))
        closed = capsule._replace(status="closed", closed_at=ended, reason=reason)
        if summary.strip():
            text = entrance.name(summary)
            return self._summary(db, closed, text, (), now, confidence, written=True)
        summaries = db.execute(
            "SELECT COUNT(*) FROM summaries WHERE capsule = ? AND written AND created_at >= ?",
            (capsule.id, last or 0),
        ).fetchone()[0]
        if last is None or summaries:
            return None
        from kinen.journal.summary import summarize  # loads the markdown parser

        capsules.drop_summaries(db, capsule.id)
        text, evidence = summarize(closed, queries.stream(db, capsule.id), self.history)
        return self._summary(db, closed, text, evidence, ended, 0.5, written=False)

    def sum_up(self, id_: str, now: int) -> None:
        """Write down what an open capsule came to so far, for when its client forgets it."""
        from kinen.journal.summary import summarize

        with self.writing() as db:
            capsule: Capsule | None = queries.entry(db, "capsule", id_)
            if capsule and capsule.status == "open":
                capsules.drop_summaries(db, id_)
                text, evidence = summarize(capsule, queries.stream(db, id_), self.history)
                self._summary(db, capsule, text, evidence, now, 0.5, written=False)

    def _summary(
        self,
        db: sqlite3.Connection,
        capsule: Capsule,
        text: str,
        evidence: tuple[str, ...],
        now: int,
        confidence: float,
        *,
        written: bool,
    ) -> Summary:
        id_ = ids.ulid(now)
        db.execute(
            "INSERT INTO summaries(id, capsule, content, created_at, confidence, evidence_refs,"
            " written) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (id_, capsule.id, text, now, confidence, json.dumps(evidence), int(written)),
        )
        return Summary(id_, capsule.id, text, now, confidence, evidence, written)

    def pin(self, target: str, note: str, ttl_ms: int, scope: Scope, now: int) -> Pin:
        """Pin a ref; if it is pinned in that scope, the pin gets the new note and end."""
        kind, _, id_ = entrance.name(target).partition(":")
        scope = Scope(*entrance.names(scope))
        ends = now + ttl_ms if ttl_ms else 0
        with self.writing() as db:
            row = db.execute(
                "SELECT id FROM pins WHERE target_type = ? AND target_id = ?"
                " AND (session, repo, agent, user, task) = (?, ?, ?, ?, ?)",
                (kind, id_, *scope),
            ).fetchone()
            if row:
                db.execute(
                    "UPDATE pins SET reason = ?, expires_at = ? WHERE id = ?",
                    (entrance.name(note), ends, row[0]),
                )
                return queries.entry(db, "pin", row[0])  # type: ignore[no-any-return]
            pin = Pin(ids.ulid(now), f"{kind}:{id_}", entrance.name(note), now, ends, scope)
            db.execute(
                "INSERT INTO pins VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (pin.id, kind, id_, pin.note, now, ends, *scope),
            )
        return pin

    def unpin(self, name: str) -> list[str]:
        """Remove a pin, or every pin of a ref; returns the refs that were pinned."""
        name = entrance.name(name)
        with self.writing() as db:
            rows = db.execute(
                "SELECT id, target_type || ':' || target_id FROM pins WHERE"
                " :name IN (id, 'pin:' || id, target_id, target_type || ':' || target_id)",
                {"name": name},
            ).fetchall()
            db.executemany("DELETE FROM pins WHERE id = ?", [(id_,) for id_, _ in rows])
        if not rows:
            raise NotFound(f"nothing pinned as {name!r}", "`kinen list pins` shows the pins")
        return [ref for _, ref in rows]


PAGES_KB = 64_000
"""Memory for pages: with SQLite's default of 2 MB the indexes are read again and again."""


class State(IntEnum):
    """What became of an entry that the journal has."""

    LIVE = 0
    ERASED = 1
    FORGOTTEN = 2


_HELD = "CREATE TEMP TABLE IF NOT EXISTS held(id TEXT PRIMARY KEY, capsule TEXT) WITHOUT ROWID"


class Bulk:
    """Writes entries as cells, in the order of the columns of their table; the first is the key."""

    def __init__(self, db: sqlite3.Connection, columns: Mapping[str, tuple[str, ...]]) -> None:
        self._db = db
        self._last_seq = 0
        self._insert = {name: _insert(name, cells) for name, cells in columns.items()}
        self._update = {name: _update(name, cells) for name, cells in columns.items()}
        self._upsert = {name: _upsert(name, cells) for name, cells in columns.items()}
        self._state = {name: _state(name, cells[0]) for name, cells in columns.items()}

    @contextlib.contextmanager
    def transaction(self, hint: str) -> Iterator[None]:
        """Everything or nothing; errors of the database get a hint."""
        db = self._db
        db.execute(f"PRAGMA cache_size=-{PAGES_KB}")
        with translated(path_of(db) or "the journal", hint), writing(db):
            newest = "SELECT IFNULL(MAX(seq), 0) FROM observations"
            self._last_seq = db.execute(newest).fetchone()[0]
            yield
            db.execute("DROP TABLE IF EXISTS temp.held")

    def add(self, table: str, cells: Sequence[object]) -> bool:
        """Insert an entry unless its key exists; whether it was inserted."""
        return bool(self._db.execute(self._insert[table], cells).rowcount)

    def replace(self, table: str, cells: Sequence[object]) -> None:
        """Give an entry that exists other cells."""
        self._db.execute(self._update[table], (*cells, cells[0]))

    def put(self, table: str, cells: Sequence[object]) -> None:
        """Insert an entry, or replace it, forgotten or not."""
        self._db.execute(self._upsert[table], cells)

    def state(self, table: str, key: str) -> State | None:
        """Whether an entry is live, redacted or forgotten; None if the journal does not have it."""
        row = self._db.execute(self._state[table], (key,)).fetchone()
        return State(row[0]) if row else None

    def hold(self, capsule: str, observations: Sequence[str]) -> int:
        """Remember the observations that a capsule lists; how many another capsule has."""
        ids = dict.fromkeys(observations)
        self._db.execute(_HELD)
        inserted = self._db.executemany(
            "INSERT OR IGNORE INTO temp.held VALUES (?, ?)", [(id_, capsule) for id_ in ids]
        )
        return len(ids) - max(inserted.rowcount, 0)

    def assign_capsules(self, *, overwrite: bool) -> None:
        """Put observations that came without a capsule into the first one that lists them."""
        self._db.execute(_HELD)
        self._db.execute(
            "UPDATE observations SET capsule = held.capsule FROM temp.held"
            " WHERE held.id = observations.id AND observations.capsule = ''"
            " AND forgotten_at = 0 AND (seq > ? OR ?)",
            (self._last_seq, overwrite),
        )


@cache
def _insert(table: str, columns: tuple[str, ...]) -> str:
    places = ", ".join("?" * len(columns))
    return f"INSERT OR IGNORE INTO {table}({', '.join(columns)}) VALUES ({places})"


@cache
def _update(table: str, columns: tuple[str, ...]) -> str:
    cells = ", ".join(f"{column} = ?" for column in columns)
    return f"UPDATE {table} SET {cells} WHERE {columns[0]} = ?"


@cache
def _upsert(table: str, columns: tuple[str, ...]) -> str:
    places = ", ".join("?" * len(columns))
    settings = [f"{column} = excluded.{column}" for column in columns[1:]]
    if TABLES[table].forgettable:
        settings.append("forgotten_at = 0")
    return (
        f"INSERT INTO {table}({', '.join(columns)}) VALUES ({places})"
        f" ON CONFLICT({columns[0]}) DO UPDATE SET {', '.join(settings)}"
    )


@cache
def _state(table: str, key: str) -> str:
    conditions = TABLES[table]
    return (
        f"SELECT CASE WHEN NOT {conditions.live} THEN {State.FORGOTTEN:d}"
        f" WHEN {conditions.erased} THEN {State.ERASED:d} ELSE {State.LIVE:d} END"
        f" FROM {table} WHERE {key} = ?"
    )
