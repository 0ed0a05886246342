"""The nearest chunks to a vector: exact in small indexes, by 1-bit codes first in large ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from psycopg import errors, sql

from kinen.postgres.connection import Connection, Database, translated

EXACT = 100_000
"""Up to here every vector is compared; above, 1-bit codes choose what is compared."""
CODED = 400
"""The least number of vectors that codes choose; the widest beam of the graph is 1,000."""
WIDEST = 1000
CODED_SHARE = 500
"""Codes choose at least one vector of each 500: the more there are, the less codes tell apart."""
MOST_CODED = 4000
MOST_SCANNED = 20_000
"""Vectors that a filtered search takes from a graph at most: what pgvector scans by itself."""
BUILD_BYTES = 1200
"""Memory per vector while a graph is built: it takes several times as long once that is full."""
MOST_BUILD_MB = 4096
LOCK = 0x6B696E02
"""The class of the advisory locks of spaces whose graph is being built."""

Rows = Callable[..., list[tuple[Any, ...]]]


class Allowed:
    """The units that pass a filter, as a condition of SQL, and the chunk to cite for each."""

    def __init__(self, rows: Rows, clause: str, values: list[Any]) -> None:
        self._rows = rows
        self.clause = clause
        self.values = values
        self._cited: dict[int, int] = {}

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[int]:
        rows = self._rows(f"SELECT DISTINCT {_UNIT}{_FROM} AND {self.clause}", *self.values)
        return iter(sorted(unit for (unit,) in rows))

    def __getitem__(self, unit: int) -> int:
        """The first chunk of a unit that passes the filter."""
        if unit not in self._cited:
            self.cite([unit])
        return self._cited[unit]

    def cite(self, units: Sequence[int]) -> None:
        """Look up the chunks of several units at once."""
        rows = self._rows(
            f"SELECT {_UNIT}, min(c.id){_FROM} AND {self.clause}"
            " AND (c.id = ANY(%s) OR c.anchor = ANY(%s)) GROUP BY 1",
            *self.values,
            list(units),
            list(units),
        )
        self._cited.update(rows)


_UNIT = "CASE c.anchor WHEN 0 THEN c.id ELSE c.anchor END"
_FROM = (
    " FROM kinen.chunk c JOIN kinen.record r ON r.space = c.space AND r.id = c.record"
    " WHERE c.space = ANY(%s)"
)


_USE_GRAPH = (
    "SELECT set_config('hnsw.ef_search', %s, true),"
    " set_config('hnsw.iterative_scan', 'relaxed_order', true),"
    # a server that underestimates a table would rather sort all of it
    " set_config('enable_sort', 'off', true)"
)


class PostgresScan:
    """The vectors of some spaces, all of one model."""

    def __init__(
        self, connection: Connection, spaces: list[int], dimensions: int, *, exact: int = EXACT
    ) -> None:
        """Filtered searches compare every vector while at most `exact` of them pass."""
        self._connection = connection
        self._dimensions = dimensions
        self._exact = exact
        self._spaces = spaces
        self.coded = spaces_with_graph(connection, spaces)
        self._others = [space for space in spaces if space not in self.coded]

    def nearest(
        self, vector: Any, k: int, allowed: Allowed | None = None
    ) -> list[tuple[int, float]]:
        """The k nearest chunks among those that are allowed, nearest first."""
        text = literal(vector)
        exact = self._others
        rows: list[tuple[Any, ...]] = []
        if self.coded:
            count = 0 if allowed is None else self._count(allowed)
            if allowed is None or count > self._exact:
                rows = self._by_codes(text, k, allowed)
            if allowed is not None and len(rows) < min(k, count):
                exact = self._spaces
                rows = []
        if exact:
            rows = [*rows, *self._by_vectors(text, k, exact, allowed)]
        rows = sorted(rows, key=lambda row: (-row[1], row[0]))[:k]
        if allowed is not None:
            allowed.cite([chunk for chunk, _ in rows])
        return [(int(chunk), float(score)) for chunk, score in rows]

    def of(self, vector: Any, ids: list[int]) -> dict[int, float]:
        """The cosines of given chunks; those without a vector are left out."""
        rows = self._connection.execute(
            "SELECT chunk, -(embedding <#> %s::halfvec) FROM kinen.vector"
            " WHERE space = ANY(%s) AND chunk = ANY(%s)",
            (literal(vector), self._spaces, list(ids)),
        ).fetchall()
        return {int(chunk): float(score) for chunk, score in rows}

    def _by_vectors(
        self, text: str, k: int, spaces: list[int], allowed: Allowed | None
    ) -> list[tuple[Any, ...]]:
        """The nearest of all vectors of some spaces, each one compared."""
        among = ""
        values: list[Any] = [text, spaces]
        if allowed is not None:
            among = f" AND v.chunk IN (SELECT {_UNIT}{_FROM} AND {allowed.clause})"
            values += [spaces, *allowed.values]
        return self._connection.execute(
            "SELECT v.chunk, -(v.embedding <#> %s::halfvec) AS score FROM kinen.vector v"
            f" WHERE v.space = ANY(%s){among} ORDER BY score DESC, v.chunk LIMIT %s",
            [*values, k],
        ).fetchall()

    def _by_codes(self, text: str, k: int, allowed: Allowed | None) -> list[tuple[Any, ...]]:
        """The nearest of those whose codes are nearest.

        Each space has a graph of its own, and is asked by itself: the server uses a graph only
        for the rows of one table in order. A filter is applied to what the graph gives, which
        is therefore asked for more.
        """
        bits = f"bit({self._dimensions})"
        asked = f"binary_quantize(%s::halfvec({self._dimensions}))::{bits}"
        clause = ""
        if allowed is not None:
            clause = f" WHERE n.chunk IN (SELECT {_UNIT}{_FROM} AND {allowed.clause})"
        rows: list[tuple[Any, ...]] = []
        for space, count in self.coded.items():
            wanted = max(CODED, 4 * k, min(count // CODED_SHARE, MOST_CODED))
            self._connection.execute(_USE_GRAPH, (str(min(WIDEST, wanted)),))
            limit = wanted if allowed is None else MOST_SCANNED
            values: list[Any] = [text, limit, text]
            values += [[space], *allowed.values] if allowed is not None else []
            rows += self._connection.execute(
                "WITH n AS MATERIALIZED (SELECT v.chunk, v.embedding"
                f" FROM kinen.vector_{space} v"
                f" ORDER BY binary_quantize(v.embedding)::{bits} <~> {asked} LIMIT %s)"
                f" SELECT n.chunk, -(n.embedding <#> %s::halfvec) AS score FROM n{clause}"
                " ORDER BY score DESC, n.chunk LIMIT %s",
                [*values, k],
            ).fetchall()
        self._connection.execute("SET LOCAL enable_sort = on")
        return rows

    def _count(self, allowed: Allowed) -> int:
        """How many chunks of spaces with a graph pass a filter; counted a little above `exact`."""
        row = self._connection.execute(
            f"SELECT count(*) FROM (SELECT 1{_FROM} AND {allowed.clause} LIMIT %s) c",
            [[*self.coded], *allowed.values, self._exact + 1],
        ).fetchone()
        return int(row[0]) if row else 0


def literal(vector: Any) -> str:
    """A vector as pgvector reads it."""
    return "[" + ",".join(f"{value:.6g}" for value in vector) + "]"


def copy_vectors(connection: Connection, space: int, chunks: Sequence[int], matrix: Any) -> None:
    """Store a row of a matrix for each chunk, in the binary format of COPY."""
    import numpy as np

    values = np.asarray(matrix, dtype=">f2")
    row = [("columns", ">i2"), ("n1", ">i4"), ("space", ">i4"), ("n2", ">i4"), ("chunk", ">i8")]
    row += [("n3", ">i4"), ("dimensions", ">i2"), ("unused", ">i2")]
    dtype = np.dtype([*row, ("values", ">f2", (values.shape[1],))])
    rows = np.zeros(len(values), dtype)
    rows["columns"] = 3
    rows["n1"] = 4
    rows["space"] = space
    rows["n2"] = 8
    rows["chunk"] = chunks
    rows["n3"] = 4 + 2 * values.shape[1]
    rows["dimensions"] = values.shape[1]
    rows["values"] = values
    with (
        connection.cursor() as cursor,
        cursor.copy("COPY kinen.vector (space, chunk, embedding) FROM STDIN BINARY") as copy,
    ):
        copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
        copy.write(rows.tobytes())
        copy.write(b"\xff\xff")


def build_graphs(database: Database, *, exact: int = EXACT) -> list[int]:
    """Build the graph over 1-bit codes of each space with more than `exact` vectors.

    Searches go on meanwhile; other workers leave the space alone. Returns the spaces that got
    a graph.
    """
    built = []
    with translated(database.place), database.connect(autocommit=True) as connection:
        connection.execute("SET statement_timeout = 0")
        for space, dimensions in _large(connection, exact):
            row = connection.execute("SELECT pg_try_advisory_lock(%s, %s)", (LOCK, space))
            if not (row.fetchone() or (False,))[0]:
                continue
            if not spaces_with_graph(connection, [space]):
                _build(connection, space, dimensions)
                built.append(space)
            connection.execute("SELECT pg_advisory_unlock(%s, %s)", (LOCK, space))
    return built


def _build(connection: Connection, space: int, dimensions: int) -> None:
    row = connection.execute("SELECT count(*) FROM kinen.vector WHERE space = %s", (space,))
    count = int((row.fetchone() or (0,))[0])
    memory = min(MOST_BUILD_MB, 64 + count * BUILD_BYTES // 1_000_000)
    connection.execute(f"SET maintenance_work_mem = '{memory}MB'")
    create = sql.SQL(
        "CREATE INDEX {} ON {} USING hnsw ((binary_quantize(embedding)::bit({})) bit_hamming_ops)"
    ).format(
        sql.Identifier(graph_name(space)),
        sql.Identifier("kinen", f"vector_{space}"),
        sql.Literal(dimensions),
    )
    try:
        connection.execute(create)
    except (errors.DiskFull, errors.OutOfMemory):
        # parallel workers share memory, of which containers have little (/dev/shm)
        connection.execute("SET max_parallel_maintenance_workers = 0")
        connection.execute(create)


def drop_graph(connection: Connection, space: int) -> None:
    """Remove the graph of a space: its vectors are about to be replaced."""
    name = sql.Identifier("kinen", graph_name(space))
    connection.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(name))


def graph_name(space: int) -> str:
    return f"vector_{space}_graph"


def spaces_with_graph(connection: Connection, spaces: Sequence[int]) -> dict[int, int]:
    """Those of some spaces whose graph is complete, and how many chunks each has."""
    rows = connection.execute(
        "SELECT s.id, s.chunks FROM kinen.space s JOIN pg_index i"
        " ON i.indexrelid = to_regclass('kinen.vector_' || s.id || '_graph')"
        " WHERE s.id = ANY(%s) AND i.indisvalid ORDER BY s.id",
        (list(spaces),),
    )
    return {int(space): int(chunks) for space, chunks in rows}


def _large(connection: Connection, exact: int) -> list[tuple[int, int]]:
    """Spaces with more vectors than an exact search is quick for, and no graph yet."""
    rows = connection.execute(
        "SELECT id, dimensions FROM kinen.space WHERE chunks > %s AND dimensions > 0 AND %s <"
        " (SELECT count(*) FROM kinen.vector v WHERE v.space = kinen.space.id) ORDER BY id",
        (exact, exact),
    ).fetchall()
    ready = spaces_with_graph(connection, [space for space, _ in rows])
    return [(space, dimensions) for space, dimensions in rows if space not in ready]
