"""An answer to a question: its text, with the sources that it cites by number."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from kinen.distill.blocks import sentences, stems, unwrapped
from kinen.model.journal import Item
from kinen.model.records import Vote
from kinen.recall.candidates import Candidate
from kinen.recall.excerpts import asks, replies_of, said_by
from kinen.recall.order import is_question
from kinen.recall.tiers import also

PROPOSED = "proposed: "
"""Begins what a message states that ended in a question, and that a reply settled."""
NO_SOURCE = "not among the sources"
TOO_FAR = "too far from the question"
SHARED = 0.5
"""The share of a question's words that a source has, from which on it may answer it."""
NEAR = 0.5
"""The likeness in meaning from which on it may, whatever its words."""
_REF = re.compile(
    r"(?<![ \t])[ \t]*+\[((?:observation|summary|memory|capsule|pin|note|round|artifact|checkpoint"
    r"|plan|resource|file|commit):[^\[\]\n]{1,400})\]"
)


@dataclass(frozen=True, slots=True)
class Citation:
    """A source of an answer."""

    number: int
    ref: str
    title: str
    at: str


@dataclass(frozen=True, slots=True)
class Omission:
    """A source that an answer does not have, and why."""

    ref: str
    reason: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known about a question; without text, nothing is."""

    question: str
    text: str = ""
    citations: tuple[Citation, ...] = ()
    distiller: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cached: bool = False
    dropped: tuple[Omission, ...] = ()
    notes: tuple[str, ...] = ()


class Numbering:
    """Puts numbers in the place of refs; a ref that is not among the sources is taken away."""

    def __init__(self, sources: Iterable[str]) -> None:
        self._sources = set(sources)
        self.numbers: dict[str, int] = {}
        self.removed: dict[str, None] = {}

    def __call__(self, text: str) -> str:
        return _REF.sub(self._number, text)

    def _number(self, match: re.Match[str]) -> str:
        ref = match[1]
        if ref not in self._sources:
            self.removed[ref] = None
            return ""
        number = self.numbers.setdefault(ref, len(self.numbers) + 1)
        return match[0].replace(ref, str(number))


def cited_sentences(text: str, sources: Container[str]) -> list[tuple[str, tuple[str, ...]]]:
    """The sentences of a digest that cite a source, without marks of a list, and what they cite.

    What is cited after the end of a sentence belongs to it.
    """
    rows: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        item = line.strip().removeprefix("- ")
        before = len(rows)
        for begin, end in sentences(item):
            piece = item[begin:end].strip()
            while (citation := _REF.match(piece)) and len(rows) > before:
                rows[-1][1].append(citation[1])
                piece = piece[citation.end() :].lstrip(" .")
            if piece:
                rows.append((_REF.sub("", piece).strip(), _REF.findall(piece)))
    pairs = (
        (sentence, tuple(ref for ref in dict.fromkeys(refs) if ref in sources))
        for sentence, refs in rows
    )
    return [(sentence, refs) for sentence, refs in pairs if sentence and refs]


def statements(text: str, *, headings: bool = False) -> str:
    """A text without what it asks; with `headings`, those that ask something stay."""
    lines: list[str] = []
    for line in text.splitlines():
        spans = [line[begin:end] for begin, end in sentences(line)]
        stated = [sentence for sentence in spans if not is_question(sentence)]
        heading = headings and line.lstrip().startswith("#")
        if heading or len(stated) == len(spans):
            lines.append(line)
        elif any(map(str.isalnum, "".join(stated))):
            lines.append(" ".join(stated))
    return "\n".join(lines)


def answering(candidates: Iterable[Candidate], question: str) -> tuple[list[Candidate], list[str]]:
    """The candidates that may answer a question, and the refs of the others.

    A prompt never does: the message that ended its turn stands in its place. Nor do other texts by
    what they ask: it is what they state that has to do with the question. What a message states
    that ends in a question is a proposal, and is answered by the user's reply.
    """
    near: dict[str, Candidate] = {}
    far: list[str] = []
    for candidate in candidates:
        prompt = (candidate.hit.record.metadata or {}).get("role") == "user"
        answer = _stated(candidate.reply if prompt else candidate)
        texts = [entry.text for entry in (answer, *replies_of(answer))] if answer else []
        text = "\n".join([candidate.text, *texts] if prompt else texts)
        own = unwrapped(candidate.text)
        questions = not prompt and statements(own, headings=True) != own
        votes = () if questions else candidate.hit.votes
        if answer and supports(votes, text, question):
            near.setdefault(answer.hit.record.ref, answer)
        else:
            far.append(candidate.hit.record.ref)
    return list(near.values()), [ref for ref in far if ref not in near]


def _stated(answer: Candidate | None) -> Candidate | None:
    """What a message and the replies to it state; None if they only ask."""
    if answer is None:
        return None
    text = unwrapped(answer.text)
    stated = statements(text, headings=True)
    reply = _stated(answer.reply)
    if not stated.strip():
        return reply and reply._replace(text=said_by(reply) + reply.text)
    if reply and asks(text):
        stated = f"{PROPOSED}{stated.lstrip()}"
    return answer._replace(text=stated, reply=reply)


def supports(votes: Iterable[Vote], text: str, question: str) -> bool:
    """May a text answer a question? It has enough of its words, or is near in meaning."""
    needed = set(stems(question))
    near = (vote.score for vote in votes if vote.retriever == "semantic")
    enough = SHARED * max(1, len(needed))
    return len(needed & set(stems(text))) >= enough or max(near, default=0.0) >= NEAR


def quoted(items: Iterable[Item], refs: Mapping[str, str]) -> str:
    """Excerpts as a list, each with the ref of its source behind its first line."""
    lines: list[str] = []
    for item in items:
        first, *rest = [line for line in item.text.splitlines() if line.strip()] or [""]
        lines.append(f"- {first.strip()} [{refs.get(item.ref, item.ref)}]{also(item.copies)}")
        lines += [f"  {line}" for line in rest]
    return "\n".join(lines)
