"""Puts documents into the index and takes them out again."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from typing import TYPE_CHECKING

from kinen.errors import Busy
from kinen.index.schema import (
    SCHEMA,
    TABLES,
    TRIGGERS,
    drop_all,
    open_database,
    statements,
    translated,
    writing,
)
from kinen.model import Report, State
from kinen.text import digest, identifier_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kinen.model import Change, Chunk, Document, Link, Record

_LAYOUT = ("", "sessions", "rounds", "artifacts", "resources")
BATCH = 200
"""Changes per transaction: large enough to be fast, small enough that others get a turn."""


class Writer:
    """The one who writes an index; `lock` keeps it to one process at a time."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.db = open_database(path, TABLES, SCHEMA)

    def close(self) -> None:
        self.db.close()

    def states(self, source: str) -> dict[str, State]:
        rows = self.db.execute(
            "SELECT key, stamp, digest, reason FROM states WHERE source = ?", (source,)
        )
        return {key: State(stamp, content, reason) for key, stamp, content, reason in rows}

    def clear(self) -> None:
        """Forget everything; the next sync builds it again from the truth."""
        with translated(self.path), writing(self.db):
            drop_all(self.db)
            for statement in statements(TABLES):
                self.db.execute(statement)
            self.bump()

    def apply(
        self,
        source: str,
        changes: Iterator[Change],
        known: set[str],
        *,
        bulk: bool,
        done: Callable[[int], None],
    ) -> Report:
        """Write the changes of one source in batches, each in its own transaction."""
        tally = {"added": 0, "changed": 0, "removed": 0, "skipped": 0, "touched": 0}
        seen = 0
        with translated(self.path):
            if bulk:
                self._triggers(on=False)
            for batch in _batches(changes):
                with writing(self.db):
                    for change in batch:
                        tally[self._change(source, change, known)] += 1
                    self.bump()
                    self.set("linked", "")
                seen += len(batch)
                done(seen)
            self._triggers(on=True)
        return Report(tally["added"], tally["changed"], tally["removed"], tally["skipped"])

    def _change(self, source: str, change: Change, known: set[str]) -> str:
        key, state = change.key, change.state
        if change.removed:
            self._remove(source, key)
            self.db.execute("DELETE FROM states WHERE source = ? AND key = ?", (source, key))
            return "removed"
        self.db.execute(
            "INSERT OR REPLACE INTO states VALUES (?, ?, ?, ?, ?)", (source, key, *state)
        )
        if change.document is None:
            if state.reason:
                self._remove(source, key)
                return "skipped"
            undated = "UPDATE records SET at = ? WHERE source = ? AND key = ? AND NOT dated"
            self.db.execute(undated, (change.at, source, key))
            return "touched"
        self._remove(source, key)
        self._insert(source, key, change.document)
        return "changed" if key in known else "added"

    def _remove(self, source: str, key: str) -> None:
        ids = self.db.execute(
            "SELECT id FROM records WHERE source = ? AND key = ?", (source, key)
        ).fetchall()
        for (record,) in ids:
            for table in ("chunks", "links", "tags"):
                self.db.execute(f"DELETE FROM {table} WHERE record = ?", (record,))
            self.db.execute("DELETE FROM records WHERE id = ?", (record,))

    def _insert(self, source: str, key: str, document: Document) -> None:
        record = document.record
        row = self.db.execute(
            "INSERT INTO records(ref, kind, title, path, at, session, tags, metadata, aliases,"
            " dated, source, key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*_columns(record), _json(document.aliases), int(document.dated), source, key),
        ).lastrowid
        self.db.executemany(
            "INSERT OR IGNORE INTO tags VALUES (?, ?)", [(tag, row) for tag in record.tags]
        )
        self.db.executemany(
            "INSERT INTO chunks(record, n, title, heading, path, body, extra, start_line,"
            " end_line, page, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [_chunk_row(row, record, chunk) for chunk in document.chunks],
        )
        self.db.executemany(
            "INSERT INTO links VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)",
            [_link_row(row, n, link) for n, link in enumerate(document.links)],
        )

    def _triggers(self, *, on: bool) -> None:
        """Off before a bulk load; on again, full text is built at once from the chunks."""
        there = self.db.execute(
            "SELECT COUNT(*) FROM sqlite_master WHERE type = 'trigger'"
        ).fetchone()[0]
        if bool(there) == on:
            return
        with writing(self.db):
            if on:
                self.db.execute("INSERT INTO search(search) VALUES ('rebuild')")
                for statement in statements(TRIGGERS):
                    self.db.execute(statement)
            else:
                self.db.execute("DROP TRIGGER chunks_added")
                self.db.execute("DROP TRIGGER chunks_removed")

    def pending(self, known: set[str]) -> list[tuple[str, int]]:
        """Digests that have no vector yet, with the length of their text, longest first."""
        rows = self.db.execute("SELECT digest, MAX(LENGTH(body)) FROM chunks GROUP BY digest")
        return sorted(
            ((d, n) for d, n in rows if d not in known), key=lambda row: (-row[1], row[0])
        )

    def texts(self, digests: list[str]) -> list[tuple[str, str]]:
        """What the embedder reads for each digest: the headings above the chunk, and its text."""
        found = []
        for one in digests:
            row = self.db.execute(
                "SELECT title, heading, body FROM chunks WHERE digest = ? LIMIT 1", (one,)
            )
            title, heading, body = row.fetchone()
            found.append((above(title, heading, body), body))
        return found

    def get(self, key: str) -> str:
        row = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else ""

    def set(self, key: str, value: str) -> None:
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def bump(self) -> None:
        """A new generation: whatever was derived from the chunks is stale."""
        self.set("generation", str(int(self.get("generation") or 0) + 1))


def above(title: str, heading: str, body: str) -> str:
    """The headings that a chunk stands under, without those that it says itself."""
    said = body[:200]
    return " > ".join(part for part in (heading or title).split(" > ") if part and part not in said)


def _batches(changes: Iterator[Change]) -> Iterator[list[Change]]:
    batch: list[Change] = []
    for change in changes:
        batch.append(change)
        if len(batch) >= BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _columns(record: Record) -> tuple[str, ...]:
    return (
        record.ref,
        record.kind,
        record.title,
        record.path,
        record.at,
        record.session,
        _json(record.tags),
        _json(record.metadata or {}),
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _path_words(record: Record) -> str:
    """What a path says besides the title: no suffix, no folder that only states the kind."""
    folders, _, name = record.path.rpartition("/")
    stem = name.rpartition(".")[0] or name
    said = [part for part in folders.split("/") if part not in _LAYOUT]
    return " ".join(said if stem == record.title else [*said, stem])


def _chunk_row(row: int | None, record: Record, chunk: Chunk) -> tuple[object, ...]:
    content = digest(above(record.title, chunk.heading, chunk.text) + "\0" + chunk.text)
    extra = identifier_parts(chunk.text)
    place = (chunk.start_line, chunk.end_line, chunk.page)
    return (
        row,
        chunk.n,
        record.title,
        chunk.heading,
        _path_words(record),
        chunk.text,
        extra,
        *place,
        content,
    )


def _link_row(row: int | None, n: int, link: Link) -> tuple[object, ...]:
    return (
        row,
        n,
        link.target,
        link.text,
        link.heading,
        link.line,
        int(link.embedded),
        int(link.wiki),
    )


@contextlib.contextmanager
def sync_lock(path: str, wait: float) -> Iterator[None]:
    """One sync at a time per space. SQLite's own lock: portable, and gone with its process."""
    db = sqlite3.connect(path, isolation_level=None, timeout=wait)
    try:
        try:
            db.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            raise Busy(
                "another kinen is indexing this space", "wait for it, then run it again"
            ) from error
        yield
    finally:
        db.close()
