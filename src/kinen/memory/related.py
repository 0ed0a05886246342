"""Records that have to do with a note: by its links, by its meaning and by its tags."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kinen.errors import EmbedError, QueryError
from kinen.memory.embedding import embed_few
from kinen.model.records import FILE_KINDS, Edge, Query, Record, Related

if TYPE_CHECKING:
    from kinen.memory.core import Core
    from kinen.memory.records import Records

KINDS = (*FILE_KINDS, "memory")
"""Kinds of records that are listed unless others are asked for."""
LINK = 0.4
"""What a direct link adds to the score, which else is the cosine of two meanings."""
SHARED = 0.1
"""What each neighbour or tag in common adds."""
MOST_SHARED = 3
"""Neighbours or tags in common that count."""
NEAR = 0.3
"""Cosine from which on two texts have to do with each other; recall.floor has the measurement."""
NEAREST = 400
"""Chunks that are compared by meaning."""
CROWD = 50
"""Links of a neighbour above which it says nothing: an index page links to everything."""


class Relations:
    """Finds what is related to a record."""

    def __init__(self, core: Core, records: Records) -> None:
        self._core = core
        self._records = records

    def related(
        self, name: str, limit: int = 10, kinds: Sequence[str] = ()
    ) -> tuple[Record, list[Related], list[str]]:
        """The record of a ref or path, those that are related to it, and notes; closest first."""
        if limit < 1:
            raise QueryError(f"invalid value {limit}", "use 1 or more", parameter="limit")
        record = self._records.get(name)
        chosen = tuple(kinds) or KINDS
        finds = _Finds()
        edges = self._records.links(record.ref)
        finds.add_links(record.ref, edges)
        for edge in edges:
            neighbour = edge.target if edge.source == record.ref else edge.source
            if not neighbour or neighbour == record.ref:
                continue
            further = self._records.links(neighbour)
            if len(further) > CROWD:
                continue
            ends = {end for other in further for end in (other.source, other.target)}
            for end in ends - {record.ref, neighbour, ""}:
                finds.shared.setdefault(end, {})[neighbour] = None
        self._add_tags(record, chosen, finds)
        reason = self._add_meaning(record.ref, chosen, finds)
        notes = [f"by links and tags only: {reason}"] if reason else []
        related = []
        for ref in finds.refs(record.ref):
            other = self._core.reader.record(ref)
            if other and other.kind in chosen:
                related.append(Related(other, round(finds.score(ref), 3), finds.reasons(ref)))
        related.sort(key=lambda item: (-item.score, item.record.ref))
        return record, related[:limit], notes

    def _add_tags(self, record: Record, kinds: Sequence[str], finds: _Finds) -> None:
        for tag in record.tags:
            for other in self._core.reader.matching(Query("", kinds=tuple(kinds), tags=(tag,))):
                finds.tags.setdefault(other.ref, {})[tag] = None

    def _add_meaning(self, ref: str, kinds: Sequence[str], finds: _Finds) -> str:
        """Records whose text is near; returns why there are none, if vectors are missing."""
        import numpy as np

        try:
            embed_few(self._core)
            embedder = self._core.embedder
            if embedder is None:
                return "index.embedding_provider is none"
            scan = self._core.scan(embedder)
        except EmbedError as error:
            return str(error)
        rows = scan.rows(self._core.reader.chunk_ids(ref)) if scan is not None else ()
        if scan is None or not len(rows):
            return "it has no vectors yet, run `kinen index`"
        mean = np.mean(rows, axis=0)
        allowed = self._core.reader.allowed(Query("", kinds=tuple(kinds))) or {}
        ids = np.fromiter(allowed, dtype=np.int64)
        vector = (mean / (np.linalg.norm(mean) or 1.0)).astype(np.float32)
        nearest = dict(scan.nearest(vector, NEAREST, ids))
        loaded = self._core.reader.load(list(nearest))
        for id_, cosine in nearest.items():
            if cosine >= NEAR and id_ in loaded:
                other = loaded[id_][0].ref
                finds.cosines[other] = max(cosine, finds.cosines.get(other, 0.0))
        return ""


class _Finds:
    """What was found about each record, by ref."""

    def __init__(self) -> None:
        self.links: dict[str, dict[str, None]] = {}
        self.shared: dict[str, dict[str, None]] = {}
        self.tags: dict[str, dict[str, None]] = {}
        self.cosines: dict[str, float] = {}

    def add_links(self, ref: str, edges: Iterable[Edge]) -> None:
        for edge in edges:
            if edge.source == ref and edge.target:
                self.links.setdefault(edge.target, {})["linked from it"] = None
            elif edge.target == ref:
                self.links.setdefault(edge.source, {})["links to it"] = None

    def refs(self, ref: str) -> set[str]:
        return {*self.links, *self.shared, *self.tags, *self.cosines} - {ref}

    def score(self, ref: str) -> float:
        """The cosine, and more for each way in which two records are connected."""
        score = self.cosines.get(ref, 0.0)
        if ref in self.links:
            score += LINK
        for group in (self.shared, self.tags):
            score += SHARED * min(MOST_SHARED, len(group.get(ref, ())))
        return score

    def reasons(self, ref: str) -> tuple[str, ...]:
        reasons = list(self.links.get(ref, ()))
        if ref in self.cosines:
            reasons.append(f"close in meaning ({self.cosines[ref]:.2f})")
        if ref in self.tags:
            reasons.append("tags " + ", ".join(f"#{tag}" for tag in self.tags[ref]))
        if ref in self.shared and ref not in self.links:
            names = [name.partition(":")[2] for name in self.shared[ref]]
            reasons.append("both linked with " + ", ".join(names[:MOST_SHARED]))
        return tuple(reasons)
