"""Full text in PostgreSQL: the rarest words choose candidates, BM25 ranks them.

The formula is that of SQLite's `bm25()`, with the same weights of columns, so both engines rank
alike. A search whose words are in few chunks looks at all of them and is exact. Otherwise common
words do not choose candidates; they still count in the scores of those that rarer words chose.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import NamedTuple

from kinen.postgres.connection import Connection
from kinen.postgres.filters import Clause
from kinen.postgres.words import LABEL_WEIGHTS, phrase_query, quoted

SATURATION = 1.2
LENGTH = 0.75
"""The constants k1 and b of BM25, as SQLite has them."""
LEAST_IDF = 1e-6
"""Words in more than half of the chunks count this much and not less than nothing."""
MOST_CHUNKS = 20_000
"""Words choose candidates, rarest first, until they are in this many chunks."""
RAREST = 3
"""Words that choose candidates however common they are."""
SCORED = 1000
"""Candidates whose words are counted; they have the rarest words."""


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
        " WHERE space = ANY(%s) AND term = ANY(%s) GROUP BY term",
        (spaces, list(stems)),
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
    """How much a word tells that is in so many chunks."""
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
    words = [term for term in terms if len(term.stems) == 1]
    phrases = [term for term in terms if len(term.stems) > 1]
    present = [f"(c.words @@ {_literal(term.query)})::int * {term.idf!r}" for term in terms]
    counted = [f"(f.words @@ {_literal(term.query)})::int * {term.idf!r}" for term in phrases]
    clause, values = where
    joined = " JOIN kinen.record r ON r.space = c.space AND r.id = c.record" if clause else ""
    candidates = (
        "SELECT c.id, c.words, c.length FROM kinen.chunk c"
        f"{joined} WHERE c.space = ANY(%s) AND c.words @@ %s::tsquery"
        + (f" AND {clause}" if clause else "")
        + f" ORDER BY {' + '.join(present)} DESC, c.length, c.id LIMIT %s"
    )
    frequency = " + ".join(
        f"{weight} * cardinality(array_positions(u.weights, '{label}'))"
        for label, weight in LABEL_WEIGHTS.items()
    )
    norm = f"{SATURATION} * ({1 - LENGTH} + {LENGTH} * f.length / %s)"
    sql = (
        f"WITH f AS MATERIALIZED ({candidates}),"
        " q AS (SELECT * FROM unnest(%s::text[], %s::float8[]) AS q(term, idf))"
        f" SELECT f.id, {' + '.join(['coalesce(w.score, 0)', *counted])} AS score"
        f" FROM f LEFT JOIN LATERAL (SELECT sum(q.idf * t.frequency * {SATURATION + 1}"
        f" / (t.frequency + {norm})) AS score FROM (SELECT u.lexeme, ({frequency}) AS frequency"
        " FROM unnest(f.words) u WHERE u.lexeme = ANY(%s)) t JOIN q ON q.term = t.lexeme) w ON true"
        " ORDER BY score DESC, f.id LIMIT %s"
    )
    stems = [term.stems[0] for term in words]
    mean = max(1.0, corpus.tokens / max(1, corpus.chunks))
    asked = " | ".join(f"({term.query})" for term in choosing(terms))
    bound = [corpus.spaces, asked, *values, max(SCORED, k)]
    bound += [stems, [term.idf for term in words], mean, stems, k]
    rows = connection.execute(sql, bound)
    return [(int(id_), float(score)) for id_, score in rows]


def _literal(query: str) -> str:
    """A tsquery inside a statement; its text is quoted, and a percent sign is no placeholder."""
    return "'" + query.replace("'", "''").replace("%", "%%") + "'::tsquery"


def any_of(stems: Sequence[str]) -> str:
    """A `tsquery` for any of some stems."""
    return " | ".join(map(quoted, stems))
