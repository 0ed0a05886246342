"""What a memory can be asked."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from kinen.errors import Busy, EmbedError
from kinen.memory.core import Part
from kinen.model.records import Hits, Query
from kinen.query import storable_query

if TYPE_CHECKING:
    from kinen.recall.search import Meaning


class Searcher(Part):
    """Search, and everything else that only reads."""

    def search(self, query: Query | str) -> Hits:
        """Answer a query; a space that was never indexed is indexed first."""
        from kinen.recall.search import search, worded

        asked = worded(storable_query(Query(query) if isinstance(query, str) else query))
        notes: list[str] = []

        def answer() -> Hits:
            notes.extend(self._memory.index.prepare())
            return search(self._core.reader, asked, lambda: self._meaning(asked))

        hits = self._memory.index.healed(answer, notes)
        if self.stale(hits):
            with contextlib.suppress(Busy):
                self._memory.index.sync(embed=False, wait=0.2)
                notes.append("files had changed: the index was brought up to date")
                hits = answer()
        return Hits(hits.hits, hits.query, hits.mode, (*notes, *hits.notes))

    def stale(self, hits: Hits) -> bool:
        """Did a file that was found change or vanish since it was indexed?"""
        paths = {hit.record.path for hit in hits if hit.record.path}
        for path, stamp in self._core.reader.stamps(paths).items():
            try:
                stat = os.stat(os.path.join(self._core.space.root, path))
            except OSError:
                return True
            if stamp != f"{stat.st_mtime_ns}:{stat.st_size}":
                return True
        return False

    def _meaning(self, query: Query) -> tuple[Meaning | None, str]:
        """The semantic half of a search, or why there is none."""
        from kinen.recall.search import Meaning

        try:
            embedder = self._core.embedder
            if embedder is None:
                return None, "index.embedding_provider is none"
            self._memory.index.embed_small(embedder)
            scan = self._core.scan(embedder)
            if scan is None:
                return None, "there are no vectors yet, run `kinen index`"
            vector = query.vector
            if vector is None:
                vector = embedder.embed([query.text], query=True)[0]
        except EmbedError as error:
            return None, str(error)
        return Meaning(scan, vector), ""
