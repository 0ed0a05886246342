"""Reads the index: full text, filters, chunks and records."""

from __future__ import annotations

from kinen.index.match import (
    LARGE,
    WIDE,
    are_few,
    begun,
    conditions,
    every_word,
    expression,
    outweighed,
    statement,
)
from kinen.index.schema import (
    CLEANED,
    CUT,
    EXCLUDED,
    SCHEMA,
    TABLES,
    TOKENIZE,
    TRACES,
    open_database,
)
from kinen.model.late import json
from kinen.model.records import FILE_KINDS, KINDS, Chunk, Record
from kinen.storage.database import integrity, translated
from kinen.text import contains, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from kinen.index.vectors import Allowed
    from kinen.model.documents import Counts
    from kinen.model.records import Query

RECORD = "r.ref, r.kind, r.title, r.path, r.at, r.session, r.tags, r.whole"
RECENT = 4
"""Queries of a large index whose rows are kept: a recall asks two twice, once with filters."""
MENTIONS = 20_000
"""Chunks with required words that are looked at for the newest of them."""
_CHUNK = "c.n, c.body, c.heading, c.start_line, c.end_line, c.page"


class Reader:
    """Read access to one index database."""

    ranks_files = True

    def __init__(self, path: str) -> None:
        self.path = path
        self.db = open_database(path, TABLES, SCHEMA)
        self.db.create_function("contains", 2, contains, deterministic=True)
        self._recent: dict[tuple[str, ...], tuple[int, list[tuple[int, float]]]] = {}
        """Terms of the last queries of a large index, with its version then, and their rows."""
        self._counts: tuple[tuple[object, ...], dict[str, int]] = ((), {})
        """The version of the index and the words that were counted last, and how many have them."""

    def close(self) -> None:
        self.db.close()

    @property
    def empty(self) -> bool:
        """Whether there is no text at all."""
        return self.db.execute("SELECT 1 FROM chunks LIMIT 1").fetchone() is None

    def meta(self, key: str) -> str:
        row = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else ""

    def version(self) -> int:
        """A number that differs after another process wrote to the index."""
        return int(self.db.execute("PRAGMA data_version").fetchone()[0])

    def cleaned(self) -> tuple[str, list[str]]:
        """How far the index was cleaned of the journal's erasures, and of which globs."""
        sql = "SELECT key, value FROM main.meta WHERE key IN (?, ?)"
        values = dict(self.db.execute(sql, (CLEANED, EXCLUDED)).fetchall())
        return values.get(CLEANED, ""), values.get(EXCLUDED, "").split("\n")

    def first_commit_at(self) -> str:
        """When the first commit was made; empty without any."""
        return str(self.db.execute("SELECT IFNULL(MIN(at), '') FROM commits").fetchone()[0])

    def match(self, terms: Sequence[str], query: Query, k: int) -> list[tuple[int, float]]:
        """The k best chunks for any of the terms, with their BM25, best first."""
        if not terms:
            return []
        where, values = conditions(query)
        with translated(self.path):
            early = self._early(terms, k, where, values)
            if early is not None:
                return early
            if where or self.chunk_count() < LARGE:
                allowed = f"SELECT c.id{_FROM}{where}" if where else ""
                listed = are_few(query)
                return self.db.execute(
                    *statement(terms, k, allowed, values, listed=listed)
                ).fetchall()
            if len(self._recent) >= RECENT:
                self._recent.clear()
            rows = self._best(terms, max(k, WIDE))
            self._recent[tuple(terms)] = (self.version(), rows)
            return rows[:k]

    def _best(self, terms: Sequence[str], k: int) -> list[tuple[int, float]]:
        """The k best chunks of a large index, most of which need not be weighed."""
        common, most = outweighed(self.document_counts(terms), self.chunk_count())
        if common:
            others = expression([term for term in terms if term != common])
            among = "SELECT rowid FROM search WHERE search MATCH ?"
            query = statement(terms, k, among, [others], listed=True)
            rows = self.db.execute(*query).fetchall()
            if len(rows) == k and rows[-1][1] > most:
                return rows
        return self.db.execute(*statement(terms, k)).fetchall()

    def _early(
        self, terms: Sequence[str], k: int, where: str, values: Sequence[Any]
    ) -> list[tuple[int, float]] | None:
        """The same of a query that was asked before, if k of its rows pass the filters."""
        most = WIDE if where else k
        rows = begun.current.rows(self.path, statement(terms, most)) if begun.current else None
        version, before = self._recent.get(tuple(terms), (0, []))
        if rows is None and version == self.version():
            rows = before
            most = max(k, WIDE)
        if rows is None or not where:
            return rows[:k] if rows else rows
        among = f"SELECT c.id{_FROM}{where} AND c.id IN (SELECT value FROM json_each(?))"
        chosen: list[tuple[int, float]] = []
        for start in range(0, len(rows), k):
            ids = str([id_ for id_, _ in rows[start : start + k]])  # numbers: it is JSON, too
            passing = {row[0] for row in self.db.execute(among, (*values, ids))}
            chosen += [row for row in rows[start : start + k] if row[0] in passing]
            if len(chosen) >= k:
                return chosen[:k]
        return chosen if len(rows) < most else None

    def match_runs(self, runs: Sequence[Sequence[str]], query: Query, k: int) -> dict[int, str]:
        """The k best chunks that have one of some runs of words, with their text.

        Words count by their stems here: the caller compares the text itself. What a user asked an
        agent, and what a session was for, is left out: that it was asked before is no answer.
        """
        phrases = [" ".join(run) for run in runs]
        ids = [id_ for id_, _ in self.match(phrases, query, k)]
        if not ids:
            return {}
        marks = ", ".join("?" * len(ids))
        rows = self.db.execute(
            f"SELECT c.id, c.title || char(10) || c.heading || char(10) || c.body{_FROM}"
            f" WHERE c.id IN ({marks}) AND r.kind NOT IN ('capsule', 'summary')"
            " AND IFNULL(json_extract(r.metadata, '$.role'), '') != 'user'",
            ids,
        )
        return dict(rows.fetchall())

    def allowed(self, query: Query) -> Allowed | None:
        """The units that pass the query's filters; None when it has no filter."""
        from kinen.index.vectors import Allowed

        where, values = conditions(query)
        return Allowed(self.db, f"{_FROM}{where}", values) if where else None

    def anchors(self, ids: Sequence[int]) -> dict[int, int]:
        """The anchor of each chunk that is embedded together with others before it."""
        if not ids:
            return {}
        marks = ", ".join("?" * len(ids))
        rows = self.db.execute(
            f"SELECT id, anchor FROM chunks WHERE id IN ({marks}) AND anchor != 0", tuple(ids)
        )
        return dict(rows.fetchall())

    def segment(self, ref: str) -> list[Chunk]:
        """The chunks that an observation is shown with, in order; none if it stands alone."""
        rows = self.db.execute(
            f"SELECT r.ref, {_CHUNK}{_FROM} WHERE c.segment != '' AND c.segment ="
            " (SELECT o.segment FROM chunks o JOIN records s ON s.id = o.record WHERE s.ref = ?)"
            " ORDER BY r.at, r.ref",
            (ref,),
        )
        return [Chunk(*row) for row in rows]

    def newest(self, query: Query, k: int) -> list[int]:
        """The first chunks of the newest records that pass the filters, newest first.

        Of more than MENTIONS chunks with the required words, those indexed last are looked at.
        """
        where, values = conditions(query, MENTIONS)
        where = f"{where} AND" if where else " WHERE"
        # CROSS JOIN: few chunks with the words, or the newest records, are read and no more.
        tables = "records r CROSS JOIN chunks c"
        if every_word(query):
            tables = "chunks c CROSS JOIN records r"
        rows = self.db.execute(
            f"SELECT c.id FROM {tables} ON c.record = r.id{where}"
            " c.n = 0 AND r.at > '' ORDER BY r.at DESC, r.ref LIMIT ?",
            (*values, k),
        )
        return [row[0] for row in rows]

    def many_mentions(self, query: Query) -> bool:
        """Whether more chunks have the required words than `newest` looks at."""
        words = every_word(query)
        if not words:
            return False
        rows = self.db.execute(
            "SELECT 1 FROM search WHERE search MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?",
            (words, MENTIONS),
        )
        return rows.fetchone() is not None

    def ages(self, ids: Sequence[int]) -> dict[int, str]:
        """When the record of each chunk happened."""
        marks = ", ".join("?" * len(ids))
        rows = self.db.execute(
            f"SELECT c.id, r.at{_FROM} WHERE c.id IN ({marks}) AND r.at != ''", tuple(ids)
        )
        return dict(rows.fetchall())

    def latest(self) -> str:
        """When the newest record happened."""
        return str(self.db.execute("SELECT IFNULL(MAX(at), '') FROM records").fetchone()[0])

    def last_session_end(self) -> str:
        """When the newest summary of a session was made; empty where there is none."""
        sql = "SELECT IFNULL(MAX(at), '') FROM records WHERE kind = 'summary'"
        return str(self.db.execute(sql).fetchone()[0])

    def outdated_summaries(self) -> set[str]:
        """The refs of summaries that a newer one of the same session follows."""
        rows = self.db.execute(
            "SELECT ref FROM (SELECT ref, ROW_NUMBER() OVER"
            " (PARTITION BY parent ORDER BY at DESC, ref DESC) AS place FROM records"
            " WHERE source = 'journal' AND ref GLOB 'summary:*' AND parent != '')"
            " WHERE place > 1"
        )
        return {row[0] for row in rows}

    def messages(self, parent: str) -> list[tuple[str, str]]:
        """The refs of a session's messages in order, each with the role of who wrote it."""
        return self.db.execute(
            "SELECT ref, IFNULL(json_extract(metadata, '$.role'), '') FROM records"
            " WHERE parent = ? AND parent != '' AND event = 'message' ORDER BY at, ref",
            (parent,),
        ).fetchall()

    def session_counts(self, term: str = "") -> dict[str, int]:
        """How many chunks of messages or rounds each session has, with a term if one is passed."""
        ref = "CASE r.kind WHEN 'round' THEN 'session:' || r.session ELSE r.parent END"
        matches = " AND c.id IN (SELECT rowid FROM search WHERE search MATCH ?)" if term else ""
        rows = self.db.execute(
            f"SELECT {ref} AS ref, COUNT(*){_FROM}"
            f" WHERE (r.event = 'message' OR r.kind = 'round'){matches} GROUP BY 1",
            (expression([term]),) if term else (),
        )
        return {ref: count for ref, count in rows if ref}

    def has_events(self, since: str, until: str) -> bool:
        """Whether anything happened in a session between two moments."""
        sql = "SELECT 1 FROM records WHERE kind = 'observation' AND at BETWEEN ? AND ? LIMIT 1"
        return self.db.execute(sql, (since, until)).fetchone() is not None

    def trace_counts(self) -> list[tuple[str, str, int]]:
        """Sessions that came with the repository by tool and agent, the most first."""
        return self.db.execute(
            "SELECT json_extract(metadata, '$.origin'), agent, COUNT(*) FROM records"
            f" WHERE {TRACES} AND kind = 'capsule' GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2"
        ).fetchall()

    def traces(self) -> list[Record]:
        """The sessions that came with the repository."""
        rows = self.db.execute(
            f"SELECT {RECORD} FROM records r WHERE {TRACES} AND r.kind = 'capsule'"
        )
        return [to_record(row) for row in rows]

    def trace_edits(self, since: str, until: str) -> list[tuple[str, str, str]]:
        """The edits in these sessions in a time: the file, the session and the moment of each."""
        return self.db.execute(
            "SELECT j.value, o.session, o.at FROM (SELECT parent session, at, metadata FROM records"
            f" WHERE {TRACES} AND event = 'file_diff' AND at BETWEEN ? AND ?) o,"
            " json_each(o.metadata, '$.files') j",
            (since, until),
        ).fetchall()

    def trace_hours(self) -> list[tuple[str, str, int]]:
        """Events of these sessions by agent and hour, such as `2026-03-02T10`."""
        return self.db.execute(
            f"SELECT agent, substr(at, 1, 13), COUNT(*) FROM records WHERE {TRACES}"
            " AND kind = 'observation' GROUP BY 1, 2"
        ).fetchall()

    def trace_events(self) -> dict[str, dict[str, int]]:
        """How many events of each kind these sessions have, by the ref of their capsule.

        A message of the user is a `prompt`.
        """
        counts: dict[str, dict[str, int]] = {}
        for parent, event, count in self.db.execute(
            "SELECT parent, CASE WHEN event = 'message'"
            " AND IFNULL(json_extract(metadata, '$.role'), '') != 'assistant'"
            f" THEN 'prompt' ELSE event END, COUNT(*) FROM records WHERE {TRACES}"
            " AND kind = 'observation' GROUP BY 1, 2"
        ):
            counts.setdefault(parent, {})[event] = count
        return counts

    def load(self, ids: Sequence[int]) -> dict[int, tuple[Record, Chunk]]:
        marks = ", ".join("?" * len(ids))
        rows = self.db.execute(
            f"SELECT c.id, {RECORD}, {_CHUNK}{_FROM} WHERE c.id IN ({marks})", tuple(ids)
        )
        width = RECORD.count(",") + 1
        loaded = {}
        for id_, *row in rows:
            record = to_record(row[:width])
            loaded[id_] = (record, Chunk(record.ref, *row[width:]))
        return loaded

    def places(self, ids: Sequence[int]) -> dict[int, tuple[int | str, int]]:
        """The record and number of each chunk, or the capsule and number of its segment.

        Neighbours have adjacent numbers.
        """
        marks = ", ".join("?" * len(ids))
        rows = self.db.execute(
            f"SELECT id, record, n, segment FROM chunks WHERE id IN ({marks})", (*ids,)
        )
        return chunk_places(rows)

    def bodies(self, ids: Sequence[int]) -> list[str]:
        marks = ", ".join("?" * len(ids))
        rows = self.db.execute(f"SELECT body FROM chunks WHERE id IN ({marks})", tuple(ids))
        return [row[0] for row in rows]

    def chunk_count(self) -> int:
        """The number of chunks, as of the last sync."""
        return int(self.meta("chunks") or 0) or self._count("SELECT COUNT(*) FROM chunks")

    def unit_count(self) -> int:
        """The number of chunks and segments that are embedded."""
        return self._count("SELECT COUNT(*) FROM chunks WHERE anchor = 0")

    def between(self, ref: str, first: int, last: int) -> list[Chunk]:
        """The chunks of a record from n = first to last."""
        rows = self.db.execute(
            f"SELECT {_CHUNK}{_FROM} WHERE r.ref = ? AND c.n BETWEEN ? AND ? ORDER BY c.n",
            (ref, first, last),
        )
        return [Chunk(ref, *row) for row in rows]

    def chunks_at(self, paths: Sequence[str], query: Query) -> dict[str, list[int]]:
        """The chunks of each path that pass the query's filters, in order."""
        where, values = conditions(query)
        marks = ", ".join("?" * len(paths))
        rows = self.db.execute(
            f"SELECT r.path, c.id{_FROM}{where}{' AND' if where else ' WHERE'} r.path IN ({marks})"
            " ORDER BY c.n",
            (*values, *paths),
        )
        chunks: dict[str, list[int]] = {}
        for path, id_ in rows:
            chunks.setdefault(path, []).append(id_)
        return chunks

    def paths_named(self, text: str) -> list[str]:
        """The paths whose name a whole question is; none if many files have it."""
        from kinen.index import names

        return names.asked_for(self.db, text)

    def touched(self, ids: Sequence[int]) -> dict[int, list[int]]:
        """The files that the commits behind some chunks touched, as numbers."""
        from kinen.index.git import touches

        return touches.touched(self.db, ids)

    def file_at(self, path: str) -> int:
        """The number of the file that has or had a path; 0 if there never was one."""
        from kinen.index.git import touches

        return touches.file_at(self.db, path)

    def chunks_of_symbol(self, name: str, query: Query) -> list[int]:
        """The first chunk of each symbol of a name that passes the query's filters, by path."""
        where, values = conditions(query)
        rows = self.db.execute(
            f"SELECT MIN(c.id){_FROM}{where}{' AND' if where else ' WHERE'} r.kind = 'symbol'"
            " AND r.title = ? GROUP BY r.id ORDER BY r.path",
            (*values, name),
        )
        return [row[0] for row in rows]

    def at_line(self, ref: str, line: int) -> Chunk | None:
        """The chunk of a record that has a line."""
        row = self.db.execute(
            f"SELECT {_CHUNK}{_FROM} WHERE r.ref = ? AND c.start_line BETWEEN 1 AND ?"
            " AND c.end_line >= ? ORDER BY c.n DESC LIMIT 1",
            (ref, line, line),
        ).fetchone()
        return Chunk(ref, *row) if row else None

    def record(self, ref: str) -> Record | None:
        row = self.db.execute(f"SELECT {RECORD} FROM records r WHERE r.ref = ?", (ref,)).fetchone()
        return to_record(row) if row else None

    def refs_from(self, start: str, most: int) -> list[str]:
        """The first refs that begin so."""
        rows = self.db.execute(
            "SELECT ref FROM records WHERE ref >= ? AND ref < ? || char(0x10ffff) ORDER BY ref"
            " LIMIT ?",
            (start, start, most),
        )
        return [row[0] for row in rows]

    def at_path(self, path: str) -> Record | None:
        row = self.db.execute(
            f"SELECT {RECORD} FROM records r WHERE r.path = ? AND r.path != ''"
            " AND r.kind != 'symbol'"
            " ORDER BY r.kind = 'file', r.ref",
            (path,),
        ).fetchone()
        return to_record(row) if row else None

    def paths(self) -> list[str]:
        """The paths of all records that have one."""
        rows = self.db.execute("SELECT DISTINCT path FROM records WHERE path != '' ORDER BY path")
        return [row[0] for row in rows]

    def records(self, kinds: Sequence[str] = ()) -> list[Record]:
        where = f" WHERE r.kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
        rows = self.db.execute(
            f"SELECT {RECORD} FROM records r{where} ORDER BY r.path, r.ref", tuple(kinds)
        )
        return [to_record(row) for row in rows]

    def matching(self, query: Query) -> list[Record]:
        """All records that pass the filters of a query, by path."""
        where, values = conditions(query)
        rows = self.db.execute(
            f"SELECT {RECORD} FROM records r{where} ORDER BY r.path, r.ref", values
        )
        return [to_record(row) for row in rows]

    def note_tags(self) -> dict[str, int]:
        """Every tag of notes and other files with text, with how many have it."""
        marks = ", ".join("?" * len(FILE_KINDS))
        rows = self.db.execute(
            "SELECT t.tag, COUNT(*) FROM tags t JOIN records r ON r.id = t.record"
            f" WHERE r.kind IN ({marks}) GROUP BY t.tag",
            FILE_KINDS,
        )
        return dict(rows.fetchall())

    def code_kinds(self) -> tuple[str, ...]:
        """Kinds of source code, if there are such records: a recall leaves them out."""
        sql = "SELECT 1 FROM records WHERE source = 'symbols' AND key != '' LIMIT 1"
        return ("symbol",) if self.db.execute(sql).fetchone() else ()

    def chunk_ids(self, ref: str) -> list[int]:
        rows = self.db.execute(
            "SELECT c.id FROM chunks c JOIN records r ON r.id = c.record WHERE r.ref = ?"
            " ORDER BY c.n",
            (ref,),
        )
        return [id_ for (id_,) in rows]

    def partly_read(self) -> set[str]:
        """The skipped keys that were indexed in part."""
        rows = self.db.execute(
            "SELECT s.key FROM states s JOIN records r ON r.source = s.source AND r.key = s.key"
            " WHERE s.reason != '' AND s.key != ''"
            " UNION SELECT key FROM states WHERE reason != '' AND stamp = ?",
            (CUT,),
        )
        return {key for (key,) in rows}

    def skipped(self) -> list[tuple[str, str]]:
        """Keys that could not be indexed, or only in part, with the reason."""
        rows = self.db.execute("SELECT key, reason FROM states WHERE reason != '' ORDER BY key")
        return [(key, reason) for key, reason in rows]

    def stamps(self, paths: Iterable[str]) -> dict[str, str]:
        """The stamps that files had when they were indexed."""
        stamps = {}
        for path in paths:
            row = self.db.execute(
                "SELECT stamp FROM states WHERE source IN ('files', 'symbols') AND key = ?", (path,)
            ).fetchone()
            if row:
                stamps[path] = str(row[0])
        return stamps

    def latest_stamps(self, limit: int) -> list[tuple[str, str]]:
        """The files that had changed last when they were indexed, each with its stamp."""
        # A stamp begins with a time of 19 digits; that without a file is of the settings.
        return self.db.execute(
            "SELECT key, stamp FROM states WHERE source = 'files' AND key != ''"
            " ORDER BY stamp DESC LIMIT ?",
            (limit,),
        ).fetchall()

    def state_count(self) -> int:
        """The number of files that the index knows."""
        return self._count("SELECT COUNT(*) FROM states WHERE source = 'files'")

    def stamp(self, source: str, key: str) -> str:
        """What the index remembers of one key of a source."""
        sql = "SELECT stamp FROM states WHERE source = ? AND key = ?"
        row = self.db.execute(sql, (source, key)).fetchone()
        return str(row[0]) if row else ""

    def counts(self, vectors: int = 0) -> Counts:
        count = self._count
        from kinen.model.documents import Counts

        return Counts(
            documents=count("SELECT COUNT(*) FROM records"),
            chunks=count("SELECT COUNT(*) FROM chunks"),
            edges=count("SELECT COUNT(*) FROM links WHERE target NOT IN ('', '*')")
            + count("SELECT COUNT(*) + IFNULL(SUM(before != 0), 0) FROM touches"),
            broken=count("SELECT COUNT(*) FROM links WHERE target = ''"),
            skipped=count("SELECT COUNT(*) FROM states WHERE reason != ''"),
            vectors=vectors,
        )

    def digests(self, ref: str = "") -> list[str]:
        """The digests of all chunks, or of those of a record."""
        if not ref:
            return [row[0] for row in self.db.execute("SELECT digest FROM chunks")]
        rows = self.db.execute(f"SELECT c.digest{_FROM} WHERE r.ref = ?", (ref,))
        return [row[0] for row in rows]

    def kinds(self) -> dict[str, int]:
        counts = {}
        for kind in KINDS:  # by the index of refs, which begin with the kind: rows are long
            sql = "SELECT COUNT(*) FROM records WHERE ref >= ? AND ref < ?"
            counts[kind] = int(self.db.execute(sql, (f"{kind}:", f"{kind};")).fetchone()[0])
        for kind, table in (("commit", "commits"), ("file", "files")):
            counts[kind] = self._count(f"SELECT COUNT(*) FROM {table} WHERE record > 0")
        return {kind: counts[kind] for kind in sorted(counts) if counts[kind]}

    def stems(self, words: Sequence[str]) -> dict[str, str]:
        """Each word as the full-text tokenizer would store it."""
        self.db.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.stemming USING fts5(w, tokenize='{TOKENIZE}')"
        )
        self.db.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.stems"
            " USING fts5vocab(temp, stemming, instance)"
        )
        self.db.execute("DELETE FROM temp.stemming")
        if words:
            marks = ", ".join(["(?)"] * len(words))
            self.db.execute(f"INSERT INTO temp.stemming VALUES {marks}", words)
        rows = self.db.execute("SELECT doc, MIN(term) FROM temp.stems GROUP BY doc").fetchall()
        return {words[doc - 1]: str(term) for doc, term in rows}

    def vocabulary(self, letter: str) -> list[tuple[str, int]]:
        """Every stem that begins with a letter, with the number of chunks it is in."""
        self.db.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, search, row)"
        )
        sql = "SELECT term, doc FROM temp.vocabulary WHERE term >= ? AND term < ?"
        return self.db.execute(sql, (letter, chr(ord(letter) + 1))).fetchall()

    def document_counts(self, words: Sequence[str]) -> dict[str, int]:
        """How many chunks each word is in, by its stem."""
        key = (self.version(), *words)
        if self._counts[0] == key:
            return self._counts[1]
        # What the tokenizer may split is looked up by its first stem, which takes tables.
        others = [word for word in words if not (word.isascii() and word.isalnum())]
        stems = self.stems(others) if others else {}
        if stems:
            table = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary"
            self.db.execute(f"{table} USING fts5vocab(main, search, row)")
        counts = {}
        for word in words:
            if word in stems:
                sql = "SELECT doc FROM temp.vocabulary WHERE term = ?"
                row = self.db.execute(sql, (stems[word],)).fetchone()
                counts[word] = int(row[0]) if row else 0
            elif word not in others:
                counts[word] = self._count("SELECT COUNT(*) FROM search(?)", expression([word]))
        self._counts = (key, counts)
        return counts

    def spelled(self, stem: str, like: str) -> str:
        """A word of the index that has this stem, the one most like what was typed.

        Empty if no text that may be shown has it.
        """
        from rapidfuzz import fuzz

        row = self.db.execute(
            "SELECT c.title, c.heading, c.path, c.body, c.extra FROM search"
            " JOIN chunks c ON c.id = search.rowid WHERE search MATCH ?"
            " ORDER BY search.rowid LIMIT 1",
            (expression([stem]),),
        ).fetchone()
        if row is None:
            return ""
        candidates = {word.lower() for word in words(" ".join(row))}
        stems = self.stems(sorted(word for word in candidates if word[:2] == stem[:2]))
        same = [word for word, word_stem in stems.items() if word_stem == stem]
        return min(same, key=lambda word: (-fuzz.ratio(word, like), word), default=stem)

    def check(self) -> str:
        """What is wrong with the file, as SQLite says it; empty if nothing is."""
        return integrity(self.db)

    def _count(self, sql: str, *values: object) -> int:
        return int(self.db.execute(sql, values).fetchone()[0])


_FROM = " FROM chunks c JOIN records r ON r.id = c.record"


def to_record(row: Sequence[Any]) -> Record:
    """A record from its columns."""
    ref, kind, title, path, at, session, tags, metadata = row
    fields = dict(sorted(json.loads(metadata).items()))
    return Record(ref, kind, title, path, at, session, tuple(json.loads(tags)), fields)


def chunk_places(rows: Iterable[tuple[int, int, int, str]]) -> dict[int, tuple[int | str, int]]:
    """By chunk its record and number, or the capsule and number of its segment."""
    places: dict[int, tuple[int | str, int]] = {}
    for id_, record, n, segment in rows:
        capsule, _, number = segment.rpartition("/")
        places[id_] = (capsule, int(number)) if segment else (record, n)
    return places
