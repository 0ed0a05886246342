"""From a question to hits: retrieve by word and by meaning, fuse, situate, explain."""

from __future__ import annotations

from kinen.errors import QueryError
from kinen.index.match import depth
from kinen.model.kinds import MODES
from kinen.model.records import GIT_KINDS, Hit, Hits
from kinen.model.tuples import NamedTuple
from kinen.query import LONGEST
from kinen.recall import fuse
from kinen.recall.floor import (
    UNKNOWN_SCRIPT,
    Yardstick,
    close_only,
    in_order,
    with_chances,
    with_strengths,
)
from kinen.recall.wording import (
    asks_memory,
    exact_wording,
    memory_chunks,
    read_wording,
    run_strength,
    telling_runs,
)
from kinen.text import code_density, is_identifier, iso, now, terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from kinen.model.records import Query
    from kinen.ports import Index, Vectors
    from kinen.recall.fuse import Ranked

WHOLE = 0.8
"""The share of a question from which on a run of its words counts in a ranking of ranks."""
NEAREST = 100
"""How many candidates the vectors give at least."""
RUNS = 50
"""Chunks that are compared with the question word by word."""
FOLDED = 3
"""Times the limit: candidates that are looked at, since several may be shown by one passage."""


class Units(NamedTuple):
    """What full text found, by what is shown together: a segment of a session, or one chunk."""

    best: dict[int, float]
    """The BM25 of each unit's best chunk."""
    second: dict[int, float]
    """That of its second best, where two chunks of a segment were found."""
    cited: dict[int, int]
    """The chunk to be cited for each unit."""


class Meaning(NamedTuple):
    """The semantic half of a search: the vectors and the question's own."""

    scan: Vectors
    vector: Any
    missing: int = 0
    """Chunks that have no vector yet."""
    chunks: int = 0
    fluency: Callable[[str], float] | None = None
    """How well the model knows the language of a text; None where it knows the question's well."""
    elsewhere: Callable[[str, Sequence[str]], float] | None = None
    """How many of some texts are in another language than a question; None in English spaces."""


def worded(query: Query) -> Query:
    """The query with the exact words of its text as filters: `"must contain"` and `-without`."""
    wording = exact_wording(query.text) if query.exact else read_wording(query.text)
    return query._replace(
        text=wording.text,
        exact=False,
        required=(*query.required, *wording.required),
        excluded=(*query.excluded, *wording.excluded),
    )


def search(reader: Index, query: Query, meaning: Callable[[], tuple[Meaning | None, str]]) -> Hits:
    """Answer a query; `meaning` gives the semantic half, or none and the reason why."""
    text = query.text.strip()
    if not text:
        raise QueryError("nothing to search for", "give a word or a question")
    if len(text) > LONGEST:
        raise QueryError(f"the query has {len(text):,} characters", f"ask in at most {LONGEST:,}")
    if query.mode not in MODES:
        hint = "use one of " + ", ".join(MODES)
        raise QueryError(f"no mode {query.mode!r}", hint, parameter="mode")
    if query.limit < 1:
        raise QueryError(f"invalid value {query.limit}", "use 1 or more", parameter="limit")
    if query.kinds == ("file",):
        if not reader.ranks_files:
            fact = "this engine has no files ranked by their commits"
            raise QueryError(fact, "search for commits or notes", parameter="types")
        from kinen.recall.files import search_files

        def rank(part: Query) -> tuple[list[Ranked], tuple[str, ...]]:
            ranked, _, notes = _ranked(reader, part, meaning)
            return ranked, notes

        return _above_floor(reader, _rated(reader, search_files(reader, query, rank)))
    if "file" in query.kinds:
        return _both(reader, query, meaning)
    halves: list[Meaning | None] = []

    def half() -> tuple[Meaning | None, str]:
        found, reason = meaning()
        halves.append(found)
        return found, reason

    ranked, cited, notes = _ranked(reader, query, half)
    # Whether the first hit answers is judged beside the second.
    loaded = _load(reader, ranked, query._replace(limit=max(2, query.limit)), cited)
    hits = Hits(loaded, query, query.mode, notes)
    fluency = next((found.fluency for found in halves if found), None)
    return _above_floor(reader, _rated(reader, hits, fluency))


def _rated(reader: Index, hits: Hits, fluency: Callable[[str], float] | None = None) -> Hits:
    """The hits with their strengths; `fluency` says how well the model knows a text's language."""
    query = hits.query
    yardstick = Yardstick(query.mode, reader.chunk_count(), _weight_aside(query))
    yardstick.by_words = any(note.endswith(UNKNOWN_SCRIPT) for note in hits.notes)
    yardstick.fluency = fluency
    return with_strengths(hits, yardstick, lambda: reader.document_counts(terms(query.text)))


def _weight_aside(query: Query) -> float:
    """The weight of votes that do not say how close a hit is."""
    if not _ranks_by_files(query):
        return query.recency
    from kinen.recall.files import GIVEN, INFERRED

    return query.recency + (GIVEN if query.near else INFERRED)


def _ranks_by_files(query: Query) -> bool:
    return bool(query.near) or (query.kinds == ("commit",) and query.mode == "hybrid")


def _above_floor(reader: Index, hits: Hits) -> Hits:
    """The hits that are close, if the query wants only these; for a page with their chances.

    Quoted words decide by themselves what is a hit, and so do corrected ones, if most were.
    """
    query = hits.query
    if query.once:
        hits = with_chances(hits, reader.chunk_count(), _weight_aside(query))
    hits = Hits(hits[: query.limit], query, hits.mode, hits.notes)
    corrected = sum(note.count(" → ") for note in hits.notes if note.startswith("corrected"))
    decided = query.required or (corrected and 2 * corrected > len(terms(query.text)))
    if query.floor and not decided:
        hits = close_only(hits)
    return in_order(hits) if query.once else hits


def _both(reader: Index, query: Query, meaning: Callable[[], tuple[Meaning | None, str]]) -> Hits:
    """Files, which are found by what commits say, beside what has a text of its own."""
    others = tuple(kind for kind in query.kinds if kind != "file")
    parts = [search(reader, query._replace(kinds=kinds), meaning) for kinds in (("file",), others)]
    hits = sorted(
        (hit for part in parts for hit in part),
        key=lambda hit: (-hit.score, hit.record.ref, hit.chunk.n),
    )
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    both = Hits(tuple(hits[: query.limit]), query, query.mode, notes)
    return in_order(both) if query.once else both


def _ranked(
    reader: Index, query: Query, meaning: Callable[[], tuple[Meaning | None, str]]
) -> tuple[list[Ranked], dict[int, int], tuple[str, ...]]:
    """All candidates in order, the chunk to cite for each, and remarks."""
    notes: list[str] = []
    words: dict[int, float] = {}
    paths: list[str] = []
    if query.mode != "semantic":
        paths = reader.paths_named(query.text)
        words = by_word(reader, query.text.strip(), query, depth(query.limit), notes)
    units = by_unit(reader, words)
    ranked = _rank(reader, query, units, meaning, notes)
    if query.mode != "semantic":
        ranked = _with_exact_matches(reader, query, ranked, units, paths)
    if query.min_similarity:
        ranked = _near(ranked, query.min_similarity, notes)
    if _ranks_by_files(query):
        from kinen.recall.files import with_files

        ranked = with_files(reader, ranked, query.near)
    if query.recency:
        ages = reader.ages([units.cited.get(candidate.id, candidate.id) for candidate in ranked])
        at = {
            candidate.id: ages.get(units.cited.get(candidate.id, candidate.id), "")
            for candidate in ranked
        }
        fresh = fuse.freshness(at, reader.latest())
        ranked = fuse.with_recency(ranked, fresh, query.recency)
        from kinen.recall import dates

        today = dates.local_day(iso(now()))
        days = dates.span(query.text, today)
        if not days and dates.has_marker(query.text):
            from kinen.recall.milestones import days_of

            days, note = days_of(reader, query, today)
            notes += [note] if note else []
        ranked = fuse.with_dates(ranked, dates.on_days(days, at)) if days else ranked
    return ranked, units.cited, tuple(notes)


def _with_exact_matches(
    reader: Index, query: Query, ranked: list[Ranked], units: Units, paths: list[str]
) -> list[Ranked]:
    """The ranking with votes for chunks that say the question word by word or have it as a name.

    By keywords first, what is only near stays behind whatever has the words.
    """
    near = []
    if query.mode == "keyword-first":
        near = [candidate for candidate in ranked if candidate.id not in units.best]
        ranked = [candidate for candidate in ranked if candidate.id in units.best]
    ranked = _with_runs(reader, query, ranked, units)
    ranked = _with_names(reader, query, ranked, paths)
    ids = {candidate.id for candidate in ranked}
    return [*ranked, *(candidate for candidate in near if candidate.id not in ids)]


def _with_runs(reader: Index, query: Query, ranked: list[Ranked], units: Units) -> list[Ranked]:
    """The ranking with a vote for chunks that say part of the question word by word."""
    runs = telling_runs(query.text)
    if not runs:
        return ranked
    texts = reader.match_runs(runs, query, RUNS)
    strengths = {id_: run_strength(query.text, text) for id_, text in texts.items()}
    anchors = reader.anchors(list(strengths))
    best: dict[int, float] = {}
    for id_, strength in strengths.items():
        unit = anchors.get(id_, id_)
        if strength > best.get(unit, 0.0):
            best[unit] = strength
            units.cited[unit] = id_
    if query.mode == "rrf":  # places lie so close that part of a question would decide
        best = {unit: strength for unit, strength in best.items() if strength >= WHOLE}
    return fuse.with_runs(ranked, best)


def _with_names(
    reader: Index, query: Query, ranked: list[Ranked], paths: list[str]
) -> list[Ranked]:
    """The ranking with a vote for the files at some paths, for symbols with this name, and for
    memories about what is asked.
    """
    from kinen.index import names

    scores = {candidate.id: candidate.score for candidate in ranked}
    best = [
        max(chunks, key=lambda id_: scores.get(id_, 0.0))
        for chunks in (reader.chunks_at(paths, query).values() if paths else ())
    ]
    if names.is_identifier(query.text) or query.kinds == ("symbol",):
        best += reader.chunks_of_symbol(query.text.strip(), query)[: names.MOST_FILES]
    if asks_memory(query.text):
        best += memory_chunks(reader, query)
    return fuse.with_names(ranked, best) if best else ranked


def recent(reader: Index, query: Query) -> Hits:
    """What happened last, for when nothing was asked."""
    newest = reader.newest(query, 20 * query.limit)
    units = by_unit(reader, dict.fromkeys(newest, 0.0))
    ages = reader.ages(newest)
    fresh = fuse.freshness({unit: ages[id_] for unit, id_ in units.cited.items()}, reader.latest())
    ranked = fuse.with_recency([], fresh, 1.0)
    return Hits(_load(reader, ranked, query, units.cited), query, "recent")


def by_unit(reader: Index, words: dict[int, float]) -> Units:
    """Gather the chunks that were found, best first, by what is shown together."""
    anchors = reader.anchors(list(words))
    units = Units({}, {}, {})
    for id_, score in words.items():
        unit = anchors.get(id_, id_)
        if unit not in units.best:
            units.best[unit] = score
            units.cited[unit] = id_
        else:
            units.second.setdefault(unit, score)
    return units


def by_word(reader: Index, text: str, query: Query, k: int, notes: list[str]) -> dict[int, float]:
    """Full-text candidates; words that are nowhere are corrected when nothing else is found."""
    query_terms = terms(text)
    matches = reader.match(query_terms, query, k)
    if not matches and query_terms:
        from kinen.recall.spelling import check

        spelling = check(reader, query_terms)
        corrected = spelling.corrected
        if corrected:
            matches = reader.match(
                tuple(corrected.get(word, word) for word in query_terms), query, k
            )
        if matches:
            pairs = (f"{word} → {better}" for word, better in corrected.items())
            notes.append("corrected: " + ", ".join(pairs))
        elif spelling.suggested:
            notes.append("did you mean " + ", ".join(spelling.suggested.values()) + "?")
    return dict(matches)


def _rank(
    reader: Index,
    query: Query,
    units: Units,
    meaning: Callable[[], tuple[Meaning | None, str]],
    notes: list[str],
) -> list[Ranked]:
    mode = query.mode
    words = units.best
    if mode == "fulltext" or (mode == "keyword-first" and len(words) >= query.limit):
        return fuse.by_words(_lexical(reader, units, words))
    half, reason = meaning()
    if half is not None and half.missing:
        notes.append(
            f"{half.missing:,} of {half.chunks:,} chunks have no vectors yet: run `kinen index`"
        )
    if half is None:
        if mode == "semantic":
            raise QueryError(f"no search by meaning: {reason}", "search in mode fulltext")
        notes += [] if reader.empty else [f"full text only: {reason}"]
        return fuse.by_words(_lexical(reader, units, words))
    if mode == "rerank":
        return fuse.by_meaning(half.scan.of(half.vector, list(words)))
    allowed = reader.allowed(query)
    near = half.scan.nearest(half.vector, max(5 * query.limit, NEAREST), allowed)
    semantic = dict(near)
    if allowed is not None:
        for unit in semantic:
            units.cited.setdefault(unit, allowed[unit])
    if mode == "semantic":
        return fuse.by_meaning(semantic)
    if mode == "keyword-first":
        rest = {id_: score for id_, score in semantic.items() if id_ not in words}
        return [*fuse.by_words(_lexical(reader, units, words)), *fuse.by_meaning(rest)]
    if mode == "rrf":
        return fuse.reciprocal(words, semantic)
    semantic.update(half.scan.of(half.vector, [id_ for id_ in words if id_ not in semantic]))
    nearest = reader.bodies([id_ for id_, _ in near[:10]])
    unknown: dict[int, float] = {}
    if half.missing:
        known = [semantic[id_] for id_ in words if id_ in semantic]
        middle = fuse.neutral(known or semantic.values())
        unknown = {id_: middle for id_ in words if id_ not in semantic}
    lexical = _lexical(reader, units, [*semantic, *unknown])
    counts = reader.document_counts(terms(query.text))
    code = _code_share(query, nearest)
    elsewhere = half.elsewhere(query.text, nearest) if half.elsewhere else 0.0
    covered = _covered(reader, query) if reader.chunk_count() < fuse.MANY else {}
    return fuse.hybrid(fuse.Evidence(lexical, semantic, unknown, code, elsewhere, counts, covered))


def _covered(reader: Index, query: Query) -> dict[int, float]:
    """The share of a question's words that each unit has; of a single word, nothing.

    How rare a word is in a small index is no evidence: in one of two notes BM25 is nothing.
    """
    query_terms = terms(query.text)
    shares: dict[int, float] = {}
    for term in query_terms if len(query_terms) > 1 else ():
        for id_, _ in reader.match([term], query, fuse.MANY):
            shares[id_] = shares.get(id_, 0.0) + 1 / len(query_terms)
    anchors = reader.anchors(list(shares)) if shares else {}
    best: dict[int, float] = {}
    for id_, share in shares.items():
        unit = anchors.get(id_, id_)
        best[unit] = max(share, best.get(unit, 0.0))
    return best


def _lexical(reader: Index, units: Units, candidates: Iterable[int]) -> fuse.Lexical:
    """What words say: of a chunk with its neighbours, of a segment with its second best too."""
    lifts = fuse.lifts(units.best, reader.places([*candidates]))
    for unit, score in units.second.items():
        lifts[unit] = max(lifts.get(unit, 0.0), fuse.NEIGHBOUR * score)
    return fuse.Lexical(units.best, lifts, reader.chunk_count())


def _code_share(query: Query, nearest: Sequence[str]) -> float:
    """How much of what is nearest by meaning is code; a question that names code is by word."""
    if not nearest or is_identifier(query.text):
        return 0.0
    return sum(code_density(body) >= fuse.CODE for body in nearest) / len(nearest)


def _load(
    reader: Index, ranked: list[Ranked], query: Query, cited: dict[int, int]
) -> tuple[Hit, ...]:
    """The best hits with their records; equal scores are ordered by ref, as a rebuild would.

    More than the limit are looked at, since several may be shown by one passage.
    """
    ranked = [candidate for candidate in ranked if candidate.score >= query.min_score]
    most = FOLDED * query.limit
    hits = _best(reader, ranked, query, cited, most)
    # A long record may have all of the best chunks, and is shown once.
    while query.once and most < len(ranked) and len({hit.record.ref for hit in hits}) < query.limit:
        most *= FOLDED
        hits = _best(reader, ranked, query, cited, most)
    if "pin" not in query.kinds:  # a recall begins with the pins, and what is pinned has its text
        hits = [hit for hit in hits if hit.record.kind != "pin"]
    from kinen.recall.passages import without_metadata

    return tuple(_situated(reader, without_metadata(reader, hits), query))


def _best(
    reader: Index, ranked: list[Ranked], query: Query, cited: dict[int, int], most: int
) -> list[Hit]:
    """The first hits, and those that score the same as the last of them."""
    edge = ranked[most - 1].score if len(ranked) > most else float("-inf")
    keyword_first = query.mode == "keyword-first"
    chosen = (
        ranked[:most]
        if keyword_first
        else [candidate for candidate in ranked if candidate.score >= edge]
    )
    places = [cited.get(candidate.id, candidate.id) for candidate in chosen]
    loaded = reader.load(places)
    hits = [
        Hit(*loaded[id_], candidate.score, candidate.votes)
        for id_, candidate in zip(places, chosen, strict=True)
        if id_ in loaded
    ]
    if not keyword_first:
        hits.sort(key=lambda hit: (-hit.score, hit.record.ref, hit.chunk.n))
    return hits


def _near(ranked: list[Ranked], least: float, notes: list[str]) -> list[Ranked]:
    """Only what is near enough in meaning; where nothing has a vector, all of it."""
    near = {
        candidate.id: vote.score
        for candidate in ranked
        for vote in candidate.votes
        if vote.retriever == "semantic"
    }
    if ranked and not near:
        notes.append("no vectors were asked: the least similarity has no effect")
        return ranked
    return [candidate for candidate in ranked if near.get(candidate.id, -1.0) >= least]


def _situated(reader: Index, hits: list[Hit], query: Query) -> list[Hit]:
    """The first hits with what stands around each, as many as the query asks for."""
    from kinen.recall.passages import distinct_passages

    query_terms = terms(query.text)
    if query.once:
        best: dict[str, Hit] = {}
        for hit in hits:
            best.setdefault(hit.record.ref, hit)
        hits = [*best.values()]
    return distinct_passages(
        hits,
        query.limit,
        lambda hit, covered: with_surroundings(reader, hit, query_terms, query.context, covered),
    )


def with_surroundings(
    reader: Index, hit: Hit, query_terms: Sequence[str], context: int, covered: Sequence[range]
) -> Hit:
    """A hit in its passage, or between its neighbours; an observation comes with its segment."""
    from kinen.recall.passages import with_passage

    n = hit.chunk.n
    ref = hit.chunk.ref
    if hit.record.kind == "observation":
        segment = reader.segment(ref)
        at = next((i for i, chunk in enumerate(segment) if chunk.ref == ref), -1)
        if at >= 0:
            return hit._replace(before=tuple(segment[:at]), after=tuple(segment[at + 1 :]))
    if hit.record.path and hit.record.kind not in GIT_KINDS:
        return with_passage(reader, hit, query_terms, context, covered)
    if context < 1:
        return hit
    around = reader.between(ref, n - context, n + context)
    before = tuple(chunk for chunk in around if chunk.n < n)
    return hit._replace(before=before, after=tuple(chunk for chunk in around if chunk.n > n))
