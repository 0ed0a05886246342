"""What a query asks for in PostgreSQL: its filters as SQL, and its words ranked by BM25.

Both are those of `kinen.index.match`; the contract tests hold both engines to the same answers.
Filters are conditions over chunks c and records r. The formula is that of SQLite's `bm25()`, with
the same weights of columns. The rarest words choose candidates: a search whose words are in few
chunks looks at all of them and is exact, otherwise common words do not choose, and still count in
the scores of what rarer words chose.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from math import log
from typing import Any

from kinen.index.match import folder_glob, is_date, value_spellings
from kinen.model.records import Query
from kinen.model.tuples import NamedTuple
from kinen.postgres.connection import Connection
from kinen.postgres.spaces import among
from kinen.postgres.words import LABEL_WEIGHTS, phrase_query
from kinen.text import words

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

Clause = tuple[str, list[Any]]
Stems = Callable[[str], list[str]]
_TOUCHING = (
    "EXISTS (SELECT 1 FROM kinen.touch t WHERE t.space = r.space AND t.record = r.id"
    " AND t.path ~ %s)"
)
_NAMING = (
    "(r.kind IN ('checkpoint', 'observation') AND jsonb_typeof(r.metadata -> %s) = 'array'"
    " AND EXISTS (SELECT 1 FROM jsonb_array_elements_text(r.metadata -> %s) j"
    " WHERE j = %s OR j ~ %s))"
)
_VALUE = "r.metadata #> %s::text[]"
_WITH_VALUE = (
    f"{_VALUE} IS NOT NULL AND EXISTS (SELECT 1 FROM jsonb_array_elements_text("
    f"CASE jsonb_typeof({_VALUE}) WHEN 'array' THEN {_VALUE}"
    f" ELSE jsonb_build_array({_VALUE}) END) j"
    " WHERE left(lower(coalesce(j, 'null')), %s) = ANY(%s))"
)
_LONGEST = 1_000_000
"""More characters than a value has."""
_DAY = len("2026-03-01")


def conditions(query: Query, stems: Stems) -> Clause:
    """The query's filters as conditions joined by AND; empty without any."""
    clauses = [*_clauses(query, stems)]
    values = [value for _, bound in clauses for value in bound]
    return " AND ".join(clause for clause, _ in clauses), values


def _clauses(query: Query, stems: Stems) -> Iterator[Clause]:
    if query.kinds:
        yield "r.kind = ANY(%s)", [list(query.kinds)]
    if query.omitted:
        yield "r.kind <> ALL(%s)", [list(query.omitted)]
    yield from _of_content(query, stems)
    events = list(query.events)
    if events and "commit" in query.kinds:  # by what the subject begins with: `fix(auth): …`
        yield (
            "(r.event = ANY(%s) OR (r.kind = 'commit' AND r.metadata ->> 'type' = ANY(%s)))",
            [events, events],
        )
    elif events:
        yield "r.event = ANY(%s)", [events]
    for parts in ([*map(_about_file, query.files)], [*map(_naming_symbol, query.symbols)]):
        if parts:
            either = " OR ".join(clause for clause, _ in parts)
            yield f"({either})", [value for _, bound in parts for value in bound]
    for name in ("session", "repo", "agent", "user"):
        if getattr(query, name):
            # The column, or a word in it, begins with the value, ignoring case.
            column = f"translate(lower(r.\"{name}\"), '/-', '  ')"
            value = "translate(lower(%s), '/-', '  ')"
            yield f"strpos(' ' || {column}, ' ' || {value}) > 0", [getattr(query, name)]
    if query.since:
        yield "r.at >= %s", [query.since]
    if query.until:
        yield "r.at <> '' AND r.at <= %s", [query.until]


def _of_content(query: Query, stems: Stems) -> Iterator[Clause]:
    """Tags, paths, metadata, and words that a chunk must have or must not have."""
    for tag in query.tags:
        yield (
            "EXISTS (SELECT 1 FROM unnest(r.tags) t WHERE t = %s OR starts_with(t, %s))",
            [tag, f"{tag}/"],
        )
    if query.paths:
        # Records of files below the paths, and commits that touched one of these.
        patterns = [regular(folder_glob(path)) for path in query.paths]
        either = ["r.path ~ %s" for _ in patterns]
        values = [*patterns]
        if "commit" in query.kinds:
            either += [_TOUCHING for _ in patterns]
            values += patterns
        yield f"({' OR '.join(either)})", values
    for phrase in query.required:
        yield _containing(phrase, stems)
    for word in query.excluded:
        sequence = stems(word)
        if sequence:
            yield "NOT c.words @@ %s::tsquery", [phrase_query(sequence)]
    for condition in query.meta:
        key, _, value = condition.partition("=")
        path = key.replace('"', "").split(".")
        length = _DAY if is_date(value) else _LONGEST
        spellings = [*map(str.lower, value_spellings(value))]
        yield _WITH_VALUE, [*[path] * 4, length, spellings]


def _containing(phrase: str, stems: Stems) -> Clause:
    """Chunks with a phrase in their text, heading or title."""
    folded = " ".join(phrase.split()).lower()
    plain = " ".join(words(folded)) == folded
    text = "kinen.contains(c.title || E'\\n' || c.heading || E'\\n' || c.body, %s, %s)"
    sequence = stems(phrase)
    if not sequence:
        return text, [folded, plain]
    matches = "c.id IN (SELECT m.id FROM kinen.matching(%s::tsquery, NULL) m)"
    return f"({matches} AND {text})", [phrase_query(sequence), folded, plain]


def _about_file(path: str) -> Clause:
    """Records that are a file, touched it, or name it by its path or the end of its path."""
    path = path.removeprefix("./").strip("/")
    end = f"(^|/){re.escape(path)}$"
    clause = f"r.path ~ %s OR {_TOUCHING} OR {_NAMING}"
    return clause, [end, end, "files", "files", path, f"/{re.escape(path)}$"]


def _naming_symbol(symbol: str) -> Clause:
    """Checkpoints that name a symbol, alone or at the end of a longer name."""
    return _NAMING, ["symbols", "symbols", symbol, f"[.:#]{re.escape(symbol)}$"]


def regular(glob: str) -> str:
    """A glob, as SQLite reads it, as a regular expression of PostgreSQL."""
    parts = []
    for match in re.finditer(r"\*|\?|\[(\^?)(\]?[^\]]*)\]|.", glob, re.DOTALL):
        part = match[0]
        if part == "*":
            parts.append(".*")
        elif part == "?":
            parts.append(".")
        elif match[2] is not None:
            inside = match[2].replace("\\", "\\\\").replace("[", "\\[")
            parts.append(f"[{match[1]}{inside}]")
        else:
            parts.append(re.escape(part))
    return f"^{''.join(parts)}$"


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
    totals = counts(connection, corpus.spaces, stems)
    weighed = {}
    for term in terms:
        if term and all(totals.get(stem, 0) > 0 for stem in term):
            chunks = min(totals[stem] for stem in term)
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
