from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from kinen.index import vectors
from kinen.index.cache import Cache
from kinen.index.reader import Reader
from kinen.index.schema import SCHEMA, TABLES, open_database
from kinen.model.records import Query

if TYPE_CHECKING:
    from pathlib import Path

DIMS = 64


def unit(rng: np.random.Generator, n: int, dims: int = DIMS) -> np.ndarray:
    created = rng.standard_normal((n, dims)).astype(np.float32)
    return created / np.linalg.norm(created, axis=1, keepdims=True)


def scan_of(matrix: np.ndarray, *, coded: bool = False) -> vectors.Scan:
    codes = vectors.planes(matrix) if coded else None
    return vectors.Scan(np.arange(10, 10 + len(matrix)), matrix, codes)


def test_the_scan_finds_what_a_naive_sort_finds() -> None:
    rng = np.random.default_rng(1)
    matrix, query = unit(rng, 500), unit(rng, 1)[0]
    nearest_hit = scan_of(matrix).nearest(query, 20)
    expected = sorted(range(500), key=lambda at: -float(matrix[at] @ query))[:20]
    assert [id_ - 10 for id_, _ in nearest_hit] == expected


def test_filters_hold_before_the_nearest_are_taken() -> None:
    rng = np.random.default_rng(2)
    matrix, query = unit(rng, 300), unit(rng, 1)[0]
    allowed = [10 + at for at in range(0, 300, 7)]
    nearest_hit = scan_of(matrix).nearest(query, 10, allowed)
    assert len(nearest_hit) == 10
    assert {id_ for id_, _ in nearest_hit} <= set(allowed)
    best = sorted(allowed, key=lambda id_: -float(matrix[id_ - 10] @ query))[:10]
    assert [id_ for id_, _ in nearest_hit] == best


@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 1.0])
def test_what_passes_a_filter_is_the_same_listed_and_asked_of_the_nearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    monkeypatch.setattr(vectors, "MANY", 0)
    monkeypatch.setattr(vectors, "NEAR", 120)
    monkeypatch.setattr(vectors, "SAMPLE", 20)
    rng = np.random.default_rng(6)
    count = 600
    reader = Reader(str(tmp_path / "index.db"))
    for at in range(3, count):
        event = "message" if rng.random() < share else "command"
        reader.db.execute(
            "INSERT INTO records(id, ref, kind, title, path, at, session, tags, metadata, aliases,"
            " dated, source, key, repo, agent, user, event, parent)"
            " VALUES (?, ?, 'observation', '', '', '', '', '', '{}', '[]', 0, '', '', '', '', '',"
            " ?, '')",
            (at, f"observation:{at}", event),
        )
        first = at - at % 3  # every third chunk begins a segment, two follow it
        reader.db.execute(
            "INSERT INTO chunks VALUES (?, ?, 0, '', '', '', '', '', 0, 0, 0, ?, ?, ?)",
            (at, at, f"d{at}", f"s{first}", first if at % 3 else 0),
        )
    ids = np.arange(3, count, 3)
    scan = vectors.Scan(ids, unit(rng, len(ids)), None)
    for _ in range(20):
        query = unit(rng, 1)[0]
        allowed = reader.allowed(Query("", events=("message",)))
        assert allowed is not None
        near = scan.nearest(query, 10, allowed)
        listed = {**dict.fromkeys(allowed)}
        other = scan.nearest(query, 10, [*listed])
        assert [id_ for id_, _ in near] == [id_ for id_, _ in other]
        assert dict(near) == pytest.approx(dict(other), abs=1e-6)
        assert [allowed[id_] for id_, _ in near] == [
            min(at for at in (id_, id_ + 1, id_ + 2) if passes(reader, at)) for id_, _ in near
        ]
    reader.close()


def passes(reader: Reader, chunk: int) -> bool:
    row = "SELECT event FROM records WHERE id = ?"
    return reader.db.execute(row, (chunk,)).fetchone() == ("message",)


def test_codes_choose_well_on_clustered_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "EXACT", 1000)
    rng = np.random.default_rng(3)
    centres = unit(rng, 50, 384)
    matrix = centres[rng.integers(50, size=20_000)] + 0.6 * unit(rng, 20_000, 384)
    matrix = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)
    shared = []
    for at in range(30):
        query = matrix[at * 7]
        exact = {id_ for id_, _ in scan_of(matrix).nearest(query, 10)}
        coded = {id_ for id_, _ in scan_of(matrix, coded=True).nearest(query, 10)}
        shared.append(len(exact & coded) / 10)
    assert np.mean(shared) > 0.95


def test_cosines_of_given_chunks_leave_out_those_without_a_vector() -> None:
    rng = np.random.default_rng(4)
    matrix, query = unit(rng, 20), unit(rng, 1)[0]
    results = scan_of(matrix).of(query, [12, 999, 15, 1])
    assert results == pytest.approx({12: float(matrix[2] @ query), 15: float(matrix[5] @ query)})


def test_the_scan_file_is_made_anew_for_each_generation(tmp_path) -> None:
    db = open_database(str(tmp_path / "index.db"), TABLES, SCHEMA)
    cache = Cache(str(tmp_path / "cache.db"))
    rng = np.random.default_rng(5)
    matrix = unit(rng, 3)
    cache.put("m", ["a", "b", "c"], matrix)
    for at, digest in enumerate("abx"):
        db.execute(
            "INSERT INTO chunks VALUES (?, 1, ?, '', '', '', '', '', 0, 0, 0, ?, '', 0)",
            (at + 1, at, digest),
        )
    path = str(tmp_path / "vectors.bin")
    scan = vectors.load(path, db, cache, "m", "1")
    assert scan is not None
    assert scan.ids.tolist() == [1, 2]
    assert np.allclose(scan.matrix, matrix[:2], atol=1e-3)
    db.execute("UPDATE chunks SET digest = 'c' WHERE id = 3")
    same = vectors.load(path, db, cache, "m", "1")
    newer = vectors.load(path, db, cache, "m", "2")
    assert same is not None
    assert newer is not None
    assert (len(same.ids), len(newer.ids)) == (2, 3)
    assert vectors.load(path, db, cache, "another model", "2") is None
    cache.close(), db.close()


def test_a_torn_scan_file_is_never_read(tmp_path) -> None:
    db = open_database(str(tmp_path / "index.db"), TABLES, SCHEMA)
    cache = Cache(str(tmp_path / "cache.db"))
    cache.put("m", ["a"], unit(np.random.default_rng(6), 1))
    db.execute("INSERT INTO chunks VALUES (1, 1, 0, '', '', '', '', '', 0, 0, 0, 'a', '', 0)")
    path = tmp_path / "vectors.bin"
    assert vectors.load(str(path), db, cache, "m", "1") is not None
    path.write_bytes(path.read_bytes()[:-7])
    assert vectors.load(str(path), db, cache, "m", "1") is not None
    assert path.stat().st_size == vectors.HEADER + 8 + 4 * DIMS
    cache.close(), db.close()


def test_a_large_index_gets_codes_in_its_scan_file(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "EXACT", 100)
    db = open_database(str(tmp_path / "index.db"), TABLES, SCHEMA)
    cache = Cache(str(tmp_path / "cache.db"))
    matrix = unit(np.random.default_rng(8), 400)
    cache.put("m", [str(at) for at in range(400)], matrix)
    for at in range(400):
        db.execute(
            "INSERT INTO chunks VALUES (?, 1, ?, '', '', '', '', '', 0, 0, 0, ?, '', 0)",
            (at + 1, at, str(at)),
        )
    scan = vectors.load(str(tmp_path / "vectors.bin"), db, cache, "m", "1")
    assert scan is not None
    assert scan.codes.shape == (1, 400)
    assert (scan.codes[0].view(np.uint8).reshape(400, 8) == np.packbits(matrix > 0, axis=1)).all()
    nearest_hit = scan.nearest(matrix[7], 5)
    exact = scan._replace(codes=None).nearest(matrix[7], 5)
    assert [id_ for id_, _ in nearest_hit] == [id_ for id_, _ in exact]
    assert dict(nearest_hit) == pytest.approx(dict(exact))
    assert nearest_hit[0][0] == 8
    allowed = list(range(1, 400, 2))
    assert {id_ for id_, _ in scan.nearest(matrix[7], 5, allowed)} <= set(allowed)
    cache.close(), db.close()
