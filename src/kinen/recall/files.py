"""Rank files by the commits that touched them, and commits by the files they touched.

The constants were chosen on django's history: docs/decisions/0008-git.md.
"""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING, cast

from kinen.index.git import queries
from kinen.index.git.lineage import WIDE
from kinen.model.records import Chunk, Hit, Hits, Vote
from kinen.recall import fuse
from kinen.recall.floor import CLOSE, Yardstick, strength
from kinen.recall.fuse import Ranked
from kinen.text import terms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kinen.index.reader import Reader
    from kinen.model.records import Query
    from kinen.ports import Index

SPEAKING = 30
"""Number of best commits that decide which files a question is about."""
INFERRED = 0.2
"""The weight of files in a commit's score where the best commits imply the files."""
GIVEN = 0.3
"""The weight of files in a commit's score where the user names the files."""
NAMES = 0.125
"""The weight of a file's name."""
COMMITS = 0.5
"""The weight of the commits that touched a file."""
COMPANIONS = 0.375
"""The weight of the files that a file changes with."""
LEADING = 5
"""Number of best files whose companions are candidates too."""
SHOWN = 3


def with_files(reader: Index, ranked: list[Ranked], near: Sequence[str]) -> list[Ranked]:
    """Raise commits that touch the files of `near`, or else the files of the best commits."""
    touched = reader.touched([commit.id for commit in ranked])
    if near:
        weight = GIVEN
        ids = [reader.file_at(path) for path in near]
        files = {file: 1.0 for file in ids if file}
    else:
        weight = INFERRED
        files = spoken_of(ranked, touched)
    scores = {}
    for commit in ranked:
        total = sum(files.get(file, 0.0) for file in touched.get(commit.id, ()))
        if total:
            scores[commit.id] = total / (total + 1)
    return _with_vote(ranked, "files", scores, weight)


def speaking(ranked: Sequence[Ranked]) -> list[Ranked]:
    """The best commits, with all that score the same as the last of them."""
    edge = ranked[SPEAKING - 1].score if len(ranked) >= SPEAKING else 0.0
    return [commit for commit in ranked if commit.score >= edge]


def spoken_of(ranked: Sequence[Ranked], touched: Mapping[int, Sequence[int]]) -> dict[int, float]:
    """The score of each file by the best commits, from 0 to 1; wide commits count less."""
    parts: dict[int, list[float]] = {}
    for commit in speaking(ranked):
        files = touched.get(commit.id, ())
        for file in files if len(files) <= WIDE else ():
            parts.setdefault(file, []).append(commit.score / len(files) ** 0.5)
    # fsum: the result does not depend on the order of commits with equal scores.
    sums = {file: fsum(scores) for file, scores in parts.items()}
    most = max(sums.values(), default=1.0) or 1.0
    return {file: score / most for file, score in sums.items()}


def _with_vote(
    ranked: Sequence[Ranked], name: str, scores: Mapping[int, float], weight: float
) -> list[Ranked]:
    """Add the votes of another retriever and scale the other shares down by its weight."""
    places = fuse.ranks(scores)
    again = []
    for entry in ranked:
        cast = [vote._replace(share=vote.share * (1 - weight)) for vote in entry.votes]
        if entry.id in scores:
            score = scores[entry.id]
            cast.append(Vote(name, places[entry.id], score, weight * score))
        again.append(Ranked(entry.id, sum(vote.share for vote in cast), tuple(cast)))
    return sorted(again, key=lambda entry: (-entry.score, entry.id))


def search_files(
    index: Index, query: Query, rank: Callable[[Query], tuple[list[Ranked], tuple[str, ...]]]
) -> Hits:
    """Files that match a question by name, by commits and by files that change together.

    `rank` ranks the commits of a query. Only for an engine that `ranks_files`.
    """
    reader = cast("Reader", index)
    db = reader.db
    ranked, notes = rank(query._replace(kinds=("commit",), tags=(), paths=(), context=0))
    if query.floor:
        weight = INFERRED if query.mode == "hybrid" else 0.0
        yardstick = Yardstick(query.mode, reader.chunk_count(), weight)
        ranked = [commit for commit in ranked if strength(commit.votes, yardstick) >= CLOSE]
    best = speaking(ranked)
    touched = reader.touched([commit.id for commit in best])
    commits = spoken_of(ranked, touched)
    names = _shares(queries.match_names(db, terms(query.text)))
    sides = {"names": (names, NAMES), "commits": (commits, COMMITS)}
    dated = query.since or query.until or query.user
    if query.mode == "semantic" or dated:
        sides.pop("names")
    leading: dict[int, float] = {}
    for scores, weight in sides.values():
        for file, score in scores.items():
            leading[file] = leading.get(file, 0.0) + weight * score
    if not dated:  # only commits have an author and a time
        sides["companions"] = (_companions(reader, _first(reader, leading)), COMPANIONS)
    votes = fuse.combined(
        {
            name: (scores, {file: weight * score for file, score in scores.items()})
            for name, (scores, weight) in sides.items()
        }
    )
    subjects = queries.commit_subjects(db, [commit.id for commit in best])
    best.sort(key=lambda commit: (-commit.score, subjects[commit.id]))
    spoken = [(subjects[commit.id], touched.get(commit.id, ())) for commit in best]
    votes = [vote for vote in votes if vote.id in commits or _worded(reader, vote.id, query)]
    return Hits(_hits(reader, query, votes, spoken), query, query.mode, notes)


def _worded(reader: Reader, file: int, query: Query) -> bool:
    """Whether a file's path has the quoted phrases of a question, and none of its excluded words.

    For files without a ranked commit; commits are filtered by the query already.
    """
    if not query.required and not query.excluded:
        return True
    path = queries.path_of(reader.db, file).lower()
    if not all(phrase.lower() in path for phrase in query.required):
        return False
    return not any(word.lower() in path for word in query.excluded)


def _shares(scores: Mapping[int, float]) -> dict[int, float]:
    most = max(scores.values(), default=1.0) or 1.0
    return {file: score / most for file, score in scores.items()}


def _first(reader: Reader, leading: Mapping[int, float]) -> dict[int, float]:
    """The leading files, ties in order of path."""
    edge = sorted(leading.values(), reverse=True)[:LEADING][-1:] or [0.0]
    able = [
        (-score, queries.path_of(reader.db, file), file)
        for file, score in leading.items()
        if score >= edge[0]
    ]
    return {file: -score for score, _, file in sorted(able)[:LEADING]}


def _companions(reader: Reader, leading: Mapping[int, float]) -> dict[int, float]:
    """Files that change with the leading files, scored by both."""
    companions: dict[int, float] = {}
    for file, score in leading.items():
        for pair in queries.companions(reader.db, [file], 20):
            likely = score / (NAMES + COMMITS) * pair.score
            companions[pair.file] = max(companions.get(pair.file, 0.0), likely)
    return companions


def _hits(
    reader: Reader,
    query: Query,
    votes: list[Ranked],
    spoken: Sequence[tuple[tuple[str, str], Sequence[int]]],
) -> tuple[Hit, ...]:
    records = queries.records(reader, [file.id for file in votes], query)
    able = [file for file in votes if file.id in records and file.score >= query.min_score]
    able.sort(key=lambda file: (-file.score, records[file.id].path))
    hits = []
    for file in able[: query.limit]:
        record = records[file.id]
        why = dict.fromkeys(commit for commit, files in spoken if file.id in files)
        lines = [f"{sha[:10]} {subject}" for sha, subject in list(why)[:SHOWN]]
        text = "\n".join([record.path, *lines])
        hits.append(Hit(record, Chunk(record.ref, 0, text), file.score, file.votes))
    return tuple(hits)
