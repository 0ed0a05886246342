from __future__ import annotations

import numpy as np
import pytest

from kinen.index import vectors
from kinen.index.cache import Cache
from kinen.index.schema import SCHEMA, TABLES, open_database

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
