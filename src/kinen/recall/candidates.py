"""The hits of a recall before they are cut to a budget: what explains first, nothing twice.

A search finds steps on the way ("Let me check the logs") as easily as the message that explains
what was wrong. A recall is read instead of the session, so what a hit is worth by itself counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kinen.journal.closing import ends_in_step
from kinen.journal.statements import is_step, spoken
from kinen.model.records import Hit, Vote
from kinen.model.tuples import NamedTuple
from kinen.model.updates import dependency_of, updates_line
from kinen.text import lazy_pattern, terms

WORTH = 0.1
"""The weight of what a hit is worth by itself, beside how well it fits the question."""
EXPLAINS = 0.3
"""The same where a question asks how something works."""
OUTCOME = 0.25
"""The weight of being a session's summary, where a question asks what it came to."""
OLDER = 0.85
"""What a summary is worth beside one that is newer."""
ALIKE = 0.8
"""The share of words in common from which on two texts say the same."""
MOST_TERMS = 400
LONG = 200
"""Characters from which on a message explains more than it announces."""
KINDS: Mapping[str, float] = {
    "checkpoint": 1.0,
    "memory": 0.9,
    "summary": 0.9,
    "round": 0.8,
    "artifact": 0.8,
    "note": 0.7,
    "resource": 0.7,
    "plan": 0.7,
    "commit": 0.6,
    "capsule": 0.2,
}
EVENTS: Mapping[str, float] = {
    "node_end": 0.6,
    "node_output": 0.6,
    "error": 0.5,
    "command": 0.4,
    "file_diff": 0.3,
    "tool_call": 0.1,
}
_LEFT = "tasks?|items?|work|changes|commits?|reviews?|approval|merge|issues?|steps?|phases?|gaps?"
_PASSING = lazy_pattern(
    r"(?i)\b(?:in[ _-]progress|(?:is|are|was|were|still|now|remains?) pending"
    rf"|(?:pending|remaining) (?:\w+ )?(?:{_LEFT})\b|\d remaining"
    r"|not (?:yet )?(?:started|done|committed|pushed|implemented|closed)"
    r"|still (?:open|needed|needs?|to do|missing|failing|has to|have to)|next (?:task|step|up)\b"
    r"|left to do|to be done|(?-i:TODO)|currently (?:working|failing|blocked)"
    r"|(?:am|is|are|still|now|just) waiting for|\(open\b|is open\b)"
    r"|(?:^|[:(|,\[*_`])\W{0,4}(?:pending|remaining|to-?do|waiting for)\b|\bpending\W*$"
)
"""Says how something stood at the time, which what came after may have changed."""
_PART = lazy_pattern(
    r"(?<![\w.,/:-])(\d{1,6}) (?:out )?of (?:the |all |about |roughly |some |~)?(\d{1,6})\+?"
    r"(?![\w.,/:-]*\d)"
)
"""A part of a whole: `35 of about 120`."""
_ASKS_OUTCOME = lazy_pattern(
    r"(?i)\b(?:finish(?:ed)?|done|completed?|(?:did|how|when|session|work)\b.{0,60}\bend(?:ed)?"
    r"|in the end|by now|so far|outcome|what(?:'s| is| comes)? next|next steps?|remain\w*"
    r"|uncommitted|not (?:yet )?(?:committed|pushed|merged|done)|pushed|pending|to do"
    r"|follow[- ]?ups?|offer(?:ed)?|pull request"
    r"|how many\b.{0,40}\btests|tests?\b.{0,40}\bpass\w*|passing\b.{0,40}\btests?)\b"
)
"""Asks how something ended, how it stands, or what is left of it."""


_ASKS_EXPLANATION = lazy_pattern(
    r"(?i)^\W*(?:so )?(?:how (?:do|does|did) .{2,80}\bworks?\b|explain\b|describe\b"
    r"|what does .{2,80}\bdo\b)"
)


class Candidate(NamedTuple):
    """A hit, the text that may be shown of it, and how many others say the same."""

    hit: Hit
    text: str
    copies: int = 0


def worth(hit: Hit) -> float:
    """How much a hit tells by itself, from 0 for a mere step to 1."""
    if hit.record.kind != "observation":
        return KINDS.get(hit.record.kind, 0.5)
    about = hit.record.metadata or {}
    event = str(about.get("event", ""))
    if event != "message":
        return EVENTS.get(event, 0.3)
    if about.get("role") != "assistant":
        return 0.7
    if is_only_step(hit):
        return 0.0
    return 1.0 if len(hit.chunk.text) > LONG else 0.7


def _explains(hit: Hit) -> float:
    """How much a hit explains: a message that ends in the next step was said on the way to it."""
    about = hit.record.metadata or {}
    on_the_way = about.get("role") == "assistant" and ends_in_step(hit.chunk.text)
    return 0.0 if on_the_way else worth(hit)


def is_only_step(hit: Hit) -> bool:
    """Is a hit a message of an agent that only announces what it does next?"""
    about = hit.record.metadata or {}
    if about.get("event") != "message" or about.get("role") != "assistant":
        return False
    return all(is_step(sentence) for sentence in spoken(hit.chunk.text))


def is_output(hit: Hit) -> bool:
    """Is a hit what a tool was called with or printed, and no message?"""
    return hit.record.kind == "observation" and (hit.record.metadata or {}).get("event") in EVENTS


def in_order(hits: Iterable[Hit], question: str) -> list[Hit]:
    """By fit and worth for a question; without one as they came, the newest first."""
    if not question.strip():
        return list(hits)
    if _ASKS_EXPLANATION.search(question):
        weighed = [_with_vote(hit, "worth", _explains(hit), EXPLAINS) for hit in hits]
    else:
        weighed = [_with_vote(hit, "worth", worth(hit), WORTH) for hit in hits]
    if asks_outcome(question):
        values = _newest_summaries(weighed)
        weighed = [
            _with_vote(hit, "outcome", values.get(hit.record.ref, 0.0), OUTCOME) for hit in weighed
        ]
    return sorted(weighed, key=lambda hit: (-hit.score, hit.record.ref, hit.chunk.n))


def _newest_summaries(hits: Iterable[Hit]) -> dict[str, float]:
    """Summaries with 1 for the newest and less for each that is older."""
    times = {hit.record.ref: hit.record.at for hit in hits if hit.record.kind == "summary"}
    newest = sorted(times, key=lambda ref: (times[ref], ref), reverse=True)
    return {ref: OLDER**place for place, ref in enumerate(newest)}


def _with_vote(hit: Hit, name: str, value: float, weight: float) -> Hit:
    """A hit with one more vote, which takes its weight from the others."""
    votes = [vote._replace(share=vote.share * (1 - weight)) for vote in hit.votes]
    votes.append(Vote(name, 0, value, weight * value))
    return hit._replace(score=sum(vote.share for vote in votes), votes=tuple(votes))


def asks_outcome(question: str) -> bool:
    """Does a question ask what a session came to, or how things stand?"""
    return bool(_ASKS_OUTCOME.search(question))


def may_answer(question: str, hit: Hit) -> bool:
    """May a hit that is weak by its words answer because of what it is?

    A message of an agent explains in words of its own; a summary says what a session came to.
    """
    if hit.record.kind == "summary":
        return asks_outcome(question)
    about = hit.record.metadata or {}
    return about.get("event") == "message" and about.get("role") == "assistant"


def folded(candidates: Iterable[Candidate], question: str = "") -> list[Candidate]:
    """Texts that say the same become one: the newest, at the place of the first.

    With a question, a memory gives way to what it was drawn from. Texts that differ in a word of
    the question do not say the same.
    """
    question_terms = frozenset(terms(question))
    chosen: list[Candidate] = []
    word_sets: list[frozenset[str]] = []
    for candidate in candidates:
        words = frozenset(terms(candidate.text, MOST_TERMS))
        alike = (n for n, other in enumerate(word_sets) if _alike(words, other, question_terms))
        place = next(alike, -1)
        if place < 0:
            chosen.append(candidate)
            word_sets.append(words)
            continue
        first = chosen[place]
        both = (first, candidate)
        sources = [entry for entry in both if entry.hit.record.kind != "memory"]
        chosen[place] = max(
            sources if question_terms and sources else both,
            key=lambda entry: (entry.hit.record.at, entry.hit.record.ref),
        )._replace(copies=first.copies + 1)
    return chosen


def without_updates(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Candidates in which the commits that only update a dependency are one."""
    chosen: list[Candidate] = []
    dependencies: list[str] = []
    place = 0
    for candidate in candidates:
        record = candidate.hit.record
        dependency = dependency_of(record.title) if record.kind == "commit" else ""
        if dependency:
            place = place if dependencies else len(chosen)
            dependencies.append(dependency)
        if not dependency or len(dependencies) == 1:
            chosen.append(candidate)
    if len(dependencies) > 1:
        text = f"{updates_line(dependencies)} ×{len(dependencies)}"
        chosen[place] = chosen[place]._replace(text=text)
    return chosen


def _alike(words: frozenset[str], others: frozenset[str], question_terms: frozenset[str]) -> bool:
    return (
        len(words & others) >= ALIKE * len(words | others) and not (words ^ others) & question_terms
    )


def without_passing(text: str) -> str:
    """A text without lines that say how something stood when more was yet to come."""
    lines = [line for line in text.splitlines() if not _is_passing(line)]
    return "\n".join(lines)


def _is_passing(line: str) -> bool:
    """Does a line say that something is left, or how much of it was done?"""
    parts = (int(match[1]) < int(match[2]) for match in _PART.finditer(line))
    return bool(_PASSING.search(line)) or any(parts)


def names_passing(question: str) -> bool:
    """Does a question ask how things stand or what is left?"""
    return bool(_PASSING.search(question))
