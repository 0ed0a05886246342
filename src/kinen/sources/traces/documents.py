"""Sessions that travel with a repository as a source: read from git's objects and from files.

Nothing is copied into the journal. A key is a session of one tool; its stamp is the id of the
object or the digest of the file that it was read from. A session that this machine recorded or
imported is left to the journal.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Mapping
from functools import cache
from typing import Any

from kinen.agents.tool_use import WINDOW, Sieve, is_private, summary
from kinen.agents.transcripts.session import Event, Past
from kinen.agents.transcripts.values import fields, milliseconds, text
from kinen.errors import GitError, UnsafeFile
from kinen.ids import timed_id
from kinen.model.documents import Change, Delta, Document, Part, State
from kinen.model.journal import Capsule, Observation, Scope
from kinen.model.records import Chunk, Record
from kinen.privacy.masking import mask
from kinen.sources.files.layout import Hidden
from kinen.sources.traces import entire, notes, specstory
from kinen.sources.traces.objects import Objects
from kinen.space.repository import Git
from kinen.storage import inside
from kinen.text import digest, iso, spelled
from kinen.text.chunks import chunk_parts

RULES = "3"
MARK = ""
"""The key of the state that records which refs were read, and how many sessions they have."""
EVENTS = 20_000
"""Events of one session that are indexed."""
ENTIRE = "Entire"
SPECSTORY = "SpecStory"
NOTES = {"git-ai": ("Git AI", notes.GIT_AI), "whogitit": ("whogitit", notes.WHOGITIT)}
"""By the beginning of their keys, the tools that write notes, and the refs of these."""
IN_GIT = ("entire:", *(f"{name}:" for name in NOTES))


class Traces:
    """Sessions in Entire's checkpoints, SpecStory's histories, Git AI's and whogitit's notes."""

    name = "traces"

    def __init__(
        self,
        root: str,
        git: Git | None,
        *,
        size: int = 512,
        overlap: int = 50,
        recorded: Container[str] = (),
        hidden: Hidden | None = None,
    ) -> None:
        """`recorded` are sessions that the journal has; `hidden` refs and paths are left out."""
        self._root = root
        self._git = git
        self._size = size
        self._overlap = overlap
        self._recorded = recorded
        self._hidden = hidden if hidden is not None else Hidden()

    def delta(self, states: Mapping[str, State]) -> Delta:
        """The sessions that are new, longer or gone."""
        objects = Objects(self._git) if self._git and self._git.folder else None
        note_refs = (ref for _, ref in NOTES.values())
        refs = objects.refs(*entire.BRANCHES, entire.REFS, *note_refs) if objects else {}
        hidden = [ref for ref in self._hidden if ref.startswith("capsule:")]
        stamp = f"{RULES}:{digest(repr((sorted(refs.items()), sorted(hidden))))}"
        in_git = {key for key in states if key.startswith(IN_GIT)}
        traces = self._histories(states)
        # Of a session of which something was erased the state is gone: it is read again.
        if objects and refs and states.get(MARK) != State(stamp, str(len(in_git))):
            traces |= self._checkpoints(objects)
            for name in NOTES:
                ids = {key.partition(":")[2] for key in traces}
                other = self._notes(objects, name)
                new = {key: row for key, row in other.items() if key.partition(":")[2] not in ids}
                traces |= new
        elif refs:  # nothing is read again; what was recorded since is the journal's
            kept = [key for key in in_git if self._takes(key.partition(":")[2], _origin(key))]
            traces |= {key: _Trace(states[key].stamp, "", {}) for key in kept}
        changed = {
            key: row
            for key, row in traces.items()
            if key not in states or states[key].stamp != row.stamp
        }
        gone = [key for key in states if key not in traces and key != MARK]
        mark = State(stamp, str(sum(key.startswith(IN_GIT) for key in traces)))
        return Delta(len(changed) + len(gone), self._changes(changed, gone, objects, states, mark))

    def _changes(
        self,
        changed: Mapping[str, _Trace],
        gone: list[str],
        objects: Objects | None,
        states: Mapping[str, State],
        mark: State,
    ) -> Iterator[Change]:
        for key in gone:
            yield Change(key, None, removed=True)
        for key, row in changed.items():
            state = State(row.stamp, row.session)
            documents = row.documents(self)
            if documents:
                yield Change(key, state, documents[0], others=tuple(documents[1:]))
            else:
                yield Change(key, state._replace(reason="no session that kinen reads"))
        if states.get(MARK, mark) != mark or changed:
            yield Change(MARK, mark)
        if objects:
            objects.close()

    def _takes(self, session: str, origin: str) -> bool:
        hidden = _capsule_ref(origin, session) in self._hidden
        return session not in self._recorded and not hidden

    def _checkpoints(self, objects: Objects) -> dict[str, _Trace]:
        try:
            stored = entire.checkpoints(objects)
        except GitError:
            return {}
        by_session: dict[str, list[str]] = {}
        for checkpoint, ids in stored.by_checkpoint.items():
            for id_ in ids:
                by_session.setdefault(id_, []).append(checkpoint)
        rows: dict[str, _Trace] = {}
        for id_, session in stored.sessions.items():
            if self._takes(id_, ENTIRE):
                checkpoints = sorted(by_session.get(id_, ()))
                state = digest(
                    repr((session.transcript.id, checkpoints, session.summary, session.author))
                )
                about = {"origin": ENTIRE, "checkpoints": checkpoints, "branch": session.branch}
                about["author"] = session.author
                row = _Checkpointed(f"{RULES}:{state}", about, objects, session)
                rows[f"entire:{id_}"] = row
        return rows

    def _histories(self, states: Mapping[str, State]) -> dict[str, _Trace]:
        """The files of SpecStory; one with the size and time of before is not read again."""
        rows: dict[str, _Trace] = {}
        folder = os.path.join(self._root, *specstory.FOLDER.split("/"))
        try:
            names = inside.files(self._root, specstory.FOLDER)
        except (OSError, UnsafeFile):
            return rows
        for name in [name for name in names if name.endswith(".md")][: specstory.FILES]:
            path = f"{specstory.FOLDER}/{name}"
            key = f"specstory:{spelled(name)}"
            try:
                status = os.lstat(os.path.join(folder, name))
                stamp = f"{RULES}:{status.st_size}:{status.st_mtime_ns}"
                if key in states and states[key].stamp == stamp:
                    if self._takes(states[key].digest, SPECSTORY):
                        rows[key] = _Trace(stamp, "", {})
                    continue
                data = inside.read(self._root, path, specstory.LARGEST)
            except (OSError, UnsafeFile):
                continue
            past = specstory.session(data.decode("utf-8", "replace"), spelled(path))
            if past is not None and self._takes(past.id, SPECSTORY):
                about = {"origin": SPECSTORY, "history": spelled(path)}
                rows[key] = _Read(stamp, about, past)
        return rows

    def _notes(self, objects: Objects, name: str) -> dict[str, _Trace]:
        """The prompts of a tool's notes, each conversation as a session with its commits."""
        origin, ref = NOTES[name]
        talks: dict[str, tuple[dict[str, Any], list[str]]] = {}
        for note in notes.notes(objects, ref):
            for prompt in note.prompts:
                id_ = text(fields(prompt.get("agent_id")).get("id"))[:200]
                if not id_ or not self._takes(id_, origin):
                    continue
                earlier, commits = talks.get(id_, ({}, []))
                longer = len(repr(prompt.get("messages"))) > len(repr(earlier.get("messages")))
                talks[id_] = (prompt if longer else earlier or prompt, [*commits, note.commit])
        rows: dict[str, _Trace] = {}
        for id_, (prompt, commits) in talks.items():
            stamp = f"{RULES}:{digest(repr((prompt, commits)))}"
            about = {"origin": origin, "commits": sorted(set(commits))}
            about["author"] = text(prompt.get("human_author")).partition(" <")[0][:60]
            rows[f"{name}:{id_}"] = _Read(stamp, about, _talk(id_, prompt, name))
        return rows

    def events(self, sessions: Container[str]) -> Iterator[Event]:
        """What happened in some sessions, edits as a whole, with the ids of the observations."""
        objects = Objects(self._git) if self._git and self._git.folder else None
        traces = self._checkpoints(objects) if objects else {}
        traces |= self._histories({})
        for row in traces.values():
            past = row.past() if row.session in sessions else None
            if past is not None:
                past.diff = WINDOW
                for number, event in self._events(past):
                    yield event._replace(id=_event_id(past, number, event))
        if objects:
            objects.close()

    def _events(self, past: Past) -> Iterator[tuple[int, Event]]:
        """The events of a session with their numbers, as an import would take them.

        One that a client wrote again is there once, and those about private paths are not.
        """
        ids = set()
        roots = (self._root, past.cwd)
        globs = self._hidden.globs
        names_private = cache(lambda word: is_private((), (word,), globs, past.cwd, roots))
        for number, event in enumerate(past.events()):
            if event.id and event.id in ids:
                continue
            ids.add(event.id)
            private = any(map(self._hidden.excludes, event.files))
            if not private and not any(map(names_private, event.mentions)):
                yield number, event

    def session_documents(
        self, past: Past, about: Mapping[str, Any], written: str = ""
    ) -> list[Document]:
        """A session as records of a journal: its capsule, its events and its summaries."""
        documents: list[Document] = []
        observations: list[Observation] = []
        origin = str(about["origin"])
        author = str(about.get("author", ""))
        signed = {"origin": origin, "by": f"{author}, {origin}" if author else origin}
        capsule = _capsule_ref(origin, past.id)
        first = last = 0
        for number, event in self._events(past):
            if number >= EVENTS:
                break
            first = min(first or event.ts, event.ts)
            last = max(last, event.ts)
            ref = f"observation:{_event_id(past, number, event)}"
            if ref not in self._hidden:
                documents.append(self._observation(ref, past, event, capsule, signed))
                observations.append(_observation(ref, past, event))
        if not documents:
            return []
        sieve = Sieve(past.place)
        texts = [ready.content for ready in past.summaries if ready.content.strip()]
        for number, content in enumerate(filter(None, (written, *texts))):
            ref = f"summary:{timed_id(last, number, 'trace', past.id)}"
            by = "model" if written and not number else past.agent
            more = {"parent": capsule, **signed, "agent": past.agent, "writer": by}
            body = summary(content, sieve)
            if ref not in self._hidden:
                documents.append(self._document(ref, past.intent, last, past.id, more, body))
        more = {
            **about,
            **signed,
            "agent": past.agent,
            "status": "closed",
            "type": "session",
            "closed_at": iso(last / 1000),
            "outcome": _outcome(past, first, observations),
        }
        opened = self._document(capsule, past.intent, first, past.id, more, past.intent)
        return [opened, *documents]

    def _observation(
        self, ref: str, past: Past, event: Event, capsule: str, signed: Mapping[str, str]
    ) -> Document:
        metadata = {
            **event.provenance,
            "event": event.kind,
            "agent": past.agent,
            "branch": event.branch,
            "files": list(event.files),
            "parent": capsule,
            **signed,
        }
        return self._document(ref, "", event.ts, past.id, metadata, event.content)

    def _document(
        self, ref: str, title: str, ms: int, session: str, metadata: Mapping[str, Any], body: str
    ) -> Document:
        about = {key: value for key, value in metadata.items() if value not in ("", [], None)}
        kind = ref.partition(":")[0]
        record = Record(ref, kind, title, "", iso(ms / 1000), session, (), about)
        if len(body) <= self._size and body.strip():
            return Document(record, (Chunk(ref, 0, body),))
        parts = chunk_parts([Part(body)], ref, size=self._size, overlap=self._overlap)
        return Document(record, parts)


class _Trace:
    """A session that is there, and is read when it is indexed."""

    def __init__(self, stamp: str, session: str, about: Mapping[str, Any]) -> None:
        self.stamp = stamp
        self.session = session
        self._about = about

    def past(self) -> Past | None:
        """The session; None where it has not changed, or no reader knows it."""
        return None

    def documents(self, source: Traces) -> list[Document]:
        """Its records; none where it has not changed."""
        past = self.past()
        return source.session_documents(past, self._about, self._written) if past else []

    @property
    def _written(self) -> str:
        """What a model wrote about it."""
        return ""


class _Checkpointed(_Trace):
    def __init__(
        self, stamp: str, about: Mapping[str, Any], objects: Objects, session: entire.Checkpointed
    ) -> None:
        super().__init__(stamp, session.id, about)
        self._objects = objects
        self._stored = session

    def past(self) -> Past | None:
        past = entire.past(self._objects, self._stored)
        if past is not None:
            past.id = self._stored.id
        return past

    @property
    def _written(self) -> str:
        return mask(entire.summary_text(self._stored.summary))[0]


class _Read(_Trace):
    def __init__(self, stamp: str, about: Mapping[str, Any], past: Past) -> None:
        super().__init__(stamp, past.id, about)
        self._past = past

    def past(self) -> Past:
        return self._past


def _observation(ref: str, past: Past, event: Event) -> Observation:
    return Observation(
        ref.partition(":")[2],
        event.kind,
        event.content,
        event.ts,
        Scope(session=past.id, agent=past.agent),
        provenance=dict(event.provenance),
        files=tuple(event.files),
        branch=event.branch,
    )


def _outcome(past: Past, opened: int, observations: list[Observation]) -> str:
    """What a session came to, in a sentence."""
    capsule = Capsule("", "session", past.intent, "closed", opened)
    from kinen.journal.summary import parse_summary, summarize
    from kinen.journal.timeline import first_sentence

    text, sources = summarize(capsule, observations)
    return first_sentence(parse_summary(text).get("outcome", "")) if sources else ""


def _capsule_ref(origin: str, session: str) -> str:
    return f"capsule:{timed_id(0, 0, 'trace', origin, session)}"


def _origin(key: str) -> str:
    """The tool that a key in git belongs to."""
    name = key.partition(":")[0]
    return NOTES[name][0] if name in NOTES else ENTIRE


def _event_id(past: Past, number: int, event: Event) -> str:
    return timed_id(event.ts, number, "trace", past.id, event.id)


def _talk(id_: str, prompt: Mapping[str, Any], tool: str) -> Past:
    """The messages of a note as a session."""
    agent = fields(prompt.get("agent_id"))
    client = text(agent.get("tool"))[:60] or tool

    def events(past: Past) -> Iterator[Event]:
        at = 1
        messages = prompt.get("messages")
        for number, entry in enumerate(messages if isinstance(messages, list) else ()):
            row = fields(entry)
            at = milliseconds(row.get("timestamp")) or at
            role = text(row.get("type"))
            if role in ("user", "assistant"):
                event = past.message(role, text(row.get("text")))
                if event:
                    yield event._replace(id=past.event_id(at, str(number)), ts=at)

    return Past(client, id_, "", events)
