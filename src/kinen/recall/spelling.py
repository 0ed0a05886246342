"""Misspelled words of a question, corrected to words of the index."""

from __future__ import annotations

from kinen.embed.language import dictionary
from kinen.model.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kinen.ports import Index

SHORTEST = 5
"""Shorter words are within two letters of too many others."""
LONGEST = 40
MOST_WORDS = 16
"""Words of a question that are looked up."""
NEAR_STEMS = 20
"""Stems whose words are compared with what was typed."""
PART = 4
"""Letters that each half of a compound has at least: `clip` and `board`."""
ENDINGS = ("s", "es", "ed", "d", "ing", "ly", "er", "ers", "ion", "ions", "ment", "ness")


class Spelling(NamedTuple):
    """What to search for instead, and what might have been meant."""

    corrected: dict[str, str]
    """By the word as it was typed."""
    suggested: dict[str, str]
    """Words of the index that look like a word which is spelled right."""


def check(reader: Index, words: Sequence[str]) -> Spelling:
    """Compare the words that the index does not have with those it has, as they are written."""
    spelling = Spelling({}, {})
    counts = reader.document_counts(words[:MOST_WORDS])
    for word, stem in reader.stems(words[:MOST_WORDS]).items():
        if counts[word] or not SHORTEST <= len(word) <= LONGEST or not word.isalpha():
            continue
        near = nearest(reader, word, stem)
        if near:
            known = spelling.suggested if is_english(word) else spelling.corrected
            known[word] = near
    return spelling


def nearest(reader: Index, word: str, stem: str) -> str:
    """The word with the same first letter that is one or two letters from it, or nothing."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    counts = dict(reader.vocabulary(stem[0]))
    allowed = 1 if len(word) <= SHORTEST else 2
    stems = process.extract(
        stem, list(counts), scorer=OSA.distance, score_cutoff=allowed + 1, limit=NEAR_STEMS
    )
    candidates = []
    for candidate, _, _ in stems:
        written = reader.spelled(candidate, word)
        distance = OSA.distance(word, written)
        if distance <= allowed and written[:1] == word[:1]:
            candidates.append((distance, -counts[candidate], written))
    return min(candidates)[2] if candidates else ""


def is_english(word: str) -> bool:
    """Is it a common English word, perhaps with an ending, or put together from two?"""
    known = dictionary()
    bases = [word.removesuffix(ending) for ending in ENDINGS if word.endswith(ending)]
    if any(base in known or f"{base}e" in known for base in (word, *bases) if len(base) > 2):
        return True
    cuts = range(PART, len(word) - PART + 1)
    return any(word[:cut] in known and word[cut:] in known for cut in cuts)
