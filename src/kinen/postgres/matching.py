"""Full text in PostgreSQL: the rarest words choose candidates, BM25 ranks them.

The formula is that of SQLite's `bm25()`, with the same weights of columns, so both engines rank
alike. A search whose words are in few chunks looks at all of them and is exact. Otherwise common
words do not choose candidates; they still count in the scores of those that rarer words chose.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from kinen.model.tuples import NamedTuple
from kinen.postgres.connection import Connection
from kinen.postgres.filters import Clause
from kinen.postgres.spaces import among
from kinen.postgres.words import LABEL_WEIGHTS, phrase_query

SATURATION = 1.2
LENGTH = 0.75
"""The constants k1 and b of BM25, as SQLite has them."""
LEAST_IDF = 1e-6
"""Words in more than half of the chunks count this much and not less than nothing."""
MOST_CHUNKS = 5000
"""Words choose candidates, rarest first, until they are in this many chunks."""
RAREST = 3
"""Words that choose candidates even if they are in more."""
MOST_SCORED = 50_000
"""Candidates that are scored at most: only questions of nothing but common words have more."""
HEAVIEST = max(LABEL_WEIGHTS.values())
RANK_WEIGHTS = "{{0, {C}, {B}, {A}}}".format(
    **{label: weight / HEAVIEST for label, weight in LABEL_WEIGHTS.items()}
)
"""The weights of the labels D, C, B and A for `ts_rank_cd`, which takes none above 1."""


class Corpus(NamedTuple):
    """The size of what is searched."""

    spaces: list[int]
    chunks: int
    tokens: int


class Term(NamedTuple):
    """A term of a question: a word, or words that follow each other."""

    stems: tuple[str, ...]
    chunks: int
    """How many chunks have it; of a phrase, how many have its rarest word."""
    idf: float

    @property
    def query(self) -> str:
        return phrase_query(self.stems)


def counts(connection: Connection, spaces: list[int], stems: Sequence[str]) -> dict[str, int]:
    """How many chunks have each stem."""
    rows = connection.execute(
        "SELECT term, sum(chunks)::bigint FROM kinen.word"
        f" WHERE {among('space', spaces)} AND term = ANY(%s) GROUP BY term",
        (list(stems),),
    )
    return {term: int(count) for term, count in rows}


def weigh(connection: Connection, corpus: Corpus, terms: Sequence[Sequence[str]]) -> list[Term]:
    """The terms that the corpus has, rarest first."""
    stems = sorted({stem for term in terms for stem in term})
    known = counts(connection, corpus.spaces, stems)
    weighed = {}
    for term in terms:
        if term and all(known.get(stem, 0) > 0 for stem in term):
            chunks = min(known[stem] for stem in term)
            weighed[tuple(term)] = Term(tuple(term), chunks, idf(corpus.chunks, chunks))
    return sorted(weighed.values(), key=lambda term: (term.chunks, term.stems))


def idf(total: int, chunks: int) -> float:
    """How much a word tells that is in `chunks` of all chunks."""
    value = log((total - chunks + 0.5) / (chunks + 0.5)) if chunks < total else 0.0
    return value if value > 0 else LEAST_IDF


def choosing(terms: Sequence[Term]) -> list[Term]:
    """The terms whose chunks are candidates."""
    chosen: list[Term] = []
    chunks = 0
    for term in terms:
        if len(chosen) >= RAREST and chunks + term.chunks > MOST_CHUNKS:
            break
        chosen.append(term)
        chunks += term.chunks
    return chosen


def match(
    connection: Connection, corpus: Corpus, terms: Sequence[Term], where: Clause, k: int
) -> list[tuple[int, float]]:
    """The k best chunks for any of the terms, with their BM25, best first."""
    if not terms:
        return []
    clause, values = where
    most = max(MOST_SCORED, k)
    asked = " | ".join(f"({term.query})" for term in choosing(terms))
    candidates = "kinen.matching(%s::tsquery, %s)"
    bound = [asked, most]
    if clause:
        candidates = (
            "(SELECT c.id, c.words, c.length FROM kinen.matching(%s::tsquery, NULL) m"
            " JOIN kinen.chunk c ON c.space = m.space AND c.id = m.id"
            " JOIN kinen.record r ON r.space = m.space AND r.id = c.record"
            f" WHERE {clause} LIMIT %s)"
        )
        bound = [asked, *values, most]
    mean = max(1.0, corpus.tokens / max(1, corpus.chunks))
    norm = f"{SATURATION} * ({1 - LENGTH} + {LENGTH / mean!r} * f.length)"
    score = " + ".join(_score(term, norm) for term in terms)
    sql = f"SELECT f.id, {score} AS score FROM {candidates} f ORDER BY score DESC, f.id LIMIT %s"
    rows = connection.execute(sql, [*bound, k])
    return [(int(id_), float(score)) for id_, score in rows]


def _score(term: Term, norm: str) -> str:
    """The part of BM25 that a term adds, as SQL.

    `ts_rank_cd` of one word is the sum of the weights of its places, and of words that follow each
    other the sum over the places of the phrase: the frequency of BM25 with weighted columns.
    """
    # A quotation mark ends no text, and a percent sign is no placeholder.
    query = term.query.replace("'", "''").replace("%", "%%")
    frequency = f"{HEAVIEST} * ts_rank_cd('{RANK_WEIGHTS}', f.words, '{query}'::tsquery)"
    return f"{term.idf * (SATURATION + 1)!r} * (1 - ({norm}) / ({frequency} + {norm}))"
