"""What a recall shows of its candidates: the lines that answer, inside a number of tokens."""

from __future__ import annotations

from collections.abc import Sequence

from kinen.distill.blocks import unwrapped
from kinen.distill.extract import choose
from kinen.journal.closing import first_lines
from kinen.model.journal import Item, Passage
from kinen.recall.candidates import Candidate, is_output
from kinen.recall.tiers import cited, item
from kinen.text import estimate, excerpt

COMPACT = 100
"""Tokens of a record where there is room for all of them: the rest is a `kinen show` away."""
LEAST = 24
"""Tokens below which nothing is worth its citation."""
HEADING = 8
"""Tokens of the heading above the hits, and of the remark on what was left out."""
TRIES = 4


def excerpts(
    question: str, candidates: Sequence[Candidate], room: int, limit: int = 0
) -> list[Item]:
    """The candidates in order, each with as much of it as helps to answer the question.

    At most `limit` of them, if it is not 0. All together take at most `room` tokens.
    """
    if not question.strip():
        return _beginnings(candidates, room - 2 * HEADING, limit)
    some = list(candidates)
    size = room - 2 * HEADING
    items: list[Item] = []
    for _ in range(TRIES):
        items = _fitted(question, some, size)
        if limit and len(items) > limit:
            best = {entry.ref for entry in items[:limit]}
            some = [entry for entry in some if _place(entry) in best]
            continue
        over = sum(entry.tokens for entry in items) + 2 * HEADING - room
        if over <= 0:
            return items
        size -= over
    return items[:limit] if limit else items


def _beginnings(candidates: Sequence[Candidate], room: int, limit: int) -> list[Item]:
    """The candidates in order, as many as fit, each by its first lines."""
    items: list[Item] = []
    for candidate in candidates[: limit or None]:
        lines = unwrapped(candidate.text).splitlines()
        entry = _item(candidate, first_lines(lines, COMPACT))
        if entry.tokens <= room:
            items.append(entry)
            room -= entry.tokens
    return items


def left_out(candidates: Sequence[Candidate], items: Sequence[Item]) -> list[Item]:
    """The candidates that have no item, as they would be shown in a few lines."""
    refs = {candidate.ref for candidate in items}
    return [
        _item(candidate, excerpt(candidate.text, 4 * COMPACT))
        for candidate in candidates
        if _place(candidate) not in refs
    ]


def _fitted(question: str, candidates: Sequence[Candidate], size: int) -> list[Item]:
    if size < LEAST or not candidates:
        return []
    by_ref = {entry.hit.record.ref: entry for entry in candidates}
    passages = [
        Passage(ref, entry.text, at=entry.hit.record.at, output=is_output(entry.hit))
        for ref, entry in by_ref.items()
    ]
    heads = {ref: [_citation(entry)] for ref, entry in by_ref.items()}
    if sum(map(_cost, candidates)) <= size:
        each = [_lines(question, entry, heads) for entry in passages]
        lines = [line for some in each for line in some]
    else:
        lines = choose(question, passages, heads, size)
    grouped: dict[str, list[str]] = {}
    for ref, line in lines:
        grouped.setdefault(ref, []).append(line)
    return [_item(by_ref[ref], "\n".join(texts)) for ref, texts in grouped.items()]


def _lines(question: str, passage: Passage, heads: dict[str, list[str]]) -> list[tuple[str, str]]:
    """The lines of one record: all of it if it is short, else what says the most."""
    if estimate(passage.text) <= COMPACT:
        return [(passage.ref, line) for line in passage.text.splitlines()]
    return choose(question, [passage], heads, COMPACT + estimate(heads[passage.ref][0]))


def _citation(candidate: Candidate) -> str:
    record = candidate.hit.record
    also = f" (also in {candidate.copies} more)" if candidate.copies else ""
    return cited(_place(candidate), record.at, candidate.hit.space) + also


def _cost(candidate: Candidate) -> int:
    return estimate(candidate.text) + estimate(_citation(candidate)) + 2


def _item(candidate: Candidate, text: str) -> Item:
    also = f" (also in {candidate.copies} more)" if candidate.copies else ""
    return item("hits", _place(candidate), text + also, like=candidate.hit)


def _place(candidate: Candidate) -> str:
    """The ref of a record; of a file with the line of what was found in it."""
    record = candidate.hit.record
    line = candidate.hit.chunk.start_line
    whole = record.kind in ("checkpoint", "plan", "commit")
    return f"{record.ref}:{line}" if record.path and line and not whole else record.ref
