"""The hits of a recall before they are cut to a budget: what explains first, nothing twice.

A search finds steps on the way ("Let me check the logs") as easily as the message that explains
what was wrong. A recall is read instead of the session, so what a hit is worth by itself counts.
"""

from __future__ import annotations

from kinen.distill.blocks import blocks, sentences
from kinen.model.records import Hit, Hits, Record, Vote
from kinen.model.tuples import NamedTuple
from kinen.model.updates import BOT, dependency_of, updates_line
from kinen.text import lazy_pattern, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

WORTH = 0.1
"""The weight of what a hit is worth by itself, beside how well it fits the question."""
EXPLAINS = 0.3
"""The same where a question asks how something works."""
OUTCOME = 0.25
"""The weight of being a session's summary, where a question asks what it came to."""
OLDER = 0.85
"""What a summary is worth beside one that is newer."""
DERIVED = ("summary", "memory")
"""Kinds that repeat what was said before their own time."""
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
WORKED = ("summary", "checkpoint", "round")
"""Kinds that tell what was worked on."""
SHARE_OF_WORK = 4
"""Every fourth entry tells of work, however many commits are newer."""
MERGES = ("Merge pull request ", "Merge branch ", "Merge remote-tracking branch ")
"""Titles that git and GitHub give to merges."""
ENTRY = 80
"""Approximate tokens of an entry."""
_MARKUP = lazy_pattern(r"\s*(?:<!--.*-->|</?[A-Za-z][^<>]*>|:::.*|(?:import|export) .*[\"'{;])\s*")
"""A line of a note that only sets it up: HTML, directives, imports of MDX."""


class Candidate(NamedTuple):
    """A hit, the text that may be shown of it, and how many others say the same."""

    hit: Hit
    text: str
    copies: int = 0
    reply: Candidate | None = None
    """The message that it is shown with: what came of a prompt, or a user's reply to a question."""


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
    from kinen.text.closing import ends_in_step

    about = hit.record.metadata or {}
    on_the_way = about.get("role") == "assistant" and ends_in_step(hit.chunk.text)
    return 0.0 if on_the_way else worth(hit)


def is_only_step(hit: Hit) -> bool:
    """Is a hit a message of an agent that only announces what it does next?"""
    about = hit.record.metadata or {}
    if about.get("event") != "message" or about.get("role") != "assistant":
        return False
    from kinen.text.statements import is_step

    # The blocks that its lines are chosen from: a parser of markdown takes a recall 60 ms to load.
    return all(
        is_step(block.text[begin:end].strip())
        for block in blocks(hit.chunk.text)
        if block.kind == "prose"
        for begin, end in sentences(block.text)
    )


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
        times = {hit.record.ref: hit.record.at for hit in weighed if hit.record.kind == "summary"}
        newest = sorted(times, key=lambda ref: (times[ref], ref), reverse=True)
        values = {ref: OLDER**place for place, ref in enumerate(newest)}
        weighed = [
            _with_vote(hit, "outcome", values.get(hit.record.ref, 0.0), OUTCOME) for hit in weighed
        ]
    return sorted(weighed, key=lambda hit: (-hit.score, hit.record.ref, hit.chunk.n))


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


def folded(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Candidates without those that a newer one has word by word; it stands in place of the first.

    Summaries and memories repeat what others said. They stand for nobody, however new they are.
    """
    chosen: list[tuple[tuple[bool, str, str], Candidate, str]] = []
    for candidate in candidates:
        record = candidate.hit.record
        time = record.kind not in DERIVED, record.at, record.ref
        own = time, candidate, f" {' '.join(words(candidate.text.lower()))} "
        for place, other in enumerate(chosen):
            older, newer = (own, other) if time <= other[0] else (other, own)
            if _repeats(older[1], older[2], newer[2]):
                copies = 1 + candidate.copies + other[1].copies
                chosen[place] = newer[0], newer[1]._replace(copies=copies), newer[2]
                break
        else:
            chosen.append(own)
    return [candidate for _, candidate, _ in chosen]


def _repeats(older: Candidate, text: str, other: str) -> bool:
    """Does an entry, whose words are `text`, say nothing that those of a newer one do not say, too?

    Word by word, but for a label such as `Outcome:` before what was drawn from others: texts that
    differ in one word may differ in what they are about.
    """
    if text in other:
        return True
    label, _, rest = text.strip().partition(" ")
    if older.hit.record.kind not in DERIVED or not rest or f" {rest} " not in other:
        return False
    from kinen.text.labels import label_of

    return bool(label_of(label))


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


def without_routine(hits: Hits) -> Hits:
    """The hits without merges, which repeat what they brought, and without commits of bots.

    Updates of dependencies stay: they become one line. If bots made every commit, all stay.
    """
    merged = [hit for hit in hits if not hit.record.title.startswith(MERGES)]
    chosen = [hit for hit in merged if not by_bot(hit.record)] or merged
    return Hits(tuple(chosen), hits.query, hits.mode, hits.notes)


def by_bot(record: Record) -> bool:
    """Whether a bot made a commit that is more than an update of a dependency."""
    author = str((record.metadata or {}).get("author", ""))
    return author.endswith(BOT) and not dependency_of(record.title)


def prose(text: str) -> str:
    """The beginning of a note as a reader sees it, without lines that only set it up."""
    lines = (line for line in text.splitlines() if not _MARKUP.fullmatch(line))
    return "\n".join(lines)


def with_work(hits: Hits, worked: Hits, count: int) -> Hits:
    """The latest hits, of which `count` are displayed, with the latest work among them."""
    first = {hit.record.ref for hit in hits[:count]}
    absent = [
        hit for hit in worked[: max(1, count // SHARE_OF_WORK)] if hit.record.ref not in first
    ]
    if not absent:
        return hits
    chosen = (*hits[: max(0, count - len(absent))], *absent)
    latest = sorted(chosen, key=lambda hit: hit.record.at, reverse=True)
    return Hits(tuple(latest), hits.query, hits.mode, hits.notes)
