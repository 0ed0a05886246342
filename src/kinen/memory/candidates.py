"""The records that a recall chooses lines from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from kinen.journal.shorten import without_cut
from kinen.model.records import Hit, Hits, Query
from kinen.recall import candidates, typed
from kinen.recall.lately import prose
from kinen.recall.order import shared_words
from kinen.recall.turns import acceptance, asks, turns

if TYPE_CHECKING:
    from kinen.index.reader import Reader
    from kinen.recall.candidates import Candidate
    from kinen.recall.turns import Turn

OWN = ("fulltext", "phrase")
"""Votes for the cited observation of a segment; others are for all of it."""

PROPOSALS = 3
"""Messages in a row that end in a question, until the reply to the last of them is looked at."""

BESIDE = 4
"""Hits whose segments are looked at for further messages."""


def candidates_of(
    reader: Reader, query: Query, hits: Hits, readable: Callable[[Hit], str]
) -> list[Candidate]:
    """The records of the hits with their text, what explains first, nothing twice.

    A summary that a later one of its session follows is left out.
    """
    outdated = reader.outdated_summaries()
    texts: dict[str, Candidate] = {}
    replies = _Replies(reader, query, readable)
    every = (*hits, *_beside(reader, query, hits))
    for hit in candidates.in_order(every, query.text):
        record = hit.record
        if record.ref in outdated or record.ref in texts:
            continue
        text = readable(hit)
        if record.path and not query.text.strip():
            text = prose(text)
        if record.kind == "summary" and query.text.strip():
            text = without_cut(text)
        if text.strip():
            texts[record.ref] = replies.of(hit, text)
    if not query.text.strip():
        return candidates.folded(candidates.without_updates(texts.values()))
    # A memory repeats its source; where it is asked for, it stands for it and not the reverse.
    about = typed.subject(query.text)
    first = [entry for ref, entry in texts.items() if typed.answers(about, ref, entry.text)]
    return [*first, *candidates.folded(entry for entry in texts.values() if entry not in first)]


class _Replies:
    """What hits are shown with; the messages of each session are read once."""

    def __init__(self, reader: Reader, query: Query, readable: Callable[[Hit], str]) -> None:
        self._reader = reader
        self._query = query
        self._readable = readable
        self._turns: dict[str, dict[str, Turn]] = {}

    def of(self, hit: Hit, text: str) -> Candidate:
        """A hit as a candidate; of a message with what it accepts, and what came of it."""
        candidate = candidates.Candidate(hit, text)
        about = hit.record.metadata or {}
        parent = str(about.get("parent", ""))
        if about.get("event") != "message" or not self._query.text.strip() or self._query.as_of:
            return candidate
        if parent not in self._turns:
            self._turns[parent] = turns(self._reader.messages(parent))
        every = self._turns[parent]
        turn = every.get(hit.record.ref)
        if turn is None:
            return candidate
        if about.get("role") == "user":
            asked = self._message(hit, turn.asked)
            decision = acceptance(asked.text, text) if asked else ""
            answer = self._message(hit, turn.final)
            reply = self._settled(hit, answer, every, PROPOSALS) if answer else None
            return candidate._replace(text=decision or text, reply=reply)
        final = hit.record.ref == turn.final
        return self._settled(hit, candidate, every, PROPOSALS) if final else candidate

    def _settled(self, hit: Hit, final: Candidate, every: dict[str, Turn], depth: int) -> Candidate:
        """The last message of a turn; one that asks with the user's reply and what came of that.

        A proposal may be refused: what it says holds only with the reply to it.
        """
        following = every[final.hit.record.ref].following
        reply = self._message(hit, following) if depth else None
        decision = acceptance(final.text, reply.text) if reply else ""
        if reply is None or not (decision or asks(final.text)):
            return final
        then = self._message(hit, every[following].final)
        settled = self._settled(hit, then, every, depth - 1) if then else None
        return final._replace(reply=reply._replace(text=decision or reply.text, reply=settled))

    def _message(self, hit: Hit, ref: str) -> Candidate | None:
        """Another message of a hit's session as a candidate, if it is not too late."""
        record = self._reader.record(ref) if ref else None
        chunks = self._reader.between(ref, 0, 0)
        if record is None or not chunks or record.at > (self._query.until or record.at):
            return None
        votes = tuple(vote for vote in hit.votes if vote.retriever not in OWN)
        message = hit._replace(record=record, chunk=chunks[0], votes=votes, before=(), after=())
        text = self._readable(message)
        return candidates.Candidate(message, text) if text.strip() else None


def _beside(reader: Reader, query: Query, hits: Hits) -> Iterator[Hit]:
    """Messages in the segments of the best hits that have as many of the question's words.

    A search cites one observation of a segment: a prompt may have more words of the question than
    its answer, and of two answers the other one may be right.
    """
    if not query.text.strip() or query.kinds or query.events or query.as_of:
        return
    refs = {hit.record.ref for hit in hits}
    for hit in hits[:BESIDE]:
        segment = (*hit.before, hit.chunk, *hit.after) if hit.record.kind == "observation" else ()
        enough = max(1, len(shared_words(query.text, hit.chunk.text)))
        votes = tuple(vote for vote in hit.votes if vote.retriever not in OWN)
        for n, chunk in enumerate(segment):
            if chunk.ref in refs or len(shared_words(query.text, chunk.text)) < enough:
                continue
            record = reader.record(chunk.ref)
            if (
                record
                and (record.metadata or {}).get("event") == "message"
                and (query.since or "") <= record.at <= (query.until or record.at)
            ):
                yield hit._replace(
                    record=record,
                    chunk=chunk,
                    score=sum(vote.share for vote in votes),
                    votes=votes,
                    before=segment[:n],
                    after=segment[n + 1 :],
                )
