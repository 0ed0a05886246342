"""Memories: decisions, lessons, patterns and insights, each with its sources."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from kinen.consolidation.fold import memory_id
from kinen.errors import Ambiguous, Conflict, EmbedError, NotFound, QueryError, UnsafeFile
from kinen.journal import edits, queries
from kinen.journal import memories as learn
from kinen.journal.edits import attributed
from kinen.journal.memories import Origin, origin
from kinen.memory.core import Core
from kinen.model.journal import Clock, Finding, Learned
from kinen.model.kinds import CLIENT, DISTILLERS, MEMORY_TYPES
from kinen.model.tuples import NamedTuple
from kinen.sources.journal.documents import session_of_sources
from kinen.storage import inside
from kinen.text import iso, now
from kinen.times import milliseconds

if TYPE_CHECKING:
    from kinen.consolidation.model import Drawer
    from kinen.memory.core import Core
    from kinen.memory.index import Index
    from kinen.memory.journal import Journal
    from kinen.memory.past import Past
    from kinen.memory.records import Records
    from kinen.worklog.sessions import Session

LONGEST = 2_000
"""Characters of a memory that a person words."""
REMEMBERED = 20
"""Corrections that can be undone, the last one first."""
HINT = "`kinen memories list` shows them"
SHOWED = "+"
HID = "-"


class Corrections:
    """Memories by their ids, and what a person changes in them."""

    _core: Core

    def get(self, name: str) -> Learned:
        """A memory by its ref, its id or the start of its id."""
        if not self._core.store.exists:
            raise NotFound(f"no memory {name!r}", HINT)
        try:
            id_ = self._core.store.resolve(name, ["memory"])[1]
        except Ambiguous:
            raise
        except NotFound as error:
            raise NotFound(error.message, HINT) from None
        memory: Learned = self._core.store.entry("memory", id_)
        if memory.forgotten_at:
            raise NotFound(f"{memory.ref} was forgotten for good", HINT)
        return cast("Learned", attributed(self._core.store.db, [memory])[0])

    def hide(self, name: str) -> Learned:
        """Hide a memory everywhere; it is not drawn again, and can be restored.

        All versions of it go, if it is the one that is shown, else the one that is named.
        """
        memory = self.get(name)
        versions = edits.family(self._core.store.db, memory.id)
        is_other = memory.id in (head.id for head in versions.heads()[1:])
        hidden = [memory.id] if is_other else [*versions.versions]
        self._remember("hide", memory.ref, "", *self._marked(hidden=hidden))
        return memory

    def restore(self, name: str) -> Learned:
        """Show a hidden memory again, in this version."""
        memory = self.get(name)
        versions = edits.family(self._core.store.db, memory.id)
        before = [memory.id, *versions.before(memory.id)]
        after = [id_ for id_ in versions.versions if id_ not in before]
        self._remember("restore", memory.ref, "", *self._marked(before, after))
        return self.get(memory.ref)

    def edit(self, name: str, content: str) -> Learned:
        """Put a memory into other words: a new version with the same sources replaces it.

        A person's words are certain. The same words as before change nothing.
        """
        old = self.get(name)
        db = self._core.store.db
        versions = edits.family(db, old.id)
        heads = versions.heads()
        if heads and old.id not in (head.id for head in heads):
            old = self.get(heads[0].id)  # the one that replaced it
        text = " ".join(content.split())
        if not text or len(text) > LONGEST:
            raise QueryError("no wording, or a long one", f"use 1 to {LONGEST:,} characters")
        new = old._replace(
            id=memory_id(old.type, text),
            content=text,
            confidence=1.0,
            created_at=round(now() * 1000),
            superseded_by="",
            redacted=False,
            edits=old.id,
        )
        if new.id == old.id:
            return old
        self._store(new)
        follows = queries.entry(db, "memory", new.id).edits == old.id
        # words that were there before have a place of their own
        marks = self._marked([new.id, *versions.before(old.id), *([old.id] * follows)])
        if not follows:
            marks += self._marked(hidden=[old.id])
        self._remember("edit", new.ref, old.ref, *marks)
        return self.get(new.ref)

    def merge(self, name: str, into: str = "") -> Learned:
        """Give the sources of a memory to another one, and hide it.

        Without another one, what was edited at the same time is merged into the version that is
        shown.
        """
        memory = self.get(name)
        versions = edits.family(self._core.store.db, memory.id)
        if into:
            merged = [memory]
            other = self.get(into)
        else:
            other, *merged = [self.get(head.id) for head in versions.heads()] or [memory]
            if not merged:
                raise QueryError(
                    "nobody edited it at the same time", "name the memory that it is merged into"
                )
        if other.id in (each.id for each in merged):
            raise QueryError("a memory cannot be merged into itself", "name another one")
        sources = dict.fromkeys(ref for each in merged for ref in each.derived_from)
        new = [ref for ref in sources if ref not in other.derived_from]
        if new:
            self._store(other._replace(derived_from=(*other.derived_from, *new)))
        marks = self._marked(hidden=[each.id for each in merged])
        self._remember("merge", merged[0].ref, other.ref, *marks, *new)
        return self.get(other.ref)

    def supersede(self, name: str, by: str) -> Learned:
        """Mark a memory as superseded by a newer one; by none, as valid again."""
        memory = self.get(name)
        newer = self.get(by).id if by else ""
        if newer == memory.id:
            raise QueryError("a memory cannot supersede itself", "name another one")
        self._store(memory._replace(superseded_by=newer))
        self._remember("supersede", memory.ref, memory.superseded_by)
        return self.get(memory.ref)

    def undo(self) -> tuple[str, Learned]:
        """Take back the last correction; returns its name, and the memory as it is again."""
        corrections = self._corrections()
        if not corrections:
            raise NotFound(
                "no correction to undo", "edit, merge, supersede or forget a memory first"
            )
        action, ref, other, *rest = corrections.pop()
        visible = [mark[1:] for mark in rest if mark[0] == HID]
        hidden = [mark[1:] for mark in rest if mark[0] == SHOWED]
        sources = [source for source in rest if source[0] not in (HID, SHOWED)]
        if action == "supersede":
            self._store(self.get(ref)._replace(superseded_by=other))
        elif action == "edit":
            visible.append(other)
            hidden.append(ref)
            ref = other
        elif not (visible or hidden):  # of an older kinen
            (hidden if action == "restore" else visible).append(ref)
        self._marked(
            [each.removeprefix("memory:") for each in visible],
            [each.removeprefix("memory:") for each in hidden],
        )
        if sources:
            with self._core.store.writing() as db:
                learn.drop_sources(db, other.removeprefix("memory:"), sources)
        self._write(corrections)
        return action, self.get(ref)

    def _store(self, memory: Learned) -> None:
        with self._core.store.translated():
            learn.learn(self._core.store.db, [memory])

    def _marked(self, visible: Iterable[str] = (), hidden: Iterable[str] = ()) -> list[str]:
        """Show and hide memories by their ids; returns what changed, for `undo`."""
        with self._core.store.writing() as db:
            off = edits.unmark(db, [f"memory:{id_}" for id_ in visible])
            on = edits.mark(db, [f"memory:{id_}" for id_ in hidden], round(now() * 1000))
            edits.settle(db)
        return [*(SHOWED + ref for ref in off), *(HID + ref for ref in on)]

    def _corrections(self) -> list[list[str]]:
        """The last corrections, oldest first: what was done, the ref, another ref or id.

        Then come the refs that were shown and hidden, and the sources that the other memory got.
        """
        return list(json.loads(self._core.store.noted("corrections") or "[]"))

    def _remember(self, action: str, ref: str, other: str = "", *sources: str) -> None:
        self._write([*self._corrections(), [action, ref, other, *sources]][-REMEMBERED:])

    def _write(self, corrections: list[list[str]]) -> None:
        self._core.store.note({"corrections": json.dumps(corrections)})


EVENTS = 5000
"""Number of latest observations that are searched for repeated failures."""


class Consolidated(NamedTuple):
    """The result of a consolidation."""

    learned: tuple[Learned, ...]
    """Memories that are new or changed."""
    findings: int = 0
    added: int = 0
    changed: int = 0
    below: int = 0
    """Findings below the confidence threshold."""
    dry_run: bool = False
    notes: tuple[str, ...] = ()
    """Models that failed, and why."""


@dataclass(slots=True)
class Consolidation(Corrections):
    """Consolidation, and its memories."""

    _core: Core
    _index: Index
    _records: Records
    _journal: Journal
    _past: Callable[[], Past]

    def consolidate(
        self,
        *,
        session: str = "",
        capsule: str = "",
        since: str = "",
        dry_run: bool = False,
        distiller: str = "extract",
    ) -> Consolidated:
        """Draw memories from a session's folder, a capsule, or everything since a time.

        Without any of them, from everything since the last consolidation. The sources are not
        changed, and a repeated consolidation changes nothing. `distiller` reads the observations:
        `extract` (no model), `configured` (`consolidation.order`), `auto`, or a model.
        """
        if sum(map(bool, (session, capsule, since))) > 1:
            raise QueryError("a session, a capsule or a time", "give one of them")
        from kinen.worklog import sessions as folders

        began = iso(now())
        from kinen.consolidation.model import Drawer
        from kinen.distill.chain import NAMES

        settings = self._core.config.consolidation
        chosen = {"auto": DISTILLERS, "configured": settings.order}.get(distiller, (distiller,))
        for name in chosen:
            if name not in NAMES:
                raise QueryError(f"no distiller is called {name!r}", "use " + ", ".join(NAMES))
        drawer = Drawer(chosen, self._core.config.distill, settings.strategy, os.environ)
        findings: Iterable[Finding]
        if session:
            findings = self._findings_of(folders.session(self._core.space.root, session))
        elif capsule:
            findings = drawer.draw(*self._journal.capsule(capsule)[1:])
        else:
            findings = self._findings_since(since or self._core.store.noted("consolidated"), drawer)
        done = self._fold(findings, dry_run=dry_run)._replace(
            notes=tuple(dict.fromkeys(drawer.notes))
        )
        if not (session or capsule or since or dry_run):
            self._note_consolidation(began)
        return done

    def of_client(self, client: str) -> Consolidated:
        """Draw memories from the session of the MCP client that calls, with the client's model.

        Only where `consolidation.order` names it; otherwise nothing. The session is the newest that
        is open of an agent whose name the client's begins with.
        """
        if CLIENT not in self._core.config.consolidation.order or not self._core.store.exists:
            return Consolidated(())
        open_ = (
            capsule
            for capsule in self._journal.entries("capsules")[0]
            if capsule.status == "open"
            and capsule.scope.agent
            and client.startswith(capsule.scope.agent)
        )
        newest = max(open_, key=lambda capsule: capsule.opened_at, default=None)
        if newest is None:
            return Consolidated(())
        return self.consolidate(capsule=newest.ref, distiller="configured")

    def remember(
        self,
        text: str,
        *,
        type: str = "",  # noqa: A002
        why: str = "",
        files: Sequence[str] = (),
        scope: Mapping[str, str] | None = None,
    ) -> Learned:
        """Save a memory in the words of who was there: an agent, or a person.

        The type is the one given, else that of a label such as `Lesson:` before the text, else a
        decision. Its source is an observation with the same words, so that it has a session, an
        agent and files. What was hidden is shown again; raises Conflict for what was forgotten for
        good.
        """
        from kinen.text.labels import TYPES, starts, value_of
        from kinen.text.sentences import statement

        if type and type not in MEMORY_TYPES:
            raise QueryError(f"no type {type!r}", "use one of " + ", ".join(MEMORY_TYPES))
        label, rest = starts(text)
        said = value_of(rest if label in TYPES else text)
        if not said:
            raise QueryError(
                "nothing to remember", "say what was decided or learned, in a sentence"
            )
        kind = type or (label if label in TYPES else "decision")
        content = statement("", said, value_of(why))
        db = self._core.store.db
        same = queries.entry(db, "memory", memory_id(kind, content))
        if same and same.forgotten_at:
            raise Conflict("these words were forgotten for good", "save it in other words")
        words = f"{kind.capitalize()}: {said}" + (f"\nWhy: {value_of(why)}" if why else "")
        source = self._journal.observe(
            words, files=files, scope=scope, provenance={"event": "remember"}
        )
        finding = Finding(kind, content, 1.0, (source.ref,), iso(source.ts / 1000))
        self._fold([finding], saved=True)
        saved = next(
            memory
            for memory in learn.memories(db, everything=True)
            if source.ref in memory.derived_from
        )
        # hidden, or replaced by an edit: who says it again wants it shown
        return self.restore(saved.ref) if saved.ref in queries.suppressed(db) else saved

    def _fold(
        self, candidates: Iterable[Finding], *, dry_run: bool = False, saved: bool = False
    ) -> Consolidated:
        from kinen.consolidation.fold import fold

        settings = self._core.config.consolidation
        findings = [
            finding
            for finding in candidates
            if saved or settings.extract_decisions or finding.type != "decision"
        ]
        if not findings:
            return Consolidated((), dry_run=dry_run)
        db = self._core.store.db
        memories = learn.memories(db, everything=True)
        least = settings.confidence_threshold
        folded = fold(findings, memories, threshold=least, embed=self._embed if memories else None)
        before = {memory.id for memory in memories}
        added = sum(memory.id not in before for memory in folded.learned)
        counts = (len(findings), added, len(folded.learned) - added, folded.below)
        if not dry_run:
            with self._core.store.translated():
                learn.learn(db, folded.learned)
        return Consolidated(folded.learned, *counts, dry_run)

    def _embed(self, texts: Sequence[str]) -> Any:
        """Vectors of texts; without a model, zeros, so that no texts are similar."""
        import numpy as np

        with contextlib.suppress(EmbedError):
            if self._core.embedder is not None:
                return self._core.embedder.embed(list(texts))
        return np.zeros((len(texts), 1), dtype="float32")

    def _findings_of(self, session: Session) -> Iterator[Finding]:
        from kinen.consolidation.documents import from_document
        from kinen.sources.files.layout import kind_of

        paths = [*session.rounds, *session.artifacts, *filter(None, [session.summary])]
        for path in paths:
            record = self._core.reader.at_path(path)
            at = record.at if record else ""
            with contextlib.suppress(OSError, UnsafeFile):
                yield from from_document(f"{kind_of(path)}:{path}", self._text(path), at)

    def _text(self, path: str) -> str:
        """The text of a file of the space."""
        limit = self._core.config.index.max_file_mb << 20
        return inside.read(self._core.space.root, path, limit).decode("utf-8", "replace")

    def _findings_since(self, since: str, drawer: Drawer) -> Iterator[Finding]:
        from kinen.consolidation.conversations import from_events
        from kinen.consolidation.documents import from_checkpoint, from_commit
        from kinen.worklog.folder import Memories

        self._index.prepare()
        yield from self._findings_in_documents(since)
        for checkpoint in Memories(self._core.space.root).checkpoints(since):
            yield from from_checkpoint(checkpoint, checkpoint.ref)
        for record in self._core.reader.records(("commit",)):
            if record.at >= since:
                yield from from_commit(record.ref, self._records.whole_text(record.ref), record.at)
        if self._core.store.exists:
            after = milliseconds(since)
            for capsule in self._journal.entries("capsules")[0]:
                if capsule.status == "open" or max(capsule.opened_at, capsule.closed_at) >= after:
                    yield from drawer.draw(*self._journal.capsule(capsule.id)[1:])
            latest = self._journal.entries("observations", limit=EVENTS)[0]
            yield from from_events(latest[::-1])

    def _findings_in_documents(self, since: str) -> Iterator[Finding]:
        """What markdown files label: notes, resources, and the rounds and artifacts of sessions."""
        from kinen.consolidation.documents import from_document
        from kinen.sources.files.layout import is_markdown

        for record in self._core.reader.records(("round", "artifact", "note", "resource")):
            if not is_markdown(record.path):
                continue
            with contextlib.suppress(OSError, UnsafeFile):
                full = os.path.join(self._core.space.root, record.path)
                # A round has the date of its first day, but may be edited on later days.
                if max(record.at, iso(os.stat(full).st_mtime)) >= since:
                    yield from from_document(record.ref, self._text(record.path), record.at)

    def clock(self) -> Clock:
        """The amount of new information so far, and how often it started a consolidation."""
        return learn.clock(self._core.store.db) if self._core.store.exists else Clock()

    def count_new(self, findings: Sequence[Finding]) -> None:
        """Advance the clock by new findings, and consolidate when it is due."""
        if not findings:
            return
        from kinen.consolidation.fold import nearness, tick

        db = self._core.store.db
        settings = self._core.config.consolidation
        contents = [memory.content for memory in learn.memories(db)]
        clock = learn.clock(db)
        due = False
        near = nearness([finding.content for finding in findings], contents)
        for finding, similarity in zip(findings, near, strict=True):
            least = settings.surprisal_threshold
            clock, passed = tick(clock, similarity, finding.confidence, least)
            due = due or passed
        learn.keep_clock(db, clock)
        if due:
            self.consolidate()

    def start_over(self) -> None:
        """Make the next consolidation read everything, as after an import of old entries."""
        self._note_consolidation("")

    def memories(
        self,
        type: str = "",  # noqa: A002
        *,
        hidden: bool = False,
        session: str = "",
        as_of: str = "",
    ) -> list[Learned]:
        """The memories, newest first; with `hidden`, only the hidden memories.

        `session` is the name of the session that they were drawn from, or a part of it. `as_of` is
        a time or commit: the memories that held then.
        """
        if type and type not in MEMORY_TYPES:
            raise QueryError(f"no type {type!r}", "use one of " + ", ".join(MEMORY_TYPES))
        if not self._core.store.exists:
            return []
        db = self._core.store.db
        if as_of and hidden:
            raise QueryError("hidden memories have no earlier state", "ask for one of the two")
        if as_of:
            past = self._past()
            memories = past.memories(past.moment(as_of))
        elif hidden:
            away = queries.suppressed(db)
            memories = [
                memory for memory in learn.memories(db, everything=True) if memory.ref in away
            ]
        else:
            memories = learn.memories(db)
        name = session.lower()
        chosen = [
            memory
            for memory in memories
            if type in ("", memory.type)
            and (not name or name in self.origin(memory).session.lower())
        ]
        return attributed(db, chosen)

    def origin(self, memory: Learned) -> Origin:
        """The session that a memory was drawn from, and the files and symbols it is about."""
        place = origin(self._core.store.db, memory)
        if place.session:
            return place
        session = memory.scope.session or session_of_sources(memory)
        return replace(place, session=session)

    def drawn_from(self, session: str) -> list[Learned]:
        """The memories derived from the files of a session."""
        inside = f":sessions/{session}/"
        return [
            memory
            for memory in self.memories()
            if any(inside in ref for ref in memory.derived_from)
        ]

    def _note_consolidation(self, at: str) -> None:
        if self._core.store.exists:
            self._core.store.note({"consolidated": at})
