"""Writes the vectors of one space: which are missing, what is embedded, where they are stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kinen.index.writer import above, embedded_text
from kinen.postgres.connection import Database
from kinen.postgres.spaces import StoredSpace
from kinen.postgres.vectors import copy_vectors
from kinen.postgres.writer import CHANNEL, segment_texts


class Embeddings:
    """The vectors of one space."""

    def __init__(self, database: Database, space: StoredSpace) -> None:
        self.database = database
        self.space = space.id
        self._stored = space

    def use_model(self, fingerprint: str, dimensions: int) -> None:
        """Vectors are of this model from now on; those of another one are removed."""
        with self.database.transaction([self.space]) as connection:
            row = connection.execute(
                "SELECT model FROM kinen.space WHERE id = %s", (self.space,)
            ).fetchone()
            if row and row[0] == fingerprint:
                return
            connection.execute("DELETE FROM kinen.vector WHERE space = %s", (self.space,))
            connection.execute(
                "UPDATE kinen.space SET model = %s, dimensions = %s WHERE id = %s",
                (fingerprint, dimensions, self.space),
            )

    def missing(self) -> int:
        """How many chunks have no vector."""
        with self.database.transaction([self.space]) as connection:
            row = connection.execute(
                "SELECT (SELECT count(*) FROM kinen.chunk WHERE space = %s AND anchor = 0)"
                " - (SELECT count(*) FROM kinen.vector WHERE space = %s)",
                (self.space, self.space),
            ).fetchone()
        return int(row[0]) if row else 0

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
