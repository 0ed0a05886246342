"""How the retrievers' opinions become one ranking: pure functions whose shares add up."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kinen.model import Vote

if TYPE_CHECKING:
    from collections.abc import Mapping

# Chosen on labelled sets: docs/decisions/0004-ranking.md
SEMANTIC_WEIGHT = 0.65
HALF = 12.0
"""The BM25 at which full text is half convinced."""
RRF_K = 60


class Ranked(NamedTuple):
    """A chunk's id with its score and the votes that make it up."""

    id: int
    score: float
    votes: tuple[Vote, ...]


def convex(
    lexical: Mapping[int, float], semantic: Mapping[int, float], weight: float = SEMANTIC_WEIGHT
) -> list[Ranked]:
    """A weighted sum of scores that each lie in 0..1, so that scores compare between queries."""
    words = {id_: (1 - weight) * saturated(score) for id_, score in lexical.items()}
    meaning = {id_: weight * max(0.0, score) for id_, score in semantic.items()}
    return _combine({"fulltext": (lexical, words), "semantic": (semantic, meaning)})


def reciprocal(
    lexical: Mapping[int, float], semantic: Mapping[int, float], k: int = RRF_K
) -> list[Ranked]:
    """Reciprocal rank fusion: only places count."""
    sides = {}
    for name, scores in (("fulltext", lexical), ("semantic", semantic)):
        sides[name] = (scores, {id_: 1 / (k + rank) for id_, rank in ranks(scores).items()})
    return _combine(sides)


def alone(name: str, scores: Mapping[int, float]) -> list[Ranked]:
    """One retriever's ranking by itself."""
    shares = {
        id_: saturated(score) if name == "fulltext" else max(0.0, score)
        for id_, score in scores.items()
    }
    return _combine({name: (scores, shares)})


def saturated(bm25: float) -> float:
    """BM25 squeezed into 0..1."""
    return max(0.0, bm25) / (max(0.0, bm25) + HALF)


def ranks(scores: Mapping[int, float]) -> dict[int, int]:
    """Each id's place, from 1; equal scores share a place."""
    found: dict[int, int] = {}
    last, place = None, 0
    for at, (id_, score) in enumerate(sorted(scores.items(), key=lambda item: -item[1]), 1):
        if score != last:
            last, place = score, at
        found[id_] = place
    return found


def _combine(sides: Mapping[str, tuple[Mapping[int, float], Mapping[int, float]]]) -> list[Ranked]:
    votes: dict[int, list[Vote]] = {}
    for name, (scores, shares) in sides.items():
        places = ranks(scores)
        for id_, share in shares.items():
            votes.setdefault(id_, []).append(Vote(name, places[id_], scores[id_], share))
    ranked = [
        Ranked(id_, sum(vote.share for vote in cast), tuple(cast)) for id_, cast in votes.items()
    ]
    return sorted(ranked, key=lambda one: (-one.score, one.id))
