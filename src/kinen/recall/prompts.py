"""What belongs to a prompt: whether it asks for anything, and which hits are worth its context."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import log

from kinen.distill.blocks import stems
from kinen.model.tuples import NamedTuple
from kinen.recall.spelling import is_english
from kinen.text import excerpt, terms

LEAST_WORDS = 2
"""Telling words of a prompt below which it is an answer or a nod, and no request."""
READ = 2_000
"""Characters of a prompt that are looked at: what follows is pasted."""
RARE = 0.02
"""Share of all chunks in which a word is at most that tells what a prompt is about."""
RARE_AT_LEAST = 20
"""Chunks that a rare word may be in, however small the index is."""
LEAST_RARE = 2
"""Rare words that a hit shares with the prompt, one of them a name or a term of the trade."""
LEAST_PLAIN = 4
"""Rare words that it shares where all of them are plain English."""
LEAST_SHARE = 0.5
"""Share of the prompt's weight that a hit has in its words."""
NEARLY_ALL = 0.95
"""The share from which two rare words are enough, whatever they are."""
REQUEST = "**Intent**"
"""How the line of a summary begins that says what was asked: it is no answer."""
FILLERS = frozenset(
    """yes yep yeah no nope ok okay sure fine good great nice perfect cool right thanks thank thx
    please continue proceed go ahead next done stop wait again try retry now also well let lets
    do does did make made get got want need like think see look looks check run test tests fix
    add change update use using implement create write read file files code work works working
    commit push pull merge review start begin finish keep going start plan step steps option one
    two three first second last all everything anything something more less same other another
    new old still already just only think maybe sorry help know tell show explain give put take
    rebase rebased conflict conflicts main master latest comment comments reply message question
    agent agents session branch repo project issue task bug error errors problem""".split()
)
"""Words of any request, which say nothing about its subject."""


class Related(NamedTuple):
    """What an agent is told with a prompt, and what it is not told and why."""

    text: str = ""
    entries: tuple[str, ...] = ()
    """Refs that the text cites."""
    dropped: tuple[tuple[str, str], ...] = ()
    """Refs that were found and left out, each with the reason."""


class Candidate(NamedTuple):
    """A hit for a prompt."""

    ref: str
    text: str
    relevant: bool
    """Whether it shares enough with the prompt."""


def choose(
    candidates: Iterable[Candidate], known: Iterable[str], most: int
) -> tuple[list[Candidate], list[tuple[str, str]]]:
    """The candidates to tell, at most `most`, and the others, each with the reason.

    Refs in `known` are in the agent's context already.
    """
    in_context = set(known)
    texts: set[str] = set()
    chosen: dict[str, Candidate] = {}
    dropped: dict[str, str] = {}
    for candidate in candidates:
        ref = candidate.ref
        if ref in chosen:
            continue
        if not candidate.relevant:
            dropped.setdefault(ref, "unrelated")
        elif ref in in_context:
            dropped[ref] = "told before"
        elif candidate.text in texts:
            dropped[ref] = "same text"
        elif len(chosen) >= most:
            dropped[ref] = "limit"
        else:
            chosen[ref] = candidate
            texts.add(candidate.text)
            dropped.pop(ref, None)
    return list(chosen.values()), list(dropped.items())


def subject_words(prompt: str, most: int) -> tuple[str, ...]:
    """The words that say what a prompt is about, at most `most`."""
    found = (word for word in terms(prompt[:READ], 4 * most) if word not in FILLERS)
    telling = [word for word in found if len(word) > 2 and not word.isdigit()]
    return tuple(telling[:most])


def asks_something(prompt: str) -> bool:
    """Does a prompt say what it is about? "yes", "continue" and "thanks, commit it" do not."""
    return len(subject_words(prompt, LEAST_WORDS)) >= LEAST_WORDS


class Weights(NamedTuple):
    """The words of a prompt by stem, each with its weight; those that are rare; and of these the
    ones that are no plain English: names, identifiers, terms of the trade.
    """

    by_stem: Mapping[str, float]
    rare: frozenset[str]
    names: frozenset[str]


def weigh(words: Iterable[str], counts: Mapping[str, int], chunks: int) -> Weights:
    """Weigh words by how rare they are among all `chunks`; one in no chunk weighs nothing."""
    by_stem: dict[str, float] = {}
    rare = set()
    names = set()
    for word in words:
        count = counts.get(word, 0)
        for stem in stems(word):
            by_stem[stem] = log(1 + chunks / count) if count else 0.0
            if 0 < count <= max(RARE_AT_LEAST, RARE * chunks):
                rare.add(stem)
                if not is_english(word):
                    names.add(stem)
    return Weights(by_stem, frozenset(rare), frozenset(names))


def is_relevant(text: str, weights: Weights) -> bool:
    """Does a text share enough of what a prompt is about?"""
    total = sum(weights.by_stem.values())
    shared = set(stems(text)) & weights.by_stem.keys()
    weight = sum(weights.by_stem[stem] for stem in shared)
    count = len(shared & weights.rare)
    if count >= LEAST_RARE and weight >= NEARLY_ALL * total:
        return True
    least = LEAST_RARE if shared & weights.names else LEAST_PLAIN
    return count >= least and weight >= LEAST_SHARE * total


def best_part(text: str, weights: Weights, length: int) -> str:
    """The lines of a text, one after the other, that share the most with a prompt."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(REQUEST)]
    if not lines:
        return ""
    values = [sum(weights.by_stem.get(stem, 0.0) for stem in set(stems(line))) for line in lines]
    best = max(range(len(lines)), key=lambda place: (values[place], -place))
    chosen = [lines[best]]
    for line in lines[best + 1 :]:
        if sum(map(len, chosen)) + len(line) > length:
            break
        chosen.append(line)
    return excerpt(" ".join(chosen), length)
