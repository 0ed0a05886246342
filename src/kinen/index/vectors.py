"""The nearest chunks to a vector: an exact scan of a memory-mapped file, or by 1-bit codes first.

The file is a cache beside the database, written anew when the index has a newer generation.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from kinen.model.tuples import NamedTuple
from kinen.storage import atomic, private

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Sequence

    from kinen.index.cache import Cache

HEADER = 4096
EXACT = 120_000
"""Up to here every vector is compared; above, 1-bit codes choose what is compared."""
RESCORED = 50
"""One vector in this many is compared exactly (docs/decisions/0003-index.md)."""
LEAST = 1000
LAYOUT = "planes"
"""Of the file: another one is written anew."""
MANY = 10_000
"""Up to here all units that pass a filter are listed; above, the nearest are asked for first."""
NEAR = 2000
SAMPLE = 200
"""Units that say whether a filter lets enough of the nearest pass."""
_STRIPE = 16_384
_COPIED = 512
"""Rows that are copied at once: they stay in the processor's cache."""


class Allowed:
    """The units that pass a filter, and the first chunk of each that does.

    A unit is a segment, known by its anchor, or a chunk alone. To list them all takes as long as
    the index is large, so the nearest units are asked for first.
    """

    def __init__(self, db: sqlite3.Connection, passing: str, values: Sequence[Any]) -> None:
        self._db = db
        self._passing = passing
        self._values = values
        self._first: dict[int, int] = {}

    def among(self, units: Sequence[int]) -> dict[int, int]:
        """Those of some units that pass, each with its chunk."""
        near = (
            " AND c.id IN (SELECT value FROM json_each(?) UNION SELECT o.id FROM json_each(?)"
            " JOIN chunks s ON s.id = value AND s.segment != ''"
            " JOIN chunks o ON o.segment = s.segment AND o.segment != '')"
        )
        numbers = str([*units])  # is JSON, too
        return self._ask(near, numbers, numbers)

    def __iter__(self) -> Iterator[int]:
        return iter(self._ask())

    def __getitem__(self, unit: int) -> int:
        return self._first[unit]

    def _ask(self, near: str = "", *numbers: str) -> dict[int, int]:
        unit = "CASE c.anchor WHEN 0 THEN c.id ELSE c.anchor END"
        sql = f"SELECT {unit} AS unit, MIN(c.id){self._passing}{near} GROUP BY unit ORDER BY unit"
        self._first = dict(self._db.execute(sql, (*self._values, *numbers)))
        return self._first


class Scan(NamedTuple):
    """The vectors of one model over one generation of the index."""

    ids: Any
    """Chunk ids, ascending: int64 [n]."""
    matrix: Any
    """Unit rows: float32 [n, dimensions]."""
    codes: Any
    """The signs of all rows, 64 dimensions a plane: uint64 [dimensions / 64, n]; None if few."""

    def cosines(self, vector: Any) -> Any:
        return self.matrix @ vector

    def nearest(self, vector: Any, k: int, allowed: Any = None) -> list[tuple[int, float]]:
        """The k nearest chunks among the allowed ids, nearest first."""
        import numpy as np

        if allowed is None:
            return self._nearest(vector, k)
        if isinstance(allowed, Allowed) and len(self.ids) > MANY:
            sample = self.ids[:: len(self.ids) // SAMPLE].tolist()
            if len(allowed.among(sample)) * NEAR >= 2 * k * len(sample):
                near = self._nearest(vector, NEAR)
                passing = allowed.among([id_ for id_, _ in near])
                if len(passing) >= k:
                    return [(id_, cosine) for id_, cosine in near if id_ in passing][:k]
        rows = np.flatnonzero(np.isin(self.ids, list(allowed), assume_unique=True))
        return self._nearest(vector, k, rows)

    def _nearest(self, vector: Any, k: int, rows: Any = None) -> list[tuple[int, float]]:
        """The same among some rows, or all."""
        if self.codes is not None and (rows is None or len(rows) > EXACT):
            among = len(self.ids) if rows is None else len(rows)
            rows = self._by_code(vector, max(LEAST, k, among // RESCORED), rows)
        scores = self.cosines(vector) if rows is None else self._cosines_of(rows, vector)
        best = _top(scores, k)
        places = best if rows is None else rows[best]
        return [
            (int(self.ids[place]), float(score))
            for place, score in zip(places, scores[best], strict=True)
        ]

    def of(self, vector: Any, ids: list[int]) -> dict[int, float]:
        """The cosines of given chunks; those without a vector are left out."""
        import numpy as np

        if not len(self.ids) or not ids:
            return {}
        requested = np.asarray(ids, dtype=np.int64)
        places = np.minimum(np.searchsorted(self.ids, requested), len(self.ids) - 1)
        there = self.ids[places] == requested
        scores = self.matrix[places[there]] @ vector
        return dict(zip(requested[there].tolist(), scores.tolist(), strict=True))

    def rows(self, ids: list[int]) -> Any:
        """The vectors of given chunks; those without one are left out."""
        import numpy as np

        if not len(self.ids) or not ids:
            return ()
        requested = np.asarray(ids, dtype=np.int64)
        places = np.minimum(np.searchsorted(self.ids, requested), len(self.ids) - 1)
        return self.matrix[places[self.ids[places] == requested]]

    def _by_code(self, vector: Any, k: int, rows: Any) -> Any:
        import numpy as np

        code = planes(np.asarray(vector)[np.newaxis])[:, 0]
        codes = self.codes if rows is None else self.codes[:, rows]
        apart = np.zeros(codes.shape[1], np.uint16)
        for start in range(0, len(apart), _STRIPE):
            stripe = slice(start, start + _STRIPE)
            for plane, signs in zip(codes, code, strict=True):
                apart[stripe] += np.bitwise_count(plane[stripe] ^ signs)
        furthest = np.searchsorted(np.cumsum(np.bincount(apart)), k)
        best = np.flatnonzero(apart <= furthest)
        return best if rows is None else rows[best]

    def _cosines_of(self, rows: Any, vector: Any) -> Any:
        """The cosines of some rows: a copy of all of them would cost more than the comparison."""
        import numpy as np

        scores = np.empty(len(rows), np.float32)
        copy = np.empty((_COPIED, self.matrix.shape[1]), np.float32)
        for start in range(0, len(rows), _COPIED):
            part = rows[start : start + _COPIED]
            np.take(self.matrix, part, axis=0, out=copy[: len(part)], mode="clip")
            scores[start : start + _COPIED] = copy[: len(part)] @ vector
        return scores


def _top(scores: Any, k: int) -> Any:
    """Places of the k largest, largest first; equal ones in the order of their place."""
    import numpy as np

    if k < len(scores):
        edge = np.partition(scores, len(scores) - k)[len(scores) - k]
        places = np.flatnonzero(scores >= edge)
    else:
        places = np.arange(len(scores))
    return places[np.argsort(-scores[places], kind="stable")][:k]


def load(
    path: str,
    db: sqlite3.Connection,
    cache: Cache,
    model: str,
    generation: str,
    on_vectors: Callable[[], None] | None = None,
) -> Scan | None:
    """The scan file of this generation, made now if it is not there; None without any vector.

    `on_vectors` is called before a file with vectors is mapped.
    """
    stamp = {"generation": generation, "model": model, "layout": LAYOUT}
    head = _head(path, stamp)
    if head is None:
        _write(path, db, cache, stamp)
        head = _head(path, stamp)
    if not (head and head["n"]):
        return None
    if on_vectors:
        on_vectors()
    import numpy as np

    n = head["n"]
    dims = head["dims"]
    ids = np.memmap(path, np.int64, "r", HEADER, (n,))
    matrix = np.memmap(path, np.float32, "r", HEADER + 8 * n, (n, dims))
    codes = None
    if head["coded"]:
        place = HEADER + 8 * n + 4 * n * dims
        codes = np.asarray(np.memmap(path, np.uint64, "r", place, (dims // 64, n)))
    # Plain arrays over the same pages: memmap's subclass costs on every operation.
    return Scan(np.asarray(ids), np.asarray(matrix), codes)


def _head(path: str, stamp: dict[str, str]) -> dict[str, Any] | None:
    """What the scan file holds; None if it is of another generation or model, or broken."""
    try:
        with open(path, "rb", opener=private.opener) as file:
            head = json.loads(file.read(HEADER).rstrip(b"\0") or b"{}")
            size = os.fstat(file.fileno()).st_size
    except (OSError, ValueError):
        return None
    n = head.get("n", 0)
    dims = head.get("dims", 0)
    coded = head.get("coded", False)
    needed = HEADER + n * (8 + 4 * dims + (dims // 8 if coded else 0))
    if {key: head.get(key) for key in stamp} != stamp or size != needed:
        return None
    return {"n": n, "dims": dims, "coded": coded}


def _write(path: str, db: sqlite3.Connection, cache: Cache, stamp: dict[str, str]) -> None:
    chunks = db.execute("SELECT id, digest FROM chunks WHERE anchor = 0 ORDER BY id").fetchall()
    digests = {digest for _, digest in chunks}
    place: dict[str, int] = {}
    blobs: list[bytes] = []
    for digest, blob in cache.vectors(stamp["model"]):
        if digest in digests:
            place[digest] = len(blobs)
            blobs.append(blob)
    dims = len(blobs[0]) // 2 if blobs else 0
    rows = [(chunk, place[digest]) for chunk, digest in chunks if digest in place]
    n = len(rows)
    coded = len(rows) > EXACT and dims % 64 == 0
    with atomic.Draft(path, private.FILE_MODE, durable=False) as file:
        head = json.dumps({**stamp, "n": n, "dims": dims, "coded": coded}).encode()
        file.write(head.ljust(HEADER, b"\0"))
        if rows:
            file.writelines(_parts(blobs, rows, coded=coded))


def _parts(blobs: list[bytes], rows: list[tuple[int, int]], *, coded: bool) -> Iterator[bytes]:
    """The ids, the vectors and the codes, stripe by stripe."""
    import numpy as np

    stripes = [rows[start : start + _STRIPE] for start in range(0, len(rows), _STRIPE)]
    yield np.array([chunk for chunk, _ in rows], dtype="<i8").tobytes()
    codes = []
    for stripe in stripes:
        raw = np.frombuffer(b"".join(blobs[at] for _, at in stripe), dtype="<f2").astype(np.float32)
        vectors = raw.reshape(len(stripe), -1)
        block = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        if coded:
            codes.append(planes(block))
        yield block.tobytes()
    if codes:
        yield np.concatenate(codes, axis=1).tobytes()


def planes(matrix: Any) -> Any:
    """The signs of some rows, as in `Scan.codes`."""
    import numpy as np

    return np.packbits(matrix > 0, axis=1).view(np.uint64).T
