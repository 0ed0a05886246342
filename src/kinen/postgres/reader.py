"""Reads the index in PostgreSQL: what `kinen.index.reader` answers, for any number of spaces."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from kinen.errors import GitError
from kinen.index import names
from kinen.index.git.commits import SOURCE, Settings
from kinen.index.git.lineage import tag_operations
from kinen.index.reader import chunk_places
from kinen.journal.queries import LAST
from kinen.model.documents import Commit, Counts, Document, Link, Report, State
from kinen.model.records import Chunk, Query, Record
from kinen.ports import Past
from kinen.postgres import match as fulltext
from kinen.postgres.connection import Connection, name_spaces, scalar
from kinen.postgres.match import Clause, conditions
from kinen.postgres.spaces import StoredSpace, among
from kinen.postgres.vectors import Allowed, chunks_from
from kinen.postgres.words import Tokenizer, phrase_query
from kinen.postgres.writer import Entry, PostgresWriter
from kinen.text import words

if TYPE_CHECKING:
    from kinen.index.graph import Name, Resolve

RECORD = "r.kind, r.title, r.path, r.at, r.session, r.tags, r.metadata"
CHUNK = "c.n, c.body, c.heading, c.start_line, c.end_line, c.page"
OF = "\x1f"
"""Between the number of a space and a ref, where several spaces are read at once."""
MOST_WORDS = 200_000
"""Words of a vocabulary that a misspelled one is compared with, the commonest first."""
HEAD = ""
"""The key under which the index remembers the last commit."""
BATCH = 1000


class PostgresReader:
    """Read access to the index of some spaces of a database, by one connection.

    Use it inside `Database.snapshot`: a search reads many times and must see one state.
    """

    ranks_files = False

    def __init__(self, connection: Connection, spaces: Sequence[StoredSpace]) -> None:
        self._connection = connection
        self.spaces = [space.id for space in spaces]
        chunks = sum(space.chunks for space in spaces)
        self._corpus = fulltext.Corpus(self.spaces, chunks, sum(s.tokens for s in spaces))
        name_spaces(connection, self.spaces)
        self._from = chunks_from(self.spaces)
        self._tokenizer = Tokenizer()
        # the same ref may be in several spaces, and passages are found again by their ref
        self._ref = f"r.space || '{OF}' || r.ref" if len(spaces) > 1 else "r.ref"

    def close(self) -> None:
        self._tokenizer.close()

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, values).fetchall()

    def _among(self, column: str) -> str:
        return among(column, self.spaces)

    def _located(self, ref: str) -> tuple[list[int], str]:
        """The spaces that a ref may be in, and the ref as the table has it."""
        space, mark, bare = ref.partition(OF)
        return ([int(space)], bare) if mark else (self.spaces, ref)

    def _filter(self, query: Query) -> Clause:
        """The filters of a query as further conditions, and their values."""
        clause, values = conditions(query, self._tokenizer.stems)
        return (f" AND {clause}" if clause else ""), values

    def match(self, terms: Sequence[str], query: Query, k: int) -> list[tuple[int, float]]:
        sequences = [self._tokenizer.stems(term) for term in terms]
        where = conditions(query, self._tokenizer.stems)
        weighed = fulltext.weigh(self._connection, self._corpus, sequences)
        return fulltext.match(self._connection, self._corpus, weighed, where, k)

    def match_runs(self, runs: Sequence[Sequence[str]], query: Query, k: int) -> dict[int, str]:
        ids = [id_ for id_, _ in self.match([" ".join(run) for run in runs], query, k)]
        rows = self.rows(
            f"SELECT c.id, c.title || E'\\n' || c.heading || E'\\n' || c.body{self._from}"
            f" WHERE {self._among('c.space')} AND c.id = ANY(%s)"
            " AND r.kind NOT IN ('capsule', 'summary')"
            " AND coalesce(r.metadata ->> 'role', '') <> 'user'",
            ids,
        )
        texts = dict(rows)
        return {id_: texts[id_] for id_ in ids if id_ in texts}

    def allowed(self, query: Query) -> Allowed | None:
        clause, values = conditions(query, self._tokenizer.stems)
        return Allowed(self.rows, self.spaces, clause, values) if clause else None

    def anchors(self, ids: Sequence[int]) -> dict[int, int]:
        """The anchor of each chunk that is embedded together with others before it."""
        rows = self.rows(
            "SELECT id, anchor FROM kinen.chunk"
            f" WHERE {self._among('space')} AND id = ANY(%s) AND anchor <> 0",
            list(ids),
        )
        return dict(rows)

    def segment(self, ref: str) -> list[Chunk]:
        spaces, bare = self._located(ref)
        rows = self.rows(
            f"SELECT {self._ref}, {CHUNK}{self._from} WHERE c.space = ANY(%s)"
            " AND c.segment <> '' AND c.segment = (SELECT o.segment FROM kinen.chunk o"
            " JOIN kinen.record s ON s.space = o.space AND s.id = o.record"
            " WHERE o.space = ANY(%s) AND s.ref = %s LIMIT 1) ORDER BY r.at, r.ref",
            spaces,
            spaces,
            bare,
        )
        return [Chunk(*row) for row in rows]

    def newest(self, query: Query, k: int) -> list[int]:
        clause, values = self._filter(query)
        rows = self.rows(
            f"SELECT c.id{self._from}"
            f" WHERE {self._among('c.space')} AND c.n = 0 AND r.at <> ''{clause}"
            " ORDER BY r.at DESC, r.ref LIMIT %s",
            *values,
            k,
        )
        return [id_ for (id_,) in rows]

    def ages(self, ids: Sequence[int]) -> dict[int, str]:
        rows = self.rows(
            f"SELECT c.id, r.at{self._from}"
            f" WHERE {self._among('c.space')} AND c.id = ANY(%s) AND r.at <> ''",
            list(ids),
        )
        return dict(rows)

    def latest(self) -> str:
        rows = self.rows(
            f"SELECT coalesce(max(at), '') FROM kinen.record WHERE {self._among('space')}"
        )
        return str(rows[0][0])

    def load(self, ids: Sequence[int]) -> dict[int, tuple[Record, Chunk]]:
        rows = self.rows(
            f"SELECT c.id, {CHUNK}, {self._ref}, {RECORD}{self._from}"
            f" WHERE {self._among('c.space')} AND c.id = ANY(%s)",
            list(ids),
        )
        width = CHUNK.count(",") + 1
        loaded = {}
        for id_, *row in rows:
            record = to_record(row[width:])
            loaded[id_] = (record, Chunk(record.ref, *row[:width]))
        return loaded

    def places(self, ids: Sequence[int]) -> dict[int, tuple[int | str, int]]:
        rows = self.rows(
            "SELECT id, record, n, segment FROM kinen.chunk"
            f" WHERE {self._among('space')} AND id = ANY(%s)",
            list(ids),
        )
        return chunk_places(rows)

    def bodies(self, ids: Sequence[int]) -> list[str]:
        rows = self.rows(
            f"SELECT body FROM kinen.chunk WHERE {self._among('space')} AND id = ANY(%s)", list(ids)
        )
        return [body for (body,) in rows]

    def chunk_count(self) -> int:
        """The number of chunks when the reader was opened."""
        return self._corpus.chunks

    def between(self, ref: str, first: int, last: int) -> list[Chunk]:
        spaces, bare = self._located(ref)
        rows = self.rows(
            f"SELECT {CHUNK} FROM kinen.chunk c WHERE c.space = ANY(%s)"
            " AND c.record = ANY(ARRAY(SELECT r.id FROM kinen.record r"
            " WHERE r.space = ANY(%s) AND r.ref = %s))"
            " AND c.n BETWEEN %s AND %s ORDER BY c.space, c.n",
            spaces,
            spaces,
            bare,
            first,
            last,
        )
        return [Chunk(ref, *row) for row in rows]

    def chunks_at(self, paths: Sequence[str], query: Query) -> dict[str, list[int]]:
        clause, values = self._filter(query)
        rows = self.rows(
            f"SELECT r.path, c.id{self._from}"
            f" WHERE {self._among('c.space')} AND r.path = ANY(%s){clause}"
            " ORDER BY c.n",
            list(paths),
            *values,
        )
        chunks: dict[str, list[int]] = {}
        for path, id_ in rows:
            chunks.setdefault(path, []).append(id_)
        return chunks

    @property
    def empty(self) -> bool:
        return not self.rows(f"SELECT 1 FROM kinen.chunk WHERE {self._among('space')} LIMIT 1")

    def chunks_of_symbol(self, name: str, query: Query) -> list[int]:
        clause, values = self._filter(query)
        rows = self.rows(
            f"SELECT MIN(c.id){self._from} WHERE {self._among('c.space')} AND r.kind = 'symbol'"
            f" AND r.title = %s{clause} GROUP BY r.space, r.id, r.path ORDER BY r.path",
            name,
            *values,
        )
        return [id_ for (id_,) in rows]

    def paths_named(self, text: str) -> list[str]:
        part = names.bare(text).rpartition("/")[2]
        if not part or not names.may_be_name(text):
            return []
        rows = self.rows(
            f"SELECT DISTINCT path FROM kinen.record WHERE {self._among('space')} AND path <> ''"
            " AND strpos(lower(path), %s) > 0 LIMIT 1000",
            part.lower(),
        )
        paths = names.matching(text, [path for (path,) in rows])
        return paths if len(paths) <= names.MOST_FILES else []

    def record(self, ref: str) -> Record | None:
        spaces, bare = self._located(ref)
        rows = self.rows(
            f"SELECT {self._ref}, {RECORD} FROM kinen.record r WHERE r.space = ANY(%s)"
            " AND r.ref = %s ORDER BY r.space LIMIT 1",
            spaces,
            bare,
        )
        return to_record(rows[0]) if rows else None

    def refs_from(self, start: str, most: int) -> list[str]:
        rows = self.rows(
            f"SELECT {self._ref} FROM kinen.record r WHERE {self._among('r.space')}"
            " AND r.ref >= %s AND r.ref < %s ORDER BY 1 LIMIT %s",
            start,
            start + LAST,
            most,
        )
        return [row[0] for row in rows]

    def at_path(self, path: str) -> Record | None:
        rows = self.rows(
            f"SELECT {self._ref}, {RECORD} FROM kinen.record r"
            f" WHERE {self._among('r.space')} AND r.path = %s AND r.path <> ''"
            " AND r.kind <> 'symbol' ORDER BY r.kind = 'file', r.ref LIMIT 1",
            path,
        )
        return to_record(rows[0]) if rows else None

    def matching(self, query: Query) -> list[Record]:
        clause, values = self._filter(query)
        rows = self.rows(
            f"SELECT {self._ref}, {RECORD} FROM kinen.record r"
            f" WHERE {self._among('r.space')}{clause}"
            " ORDER BY r.path, r.ref",
            *values,
        )
        return [to_record(row) for row in rows]

    def touched(self, ids: Sequence[int]) -> dict[int, list[int]]:
        rows = self.rows(
            "SELECT c.id, hashtextextended(t.path, 0) FROM kinen.chunk c"
            " JOIN kinen.touch t ON t.space = c.space AND t.record = c.record"
            f" WHERE {self._among('c.space')} AND c.id = ANY(%s)",
            list(ids),
        )
        files: dict[int, list[int]] = {}
        for id_, file in rows:
            files.setdefault(id_, []).append(file)
        return files

    def file_at(self, path: str) -> int:
        rows = self.rows(
            "SELECT hashtextextended(path, 0) FROM kinen.touch"
            f" WHERE {self._among('space')} AND path = %s LIMIT 1",
            path,
        )
        return int(rows[0][0]) if rows else 0

    def stems(self, words: Sequence[str]) -> dict[str, str]:
        stems = {word: self._tokenizer.stems(word) for word in words}
        return {word: sequence[0] for word, sequence in stems.items() if sequence}

    def vocabulary(self, letter: str) -> list[tuple[str, int]]:
        return self.rows(
            "SELECT term, sum(chunks)::bigint AS chunks FROM kinen.word"
            f" WHERE {self._among('space')} AND starts_with(term, %s)"
            " GROUP BY term ORDER BY chunks DESC, term LIMIT %s",
            letter,
            MOST_WORDS,
        )

    def document_counts(self, words: Sequence[str]) -> dict[str, int]:
        stems = self.stems(words)
        known = fulltext.counts(self._connection, self.spaces, list(stems.values()))
        return {word: known.get(stem, 0) for word, stem in stems.items()}

    def spelled(self, stem: str, like: str) -> str:
        from rapidfuzz import fuzz

        rows = self.rows(
            "SELECT title || ' ' || heading || ' ' || body FROM kinen.chunk"
            f" WHERE {self._among('space')}"
            " AND id = (SELECT min(id) FROM kinen.matching(%s::tsquery, NULL))",
            phrase_query([stem]),
        )
        candidates = {word.lower() for word in words(rows[0][0])} if rows else set()
        stems = self.stems(sorted(word for word in candidates if word[:2] == stem[:2]))
        same = [word for word, word_stem in stems.items() if word_stem == stem]
        return min(same, key=lambda word: (-fuzz.ratio(word, like), word), default=stem)

    def counts(self, vectors: int = 0) -> Counts:
        def count(table: str, clause: str = "true") -> int:
            sql = f"SELECT count(*) FROM kinen.{table} WHERE {self._among('space')} AND {clause}"
            return int(self.rows(sql)[0][0])

        return Counts(
            documents=count("record"),
            chunks=count("chunk"),
            edges=count("link", "target NOT IN ('', '*')"),
            broken=count("link", "target = ''"),
            skipped=count("state", "reason <> ''"),
            vectors=vectors or count("vector"),
        )


def to_record(row: Iterable[Any]) -> Record:
    ref, kind, title, path, at, session, tags, metadata = row
    return Record(ref, kind, title, path, at, session, tuple(tags), metadata)


def relink(
    writer: PostgresWriter, stamp: str, resolver: Callable[[Iterable[Name]], Resolve]
) -> None:
    """Resolve every link again if records or attachments changed since the last time."""
    with writer.database.transaction([writer.space]) as connection:
        linked = "SELECT linked FROM kinen.space WHERE id = %s"
        if scalar(connection, linked, writer.space) == stamp:
            return
        names = connection.execute(
            "SELECT ref, path, aliases FROM kinen.record"
            " WHERE space = %s AND key <> '' AND source NOT IN ('symbols', 'git') ORDER BY ref",
            (writer.space,),
        )
        resolve = resolver((ref, path, tuple(aliases)) for ref, path, aliases in names)
        links = connection.execute(
            "SELECT l.record, l.n, r.path, l.written, l.heading, l.wiki, l.target"
            " FROM kinen.link l JOIN kinen.record r ON r.space = l.space AND r.id = l.record"
            " WHERE l.space = %s",
            (writer.space,),
        ).fetchall()
        moved = []
        for record, n, path, written, heading, wiki, target in links:
            found = resolve(Link(written, heading=heading, wiki=wiki), path)
            if found != target:
                moved.append((found, writer.space, record, n))
        with connection.cursor() as cursor:
            cursor.executemany(
                "UPDATE kinen.link SET target = %s WHERE space = %s AND record = %s AND n = %s",
                moved,
            )
        connection.execute(
            "UPDATE kinen.space SET linked = %s WHERE id = %s", (stamp, writer.space)
        )


def follow(
    writer: PostgresWriter,
    past: Past,
    settings: Settings,
    done: Callable[[int], None] = lambda _: None,
) -> Report:
    """Index the commits since the last indexed one; all again if the history was rewritten.

    A killed process continues: commits of finished batches are there, and the mark is set last.
    """
    states = writer.states(SOURCE)
    mark = states.get(HEAD, State("", ""))
    head = past.head()
    rules = f"{past.rules}:{settings.rules}"
    if mark == State(head, rules):
        return Report()
    old = mark.stamp
    if not head or (old and (mark.digest != rules or _is_rewritten(past, head, old))):
        writer.void(SOURCE)
        old = ""
        states = {}
    added = 0
    if head:
        commits = (commit for commit in past.since(head, old) if commit.sha not in states)
        while batch := list(islice(commits, BATCH)):
            entries = [
                _entry(commit)
                for commit in batch
                if (commit.touches or not past.inside)
                and f"commit:{commit.sha}" not in settings.hidden
            ]
            writer.add(SOURCE, entries, {commit.sha: State("", "") for commit in batch})
            added += len(entries)
            done(added)
    writer.add(SOURCE, (), {HEAD: State(head, rules)})
    return Report(added=added, notes=tuple(past.remarks))


def _is_rewritten(past: Past, head: str, old: str) -> bool:
    """Whether commits that were indexed are no longer reachable from the head."""
    try:
        return next(iter(past.since(old, head)), None) is not None
    except GitError:  # the old commit was removed
        return True


def _entry(commit: Commit) -> Entry:
    ref = f"commit:{commit.sha}"
    ops = tag_operations(commit.ops, commit.scope, len(commit.touches))
    tags = tuple(sorted({op[1:] for op in ops if op[0] == "+"}))
    record = Record(
        ref, "commit", commit.subject, at=commit.at, tags=tags, metadata=json.loads(commit.about)
    )
    silent = len(commit.parents) > 1 and commit.texts == (commit.subject,)
    texts = () if silent else commit.texts  # a merge without a message of its own says nothing
    chunks = tuple(Chunk(ref, n, text) for n, text in enumerate(texts))
    return Entry(commit.sha, Document(record, chunks), commit.author, commit.touches)
