"""Answers to questions, with the sources that they cite."""

from __future__ import annotations

from collections.abc import Callable

from kinen.errors import QueryError
from kinen.memory.core import Core
from kinen.memory.recall import Recaller, digest_of
from kinen.model.journal import Digest, Passage
from kinen.model.records import Query
from kinen.query import storable_query
from kinen.recall.answer import (
    NO_SOURCE,
    TOO_FAR,
    Answer,
    Citation,
    Numbering,
    Omission,
    answering,
    quoted,
    statements,
)
from kinen.recall.candidates import Candidate
from kinen.recall.clip import compact
from kinen.recall.excerpts import excerpts, replies_of, said_by
from kinen.recall.order import REPLY, fewest
from kinen.render.text import hit_title
from kinen.text import estimate, excerpt

ENTRIES = 8
"""Sources that an answer without a model quotes at most."""
READ = 20
"""Sources that a model reads."""
PASSAGE = 400
"""Tokens of each."""
HITS = 40
TITLE = 100


class Answers:
    """Questions answered from memory."""

    def __init__(self, core: Core, recaller: Recaller) -> None:
        self._core = core
        self._recaller = recaller

    def ask(
        self,
        question: str,
        *,
        budget: int = 0,
        distiller: str = "configured",
        on_line: Callable[[str], None] | None = None,
    ) -> Answer:
        """An answer that cites its sources by number; without text where nothing is known.

        The distiller is `configured`, `auto`, `extract`, `claude`, `gemini` or `ollama`. `on_line`
        is given the lines of the answer while they arrive, if the distiller can stream.
        """
        if not question.strip():
            raise QueryError("the question is empty", "say what you want to know")
        if budget < 0:
            raise QueryError(f"a budget of {budget} tokens holds nothing", "use 1 or more")
        query = storable_query(Query(question))
        room = budget or self._core.config.distill.budget
        recalled = self._recaller.collect(query, room, HITS)
        notes = (*recalled.notes, *recalled.hits.notes)
        candidates = self._recaller.candidates(query, recalled.hits)
        near, far = answering(candidates, query.text)
        dropped = [Omission(ref, TOO_FAR) for ref in far]
        if not near:
            return Answer(query.text, dropped=tuple(dropped), notes=notes)
        numbering = Numbering(candidate.hit.record.ref for candidate in near)
        tell = (lambda line: on_line(numbering(line))) if on_line else None
        digest = self._answer_digest(query.text, near, room, distiller, tell)
        text = numbering(digest.text)
        dropped += [Omission(ref, NO_SOURCE) for ref in numbering.removed]
        notes = (*notes, *digest.notes)
        if not numbering.numbers:
            return Answer(query.text, distiller=digest.by, dropped=tuple(dropped), notes=notes)
        return Answer(
            question=query.text,
            text=text,
            citations=_citations(numbering, near),
            distiller=digest.by,
            tokens_in=digest.tokens_in,
            tokens_out=digest.tokens_out,
            cached=digest.cached,
            dropped=tuple(dropped),
            notes=notes,
        )

    def _answer_digest(
        self,
        question: str,
        candidates: list[Candidate],
        room: int,
        distiller: str,
        on_line: Callable[[str], None] | None,
    ) -> Digest:
        passages = [
            Passage(
                candidate.hit.record.ref,
                compact(_whole(candidate), question, PASSAGE),
                candidate.hit.record.title,
                candidate.hit.record.at,
            )
            for candidate in candidates[:READ]
        ]
        return digest_of(
            self._core,
            question,
            passages,
            room,
            distiller,
            without_model=lambda: _quotation(question, candidates, room),
            on_line=on_line,
        )


def _citations(numbering: Numbering, candidates: list[Candidate]) -> tuple[Citation, ...]:
    """The sources that an answer cites, by their numbers."""
    hits = {candidate.hit.record.ref: candidate.hit for candidate in candidates}
    return tuple(
        Citation(number, ref, excerpt(hit_title(hits[ref]), TITLE), hits[ref].record.at)
        for ref, number in numbering.numbers.items()
    )


def _quotation(question: str, candidates: list[Candidate], room: int) -> Digest:
    """What the candidates state, in lines as of a recall: no more than answers the question."""
    sessions = {candidate.hit.record.ref: candidate.hit.record.session for candidate in candidates}
    items = [
        item._replace(text=statements(item.text), session=sessions.get(item.ref, ""))
        for item in excerpts(question, candidates, room, ENTRIES)
    ]
    items = fewest(question, [item for item in items if item.text.strip()])
    # An excerpt of a file has a line behind the ref of its record.
    refs = {
        item.ref: item.ref if item.ref in sessions else item.ref.rpartition(":")[0]
        for item in items
    }
    text = quoted(items, refs)
    read = sum(estimate(candidate.text) for candidate in candidates)
    return Digest(text, "extract", tuple(refs.values()), read, estimate(text))


def _whole(candidate: Candidate) -> str:
    """A source as a model reads it: a proposal with the replies that settled it."""
    replies = (f"{REPLY} {said_by(reply)}{reply.text}" for reply in replies_of(candidate))
    return "\n".join((candidate.text, *replies))
