"""Many vectors in PostgreSQL: graphs over 1-bit codes choose, exact cosines rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import postgres_server
from contract.engines import change, document
from kinen.model.records import Query
from kinen.postgres import spaces
from kinen.postgres.connection import Database, name_spaces
from kinen.postgres.reader import PostgresReader
from kinen.postgres.schema import PARTITIONS, prepare
from kinen.postgres.vectors import Embeddings, PostgresScan, build_graphs, graph_name
from kinen.postgres.writer import PostgresWriter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kinen.postgres.spaces import StoredSpace

DIMENSIONS = 64
COUNT = 2000
EXACT = 600
"""Above this many vectors the partitions get graphs here."""
QUESTIONS = 8


def unit_vectors(count: int, seed: int) -> Any:
    """Unit vectors around common centres."""
    centres = np.random.default_rng(1).normal(size=(20, DIMENSIONS))
    random = np.random.default_rng(seed)
    rows = centres[random.integers(20, size=count)]
    rows += random.normal(scale=0.7, size=rows.shape)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def fill(database: Database, name: str, count: int, seed: int) -> StoredSpace:
    """A space with notes of one word each, every tenth a checkpoint, and a vector for each."""
    space = spaces.register(database, name.ljust(64, "0"), name)
    writer = PostgresWriter(database, space)
    notes = [
        document(f"{'checkpoint' if n % 10 == 0 else 'note'}:{n}.md", f"{name}{n}", path=f"{n}.md")
        for n in range(count)
    ]
    writer.apply("files", iter([change(note) for note in notes]))
    target = Embeddings(database, space)
    target.use_model("m", DIMENSIONS)
    target.put(target.pending(count), unit_vectors(count, seed))
    writer.finish()
    writer.close()
    return space


@pytest.fixture(autouse=True)
def _cheap_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Among so few vectors a comparison with all of them would be chosen."""
    monkeypatch.setattr("kinen.postgres.vectors.GRAPH_COST", 1)


@pytest.fixture(scope="module")
def large(postgres_server_url: str) -> Iterator[tuple[Database, list[StoredSpace]]]:
    """A large space and a small one, and graphs of all partitions."""
    url = postgres_server.create_database(postgres_server_url)
    with Database(url) as database:
        prepare(database)
        fill(database, "a", COUNT, 2)
        fill(database, "b", EXACT // 4, 3)
        for n in range(20):
            fill(database, f"c{n}", 3, n)
        assert len(build_graphs(database, exact=EXACT)) == PARTITIONS
        assert build_graphs(database, exact=EXACT) == []
        with database.transaction() as connection:
            stored = spaces.every_space(connection)
        yield database, stored
    postgres_server.drop_database(postgres_server_url, url)


@pytest.mark.parametrize(
    "filters",
    [{}, {"omitted": ("checkpoint",)}, {"kinds": ("checkpoint",)}, {"paths": ("7.md", "8.md")}],
    ids=["all", "most", "few", "two"],
)
def test_a_graph_finds_what_an_exact_search_finds(
    large: tuple[Database, list[StoredSpace]], filters: dict[str, Any]
) -> None:
    database, stored = large
    same = 0
    total = 0
    with database.snapshot() as connection:
        reader = PostgresReader(connection, stored)
        scan = PostgresScan(connection, stored, DIMENSIONS, exact=EXACT)
        assert scan.coded
        every = [id_ for (id_,) in connection.execute("SELECT chunk FROM kinen.vector")]
        for vector in unit_vectors(QUESTIONS, 5):
            allowed = reader.allowed(Query("", **filters))
            near = scan.nearest(vector, 10, allowed)
            cosines = scan.of(vector, every if allowed is None else [*allowed])
            right = sorted(cosines, key=lambda id_: -cosines[id_])[:10]
            assert [score for _, score in near] == sorted((s for _, s in near), reverse=True)
            assert len(near) == len(right)
            same += len({id_ for id_, _ in near} & {*right})
            total += len(right)
        reader.close()
    assert same / total >= 0.9


@pytest.mark.parametrize("count", [1, 22])
def test_the_graphs_are_what_the_server_reads(
    large: tuple[Database, list[StoredSpace]], count: int
) -> None:
    database, stored = large
    statements = []
    with database.snapshot() as connection:
        name_spaces(connection, [space.id for space in stored[:count]])
        scan = PostgresScan(connection, stored[:count], DIMENSIONS, exact=EXACT)
        execute = connection.execute

        def explained(query: Any, values: Any = None) -> Any:
            if str(query).startswith("WITH"):
                plan = execute("EXPLAIN " + query, values).fetchall()
                statements.append("\n".join(line for (line,) in plan))
            return execute(query, values)

        connection.execute = explained  # type: ignore[method-assign]
        scan.nearest(unit_vectors(1, 5)[0], 10)
        del connection.execute
    for part in {space.part for space in stored[:count]}:
        assert f"Index Scan using {graph_name(part, DIMENSIONS)}" in statements[0]


def test_vectors_of_another_model_are_found_beside_a_graph(postgres_url: str) -> None:
    with Database(postgres_url) as database:
        prepare(database)
        space = fill(database, "a", 50, 2)
        assert len(build_graphs(database, exact=20)) == PARTITIONS
        target = Embeddings(database, space)
        target.use_model("other", 32)
        assert target.missing() == 50
        vectors = np.eye(50, 32)
        target.put(target.pending(50), vectors)
        assert len(build_graphs(database, exact=20)) == PARTITIONS
        with database.snapshot() as connection:
            stored = spaces.every_space(connection)
            name_spaces(connection, [space.id])
            scan = PostgresScan(connection, stored, 32, exact=20)
            assert [score for _, score in scan.nearest(vectors[7], 1)] == [1]
