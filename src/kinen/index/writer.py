"""Writes documents to the index and removes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from kinen.index.schema import (
    CLEANED,
    LATE,
    SCHEMA,
    SCOPE_COLUMNS,
    TABLES,
    TRACES,
    TRIGGERS,
    drop_all,
    open_database,
)
from kinen.model.documents import Change, Document, Report, State
from kinen.model.records import JOURNAL_KINDS, Chunk, Record
from kinen.ports import Source
from kinen.storage.database import scrub, statements, translated, writing
from kinen.text import digest, identifier_parts

if TYPE_CHECKING:
    from kinen.journal.mark import Erasures
    from kinen.storage.sqlite import sqlite3

    Progress = Callable[[str, int, int], None]
    _Member = tuple[str, str, str, int, list[Any] | None]
    """A chunk of a segment: its time, ref, text and id, and its row if that is new."""

MARKDOWN = (".md", ".markdown", ".mdx")
_LAYOUT = ("", "sessions", "rounds", "artifacts", "resources")
BATCH = 200
"""Changes per transaction: large enough to be fast, small enough that others get a turn."""
BULK = 300
"""From this many changes on, full text is built once at the end instead of row by row."""
LARGE = 50_000
"""Chunks from which on a bulk load keeps all indexes."""
HEAVY = 5_000
"""Chunks per transaction: a few large files are as much as many small ones."""
BLOCK = 1_024
"""Texts that are embedded in the order of their length: those of one length make a batch."""
RENAMED = "renamed"
"""The key in `meta` of the names that links may lead to now, or no longer."""
EVERY_NAME = "*"
MOST_NAMES = 500
"""From this many on, all links are resolved again."""
JOURNAL = "journal"
"""The source whose records are found by their refs."""
EMPTY = "[]"
STALE_TEXT = "stale text"
"""The key in `meta` that says that full text has words of chunks that are gone."""


class Writer:
    """Write access to one index; `sync_lock` keeps it to one process at a time."""

    def __init__(
        self,
        path: str,
        shared: sqlite3.Connection | None = None,
        erasures: Erasures | None = None,
    ) -> None:
        """`erasures` are the journal's: what it erases from now on is not written."""
        self.path = path
        self._shared = shared is not None
        self.db = shared or open_database(path, TABLES, SCHEMA)
        self._names: dict[tuple[str, str, str], int] = {}
        self._erasures = erasures
        self._begin = erasures.last() if erasures else ""
        self._gone: tuple[object, frozenset[str]] = ((), frozenset())

    def close(self) -> None:
        if not self._shared:
            self.db.close()

    def gone(self, after: str = "") -> frozenset[str]:
        """The refs that were erased or hidden after what a source knows of, or since the beginning.

        Asked within the transaction that writes: what is erased after that is removed by whoever
        erases it, or kept from readers by their fence.
        """
        if self._erasures is None:
            return frozenset()
        state = (after, self._erasures.version())
        if state != self._gone[0]:
            self._gone = (state, frozenset(self._erasures.since(after or self._begin)[0]))
        return self._gone[1]

    def remove_erased(self, patience_ms: int = 0) -> None:
        """Remove what the journal erased and hid since the last time, in one short transaction.

        Safe while another process syncs: no text is written, and none comes back. With
        `patience_ms` another process is waited for no longer than that.
        """
        if self._erasures is None:
            return
        if patience_ms:
            self.db.execute(f"PRAGMA busy_timeout={patience_ms}")
        with translated(self.path), writing(self.db):
            refs, last = self._erasures.since(self.get(CLEANED))
            if last == self.get(CLEANED):
                return
            self._names = {}
            rows = _Rows(self.db)
            for ref in refs:
                self._remove_ref(ref, rows.segments)
            rows.write()
            self.set(CLEANED, last)
            if refs:
                self._note_stale_text()
                self.bump()
                self._note_names()
                self.set("linked", "")
                self.count_chunks()

    def _remove_ref(self, ref: str, segments: set[str]) -> None:
        """Remove a record, and of a file its symbols, so that a later sync may read it again."""
        kind, _, path = ref.partition(":")
        keyed = self.db.execute(
            "SELECT source, IIF(source = ?, ref, key) FROM records WHERE ref = ?", (JOURNAL, ref)
        ).fetchall()
        keyed += [("symbols", path)] if kind == "file" else []
        for source, key in keyed:
            if key:
                self._remove(source, key, segments)
                self.db.execute("DELETE FROM states WHERE source = ? AND key = ?", (source, key))
        row = self.db.execute("SELECT id FROM records WHERE ref = ?", (ref,)).fetchone()
        if row:  # of the history, whose records have no key
            self._delete(row[0])
            self.db.execute("UPDATE commits SET record = -1 WHERE record = ?", row)
            self.db.execute("UPDATE files SET record = 0 WHERE record = ?", row)
            # The next sync compares again which refs are hidden.
            self.db.execute("UPDATE states SET stamp = '?' WHERE source = 'git' AND key = 'hidden'")

    def states(self, source: str) -> dict[str, State]:
        rows = self.db.execute(
            "SELECT key, stamp, digest, reason FROM states WHERE source = ?", (source,)
        )
        return {key: State(stamp, content, reason) for key, stamp, content, reason in rows}

    def clear(self) -> None:
        """Empty the index; the next sync builds it again from the sources."""
        with translated(self.path), writing(self.db):
            drop_all(self.db)
            for statement in statements(TABLES):
                self.db.execute(statement)
            self.set(CLEANED, self._begin)
            self.bump()

    def sync(self, source: Source, progress: Progress) -> Report:
        """Index what changed in a source since the last time."""
        states = self.states(source.name)
        delta = source.delta(states)
        total = delta.total
        if total:
            progress("read", 0, total)
        return self.apply(
            source.name,
            delta.changes,
            erased=delta.erased,
            anew=delta.anew,
            bulk=total > max(BULK, len(states) // 4),
            # Changes that a source adds at its end, such as its own state, are not counted.
            done=lambda seen: progress("read", min(seen, total) if total else seen, total),
        )

    def apply(
        self,
        source: str,
        changes: Iterator[Change],
        *,
        anew: bool,
        bulk: bool,
        done: Callable[[int], None],
        erased: str = "",
    ) -> Report:
        """Write the changes of one source in batches, each in its own transaction."""
        tally = {"added": 0, "changed": 0, "removed": 0, "skipped": 0, "touched": 0}
        seen = 0
        with translated(self.path):
            if anew:
                with writing(self.db):
                    self.void(source)
            if bulk:
                self.triggers(on=False)
            for batch in batches(changes):
                with writing(self.db):
                    self._batch(source, batch, tally, erased)
                seen += len(batch)
                done(seen)
            self.triggers(on=True)
            unchanged = self.count(source) - tally["added"] - tally["changed"]
        return Report(
            added=tally["added"],
            changed=tally["changed"],
            removed=tally["removed"],
            skipped=tally["skipped"],
            unchanged=max(0, unchanged),
        )

    def follow(self, source: Source, patience_ms: int = 0) -> None:
        """Index what is new in a source, in one transaction: safe while another process syncs.

        With `patience_ms` another process is waited for no longer than that.
        """
        if patience_ms:
            self.db.execute(f"PRAGMA busy_timeout={patience_ms}")
        with translated(self.path), writing(self.db):
            self.remove_erased()
            delta = source.delta(self.states(source.name))
            if delta.anew:
                self.void(source.name)
            for batch in batches(delta.changes):
                self._batch(source.name, batch, {}, delta.erased)
            self._note_stale_text()
            self.count_chunks()

    def void(self, source: str) -> None:
        """Remove all records of a source."""
        ours = "(SELECT id FROM records WHERE source = ?)"
        for table in ("chunks", "links", "tags"):
            self.db.execute(f"DELETE FROM {table} WHERE record IN {ours}", (source,))
        for table in ("records", "states"):
            self.db.execute(f"DELETE FROM {table} WHERE source = ?", (source,))
        self.set(RENAMED, EVERY_NAME)

    def _batch(self, source: str, batch: list[Change], tally: dict[str, int], erased: str) -> None:
        self._names = {}
        gone = self.gone(erased)
        rows = _Rows(self.db)
        name = "ref" if source == JOURNAL else "key"
        indexed = self.db.execute(
            f"SELECT {name} FROM records WHERE source = ? AND {name} != ''"
            f" AND {name} IN (SELECT value FROM json_each(?))",
            (source, json.dumps([change.key for change in batch])),
        )
        rows.keys = {row[0] for row in indexed}
        for change in batch:
            done = self._change(source, change, rows, gone)
            tally[done] = tally.get(done, 0) + 1 + len(change.others)
        rows.write()
        self.bump()
        if source != "symbols":
            self._note_names()
        self.set("linked", "")

    def _note_names(self) -> None:
        """Remember the names that came or went with a batch, until links are resolved again."""
        before = self.changed_names()
        changed = [name for name, count in self._names.items() if count]
        if before is None or not changed:
            return
        from kinen.text.links import name_keys

        keys = {*before}
        for _, path, aliases in changed:
            keys |= name_keys(path, json.loads(aliases))
        self.set(RENAMED, json.dumps(sorted(keys)) if len(keys) <= MOST_NAMES else EVERY_NAME)

    def changed_names(self) -> set[str] | None:
        """The `name_keys` that records got or lost since links were resolved; None for too many."""
        text = self.get(RENAMED)
        return None if text == EVERY_NAME else set(json.loads(text or "[]"))

    def forget_changed_names(self) -> None:
        self.set(RENAMED, "[]")

    def _change(self, source: str, change: Change, rows: _Rows, gone: frozenset[str]) -> str:
        key = change.key
        state = change.state
        existed = key in rows.keys
        if change.removed or (gone and _refs(change) & gone):
            self._replace(source, key, rows)
            self.db.execute("DELETE FROM states WHERE source = ? AND key = ?", (source, key))
            return "removed"
        if state is not None:
            self.db.execute(
                "INSERT OR REPLACE INTO states VALUES (?, ?, ?, ?, ?)", (source, key, *state)
            )
        if change.document is None:
            if change.empty or (state is not None and state.reason):
                self._replace(source, key, rows)
                return "touched" if change.empty else "skipped"
            undated = (
                "UPDATE records SET at = ? WHERE source = ? AND key = ? AND key != '' AND NOT dated"
            )
            self.db.execute(undated, (change.at, source, key))
            return "touched"
        self._replace(source, key, rows)
        for document in (change.document, *change.others):
            aliases = rows.add(source, key, document)
            self._count_name(document.record.ref, document.record.path, aliases, 1)
        return "changed" if existed else "added"

    def _replace(self, source: str, key: str, rows: _Rows) -> None:
        """Remove the records of a key, if there are any; what was added before is written first."""
        if key in rows.keys:
            rows.write()
            self._remove(source, key, rows.segments)
            rows.keys.discard(key)
            rows.begin()

    def _remove(self, source: str, key: str, segments: set[str]) -> None:
        keyed = "source = ? AND " + ("ref = ?" if source == JOURNAL else "key = ? AND key != ''")
        removed = self.db.execute(
            f"SELECT id, ref, path, aliases FROM records WHERE {keyed}", (source, key)
        ).fetchall()
        for record, ref, path, aliases in removed:
            self._count_name(ref, path, aliases, -1)
            if source == JOURNAL:
                rows = self.db.execute("SELECT segment FROM chunks WHERE record = ?", (record,))
                segments.update(row[0] for row in rows if row[0])
            self._delete(record)

    def _delete(self, record: int) -> None:
        for table in ("chunks", "links", "tags"):
            self.db.execute(f"DELETE FROM {table} WHERE record = ?", (record,))
        self.db.execute("DELETE FROM records WHERE id = ?", (record,))

    def _count_name(self, ref: str, path: str, aliases: str, number: int) -> None:
        """Count a name that came (1) or went (-1) with the current batch."""
        if path or aliases != EMPTY:  # entries of the journal mostly have neither
            name = (ref, path, aliases)
            self._names[name] = self._names.get(name, 0) + number

    def _has_triggers(self) -> bool:
        sql = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'trigger'"
        return bool(self.db.execute(sql).fetchone()[0])

    def _note_stale_text(self) -> None:
        """Chunks that go while another process loads stay in full text: it is built again then."""
        if not self._has_triggers():
            self.set(STALE_TEXT, "1")

    def rebuild_text(self) -> None:
        """Build full text from the chunks, without a word of those that are gone."""
        self.db.execute("INSERT INTO search(search) VALUES ('rebuild')")
        self.set(STALE_TEXT, "")

    def triggers(self, *, on: bool) -> None:
        """Drop the triggers of full text for a bulk load; with `on`, rebuild and create them.

        So it is with indexes in `LATE`: of a large index they take longer to build than to keep.
        """
        if self._has_triggers() == on:
            return
        with writing(self.db):
            if on:
                self.rebuild_text()
                for statement in statements(TRIGGERS):
                    self.db.execute(statement)
                self.build_indexes()
            else:
                self.db.execute("DROP TRIGGER chunks_added")
                self.db.execute("DROP TRIGGER chunks_removed")
                last = self.db.execute("SELECT IFNULL(MAX(id), 0) FROM chunks").fetchone()[0]
                for name in LATE if last < LARGE else ():
                    self.db.execute(f"DROP INDEX IF EXISTS {name}")

    def build_indexes(self) -> None:
        """Build what a bulk load had dropped."""
        for name, what in LATE.items():
            self.db.execute(f"CREATE INDEX IF NOT EXISTS {name} ON {what}")

    def pending(self, embedded: set[str]) -> list[str]:
        """Digests that have no vector yet: the newest first, in blocks sorted by length."""
        missing = sorted(self.digests() - embedded)
        rows: list[tuple[str, str, int]] = []
        for at in range(0, len(missing), BLOCK):
            rows += self.db.execute(
                "SELECT c.digest, MAX(r.at), MAX(LENGTH(c.body)) FROM chunks c"
                " JOIN records r ON r.id = c.record"
                " WHERE c.digest IN (SELECT value FROM json_each(?)) GROUP BY c.digest",
                (json.dumps(missing[at : at + BLOCK]),),
            )
        rows.sort()
        rows.sort(key=lambda row: row[1], reverse=True)
        waiting = [(-length, content) for content, _, length in rows]
        blocks = (waiting[at : at + BLOCK] for at in range(0, len(waiting), BLOCK))
        return [content for block in blocks for _, content in sorted(block)]

    def texts(self, digests: list[str]) -> dict[str, tuple[str, str]]:
        """What the embedder reads for each digest: the headings above the chunk, and its text.

        A digest that no chunk has any more is left out: its text was erased or changed.
        """
        texts = {}
        for content in digests:
            row = self.db.execute(
                "SELECT c.title, c.heading, c.body, c.segment, r.path FROM chunks c"
                " JOIN records r ON r.id = c.record WHERE c.digest = ? LIMIT 1",
                (content,),
            ).fetchone()
            if row is None:
                continue
            title, heading, body, segment, path = row
            if segment:
                rows = self.db.execute(
                    "SELECT c.body FROM chunks c JOIN records r ON r.id = c.record"
                    " WHERE c.segment = ? AND c.segment != '' ORDER BY r.at, r.ref",
                    (segment,),
                )
                body = "\n".join(each for (each,) in rows)
            texts[content] = (above(title, heading, body), embedded_text(path, body))
        return texts

    def sample(self, size: int) -> list[str]:
        """Texts of some chunks: the same ones, whatever the order in which they were indexed."""
        sql = "SELECT body FROM chunks ORDER BY digest, id LIMIT ?"
        return [row[0] for row in self.db.execute(sql, (size,))]

    def digests(self) -> set[str]:
        """The digests of all chunks."""
        return {row[0] for row in self.db.execute("SELECT DISTINCT digest FROM chunks")}

    def contents(self) -> set[str]:
        """The digests of all files that were read and are not hidden."""
        sql = (
            "SELECT s.digest FROM states s JOIN records r ON r.source = s.source AND r.key = s.key"
        )
        return {row[0] for row in self.db.execute(f"{sql} WHERE r.key != ''")}

    def scrub(self) -> None:
        """Remove all traces of deleted text: full text keeps words until it is merged."""
        with translated(self.path):
            self.triggers(on=True)
            if self.get(STALE_TEXT):
                self.rebuild_text()
            self.db.execute("INSERT INTO search(search) VALUES ('optimize')")
        scrub(self.db, self.path)

    def count_chunks(self) -> None:
        """Remember how many chunks there are: scores depend on it."""
        count = self.db.execute("SELECT COUNT(*) FROM chunks").fetchone()[0]
        self.set("chunks", str(count))

    def count(self, source: str) -> int:
        """How many records of a source there are."""
        if source == "git":  # whose records have no key: counted where they are few bytes each
            row = self.db.execute(
                "SELECT (SELECT COUNT(*) FROM commits WHERE record > 0)"
                " + (SELECT COUNT(*) FROM files WHERE record > 0)"
            )
        elif source == JOURNAL:  # by ref, which has an index; a clone has such refs, too
            all_ = (f"SELECT COUNT(*) c FROM records WHERE ref GLOB '{k}:*'" for k in JOURNAL_KINDS)
            clone = f"SELECT COUNT(*) FROM records WHERE {TRACES} AND kind IN {JOURNAL_KINDS}"
            row = self.db.execute(f"SELECT SUM(c) - ({clone}) FROM ({' UNION ALL '.join(all_)})")
        else:
            sql = "SELECT COUNT(*) FROM records WHERE source = ? AND key != ''"
            row = self.db.execute(sql, (source,))
        return int(row.fetchone()[0])

    def get(self, key: str) -> str:
        row = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else ""

    def set(self, key: str, value: str) -> None:
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def bump(self) -> None:
        """Start a new generation: caches that were derived from the chunks become stale."""
        self.set("generation", str(int(self.get("generation") or 0) + 1))


class _Rows:
    """The rows that a batch adds; they are written together, which takes a third of the time."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.keys: set[str] = set()
        """The keys of the batch that have records, here or in the index."""
        self.segments: set[str] = set()
        """Segments of which chunks were removed or added."""
        self.begin()

    def begin(self) -> None:
        """Number the rows to come as SQLite would."""
        self._record, self._chunk = self._db.execute(
            "SELECT IFNULL((SELECT MAX(id) FROM records), 0),"
            " IFNULL((SELECT MAX(id) FROM chunks), 0)"
        ).fetchone()
        self._records: list[tuple[object, ...]] = []
        self._chunks: list[list[Any]] = []
        self._tags: list[tuple[str, int]] = []
        self._links: list[tuple[object, ...]] = []
        self._members: dict[str, list[_Member]] = {}

    def add(self, source: str, key: str, document: Document) -> str:
        """Add a record with everything that belongs to it; returns its aliases as JSON."""
        record = document.record
        self.keys.add(key)
        self._record += 1
        aliases = encode(document.aliases) if document.aliases else EMPTY
        metadata = record.metadata or {}
        if source == JOURNAL:
            key = ""
            metadata = {k: value for k, value in metadata.items() if k not in SCOPE_COLUMNS}
        tags = encode(record.tags) if record.tags else EMPTY
        about = (tags, encode(metadata), aliases, int(document.dated), source, key)
        self._records.append((self._record, *record[:6], *about, *scope_columns(record)))
        self._tags += [(tag, self._record) for tag in record.tags]
        self._links += [(self._record, n, *link) for n, link in enumerate(document.links)]
        segment = document.segment
        for chunk in document.chunks:
            self._chunk += 1
            row = [self._chunk, *chunk_row(self._record, record, chunk, segment), segment, 0]
            self._chunks.append(row)
            if segment:
                self.segments.add(segment)
                member = (record.at, record.ref, chunk.text, self._chunk, row)
                self._members.setdefault(segment, []).append(member)
        return aliases

    def write(self) -> None:
        """Write what was added; segments with other chunks than before get their anchors."""
        # Set the anchor of each segment's chunks, and the digest of their common text.
        written = self._db.execute(
            "SELECT c.segment, r.at, r.ref, c.body, c.id FROM chunks c"
            " JOIN records r ON r.id = c.record"
            " WHERE c.segment != '' AND c.segment IN (SELECT value FROM json_each(?))",
            (json.dumps([*self.segments]),),
        )
        for segment, *member in written if self.segments else ():
            self._members.setdefault(segment, []).append((*member, None))
        moved = []
        for members in self._members.values():
            members.sort()
            content = digest("\0" + "\n".join(body for _, _, body, _, _ in members))
            first = members[0][3]
            for *_, id_, row in members:
                anchor = first if id_ != first else 0
                if row:
                    row[-3] = content
                    row[-1] = anchor
                else:
                    moved.append((content, anchor, id_))
        self._db.executemany("UPDATE chunks SET digest = ?, anchor = ? WHERE id = ?", moved)
        self.segments = set()
        many = self._db.executemany
        many(f"INSERT INTO records VALUES ({', '.join('?' * 18)})", self._records)
        many(f"INSERT INTO chunks VALUES ({', '.join('?' * 14)})", self._chunks)
        many("INSERT OR IGNORE INTO tags VALUES (?, ?)", self._tags)
        many("INSERT INTO links VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)", self._links)
        self.begin()


def _refs(change: Change) -> set[str]:
    """What a change would write, by ref; symbols go by the file that they are in."""
    if change.document is None:
        return set()
    refs = {document.record.ref for document in (change.document, *change.others)}
    return refs | {f"file:{change.key}"}


def above(title: str, heading: str, body: str) -> str:
    """The headings above a chunk, without those that its text begins with."""
    beginning = body[:200]
    return " > ".join(
        part for part in (heading or title).split(" > ") if part and part not in beginning
    )


def embedded_text(path: str, body: str) -> str:
    """The text of a chunk that is embedded: markdown without its markup, other text unchanged."""
    if not path.lower().endswith(MARKDOWN):
        return body
    from kinen.text.reading import reading  # new observations have no markdown

    return reading(body)


def batches(changes: Iterator[Change], most: int = BATCH) -> Iterator[list[Change]]:
    """Changes in groups of at most `most`; a group ends early at `HEAVY` chunks."""
    batch: list[Change] = []
    chunks = 0
    for change in changes:
        batch.append(change)
        chunks += len(change.document.chunks) if change.document else 0
        if len(batch) >= most or chunks >= HEAVY:
            yield batch
            batch = []
            chunks = 0
    if batch:
        yield batch


def scope_columns(record: Record) -> list[str]:
    """The columns that records of the journal are filtered by.

    Empty for other records: frontmatter may use the same words with another meaning.
    """
    is_entry = record.kind in JOURNAL_KINDS or record.kind == "checkpoint"
    metadata = (record.metadata if is_entry else None) or {}
    return [str(metadata.get(name) or "") for name in SCOPE_COLUMNS]


encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=str).encode


def chunk_row(row: int, record: Record, chunk: Chunk, segment: str = "") -> tuple[object, ...]:
    """A chunk as the table has it; its digest is empty if it is that of a whole segment."""
    content = ""
    if not segment:
        headings = above(record.title, chunk.heading, chunk.text)
        content = digest(f"{headings}\0{embedded_text(record.path, chunk.text)}")
    texts = (
        *(record.title, chunk.heading, _path_words(record) if record.path else ""),
        *(chunk.text, identifier_parts(chunk.text)),
    )
    return (row, chunk.n, *texts, chunk.start_line, chunk.end_line, chunk.page, content)


def _path_words(record: Record) -> str:
    """A path for full text: its folders, and the name of the file unless that is the title."""
    folders, _, name = record.path.rpartition("/")
    stem = name.rpartition(".")[0] or name
    parts = [part for part in folders.split("/") if part not in _LAYOUT]
    return " ".join([*parts, stem] if stem != record.title else parts)
