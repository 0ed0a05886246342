"""The journal as a source: what is new in it since the index last looked, as documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinen.journal import queries
from kinen.journal.origin import origin
from kinen.journal.queries import Mark
from kinen.journal.write import mark, snapshot
from kinen.markdown.chunks import chunk_parts
from kinen.model.kinds import REDACTED
from kinen.model.records import Change, Chunk, Delta, Document, Part, Record, State
from kinen.sources.journal.segments import MOST, THRESHOLD, Event, cut
from kinen.text import iso

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping

    from kinen.model.journal import Capsule, Learned, Observation, Pin, Scope, Summary

MARK = ""
"""The key under which an index remembers how far it has followed."""
_CALL_IDS = ("toolUseId", "tool_use_id", "callId", "call_id")


class Entries:
    """The journal's entries as records: observations in the segments of their capsule."""

    name = "journal"

    def __init__(self, path: str, *, size: int = 512, overlap: int = 50) -> None:
        self._path = path
        self._size, self._overlap = size, overlap
        self._db: sqlite3.Connection
        self._hidden: set[str] = set()

    def delta(self, known: Mapping[str, State]) -> Delta:
        """What was written or changed since the mark; everything, if it is of another journal."""
        # One snapshot for all that is read here: others write meanwhile.
        self._db = snapshot(self._path)
        until = Mark(*mark(self._db))
        since = _mark(known.get(MARK), self._rules)
        anew = since.journal != until.journal or since[1:] > until[1:]
        if anew:
            since, known = Mark(until.journal, 0, 0), {}
        if since == until:
            self._db.close()
            return Delta(0, iter(()))
        self._hidden = queries.suppressed(self._db)
        changed = queries.changed(self._db, since, until)
        total = until.added - since.added + len(changed)
        return Delta(total, self._changes(known, since, until, changed), anew)

    @property
    def _rules(self) -> str:
        return f"{self._size}:{self._overlap}:{THRESHOLD}:{MOST}"

    def _changes(
        self, known: Mapping[str, State], since: Mark, until: Mark, changed: list[str]
    ) -> Iterator[Change]:
        torn: dict[str, None] = {}
        for ref in changed:
            kind, _, id_ = ref.partition(":")
            if kind not in queries.KINDS:
                continue
            found = queries.entry(self._db, kind, id_)
            if kind == "observation" and found is not None and found.capsule:
                torn[found.capsule] = None
                if found.forgotten_at:
                    yield Change(ref, None, removed=True)
            else:
                yield self._change(ref, found)
        yield from self._added(known, since, until, torn)
        for capsule in torn:
            yield from self._stretch(capsule, None)
        yield Change(MARK, State("|".join(map(str, until)), self._rules))
        self._db.close()

    def _added(
        self, known: Mapping[str, State], since: Mark, until: Mark, torn: dict[str, None]
    ) -> Iterator[Change]:
        """New observations; those of a capsule go on where its last segment began."""
        for one in queries.added(self._db, since, until):
            yield Change(one.ref, None, self._observation(one, ""))
        for capsule, first in queries.grown(self._db, since, until).items():
            if capsule in torn:
                continue
            state = known.get(f"capsule:{capsule}")
            if state and state.digest and first <= _place(state.stamp):
                torn[capsule] = None
            else:
                yield from self._stretch(capsule, state)

    def _stretch(self, capsule: str, state: State | None) -> Iterator[Change]:
        """A capsule's observations from where its last segment began, and where the last begins.

        The state has the place of the last observation, and of the last segment with its number.
        """
        start, number, last = (0, ""), 0, (0, "")
        if state and state.digest:
            n, _, place = state.digest.partition("|")
            start, number, last = _place(place), int(n), _place(state.stamp)
        cuts = cut(_event(*one) for one in queries.outline(self._db, capsule, start))
        end, opening, before = "", "", -1
        for one, segment in zip(queries.stream(self._db, capsule, start), cuts, strict=True):
            end = f"{one.ts}|{one.id}"
            if segment != before:
                opening, before = f"{number + segment}|{end}", segment
            if (one.ts, one.id) > last:
                yield Change(one.ref, None, self._observation(one, f"{capsule}/{number + segment}"))
        yield Change(f"capsule:{capsule}", State(end, opening))

    def _change(self, ref: str, found: Any) -> Change:
        if found is None or getattr(found, "forgotten_at", False) or ref in self._hidden:
            return Change(ref, None, removed=True)
        kind = ref.partition(":")[0]
        make: Any = {
            "observation": lambda one: self._observation(one, ""),
            "capsule": self._capsule,
            "summary": self._summary,
            "pin": self._pin,
            "memory": self._memory,
        }[kind]
        return Change(ref, None, make(found))

    # One document for each kind of entry

    def _observation(self, one: Observation, segment: str) -> Document:
        about: dict[str, Any] = {**one.provenance, **_scoped(one.scope), "event": one.kind}
        about.update(branch=one.branch, head=one.head, files=list(one.files))
        about["parent"] = f"capsule:{one.capsule}" if one.capsule else ""
        record = _record(one.ref, "", one.ts, one.scope.session, about)
        chunks = self._chunks(one.ref, "" if one.redacted else one.content)
        return Document(record, chunks, segment=segment if len(chunks) == 1 else "")

    def _capsule(self, one: Capsule) -> Document:
        about: dict[str, Any] = {**_scoped(one.scope), "status": one.status, "reason": one.reason}
        about.update(type=one.type, closed_at=iso(one.closed_at / 1000) if one.closed_at else "")
        record = _record(one.ref, one.intent, one.opened_at, one.scope.session, about)
        return Document(record, self._chunks(one.ref, one.intent))

    def _summary(self, one: Summary) -> Document:
        capsule: Capsule | None = queries.entry(self._db, "capsule", one.capsule)
        scope = _scoped(capsule.scope) if capsule else {}
        about = {**scope, "parent": f"capsule:{one.capsule}", "confidence": one.confidence}
        session = capsule.scope.session if capsule else ""
        title = capsule.intent if capsule and capsule.intent != REDACTED else ""
        record = _record(one.ref, title, one.created_at, session, about)
        return Document(record, self._chunks(one.ref, "" if one.redacted else one.content))

    def _pin(self, one: Pin) -> Document:
        ends = iso(one.expires_at / 1000) if one.expires_at else ""
        about = {**_scoped(one.scope), "parent": one.target, "expires_at": ends}
        record = _record(one.ref, "", one.created_at, one.scope.session, about)
        return Document(record, self._chunks(one.ref, "" if one.note == REDACTED else one.note))

    def _memory(self, one: Learned) -> Document:
        about: dict[str, Any] = {**_scoped(one.scope), "type": one.type}
        about.update(confidence=one.confidence, derived_from=list(one.derived_from))
        about["superseded_by"] = one.superseded_by
        about_what = origin(self._db, one)
        about.update(files=list(about_what.files), symbols=list(about_what.symbols))
        about["event"] = one.type
        record = _record(one.ref, "", one.created_at, one.scope.session, about)
        return Document(record, self._chunks(one.ref, "" if one.redacted else one.content))

    def _chunks(self, ref: str, text: str) -> tuple[Chunk, ...]:
        if len(text) <= self._size and text.strip():
            return (Chunk(ref, 0, text),)  # as many tokens as characters it never has
        return chunk_parts([Part(text)], ref, size=self._size, overlap=self._overlap)


def _event(id_: str, kind: str, length: int, said: Any) -> Event:
    key = next((str(said[name]) for name in _CALL_IDS if said.get(name)), "")
    user = kind == "message" and said.get("role", "user") == "user"
    return Event(id_, kind, length // 4 + 1, key, user)


def _record(ref: str, title: str, ms: int, session: str, about: dict[str, Any]) -> Record:
    kept = {name: value for name, value in about.items() if value not in ("", [], None)}
    return Record(ref, ref.partition(":")[0], title, "", iso(ms / 1000), session, (), kept)


def _scoped(scope: Scope) -> dict[str, str]:
    return {name: value for name, value in scope._asdict().items() if name != "session"}


def _mark(state: State | None, rules: str) -> Mark:
    """What an index remembers; one that cuts chunks otherwise begins anew."""
    parts: Iterable[str] = state.stamp.split("|") if state and state.digest == rules else ()
    found = list(parts)
    return Mark(found[0], int(found[1]), int(found[2])) if len(found) == 3 else Mark("", 0, 0)


def _place(text: str) -> tuple[int, str]:
    ts, _, id_ = text.partition("|")
    return int(ts), id_
