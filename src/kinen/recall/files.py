"""What commits say about files, and files about commits: the way from a question to a place.

The constants were chosen on django's history: docs/decisions/0008-git.md.
"""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

from kinen.index.git import queries
from kinen.index.git.lineage import WIDE
from kinen.model.records import Chunk, Hit, Hits, Vote
from kinen.recall import fuse
from kinen.recall.fuse import Ranked
from kinen.text import terms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kinen.index.reader import Reader
    from kinen.model.records import Query

SPEAKING = 30
"""The best commits, which say what files a question is about."""
INFERRED, GIVEN = 0.2, 0.3
"""The weight of the files in a commit's score: as the best commits tell, or as the user does."""
NAMES, COMMITS, COMPANIONS = 0.125, 0.5, 0.375
"""The weight of a file's name, of the commits that touched it, and of files it changes with."""
LEADING = 5
"""The best files, whose companions are files to look at too."""
SHOWN = 3


def with_files(reader: Reader, ranked: list[Ranked], near: Sequence[str]) -> list[Ranked]:
    """Commits that touch the files in question gain: those given, else those that the best tell."""
    touched = queries.touched(reader.db, [one.id for one in ranked])
    if near:
        weight, given = GIVEN, [queries.file_at(reader.db, path) for path in near]
        files = {file: 1.0 for file in given if file}
    else:
        weight, files = INFERRED, spoken_of(ranked, touched)
    scores = {}
    for one in ranked:
        said = sum(files.get(file, 0.0) for file in touched.get(one.id, ()))
        if said:
            scores[one.id] = said / (said + 1)
    return _with_vote(ranked, "files", scores, weight)


def speaking(ranked: Sequence[Ranked]) -> list[Ranked]:
    """The best, and those that are as good as the last of them."""
    edge = ranked[SPEAKING - 1].score if len(ranked) >= SPEAKING else 0.0
    return [one for one in ranked if one.score >= edge]


def spoken_of(ranked: Sequence[Ranked], touched: Mapping[int, Sequence[int]]) -> dict[int, float]:
    """How much the best commits say about each file, from 0 to 1; a commit of many says little."""
    found: dict[int, list[float]] = {}
    for one in speaking(ranked):
        files = touched.get(one.id, ())
        for file in files if len(files) <= WIDE else ():
            found.setdefault(file, []).append(one.score / len(files) ** 0.5)
    # Summed so that the order, which is that of reading where scores are equal, does not matter.
    sums = {file: fsum(scores) for file, scores in found.items()}
    most = max(sums.values(), default=1.0) or 1.0
    return {file: score / most for file, score in sums.items()}


def _with_vote(
    ranked: Sequence[Ranked], name: str, scores: Mapping[int, float], weight: float
) -> list[Ranked]:
    """One more retriever: the others' shares make room for its own."""
    places, again = fuse.ranks(scores), []
    for one in ranked:
        cast = [vote._replace(share=vote.share * (1 - weight)) for vote in one.votes]
        if one.id in scores:
            score = scores[one.id]
            cast.append(Vote(name, places[one.id], score, weight * score))
        again.append(Ranked(one.id, sum(vote.share for vote in cast), tuple(cast)))
    return sorted(again, key=lambda one: (-one.score, one.id))


def search_files(
    reader: Reader, query: Query, rank: Callable[[Query], tuple[list[Ranked], tuple[str, ...]]]
) -> Hits:
    """Files that a question is about: by name, by what commits say, by what changes with them.

    `rank` answers a query for commits.
    """
    db = reader.db
    ranked, notes = rank(query._replace(kinds=("commit",), tags=(), paths=(), context=0))
    best = speaking(ranked)
    touched = queries.touched(db, [one.id for one in best])
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
    if not dated:  # only commits are by somebody, and of a time
        sides["companions"] = (_companions(reader, _first(reader, leading)), COMPANIONS)
    votes = fuse.combined(
        {
            name: (scores, {file: weight * score for file, score in scores.items()})
            for name, (scores, weight) in sides.items()
        }
    )
    said = queries.commit_subjects(db, [one.id for one in best])
    best.sort(key=lambda one: (-one.score, said[one.id]))
    spoken = [(said[one.id], touched.get(one.id, ())) for one in best]
    votes = [vote for vote in votes if vote.id in commits or _worded(reader, vote.id, query)]
    return Hits(_hits(reader, query, votes, spoken), query, query.mode, notes)


def _worded(reader: Reader, file: int, query: Query) -> bool:
    """Whether a file's path has the quoted phrases of a question, and none of its excluded words.

    For files that no commit speaks of: commits were found by these already.
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
    """The leading files; of equals those whose path comes first."""
    edge = sorted(leading.values(), reverse=True)[:LEADING][-1:] or [0.0]
    able = [
        (-score, queries.path_of(reader.db, one), one)
        for one, score in leading.items()
        if score >= edge[0]
    ]
    return {one: -score for score, _, one in sorted(able)[:LEADING]}


def _companions(reader: Reader, leading: Mapping[int, float]) -> dict[int, float]:
    """Files that change with the leading ones, as likely as those are in question."""
    found: dict[int, float] = {}
    for file, score in leading.items():
        for pair in queries.companions(reader.db, [file], 20):
            likely = score / (NAMES + COMMITS) * pair.score
            found[pair.file] = max(found.get(pair.file, 0.0), likely)
    return found


def _hits(
    reader: Reader,
    query: Query,
    votes: list[Ranked],
    spoken: Sequence[tuple[tuple[str, str], Sequence[int]]],
) -> tuple[Hit, ...]:
    records = queries.records(reader, [one.id for one in votes], query)
    able = [one for one in votes if one.id in records and one.score >= query.min_score]
    able.sort(key=lambda one: (-one.score, records[one.id].path))
    found = []
    for one in able[: query.limit]:
        record = records[one.id]
        why = dict.fromkeys(told for told, files in spoken if one.id in files)
        lines = [f"{sha[:10]} {subject}" for sha, subject in list(why)[:SHOWN]]
        text = "\n".join([record.path, *lines])
        found.append(Hit(record, Chunk(record.ref, 0, text), one.score, one.votes))
    return tuple(found)
