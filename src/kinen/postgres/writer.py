"""Writes documents to the index in PostgreSQL and removes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kinen.characters import storable
from kinen.index.writer import batches, chunk_row, encode, scope_columns
from kinen.model.documents import Change, Document, Report, State
from kinen.model.tuples import NamedTuple
from kinen.postgres.connection import Connection, Database
from kinen.postgres.schema import partition
from kinen.postgres.spaces import PARTITIONED, StoredSpace
from kinen.postgres.words import Tokenizer
from kinen.text import digest

_CHANGED = """
SELECT relname FROM pg_stat_user_tables
WHERE schemaname = %s AND relname = ANY(%s) AND n_mod_since_analyze > %s * n_live_tup
"""
ANALYZED = 0.1
"""The share of a partition that has changed when the server should count it again."""
CHANNEL = "kinen_index"
"""Where followers hear which space has a new generation: LISTEN kinen_index."""
BATCH = 2000
"""Changes per transaction: common words are counted once for all of them."""
SEPARATOR = "\n"
"""Between words; no word has it."""
Touches = Sequence[tuple[str, str, str]]
"""Status, path and former path of the files that a commit touched."""


class Entry(NamedTuple):
    """A document to be written, with what only commits have."""

    key: str
    document: Document
    author: str = ""
    touches: Touches = ()


class PostgresWriter:
    """Write access to the index of one space; one process at a time (`kinen.postgres.work`)."""

    def __init__(self, database: Database, space: StoredSpace) -> None:
        self.database = database
        self.space = space.id
        self._part = space.part
        self._tokenizer = Tokenizer()

    def close(self) -> None:
        self._tokenizer.close()

    def states(self, source: str) -> dict[str, State]:
        """What the index remembers of each key of a source."""
        with self.database.transaction([self.space]) as connection:
            rows = connection.execute(
                "SELECT key, stamp, digest, reason FROM kinen.state"
                " WHERE space = %s AND source = %s",
                (self.space, source),
            ).fetchall()
        return {key: State(stamp, content, reason) for key, stamp, content, reason in rows}

    def apply(
        self,
        source: str,
        changes: Iterator[Change],
        *,
        anew: bool = False,
        done: Callable[[int], None] = lambda _: None,
    ) -> Report:
        """Write the changes of a source in batches, each in a transaction: it can be killed."""
        tally: Counter[str] = Counter()
        seen = 0
        if anew:
            self.void(source)
        for batch in batches(changes, BATCH):
            with self.database.transaction([self.space]) as connection:
                self._batch(connection, source, batch, tally)
            seen += len(batch)
            done(seen)
        return Report(tally["added"], tally["changed"], tally["removed"], tally["skipped"])

    def void(self, source: str) -> None:
        """Remove all records of a source, and what is remembered of it."""
        with self.database.transaction([self.space]) as connection:
            rows = connection.execute(
                "SELECT id FROM kinen.record WHERE space = %s AND source = %s", (self.space, source)
            ).fetchall()
            self._delete(connection, [id_ for (id_,) in rows])
            connection.execute(
                "DELETE FROM kinen.state WHERE space = %s AND source = %s", (self.space, source)
            )

    def add(self, source: str, entries: Sequence[Entry], states: Mapping[str, State]) -> None:
        """Write new documents and states in one transaction; equal keys are replaced."""
        with self.database.transaction([self.space]) as connection:
            self._remove(connection, source, [entry.key for entry in entries], set())
            self._insert(connection, source, entries)
            self._remember(connection, source, states)
            self._changed(connection)

    def clear(self) -> None:
        """Empty the index of the space."""
        with self.database.transaction([self.space]) as connection:
            for table in PARTITIONED:
                connection.execute(f"DELETE FROM kinen.{table} WHERE space = %s", (self.space,))
            connection.execute(
                "UPDATE kinen.space SET chunks = 0, tokens = 0 WHERE id = %s", (self.space,)
            )
            self._changed(connection)

    def finish(self) -> None:
        """Remember that the space is up to date, and let the server count what it has.

        The server does so by itself only minutes later, and plans badly until then.
        """
        with self.database.transaction([self.space]) as connection:
            connection.execute("UPDATE kinen.space SET synced = now() WHERE id = %s", (self.space,))
            parts = [partition(table, self._part) for table in PARTITIONED]
            changed = connection.execute(
                _CHANGED, (self.database.schema, parts, ANALYZED)
            ).fetchall()
            for (table,) in changed:
                connection.execute(f"ANALYZE (SKIP_LOCKED) kinen.{table}")

    def _batch(
        self, connection: Connection, source: str, batch: list[Change], tally: Counter[str]
    ) -> None:
        segments: set[str] = set()
        written = [change for change in batch if change.document is not None]
        gone = [change for change in batch if change.document is None and _is_gone(change)]
        keys = [change.key for change in (*written, *gone)]
        before = self._remove(connection, source, keys, segments)
        entries = [
            Entry(change.key, document)
            for change in written
            for document in (change.document, *change.others)
            if document is not None
        ]
        segments.update(entry.document.segment for entry in entries if entry.document.segment)
        self._insert(connection, source, entries)
        removed = [change.key for change in batch if change.removed]
        connection.execute(
            "DELETE FROM kinen.state WHERE space = %s AND source = %s AND key = ANY(%s)",
            (self.space, source, removed),
        )
        states = {change.key: change.state for change in batch if change.state is not None}
        self._remember(connection, source, states)
        # New times of files whose text has no date, and did not change.
        dated = [
            change
            for change in batch
            if change.document is None and not _is_gone(change) and change.key and change.at
        ]
        if dated:
            connection.execute(
                "UPDATE kinen.record r SET at = d.at FROM unnest(%s::text[], %s::text[]) d(key, at)"
                " WHERE r.space = %s AND r.source = %s AND r.key = d.key AND NOT r.dated",
                ([c.key for c in dated], [c.at for c in dated], self.space, source),
            )
        for segment in sorted(segments):
            self._anchor(connection, segment)
        self._changed(connection)
        for change in batch:
            tally[_outcome(change, before)] += 1 + len(change.others)

    def _remove(
        self, connection: Connection, source: str, keys: Sequence[str], segments: set[str]
    ) -> set[str]:
        """Delete the records of keys; the keys that had any."""
        keys = [key for key in keys if key]
        rows = connection.execute(
            "SELECT id, key FROM kinen.record WHERE space = %s AND source = %s AND key = ANY(%s)",
            (self.space, source, keys),
        ).fetchall()
        ids = [id_ for id_, _ in rows]
        if ids and source == "journal":
            cut = connection.execute(
                "SELECT DISTINCT segment FROM kinen.chunk"
                " WHERE space = %s AND record = ANY(%s) AND segment <> ''",
                (self.space, ids),
            )
            segments.update(segment for (segment,) in cut)
        self._delete(connection, ids)
        return {key for _, key in rows}

    def _delete(self, connection: Connection, records: list[int]) -> None:
        """Delete records with their chunks, and count their words no longer."""
        if not records:
            return
        values = (self.space, records)
        connection.execute(
            "UPDATE kinen.word w SET chunks = w.chunks - d.chunks FROM"
            " (SELECT t.term, count(*)::int AS chunks FROM kinen.chunk c,"
            " unnest(tsvector_to_array(c.words)) t(term)"
            " WHERE c.space = %s AND c.record = ANY(%s) GROUP BY t.term) d"
            " WHERE w.space = %s AND w.term = d.term",
            (*values, self.space),
        )
        connection.execute(
            "DELETE FROM kinen.vector WHERE space = %s AND chunk IN"
            " (SELECT id FROM kinen.chunk WHERE space = %s AND record = ANY(%s))",
            (self.space, *values),
        )
        row = connection.execute(
            "WITH gone AS (DELETE FROM kinen.chunk WHERE space = %s AND record = ANY(%s)"
            " RETURNING length) SELECT count(*), coalesce(sum(length), 0) FROM gone",
            values,
        ).fetchone()
        assert row is not None
        for table in ("link", "touch"):
            connection.execute(
                f"DELETE FROM kinen.{table} WHERE space = %s AND record = ANY(%s)", values
            )
        connection.execute("DELETE FROM kinen.record WHERE space = %s AND id = ANY(%s)", values)
        self._count(connection, -int(row[0]), -int(row[1]))

    def _insert(self, connection: Connection, source: str, entries: Sequence[Entry]) -> None:
        if not entries:
            return
        records = _ids(connection, "kinen.record_id", len(entries))
        rows = []
        owners = []
        for id_, entry in zip(records, entries, strict=True):
            for chunk in entry.document.chunks:
                rows.append(chunk_row(id_, entry.document.record, chunk))
                owners.append(entry.document.segment)
        # record, n, title, heading, path, body, extra, start_line, end_line, page, digest
        words, counts = self._tokenizer.words([[_clean(text) for text in row[2:7]] for row in rows])
        copied_records = (
            (
                self.space,
                id_,
                *(_clean(text) for text in entry.document.record[:6]),
                [_clean(tag) for tag in entry.document.record.tags],
                _clean(encode(entry.document.record.metadata or {}).replace("\\u0000", "")),
                [_clean(alias) for alias in entry.document.aliases],
                entry.document.dated,
                source,
                entry.key,
                *_scope(entry),
            )
            for id_, entry in zip(records, entries, strict=True)
        )
        self._copy_rows(connection, "record", copied_records)
        copied_chunks = []
        numbered = _ids(connection, "kinen.chunk_id", len(rows))
        for id_, row, segment, part in zip(numbered, rows, owners, words, strict=True):
            record, n, title, heading, _, body, _, *place, content = row
            texts = (_clean(title), _clean(heading), _clean(body))
            about = (content, segment, 0, part.length, part.vector)
            copied_chunks.append((self.space, id_, record, n, *texts, *place, *about))
        self._copy_rows(connection, "chunk", copied_chunks)
        self._copy_links(connection, records, entries)
        terms = sorted(counts)
        numbers = [counts[term] for term in terms]
        # one text for all: an array is written value by value
        connection.execute(
            "INSERT INTO kinen.word AS w (space, term, chunks)"
            " SELECT %s, * FROM unnest(string_to_array(%s, %s), string_to_array(%s, ',')::int[])"
            " ON CONFLICT (space, term) DO UPDATE SET chunks = w.chunks + excluded.chunks",
            (self.space, SEPARATOR.join(terms), SEPARATOR, ",".join(map(str, numbers))),
        )
        self._count(connection, len(rows), sum(part.length for part in words))

    def _copy_rows(self, connection: Connection, table: str, rows: Iterable[Sequence[Any]]) -> None:
        """Write rows with a value for each column; COPY refuses tables with row security."""
        target = f"kinen.{partition(table, self._part)}"
        with connection.cursor() as cursor, cursor.copy(f"COPY {target} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)

    def _copy_links(
        self, connection: Connection, ids: Sequence[int], entries: Sequence[Entry]
    ) -> None:
        links = []
        touches = {}
        for id_, entry in zip(ids, entries, strict=True):
            for n, link in enumerate(entry.document.links):
                texts = (_clean(link.target), _clean(link.text), _clean(link.heading))
                marks = (link.line, link.embedded, link.wiki, None)
                links.append((self.space, id_, n, *texts, *marks))
            for status, path, former in entry.touches:
                touches[id_, _clean(path)] = (status, _clean(former))
        self._copy_rows(connection, "link", links)
        self._copy_rows(
            connection,
            "touch",
            ((self.space, id_, path, *what) for (id_, path), what in touches.items()),
        )

    def _count(self, connection: Connection, chunks: int, tokens: int) -> None:
        connection.execute(
            "UPDATE kinen.space SET chunks = chunks + %s, tokens = tokens + %s WHERE id = %s",
            (chunks, tokens, self.space),
        )

    def _remember(self, connection: Connection, source: str, states: Mapping[str, State]) -> None:
        keys = sorted(states)
        columns = [[_clean(states[key][at]) for key in keys] for at in range(3)]
        connection.execute(
            "INSERT INTO kinen.state SELECT %s, %s, * FROM"
            " unnest(%s::text[], %s::text[], %s::text[], %s::text[])"
            " ON CONFLICT (space, source, key) DO UPDATE SET stamp = excluded.stamp,"
            " digest = excluded.digest, reason = excluded.reason",
            (self.space, source, keys, *columns),
        )

    def _anchor(self, connection: Connection, segment: str) -> None:
        """Set the anchor of a segment's chunks, and the digest of their common text."""
        rows = segment_texts(connection, self.space, segment)
        if not rows:
            return
        ids = [id_ for id_, _ in rows]
        content = digest("\0" + "\n".join(body for _, body in rows))
        connection.execute(
            "UPDATE kinen.chunk SET digest = %s, anchor = CASE id WHEN %s THEN 0 ELSE %s END"
            " WHERE space = %s AND id = ANY(%s)",
            (content, ids[0], ids[0], self.space, ids),
        )
        connection.execute(
            "DELETE FROM kinen.vector WHERE space = %s AND chunk = ANY(%s)", (self.space, ids)
        )

    def _changed(self, connection: Connection) -> None:
        """A new generation, and whoever listens hears of it once the transaction is committed."""
        connection.execute(
            "UPDATE kinen.space SET generation = generation + 1, linked = '' WHERE id = %s",
            (self.space,),
        )
        connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, str(self.space)))


def segment_texts(connection: Connection, space: int, segment: str) -> list[tuple[int, str]]:
    """The chunks of a segment with their texts, in order."""
    return connection.execute(
        "SELECT c.id, c.body FROM kinen.chunk c JOIN kinen.record r ON r.space = c.space"
        " AND r.id = c.record WHERE c.space = %s AND c.segment = %s ORDER BY r.at, r.ref",
        (space, segment),
    ).fetchall()


def _ids(connection: Connection, sequence: str, count: int) -> list[int]:
    numbers = f"SELECT nextval('{sequence}') FROM generate_series(1, %s)"
    rows = connection.execute(numbers, (count,))
    return [int(id_) for (id_,) in rows]


def _scope(entry: Entry) -> list[str]:
    columns = [_clean(text) for text in scope_columns(entry.document.record)]
    if entry.author:  # of a commit; columns are repo, agent, user, event, parent
        columns[2] = _clean(entry.author)
    return columns


def _is_gone(change: Change) -> bool:
    """Whether a change without a document takes the record away."""
    return change.removed or change.empty or bool(change.state and change.state.reason)


def _outcome(change: Change, before: set[str]) -> str:
    if change.removed:
        return "removed"
    if change.document is not None:
        return "changed" if change.key in before else "added"
    return "skipped" if change.state and change.state.reason else "touched"


def _clean(text: Any) -> str:
    """A text that PostgreSQL can store: it has no NUL characters and no lone surrogates."""
    return storable(str(text)).replace("\0", "")
