"""Caches by content what is slow to compute: vectors and the text of PDF pages. Safe to delete."""

from __future__ import annotations

from collections.abc import MutableMapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kinen.errors import Busy
from kinen.index.schema import CACHE_SCHEMA, CACHE_TABLES, open_database
from kinen.storage.database import integrity, scrub, translated, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


class Cache:
    """Vectors by (model, digest). They are kept as float16: half the disk, cosine off by 1e-4."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._db = open_database(path, CACHE_TABLES, CACHE_SCHEMA)
        self.texts: MutableMapping[str, str] = _Texts(self)

    def texts_while(self, holds: Callable[[], bool]) -> MutableMapping[str, str]:
        """`texts`, but something is stored only while a condition holds.

        It is asked within the transaction, so that a later cleaning finds what was stored.
        """
        return _Texts(self, holds)

    def close(self) -> None:
        self._db.close()

    def check(self) -> str:
        return integrity(self._db)

    def digests(self, model: str) -> set[str]:
        """The digests that have a vector of this model."""
        rows = self._db.execute("SELECT digest FROM vectors WHERE model = ?", (model,))
        return {row[0] for row in rows}

    def put(self, model: str, digests: Sequence[str], vectors: Any) -> None:
        import numpy as np

        small = np.asarray(vectors, dtype="<f2")
        rows = [(model, digest, small[i].tobytes()) for i, digest in enumerate(digests)]
        with translated(self.path), writing(self._db):
            self._db.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", rows)

    def vectors(self, model: str) -> Iterator[tuple[str, bytes]]:
        yield from self._db.execute("SELECT digest, vector FROM vectors WHERE model = ?", (model,))

    def some_vectors(self, model: str, digests: Sequence[str]) -> dict[str, Any]:
        """The vectors of those contents that have one, as float16 arrays."""
        import numpy as np

        marks = ", ".join("?" * len(digests))
        rows = self._db.execute(
            f"SELECT digest, vector FROM vectors WHERE model = ? AND digest IN ({marks})",
            (model, *digests),
        )
        return {digest: np.frombuffer(vector, dtype="<f2") for digest, vector in rows}

    def forget(self, digests: Iterable[str]) -> None:
        """Delete the vectors of some contents, and overwrite the freed pages and the log."""
        with translated(self.path), writing(self._db):
            self._db.executemany(
                "DELETE FROM vectors WHERE digest = ?", [(digest,) for digest in digests]
            )
        scrub(self._db, self.path)

    def sizes(self) -> list[tuple[str, str, int]]:
        """The model, the digest and the bytes of every vector."""
        return self._db.execute("SELECT model, digest, length(vector) FROM vectors").fetchall()

    def remove(self, keys: Iterable[tuple[str, str]]) -> None:
        """Delete vectors by model and digest; the file shrinks unless another process reads it."""
        with translated(self.path), writing(self._db):
            self._db.executemany("DELETE FROM vectors WHERE model = ? AND digest = ?", keys)
        with suppress(Busy):
            scrub(self._db, self.path)

    def prune(self, keep: set[str]) -> int:
        """Drop the vectors of contents that are gone from every record, whatever their model."""
        rows = self._db.execute("SELECT DISTINCT digest FROM vectors")
        gone = [(row[0],) for row in rows if row[0] not in keep]
        with translated(self.path), writing(self._db):
            self._db.executemany("DELETE FROM vectors WHERE digest = ?", gone)
        return len(gone)


class _Texts(MutableMapping[str, str]):
    """Extracted text by content digest, as a mapping."""

    def __init__(self, cache: Cache, holds: Callable[[], bool] = lambda: True) -> None:
        self._cache = cache
        self._holds = holds

    def __getitem__(self, key: str) -> str:
        row = self._db.execute("SELECT value FROM texts WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise KeyError(key)
        return str(row[0])

    def __setitem__(self, key: str, value: str) -> None:
        with translated(self._cache.path), writing(self._db):
            if self._holds():
                self._db.execute("INSERT OR REPLACE INTO texts VALUES (?, ?)", (key, value))

    def __delitem__(self, key: str) -> None:
        with translated(self._cache.path), writing(self._db):
            self._db.execute("DELETE FROM texts WHERE key = ?", (key,))

    def __iter__(self) -> Iterator[str]:
        return (row[0] for row in self._db.execute("SELECT key FROM texts"))

    def __len__(self) -> int:
        return int(self._db.execute("SELECT COUNT(*) FROM texts").fetchone()[0])

    @property
    def _db(self) -> Any:
        return self._cache._db  # noqa: SLF001
