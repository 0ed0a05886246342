"""The records that a recall chooses lines from, with what later ones say about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from kinen.distill.blocks import unwrapped
from kinen.journal.shorten import without_cut, without_earlier
from kinen.model.records import Hit, Hits, Query
from kinen.recall import candidates, problems
from kinen.recall.lately import prose
from kinen.recall.states import Source, States

if TYPE_CHECKING:
    from kinen.index.reader import Reader
    from kinen.recall.candidates import Candidate

CLOSING = 48
"""The last messages of a session that tell how things stand at its end."""
SESSIONS = 6
"""Sessions whose end is looked at: those of the best hits."""
ENTRIES = ("observation", "summary", "memory")
"""Kinds that say how something stood when they were written."""


def candidates_of(
    reader: Reader, query: Query, hits: Hits, readable: Callable[[Hit], str]
) -> list[Candidate]:
    """The records of the hits with their text, what explains first, nothing twice.

    What did not last is left out, unless the question asks how things stood or what was wrong.
    """
    outdated = reader.outdated_summaries()
    latest = reader.last_messages({hit.record.session for hit in hits})
    texts: dict[str, Candidate] = {}
    for hit in candidates.in_order(hits, query.text):
        record = hit.record
        if record.ref in outdated or record.ref in texts:
            continue
        text = readable(hit)
        if record.path and not query.text.strip():
            text = prose(text)
        if record.kind == "summary" and query.text.strip():
            text = without_cut(text)
        later = record.at < latest.get(record.session, "")
        if later and record.kind in ("observation", "summary"):
            text = _lasting(hit, unwrapped(text), query.text)
        if text.strip():
            texts[record.ref] = candidates.Candidate(hit, text)
    if not query.text.strip():
        return candidates.folded(candidates.without_updates(texts.values()))
    return candidates.folded(_with_states(reader, list(texts.values()), query.text), query.text)


def _lasting(hit: Hit, text: str, question: str) -> str:
    """What an entry says that did not end with it, or that the question asks for."""
    if not candidates.names_passing(question):
        text = candidates.without_passing(text)
    if not problems.asks_problem(question):
        text = problems.without_problems(text, request=_is_request(hit))
    return text


def _is_request(hit: Hit) -> bool:
    return (hit.record.metadata or {}).get("role") == "user"


def _with_states(reader: Reader, collected: list[Candidate], question: str) -> Iterator[Candidate]:
    """Candidates without statements that no longer hold, and those left empty gone.

    Problems that the question may ask for are marked where something was done about them later.
    """
    messages = {item.hit.record.ref: _source(item) for item in collected if _is_told(item.hit)}
    sources = [*messages.values(), *_endings(reader, collected, messages.keys())]
    states = States(sources)
    repairs = problems.Repairs(sources if problems.asks_problem(question) else ())
    for item in collected:
        text = item.text
        if item.hit.record.kind in ENTRIES:
            text = _current(states, item)
            source = _source(item)._replace(text=text)
            text = repairs.marked(source, request=_is_request(item.hit))
        if text.strip():
            yield item._replace(text=text)


def _current(states: States, candidate: Candidate) -> str:
    """What a candidate says that still holds.

    Of what a summary says about requests before the last, everything else in it may be newer.
    """
    source = _source(candidate)
    text = states.current(source)
    if candidate.hit.record.kind == "summary":
        earlier = without_earlier(candidate.text)[1]
        text = f"{text}\n{states.current(Source(earlier, '', source.session))}"
    return text


def _source(candidate: Candidate) -> Source:
    record = candidate.hit.record
    text = candidate.text
    if record.kind == "summary":
        text = without_earlier(text)[0]
    return Source(text, record.at, record.session, shown=True)


def _is_told(hit: Hit) -> bool:
    """Whether an agent reports its work here; requests and output do not count."""
    if hit.record.kind == "summary":
        return True
    return (hit.record.metadata or {}).get("role") == "assistant"


def _endings(
    reader: Reader, collected: Iterable[Candidate], refs: Iterable[str]
) -> Iterator[Source]:
    """The last messages of the sessions that candidates are from."""
    parents = (str((item.hit.record.metadata or {}).get("parent", "")) for item in collected)
    sessions = list(dict.fromkeys(filter(None, parents)))[:SESSIONS]
    seen = set(refs)
    for parent in sessions:
        for message in reader.last_said(parent, CLOSING):
            if message.ref not in seen:
                yield Source(message.text, message.at, message.session)
