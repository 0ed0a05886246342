"""The floor below which nothing is known about a question, whatever a search came up with.

A search always finds something that is nearest. Measured on real sessions (docs/decisions/0014):
questions that a memory can answer are nearer than 0.3 to some entry, or it has nearly all of
their words; questions about anything else are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kinen.model.records import Hit

UNKNOWN = "nothing is known about this"
LEAST_CHUNKS = 100
"""Chunks below which a missing word says little: whatever there is may be what is meant."""
NEAR = 0.3
"""Cosine from which on an entry has to do with a question, whatever its words are."""
FEW_MISSING = 0.25
"""Share of a question's words from which on too many are in no entry, if none is near."""
MOST_MISSING = 0.5
"""The share that has to be passed where no vectors were compared."""
NAMED = 5
"""Words that are named at most."""


def missing_words(counts: Mapping[str, int]) -> list[str]:
    """The words of a question that no entry has."""
    return [word for word, count in counts.items() if not count]


def is_known(counts: Mapping[str, int], hits: Iterable[Hit], chunks: int) -> bool:
    """Whether hits may have to do with a question, by its words and how near they are.

    `counts` says how many chunks have each word of the question, `chunks` how many there are.
    """
    if chunks < LEAST_CHUNKS or not counts:
        return True
    share = len(missing_words(counts)) / len(counts)
    cosines = [vote.score for hit in hits for vote in hit.votes if vote.retriever == "semantic"]
    if cosines:
        return max(cosines) >= NEAR or share < FEW_MISSING
    return share <= MOST_MISSING


def unknown_note(counts: Mapping[str, int]) -> str:
    """What is said then, with the words that are nowhere."""
    words = missing_words(counts)
    named = ", ".join(words[:NAMED]) + (" …" if len(words) > NAMED else "")
    return f"{UNKNOWN}: no entry has {named}" if words else UNKNOWN
