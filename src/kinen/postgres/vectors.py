"""The nearest chunks to a vector: exact among few, by 1-bit codes first among many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from psycopg import errors

from kinen.index.writer import above, embedded_text
from kinen.postgres.connection import Connection, Database, scalar, translated
from kinen.postgres.schema import PARTITIONS, partition
from kinen.postgres.spaces import StoredSpace, among
from kinen.postgres.writer import CHANNEL, segment_texts

EXACT = 100_000
"""Up to here every vector is compared; above, 1-bit codes choose what is compared."""
GRAPH_COST = 40
"""A vector that a graph finds takes as long as comparing this many."""
CODED = 400
"""The least number of vectors that codes choose; the widest beam of the graph is 1,000."""
WIDEST = 1000
CODED_SHARE = 500
"""Codes choose at least one vector of each 500: the more there are, the less codes tell apart."""
MOST_CODED = 4000
MOST_SCANNED = 20_000
"""Vectors that a filtered search takes from the graphs at most: what pgvector scans of one."""
BUILD_BYTES = 1200
"""Memory per vector while a graph is built: it takes several times as long once that is full."""
MOST_BUILD_MB = 4096
LOCK = 0x6B696E02
"""The class of the advisory locks of partitions whose graph is being built."""

Rows = Callable[..., list[tuple[Any, ...]]]


def chunks_from(spaces: Sequence[int]) -> str:
    """A join of chunks c and their records r; both know the spaces, and so their partitions."""
    return (
        " FROM kinen.chunk c JOIN kinen.record r ON r.space = c.space AND r.id = c.record"
        f" AND {among('r.space', spaces)}"
    )


class Allowed:
    """The units that pass a filter, as a condition of SQL, and the chunk to cite for each."""

    def __init__(self, rows: Rows, spaces: Sequence[int], clause: str, values: list[Any]) -> None:
        self._rows = rows
        self._from = f"{chunks_from(spaces)} WHERE {among('c.space', spaces)}"
        self.clause = clause
        self.values = values
        self._cited: dict[int, int] = {}

    @property
    def units(self) -> str:
        """A query for the units; its values are `values`."""
        return f"SELECT {_UNIT}{self._from} AND {self.clause}"

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[int]:
        rows = self._rows(f"SELECT DISTINCT {_UNIT}{self._from} AND {self.clause}", *self.values)
        return iter(sorted(unit for (unit,) in rows))

    def __getitem__(self, unit: int) -> int:
        """The first chunk of a unit that passes the filter."""
        if unit not in self._cited:
            self.cite([unit])
        return self._cited[unit]

    def cite(self, units: Sequence[int]) -> None:
        """Look up the chunks of several units at once."""
        rows = self._rows(
            f"SELECT {_UNIT}, min(c.id){self._from} AND {self.clause}"
            " AND (c.id = ANY(%s) OR c.anchor = ANY(%s)) GROUP BY 1",
            *self.values,
            list(units),
            list(units),
        )
        self._cited.update(rows)


_UNIT = "CASE c.anchor WHEN 0 THEN c.id ELSE c.anchor END"
_USE_GRAPH = (
    "SELECT set_config('hnsw.ef_search', %s, true),"
    " set_config('hnsw.iterative_scan', 'relaxed_order', true),"
    # a server that underestimates a table would rather sort all of it
    " set_config('enable_sort', 'off', true)"
)


class PostgresScan:
    """The vectors of some spaces, all of one model, that the transaction may see."""

    def __init__(
        self,
        connection: Connection,
        spaces: Sequence[StoredSpace],
        dimensions: int,
        *,
        exact: int = EXACT,
    ) -> None:
        """Filtered searches compare every vector while at most `exact` of them pass."""
        self._connection = connection
        self._dimensions = dimensions
        self._exact = exact
        self._among = among("v.space", [space.id for space in spaces])
        self._parts = sorted({space.part for space in spaces})
        self._count = sum(space.chunks for space in spaces)
        self._wanted = max(CODED, min(self._count // CODED_SHARE, MOST_CODED))
        self.coded = self._count > exact and self._worth_codes()

    def _worth_codes(self) -> bool:
        """Whether the graphs answer sooner: they also find vectors of spaces that nobody asked."""
        graphs = parts_with_graph(self._connection, self._dimensions)
        stored = sum(graphs.get(part, 0) for part in self._parts)
        if not graphs.keys() >= {*self._parts} or not stored:
            return False
        scanned = self._wanted * max(stored, self._count) / self._count
        return scanned * GRAPH_COST < self._count and scanned < MOST_SCANNED * len(self._parts)

    def nearest(
        self, vector: Any, k: int, allowed: Allowed | None = None
    ) -> list[tuple[int, float]]:
        """The k nearest chunks among those that are allowed, nearest first."""
        text = literal(vector)
        rows: list[tuple[Any, ...]] = []
        exact = not self.coded
        if self.coded:
            count = 0
            if allowed is not None:
                # How many pass the filter; they are counted a little above `exact`.
                query = f"SELECT count(*) FROM ({allowed.units} LIMIT %s) c"
                bound = [*allowed.values, self._exact + 1]
                count = int(scalar(self._connection, query, *bound))
            exact = allowed is not None and count <= self._exact
            if not exact:
                rows = self._by_codes(text, k, allowed)
                exact = allowed is not None and len(rows) < min(k, count)
        if exact:
            inside = ""
            values: list[Any] = [text]
            if allowed is not None:
                inside = f" AND v.chunk IN ({allowed.units})"
                values += allowed.values
            rows = self._connection.execute(
                "SELECT v.chunk, -(v.embedding <#> %s::halfvec) AS score FROM kinen.vector v"
                f" WHERE {self._among}{inside} ORDER BY score DESC, v.chunk LIMIT %s",
                [*values, k],
            ).fetchall()
        if allowed is not None:
            allowed.cite([chunk for chunk, _ in rows])
        return [(int(chunk), float(score)) for chunk, score in rows]

    def of(self, vector: Any, ids: list[int]) -> dict[int, float]:
        """The cosines of given chunks; those without a vector are left out."""
        rows = self._connection.execute(
            "SELECT v.chunk, -(v.embedding <#> %s::halfvec) FROM kinen.vector v"
            f" WHERE {self._among} AND v.chunk = ANY(%s)",
            (literal(vector), list(ids)),
        ).fetchall()
        return {int(chunk): float(score) for chunk, score in rows}

    def _by_codes(self, text: str, k: int, allowed: Allowed | None) -> list[tuple[Any, ...]]:
        """The nearest of those whose codes are nearest.

        The server merges the graphs of the partitions. A filter is applied to what they give,
        which is therefore asked for more.
        """
        bits = f"bit({self._dimensions})"
        asked = f"binary_quantize(%s::halfvec({self._dimensions}))::{bits}"
        clause = ""
        wanted = limit = max(self._wanted, 4 * k)
        values: list[Any] = []
        if allowed is not None:
            clause = f" WHERE n.chunk IN ({allowed.units})"
            limit = MOST_SCANNED
            values = allowed.values
        beam = min(WIDEST, max(k, 2 * wanted // len(self._parts)))
        self._connection.execute(_USE_GRAPH, (str(beam),))
        rows = self._connection.execute(
            "WITH n AS MATERIALIZED (SELECT v.chunk, v.embedding FROM kinen.vector v"
            f" WHERE {self._among} AND vector_dims(v.embedding) = {self._dimensions}"
            f" ORDER BY binary_quantize(v.embedding)::{bits} <~> {asked} LIMIT %s)"
            f" SELECT n.chunk, -(n.embedding <#> %s::halfvec) AS score FROM n{clause}"
            " ORDER BY score DESC, n.chunk LIMIT %s",
            [text, limit, text, *values, k],
        ).fetchall()
        self._connection.execute("SET LOCAL enable_sort = on")
        return rows


def literal(vector: Any) -> str:
    """A vector as pgvector reads it."""
    return "[" + ",".join(f"{value:.6g}" for value in vector) + "]"


def copy_vectors(
    connection: Connection, space: StoredSpace, chunks: Sequence[int], matrix: Any
) -> None:
    """Store a row of a matrix for each chunk, in the binary format of COPY."""
    import numpy as np

    values = np.asarray(matrix, dtype=">f2")
    row = [("columns", ">i2"), ("n1", ">i4"), ("space", ">i4"), ("n2", ">i4"), ("chunk", ">i8")]
    row += [("n3", ">i4"), ("dimensions", ">i2"), ("unused", ">i2")]
    dtype = np.dtype([*row, ("values", ">f2", (values.shape[1],))])
    rows = np.zeros(len(values), dtype)
    rows["columns"] = 3
    rows["n1"] = 4
    rows["space"] = space.id
    rows["n2"] = 8
    rows["chunk"] = chunks
    rows["n3"] = 4 + 2 * values.shape[1]
    rows["dimensions"] = values.shape[1]
    rows["values"] = values
    table = f"kinen.{partition('vector', space.part)}"
    with (
        connection.cursor() as cursor,
        cursor.copy(f"COPY {table} (space, chunk, embedding) FROM STDIN BINARY") as copy,
    ):
        copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
        copy.write(rows.tobytes())
        copy.write(b"\xff\xff")


def build_graphs(database: Database, *, exact: int = EXACT) -> list[str]:
    """Build the graphs over 1-bit codes where there are more than `exact` chunks with vectors.

    Each partition gets one for each number of dimensions. Searches go on meanwhile; other workers
    leave the partition alone. Returns the graphs that were built.
    """
    built = []
    with translated(database.place), database.connect(autocommit=True) as connection:
        connection.execute("SET statement_timeout = 0")
        rows = connection.execute(
            "SELECT dimensions FROM kinen.space WHERE dimensions > 0"
            " GROUP BY dimensions HAVING sum(chunks) > %s",
            (exact,),
        ).fetchall()
        for (dimensions,) in rows:
            ready = parts_with_graph(connection, dimensions)
            for part in {*range(PARTITIONS)} - ready.keys():
                if not scalar(connection, "SELECT pg_try_advisory_lock(%s, %s)", LOCK, part):
                    continue
                if part not in parts_with_graph(connection, dimensions):
                    _build(connection, part, dimensions)
                    built.append(graph_name(part, dimensions))
                connection.execute("SELECT pg_advisory_unlock(%s, %s)", (LOCK, part))
    return built


def _build(connection: Connection, part: int, dimensions: int) -> None:
    table = partition("vector", part)
    counted = f"SELECT count(*) FROM kinen.{table} WHERE vector_dims(embedding) = %s"
    count = int(scalar(connection, counted, dimensions))
    memory = min(MOST_BUILD_MB, 64 + count * BUILD_BYTES // 1_000_000)
    connection.execute(f"SET maintenance_work_mem = '{memory}MB'")
    create = (
        f"CREATE INDEX {graph_name(part, dimensions)} ON kinen.{table} USING hnsw"
        f" ((binary_quantize(embedding)::bit({dimensions})) bit_hamming_ops)"
        f" WHERE vector_dims(embedding) = {dimensions}"
    )
    try:
        connection.execute(create)
    except (errors.DiskFull, errors.OutOfMemory):
        # parallel workers share memory, of which containers have little (/dev/shm)
        connection.execute("SET max_parallel_maintenance_workers = 0")
        connection.execute(create)


def graph_name(part: int, dimensions: int) -> str:
    return f"{partition('vector', part)}_graph_{dimensions}"


def parts_with_graph(connection: Connection, dimensions: int) -> dict[int, int]:
    """The partitions whose graph is complete, and how many vectors each has, as far as known."""
    rows = connection.execute(
        "SELECT c.relname, greatest(c.reltuples, 0)::bigint FROM pg_index i"
        " JOIN pg_class c ON c.oid = i.indexrelid"
        " WHERE i.indrelid IN (SELECT inhrelid FROM pg_inherits"
        " WHERE inhparent = to_regclass('kinen.vector')) AND i.indisvalid AND i.indpred IS NOT NULL"
    ).fetchall()
    vectors: dict[str, int] = dict(rows)
    names = {part: graph_name(part, dimensions) for part in range(PARTITIONS)}
    return {part: vectors[name] for part, name in names.items() if name in vectors}


class Embeddings:
    """The vectors of one space."""

    def __init__(self, database: Database, space: StoredSpace) -> None:
        self.database = database
        self.space = space.id
        self._stored = space

    def use_model(self, fingerprint: str, dimensions: int) -> None:
        """Vectors are of this model from now on; those of another one are removed."""
        with self.database.transaction([self.space]) as connection:
            model = "SELECT model FROM kinen.space WHERE id = %s"
            if scalar(connection, model, self.space) == fingerprint:
                return
            connection.execute("DELETE FROM kinen.vector WHERE space = %s", (self.space,))
            connection.execute(
                "UPDATE kinen.space SET model = %s, dimensions = %s WHERE id = %s",
                (fingerprint, dimensions, self.space),
            )

    def missing(self) -> int:
        """How many chunks have no vector."""
        with self.database.transaction([self.space]) as connection:
            count = scalar(
                connection,
                "SELECT (SELECT count(*) FROM kinen.chunk WHERE space = %s AND anchor = 0)"
                " - (SELECT count(*) FROM kinen.vector WHERE space = %s)",
                self.space,
                self.space,
            )
        return int(count)

    def pending(self, limit: int) -> list[str]:
        """Digests of chunks without a vector."""
        with self.database.transaction([self.space]) as connection:
            rows = connection.execute(
                "SELECT DISTINCT c.digest FROM kinen.chunk c WHERE c.space = %s AND c.anchor = 0"
                " AND NOT EXISTS (SELECT 1 FROM kinen.vector v WHERE v.space = c.space"
                " AND v.chunk = c.id) LIMIT %s",
                (self.space, limit),
            ).fetchall()
        return [content for (content,) in rows]

    def texts(self, digests: Sequence[str]) -> list[tuple[str, str]]:
        """What the embedder reads for each digest: the headings above the chunk, and its text."""
        texts = []
        with self.database.transaction([self.space]) as connection:
            rows = connection.execute(
                "SELECT DISTINCT ON (c.digest) c.digest, c.title, c.heading, c.body, c.segment,"
                " r.path FROM kinen.chunk c JOIN kinen.record r ON r.space = c.space"
                " AND r.id = c.record WHERE c.space = %s AND c.digest = ANY(%s)"
                " ORDER BY c.digest, c.id",
                (self.space, list(digests)),
            ).fetchall()
            found = {row[0]: row[1:] for row in rows}
            for content in digests:
                title, heading, body, segment, path = found[content]
                if segment:
                    body = "\n".join(
                        text for _, text in segment_texts(connection, self.space, segment)
                    )
                texts.append((above(title, heading, body), embedded_text(path, body)))
        return texts

    def put(self, digests: Sequence[str], vectors: Iterable[Any]) -> None:
        """Store the vectors of contents for every chunk that has one of them."""
        by_digest = dict(zip(digests, vectors, strict=True))
        with self.database.transaction([self.space]) as connection:
            rows = connection.execute(
                "SELECT c.id, c.digest FROM kinen.chunk c WHERE c.space = %s"
                " AND c.digest = ANY(%s) AND c.anchor = 0 AND NOT EXISTS"
                " (SELECT 1 FROM kinen.vector v WHERE v.space = c.space AND v.chunk = c.id)",
                (self.space, list(digests)),
            ).fetchall()
            if rows:
                matrix = [by_digest[content] for _, content in rows]
                copy_vectors(connection, self._stored, [id_ for id_, _ in rows], matrix)
            connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, str(self.space)))
