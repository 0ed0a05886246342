"""JSON of hits, records and the state of a space."""

from __future__ import annotations

import os

from kinen.characters import visible_json
from kinen.model.late import Any, json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kinen.model.documents import Counts, Status
    from kinen.model.records import Hit, Hits, Record, Vote


LEAST_SHARE = 1e-6
"""The share of a vote that counts, if a hit has any such vote."""


def to_json(value: object) -> str:
    """A value as indented JSON, with control characters escaped so that terminals can show it."""
    return visible_json(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def hits_json(hits: Hits) -> dict[str, Any]:
    return {
        "query": hits.query.text,
        "mode": hits.mode,
        "results": [hit_json(hit) for hit in hits],
        "notes": list(hits.notes),
    }


def hit_json(hit: Hit) -> dict[str, Any]:
    record = record_json(hit.record)
    if hit.space:
        record["space"] = hit.space
    record["root"] = hit.root
    record["file"] = os.path.join(hit.root, hit.record.path) if hit.record.path else ""
    passage = hit.display
    return {
        "chunk": {
            "ref": hit.chunk.ref,
            "n": hit.chunk.n,
            "content": passage.text,
            "start_line": passage.start_line or None,
            "end_line": passage.end_line or None,
            "line": hit.line or passage.start_line or None,
            "page": passage.page or None,
            "heading": passage.heading,
        },
        "source": record,
        "context": {
            "before": [chunk.text for chunk in hit.before],
            "after": [chunk.text for chunk in hit.after],
        },
        "score": _rounded(hit.score),
        "strength": hit.strength,
        "match_type": match_type(hit),
        "votes": [vote_json(vote) for vote in hit.votes],
    }


def vote_json(vote: Vote) -> dict[str, Any]:
    return {
        "retriever": vote.retriever,
        "rank": vote.rank,
        "score": _rounded(vote.score),
        "share": _rounded(vote.share),
    }


def record_json(record: Record) -> dict[str, Any]:
    return {
        "ref": record.ref,
        "path": record.path,
        "type": record.kind,
        "title": record.title,
        "at": record.at,
        "session": record.session,
        "tags": list(record.tags),
        "metadata": dict(record.metadata or {}),
    }


def match_type(hit: Hit) -> str:
    """Who found a hit: `fulltext`, `semantic`, or `hybrid` for both. Other votes do not count."""
    least = min(max((vote.share for vote in hit.votes), default=0.0), LEAST_SHARE)
    retrievers = {vote.retriever for vote in hit.votes if vote.share >= least}
    by_word = retrievers & {"fulltext", "phrase", "name"}
    by_meaning = "semantic" in retrievers
    if by_word and not by_meaning:
        return "fulltext"
    return "semantic" if by_meaning and not by_word else "hybrid"


def _rounded(value: float) -> float:
    """Six digits tell hits apart, and shares still add up to the score."""
    return round(float(value), 6)


def counts_json(counts: Counts) -> dict[str, int]:
    return dict(counts._asdict())


def status_json(status: Status) -> dict[str, Any]:
    return {
        "space": {
            "name": status.name,
            "root": status.root,
            "id": status.id,
            "origin": status.origin or None,
        },
        "data": status.data,
        "bytes": status.bytes,
        "synced": status.synced or None,
        "counts": counts_json(status.counts),
        "types": dict(status.kinds),
        "embedding": {
            "provider": status.provider,
            "model": status.model or None,
            "dimensions": status.dimensions or None,
            "pending": status.pending,
        },
        "consolidation": {"epoch": status.epoch, "surprise": round(status.surprise, 4)},
        "untrusted": list(status.untrusted),
    }
