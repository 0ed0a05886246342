"""Fuse the scores of several retrievers into one ranking; pure functions.

The constants were chosen on labelled sets: docs/decisions/0004-ranking.md.
"""

from _collections_abc import Iterable, Mapping
from math import log

from kinen.model.records import Vote
from kinen.model.tuples import NamedTuple
from kinen.text import timestamp

LEXICAL_WEIGHT = 0.5
CODE_DISCOUNT = 0.75
"""The share of the lexical weight to subtract where the best semantic hits are all code."""
ELSEWHERE = 0.5
"""The same where they are all in another language than the question."""
CODE = 0.03
"""The density of signs from which a chunk counts as code."""
FLOOR = 20
"""In a fusion, full text's hits from this rank on are background and count as nothing."""
HALF = 2.35
"""Times the log of the number of chunks: the BM25 above background that half convinces."""
NEIGHBOUR = 0.5
"""What a chunk gains of the better of its neighbours' BM25."""
MANY = 300
"""Chunks from which on an index has most of the words that are asked for."""
RRF_K = 60
DAY = 86_400
"""Seconds."""
HALF_LIFE = 90.0
"""Days after which something is half as fresh."""
RECENCY_WEIGHT = 0.02
"""What freshness may add in a recall (docs/decisions/0007-journal.md)."""

WORD_BY_WORD = 0.9
"""The share of the gap to 1 that a passage gains for a verbatim match of the question."""

SATURATION = 1.2
LENGTH = 0.75
"""The usual constants of BM25, for sessions."""

DATED = 0.3
"""The same share for what happened in the time that a question names."""
BY_NAME = 0.95
"""The same share for a file whose name or path is the whole question."""

Scores = Mapping[int, float]
Shares = Mapping[str, tuple[Scores, Scores]]


class Ranked(NamedTuple):
    """A chunk's id with its score and the votes that make it up."""

    id: int
    score: float
    votes: tuple[Vote, ...]


class Lexical(NamedTuple):
    """Full text's opinion: BM25 of what it found, and what neighbours add to it."""

    scores: Scores
    lift: Scores
    chunks: int
    """How many chunks the index has: BM25 grows with their number."""

    @property
    def background(self) -> float:
        """The score of chunks that have only some word of the question."""
        ranked = sorted(self.scores.values(), reverse=True)
        return ranked[FLOOR] if len(ranked) > FLOOR else 0.0

    def shares(self, weight: float, floor: float) -> tuple[dict[int, float], dict[int, float]]:
        """Each chunk's share by its own words above the floor, and what its neighbours add."""
        half = HALF * log(2 + self.chunks)
        own = {id_: weight * _squeezed(score - floor, half) for id_, score in self.scores.items()}
        added = {}
        for id_, lift in self.lift.items():
            whole = _squeezed(self.scores.get(id_, 0.0) + lift - floor, half)
            added[id_] = max(0.0, weight * whole - own.get(id_, 0.0))
        return own, added


class Evidence(NamedTuple):
    """What both halves of a search found, and what is known of the question."""

    lexical: Lexical
    semantic: Scores
    unknown: Scores
    """A neutral score for chunks that have no vector yet."""
    code: float
    """How much of what is nearest by meaning is code."""
    elsewhere: float
    """How much of it is in another language than the question."""
    counts: Mapping[str, int]
    """How many chunks have each word of the question."""
    covered: Scores = {}  # noqa: RUF012 - never changed
    """In a small index, the share of the question's words that each chunk has."""


def hybrid(evidence: Evidence) -> list[Ranked]:
    """Words and meaning together, weighed by what is known of the question."""
    counts = evidence.counts.values()
    # If no word is known, those that were found instead were corrected.
    known = sum(map(bool, counts)) / len(counts) if any(counts) else 1.0
    weight = lexical_weight(evidence.code, known, evidence.lexical.chunks)
    weight *= 1 - ELSEWHERE * evidence.elsewhere
    ranked = convex(evidence.lexical, evidence.semantic, weight, evidence.unknown)
    small = weight * (1 - index_size(evidence.lexical.chunks))
    shares = {id_: small * share * share for id_, share in evidence.covered.items()}
    return _raised(ranked, "words", evidence.covered, shares) if shares else ranked


def convex(
    lexical: Lexical,
    semantic: Scores,
    weight: float = LEXICAL_WEIGHT,
    unknown: Scores = {},  # noqa: B006 - never changed
) -> list[Ranked]:
    """A weighted sum of scores that each lie in 0..1, so that scores compare between queries.

    `unknown` has a neutral score for chunks that have no vector yet.
    """
    own, added = lexical.shares(weight, lexical.background)
    meaning = {id_: (1 - weight) * max(0.0, score) for id_, score in semantic.items()}
    neutral = {id_: (1 - weight) * max(0.0, score) for id_, score in unknown.items()}
    return combined(
        {
            "fulltext": (lexical.scores, own),
            "neighbours": (lexical.lift, added),
            "semantic": (semantic, meaning),
            "no vector": (unknown, neutral),
        }
    )


def neutral(cosines: Iterable[float]) -> float:
    """The cosine that stands for a missing one: the middle of those of other candidates."""
    ranked = sorted(cosines)
    return ranked[len(ranked) // 2] if ranked else 0.0


def lexical_weight(code: float, known: float, chunks: int) -> float:
    """Full text's weight: words say less where the best by meaning are code, or words are missing.

    `code` is the share of code, `known` that of the question's words which some entry has: the few
    words that another language shares are there by chance. In a small index most are missing.
    """
    doubt = index_size(chunks) * (1 - known * known)
    return LEXICAL_WEIGHT * (1 - CODE_DISCOUNT * code) * (1 - doubt)


def index_size(chunks: int) -> float:
    """From 0 for the smallest index to 1 for one of `MANY` chunks or more."""
    return min(1.0, log(max(1, chunks)) / log(MANY))


def by_words(lexical: Lexical) -> list[Ranked]:
    """Full text alone: only chunks that have a word of the question themselves."""
    own, added = lexical.shares(1.0, 0.0)
    lift = {id_: lift for id_, lift in lexical.lift.items() if id_ in lexical.scores}
    return combined({"fulltext": (lexical.scores, own), "neighbours": (lift, added)})


def by_meaning(semantic: Scores) -> list[Ranked]:
    """Vectors alone: a hit's score is its cosine."""
    shares = {id_: max(0.0, score) for id_, score in semantic.items()}
    return combined({"semantic": (semantic, shares)})


def reciprocal(lexical: Scores, semantic: Scores, k: int = RRF_K) -> list[Ranked]:
    """Reciprocal rank fusion: only places count.

    The first of both scores 1, so that the votes that follow weigh as in other modes.
    """
    sides = {}
    for name, scores in (("fulltext", lexical), ("semantic", semantic)):
        places = ranks(scores)
        sides[name] = (scores, {id_: (k + 1) / (k + rank) / 2 for id_, rank in places.items()})
    return combined(sides)


def freshness(at: Mapping[int, str], latest: str) -> dict[int, float]:
    """The freshness of each id, from 0 to 1, relative to the newest entry.

    It does not use the clock: the same state gives the same answer tomorrow.
    """
    end = timestamp(latest) if latest else 0.0
    shares = {
        time: 0.5 ** ((end / DAY - timestamp(time) / DAY) / HALF_LIFE)
        for time in {*at.values()}
        if time
    }
    return {id_: shares[time] for id_, time in at.items() if time}


def with_recency(ranked: list[Ranked], fresh: Scores, weight: float) -> list[Ranked]:
    """Add recency as a retriever and scale the other shares down by its weight."""
    places = ranks(fresh)
    votes_by_id = {entry.id: entry.votes for entry in ranked} or dict.fromkeys(fresh, ())
    again = []
    for id_, votes in votes_by_id.items():
        cast = [Vote(*vote[:-1], vote.share * (1 - weight)) for vote in votes]
        if id_ in fresh:
            cast.append(Vote("recency", places[id_], fresh[id_], weight * fresh[id_]))
        again.append(Ranked(id_, sum(vote.share for vote in cast), tuple(cast)))
    return sorted(again, key=lambda entry: (-entry.score, entry.id))


def with_runs(ranked: list[Ranked], strengths: Scores) -> list[Ranked]:
    """Runs of the question's words as one more retriever: the closer to all of it, the surer.

    Others keep their scores; a passage that says the whole question word by word scores .9 or more.
    A few words of a long question are often said by chance, so that a strength counts cubed.
    """
    shares = {id_: WORD_BY_WORD * strength**3 for id_, strength in strengths.items()}
    return _raised(ranked, "phrase", strengths, shares)


def with_names(ranked: list[Ranked], named: Iterable[int]) -> list[Ranked]:
    """The chunks of files whose name was asked for before all others, in their own order."""
    scores = dict.fromkeys(named, 1.0)
    return _raised(ranked, "name", scores, dict.fromkeys(scores, BY_NAME))


def with_dates(ranked: list[Ranked], fits: Scores) -> list[Ranked]:
    """A vote for what happened in the time that a question names."""
    shares = {id_: DATED * fit for id_, fit in fits.items()}
    return _raised(ranked, "date", fits, shares) if fits else ranked


def _raised(ranked: list[Ranked], name: str, scores: Scores, shares: Scores) -> list[Ranked]:
    """One more retriever, which gives a share of what the other votes leave to 1."""
    places = ranks(scores)
    votes = {entry.id: entry.votes for entry in ranked if entry.id in scores}
    again = [entry for entry in ranked if entry.id not in scores]
    for id_, score in scores.items():
        others = votes.get(id_, ())
        rest = 1.0 - min(1.0, sum(vote.share for vote in others))
        cast = (*others, Vote(name, places[id_], score, shares[id_] * rest))
        again.append(Ranked(id_, sum(vote.share for vote in cast), cast))
    return sorted(again, key=lambda entry: (-entry.score, entry.id))


def evidence(counts: Iterable[Mapping[str, int]], sizes: Mapping[str, int]) -> dict[str, float]:
    """BM25 of sessions as if each were one text.

    `counts` says, for each term, how many chunks of a session have it; `sizes` how many it has.
    """
    mean = sum(sizes.values()) / max(1, len(sizes))
    scores: dict[str, float] = {}
    for by_session in counts:
        rarity = log(1 + (len(sizes) - len(by_session) + 0.5) / (len(by_session) + 0.5))
        for ref, count in by_session.items():
            length = SATURATION * (1 - LENGTH + LENGTH * sizes[ref] / mean)
            scores[ref] = scores.get(ref, 0.0) + rarity * count / (count + length)
    return scores


def lifts(scores: Scores, places: Mapping[int, tuple[int | str, int]]) -> dict[int, float]:
    """The score each chunk or segment gains from its neighbours in the record."""
    by_place = {places[id_]: score for id_, score in scores.items() if id_ in places}
    gains = {}
    for id_, (record, n) in places.items():
        best = max(by_place.get((record, n - 1), 0.0), by_place.get((record, n + 1), 0.0))
        if best > 0:
            gains[id_] = NEIGHBOUR * best
    return gains


def ranks(scores: Scores) -> dict[int, int]:
    """Each id's place, from 1; equal scores share a place."""
    by_id: dict[int, int] = {}
    last = None
    place = 0
    for at, (id_, score) in enumerate(sorted(scores.items(), key=lambda item: -item[1]), 1):
        if score != last:
            last = score
            place = at
        by_id[id_] = place
    return by_id


def _squeezed(bm25: float, half: float) -> float:
    """BM25 brought into 0..1."""
    return bm25 / (bm25 + half) if bm25 > 0 else 0.0


def combined(sides: Shares) -> list[Ranked]:
    """One ranking of what several retrievers scored, with the share that each gives."""
    votes: dict[int, list[Vote]] = {}
    for name, (scores, shares) in sides.items():
        places = ranks(scores)
        for id_, share in shares.items():
            if id_ in scores:
                votes.setdefault(id_, []).append(Vote(name, places[id_], scores[id_], share))
    ranked = [
        Ranked(id_, sum(vote.share for vote in cast), tuple(cast)) for id_, cast in votes.items()
    ]
    return sorted(ranked, key=lambda entry: (-entry.score, entry.id))
