"""The journal as a source: its new and changed entries as documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import tee
from typing import TYPE_CHECKING, Any

from kinen.journal import queries
from kinen.journal.authors import team_author, team_person
from kinen.journal.edits import Question, questions
from kinen.journal.mark import last_erasure, mark, snapshot
from kinen.journal.queries import Mark
from kinen.model.documents import Change, Delta, Document, Part, State
from kinen.model.journal import Capsule, Learned, Observation, Pin, Scope, Summary
from kinen.model.kinds import REDACTED
from kinen.model.records import Chunk, Record
from kinen.model.tuples import NamedTuple
from kinen.privacy.exclude import matching_glob
from kinen.sources.files.layout import session_of
from kinen.text import iso
from kinen.text.chunks import chunk_parts

if TYPE_CHECKING:
    import sqlite3

MARK = ""
"""The key of the state that records how far the index has read the journal."""
_CALL_IDS = ("toolUseId", "tool_use_id", "callId", "call_id")
THRESHOLD = 30
"""Tokens of user messages after which the next user message opens a segment."""
MOST = 80
"""Tokens of all kinds that a segment holds, unless a call and its result need more.

Both were chosen on a labelled set: docs/decisions/0007-journal.md.
"""

_RESULTS = ("error", "command")
_NODE_RESULTS = ("node_end", "node_output", "node_error")


class Entries:
    """The entries of the journal as documents: observations grouped into segments."""

    name = "journal"

    def __init__(
        self, path: str, *, size: int = 512, overlap: int = 50, excluded: tuple[str, ...] = ()
    ) -> None:
        """Observations of files that match a glob in `excluded` are left out."""
        self._excluded = excluded
        self._path = path
        self._size = size
        self._overlap = overlap
        self._db: sqlite3.Connection
        self._hidden: set[str] = set()
        self._person = ""
        self._questions: dict[str, Question] = {}

    def delta(self, states: Mapping[str, State]) -> Delta:
        """What was written or changed since the mark; everything if that is of another journal."""
        # One snapshot for all reads: other processes write meanwhile.
        self._db = snapshot(self._path)
        until = Mark(*mark(self._db))
        # How far an index has read; an index with other chunking rules starts again.
        state = states.get(MARK)
        parts = state.stamp.split("|") if state and state.digest == self._rules else []
        since = Mark(parts[0], int(parts[1]), int(parts[2])) if len(parts) == 3 else Mark("", 0, 0)
        anew = since.journal != until.journal or since[1:] > until[1:]
        if anew:
            since = Mark(until.journal, 0, 0)
            states = {}
        if since == until:
            self._db.close()
            return Delta(0, iter(()))
        self._hidden = queries.suppressed(self._db)
        self._person = team_person(self._db)
        self._questions = questions(self._db)
        changed = queries.changed(self._db, since, until)
        total = until.added - since.added + len(changed)
        changes = self._changes(states, since, until, changed)
        return Delta(total, changes, anew, last_erasure(self._db))

    @property
    def _rules(self) -> str:
        rules = f"2:{self._size}:{self._overlap}:{THRESHOLD}:{MOST}"
        return ":".join((rules, *self._excluded))

    def _changes(
        self, states: Mapping[str, State], since: Mark, until: Mark, changed: list[str]
    ) -> Iterator[Change]:
        rebuilt: dict[str, None] = {}
        """Capsules whose segments are cut again from the start."""
        for ref in changed:
            kind, _, id_ = ref.partition(":")
            if kind not in queries.KINDS:
                continue
            entry = queries.entry(self._db, kind, id_)
            if kind == "observation" and entry is not None and entry.capsule:
                rebuilt[entry.capsule] = None
                if entry.forgotten_at:
                    yield Change(ref, None, removed=True)
            else:
                yield self._change(ref, entry)
        for observation in queries.added(self._db, since, until):
            yield self._observed(observation, "")
        # Those of a capsule continue its last segment, unless one came before the last one.
        for capsule, first in queries.grown(self._db, since, until).items():
            if capsule in rebuilt:
                continue
            state = states.get(f"capsule:{capsule}")
            if state and state.digest and first <= _place(state.stamp):
                rebuilt[capsule] = None
            else:
                yield from self._segments(capsule, state)
        for capsule in rebuilt:
            yield from self._segments(capsule, None)
        yield Change(MARK, State("|".join(map(str, until)), self._rules))
        self._db.close()

    def _segments(self, capsule: str, state: State | None) -> Iterator[Change]:
        """The observations of a capsule from its last segment on, and its new state.

        The stamp of a state is the place of the last observation; the digest is the number of the
        last segment and the place where it begins.
        """
        start = last = (0, "")
        number = 0
        if state and state.digest:
            digits, _, place = state.digest.partition("|")
            start = _place(place)
            number = int(digits)
            last = _place(state.stamp)
        observations, events = tee(queries.stream(self._db, capsule, start))
        segments = segmented(map(_event, events))
        end = opening = ""
        current = -1
        for observation, segment in zip(observations, segments, strict=True):
            end = f"{observation.ts}|{observation.id}"
            if segment != current:
                current = segment
                opening = f"{number + segment}|{end}"
            if (observation.ts, observation.id) > last:
                yield self._observed(observation, f"{capsule}/{number + segment}")
        yield Change(f"capsule:{capsule}", State(end, opening))

    def _change(self, ref: str, entry: Any) -> Change:
        if entry is None or getattr(entry, "forgotten_at", False) or ref in self._hidden:
            return Change(ref, None, removed=True)
        kind = ref.partition(":")[0]
        if kind == "observation":
            return self._observed(entry, "")
        make: Any = {
            "capsule": self._capsule,
            "summary": self._summary,
            "pin": self._pin,
            "memory": self._memory,
        }[kind]
        return Change(ref, None, make(entry))

    def _observed(self, observation: Observation, segment: str) -> Change:
        if any(matching_glob(file, self._excluded) for file in observation.files):
            return Change(observation.ref, None, removed=True)
        metadata = {
            **observation.provenance,
            **_scope(observation.scope),
            "event": observation.kind,
            "branch": observation.branch,
            "head": observation.head,
            "files": list(observation.files),
            **self._by(observation.ref),
            "parent": f"capsule:{observation.capsule}" if observation.capsule else "",
        }
        session = observation.scope.session
        title = REDACTED if observation.redacted else ""
        record = _record(observation.ref, title, observation.ts, session, metadata)
        text = "" if observation.redacted else observation.content
        chunks = self._chunks(observation.ref, text)
        document = Document(record, chunks, segment=segment if len(chunks) == 1 else "")
        return Change(observation.ref, None, document)

    def _capsule(self, capsule: Capsule) -> Document:
        metadata = {
            **_scope(capsule.scope),
            "status": capsule.status,
            "reason": capsule.reason,
            "type": capsule.type,
            **self._by(capsule.ref),
            "closed_at": iso(capsule.closed_at / 1000) if capsule.closed_at else "",
            "parent": f"capsule:{capsule.parent}" if capsule.parent else "",
        }
        session = capsule.scope.session
        record = _record(capsule.ref, capsule.intent, capsule.opened_at, session, metadata)
        text = "" if capsule.intent == REDACTED else capsule.intent
        return Document(record, self._chunks(capsule.ref, text))

    def _summary(self, summary: Summary) -> Document:
        capsule: Capsule | None = queries.entry(self._db, "capsule", summary.capsule)
        metadata = {
            **(_scope(capsule.scope) if capsule else {}),
            "parent": f"capsule:{summary.capsule}",
            **self._by(summary.ref),
            "confidence": summary.confidence,
        }
        session = capsule.scope.session if capsule else ""
        title = capsule.intent if capsule and capsule.intent != REDACTED else ""
        title = REDACTED if summary.redacted else title
        record = _record(summary.ref, title, summary.created_at, session, metadata)
        text = "" if summary.redacted else summary.content
        return Document(record, self._chunks(summary.ref, text))

    def _pin(self, pin: Pin) -> Document:
        metadata = {
            **_scope(pin.scope),
            "parent": pin.target,
            **self._by(pin.ref),
            "expires_at": iso(pin.expires_at / 1000) if pin.expires_at else "",
        }
        record = _record(pin.ref, "", pin.created_at, pin.scope.session, metadata)
        return Document(record, self._chunks(pin.ref, "" if pin.note == REDACTED else pin.note))

    def _memory(self, memory: Learned) -> Document:
        from kinen.journal.memories import origin  # memories are rarely new in a search

        evidence = origin(self._db, memory)
        question = self._questions.get(memory.ref)
        metadata = {
            **_scope(memory.scope),
            "type": memory.type,
            "confidence": memory.confidence,
            "derived_from": list(memory.derived_from),
            "superseded_by": memory.superseded_by,
            **self._by(memory.ref),
            "edited": f"{question.author}, {question}" if question else "",
            "files": list(evidence.files),
            "symbols": list(evidence.symbols),
            "event": memory.type,
        }
        session = memory.scope.session or evidence.session or session_of_sources(memory)
        title = REDACTED if memory.redacted else ""
        record = _record(memory.ref, title, memory.created_at, session, metadata)
        text = "" if memory.redacted else memory.content
        return Document(record, self._chunks(memory.ref, text))

    def _by(self, ref: str) -> dict[str, str]:
        """The colleague who wrote an entry, and the machine; none for one's own."""
        author = team_author(self._db, ref, self._person) if self._person else None
        return {"by": str(author), "machine": author.machine} if author else {}

    def _chunks(self, ref: str, text: str) -> tuple[Chunk, ...]:
        if len(text) <= self._size and text.strip():
            return (Chunk(ref, 0, text),)  # a text never has more tokens than characters
        return chunk_parts([Part(text)], ref, size=self._size, overlap=self._overlap)


def session_of_sources(memory: Learned) -> str:
    """The session kept by hand whose rounds a memory was drawn from; empty if there is none."""
    sessions = (session_of(ref.partition(":")[2]) for ref in memory.derived_from)
    return next(filter(None, sessions), "")


def _event(observation: Observation) -> Event:
    provenance = observation.provenance
    key = next((str(provenance[name]) for name in _CALL_IDS if provenance.get(name)), "")
    user = observation.kind == "message" and provenance.get("role", "user") == "user"
    return Event(observation.id, observation.kind, len(observation.content) // 4 + 1, key, user)


def _record(ref: str, title: str, ms: int, session: str, metadata: dict[str, Any]) -> Record:
    return Record(
        ref=ref,
        kind=ref.partition(":")[0],
        title=title,
        path="",
        at=iso(ms / 1000),
        session=session,
        tags=(),
        metadata={key: value for key, value in metadata.items() if value not in ("", [], None)},
    )


def _scope(scope: Scope) -> dict[str, str]:
    return {"repo": scope.repo, "agent": scope.agent, "user": scope.user, "task": scope.task}


def _place(text: str) -> tuple[int, str]:
    ts, _, id_ = text.partition("|")
    return int(ts), id_


class Event(NamedTuple):
    """The properties of an observation that decide where segments are cut."""

    id: str
    kind: str
    tokens: int
    key: str = ""
    """Links a call to its result, such as a tool-use id."""
    user: bool = False
    """Is it a message by the user?"""


def segmented(
    events: Iterable[Event], *, threshold: int = THRESHOLD, most: int = MOST
) -> Iterator[int]:
    """The segment of each event, from 0.

    An exchange stays together, and so do a call and its result.
    """
    number = 0
    segment = _Segment()
    for event in events:
        if segment.ends(event, threshold, most):
            number += 1
            segment = _Segment()
        segment.add(event)
        yield number


class _Segment:
    """The state of the current segment."""

    __slots__ = ("keys", "last", "node", "total", "user_tokens")

    def __init__(self) -> None:
        self.last: Event | None = None
        self.total = 0
        self.user_tokens = 0
        self.keys: set[str] = set()
        self.node = False
        """Was a node without a key started?"""

    def add(self, event: Event) -> None:
        self.last = event
        self.total += event.tokens
        self.user_tokens += event.tokens if event.user else 0
        if event.key:
            self.keys.add(event.key)
        elif event.kind == "node_start":
            self.node = True

    def ends(self, event: Event, threshold: int, most: int) -> bool:
        """Does the next event open a new segment?"""
        # The result of a call may still come after a user message.
        if self.last is None or (event.user and self.last.kind in ("tool_call", "node_start")):
            return False
        if event.user and self.user_tokens >= threshold:
            return True
        return self.total + event.tokens > most and not self._is_result(event)

    def _is_result(self, event: Event) -> bool:
        """Is the event the result of a call in this segment?

        Calls run in parallel, so a result with a key need not follow directly.
        """
        if event.key:
            return event.key in self.keys
        if event.kind in _NODE_RESULTS:
            return self.node
        last = self.last
        after_call = last is not None and last.kind == "tool_call" and not last.key
        return event.kind in _RESULTS and after_call
