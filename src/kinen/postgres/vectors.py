"""The nearest chunks to a vector: exact in small indexes, by 1-bit codes first in large ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from psycopg import sql

from kinen.postgres.connection import Connection, Database

EXACT = 100_000
"""Up to here every vector is compared; above, 1-bit codes choose what is compared."""
CODED = 400
"""The least number of vectors that codes choose; the widest beam of the graph is 1,000."""
WIDEST = 1000
BUILD_MB = 512
"""Memory to build a graph in: it takes several times as long once that is full."""

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


class PostgresScan:
    """The vectors of some spaces, all of one model."""

    def __init__(
        self, connection: Connection, spaces: list[int], dimensions: int, count: int
    ) -> None:
        self._connection = connection
        self._spaces = spaces
        self._dimensions = dimensions
        self.count = count

    def nearest(
        self, vector: Any, k: int, allowed: Allowed | None = None
    ) -> list[tuple[int, float]]:
        """The k nearest chunks among those that are allowed, nearest first."""
        coded = self.count > EXACT
        text = literal(vector)
        near = f"FROM kinen.vector v WHERE v.space = ANY(%s){self._among(allowed)}"
        values: list[Any] = [self._spaces]
        values += [self._spaces, *allowed.values] if allowed is not None else []
        dimensions = self._dimensions
        if coded:
            code = f"binary_quantize(v.embedding)::bit({dimensions})"
            asked = f"binary_quantize(%s::halfvec({dimensions}))::bit({dimensions})"
            query = (
                f"WITH n AS MATERIALIZED (SELECT v.chunk, v.embedding {near}"
                f" ORDER BY {code} <~> {asked} LIMIT %s)"
                " SELECT chunk, -(embedding <#> %s::halfvec) AS score FROM n"
                " ORDER BY score DESC, chunk LIMIT %s"
            )
            values += [text, max(CODED, 4 * k), text, k]
        else:
            query = (
                f"SELECT v.chunk, -(v.embedding <#> %s::halfvec) AS score {near}"
                " ORDER BY score DESC, v.chunk LIMIT %s"
            )
            values = [text, *values, k]
        if coded:
            beam = min(WIDEST, max(CODED, 4 * k))
            self._connection.execute(f"SET LOCAL hnsw.ef_search = {beam}")
            self._connection.execute("SET LOCAL hnsw.iterative_scan = relaxed_order")
        rows = self._connection.execute(query, values).fetchall()
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

    def _among(self, allowed: Allowed | None) -> str:
        if allowed is None:
            return ""
        return f" AND v.chunk IN (SELECT {_UNIT}{_FROM} AND {allowed.clause})"


def literal(vector: Any) -> str:
    """A vector as pgvector reads it."""
    return "[" + ",".join(f"{value:.6g}" for value in vector) + "]"


def build_graphs(database: Database, seconds: Callable[[], bool] = bool) -> list[int]:
    """Build the graph over 1-bit codes where a space has grown large; the spaces that got one."""
    built = []
    with database.connect(autocommit=True) as connection:
        for space, dimensions in _large(connection):
            if seconds():
                break
            connection.execute("SET statement_timeout = 0")
            connection.execute(f"SET maintenance_work_mem = '{BUILD_MB}MB'")
            connection.execute(
                sql.SQL(
                    "CREATE INDEX {} ON {} USING hnsw"
                    " ((binary_quantize(embedding)::bit({})) bit_hamming_ops)"
                ).format(
                    sql.Identifier(graph_name(space)),
                    sql.Identifier("kinen", f"vector_{space}"),
                    sql.Literal(dimensions),
                )
            )
            built.append(space)
    return built


def graph_name(space: int) -> str:
    return f"vector_{space}_graph"


def _large(connection: Connection) -> list[tuple[int, int]]:
    """Spaces with more vectors than an exact search is quick for, and no graph yet."""
    spaces = connection.execute(
        "SELECT id, dimensions FROM kinen.space WHERE chunks > %s AND dimensions > 0 ORDER BY id",
        (EXACT,),
    ).fetchall()
    large = []
    for space, dimensions in spaces:
        row = connection.execute(
            "SELECT to_regclass(%s), (SELECT count(*) FROM kinen.vector WHERE space = %s)",
            (f"kinen.{graph_name(space)}", space),
        ).fetchone()
        assert row is not None
        if row[0] is None and row[1] > EXACT:
            large.append((space, dimensions))
    return large
