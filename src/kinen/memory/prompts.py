"""What belongs to a prompt, from other sessions and from files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kinen.journal import brief
from kinen.journal.ledger import cites
from kinen.model.records import Hits, Query, Record
from kinen.recall import prompts

if TYPE_CHECKING:
    from kinen.index.reader import Reader

WORDS = 16
"""Words of a prompt that are looked for: each costs time, and most come up again."""
MOST = 3
"""Entries that an agent is told."""
LENGTH = 220
"""Characters of each."""


def related(
    search: Callable[[Query], Hits],
    reader: Reader,
    prompt: str,
    session: str,
    budget: int,
    known: Sequence[str],
) -> prompts.Related:
    """What full text finds for a prompt, as an agent is told; refs in `known` it has already."""
    asked = prompts.subject_words(prompt, WORDS)
    if not prompts.asks_something(prompt):
        return prompts.Related()
    words = " ".join(asked)
    hits = search(Query(words, limit=4 * MOST, mode="fulltext", omitted=reader.code_kinds()))
    weights = prompts.weigh(asked, reader.document_counts(asked), reader.chunk_count())
    candidates = [
        prompts.Candidate(
            ref=hit.record.ref,
            text=prompts.best_part(hit.chunk.text, weights, LENGTH),
            relevant=_tells(hit.record) and prompts.is_relevant(hit.chunk.text, weights),
        )
        for hit in hits
        if hit.record.session != session
    ]
    chosen, dropped = prompts.choose(candidates, known, MOST)
    text = brief.related([(hit.ref, hit.text) for hit in chosen], budget)
    entries = tuple(hit.ref for hit in chosen if cites(text, hit.ref))
    dropped += [(hit.ref, "budget") for hit in chosen if hit.ref not in entries]
    return prompts.Related(text, entries, tuple(dropped))


def _tells(record: Record) -> bool:
    """Whether a record is worth showing: not tool output, and not a question."""
    if record.kind not in ("observation", "capsule"):
        return True
    about = record.metadata or {}
    return about.get("event") == "message" and about.get("role") == "assistant"
