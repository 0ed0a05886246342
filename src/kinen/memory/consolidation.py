"""Memories: decisions, lessons, patterns and insights, each with its sources."""

from __future__ import annotations

import contextlib
import os
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from kinen.errors import EmbedError, NotFound, QueryError, StoreError, UnsafeFile
from kinen.memory.worklog import Working
from kinen.model.kinds import MEMORY_TYPES
from kinen.storage import inside
from kinen.text import iso, now

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kinen.consolidation.model import Drawer
    from kinen.journal.erase import Erased
    from kinen.journal.origin import Origin
    from kinen.memory.worklog import Path
    from kinen.model.journal import Capsule, Checkpoint, Clock, Finding, Learned, Summary
    from kinen.model.records import Status
    from kinen.transfer.bundle import Loaded
    from kinen.worklog.sessions import Session

EVENTS = 5000
"""The latest observations that are looked through for what keeps happening."""


class Consolidated(NamedTuple):
    """What consolidation came to."""

    learned: tuple[Learned, ...]
    """Memories that are new or changed."""
    findings: int = 0
    added: int = 0
    changed: int = 0
    below: int = 0
    """Findings that were not sure enough."""
    dry_run: bool = False
    notes: tuple[str, ...] = ()
    """Models that were asked and gave nothing, and why."""


class Learning(Working):
    """Consolidation, and the memories that come of it."""

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

        Without any of them, from what came since the last time. What they are drawn from stays as
        it is; to draw from it once more changes nothing. `distiller` says who draws from what was
        said: `extract` (rules, here), `configured` (`consolidation.order`), `auto`, or a model.
        """
        if sum(map(bool, (session, capsule, since))) > 1:
            raise QueryError("a session, a capsule or a time", "give one of them")
        began = iso(now())
        drawer = self._drawer(distiller)
        found: Iterable[Finding]
        if session:
            found = self._findings_of(self.session(session))
        elif capsule:
            found = drawer.draw(*self.capsule(capsule)[1:])
        else:
            found = self._findings_since(since or self._consolidated_at(), drawer)
        done = self._fold(found, dry_run=dry_run)._replace(notes=tuple(dict.fromkeys(drawer.notes)))
        if not (session or capsule or since or dry_run):
            self._keep_meta("consolidated", began)
        return done

    def _fold(self, found: Iterable[Finding], *, dry_run: bool = False) -> Consolidated:
        from kinen.consolidation.fold import fold
        from kinen.journal import memories as learn

        settings = self.config.consolidation
        findings = [one for one in found if settings.extract_decisions or one.type != "decision"]
        if not findings:
            return Consolidated((), dry_run=dry_run)
        db = self._journal.db
        known = learn.memories(db, everything=True)
        least = settings.confidence_threshold
        folded = fold(findings, known, threshold=least, embed=self._embed if known else None)
        before = {one.id for one in known}
        added = sum(one.id not in before for one in folded.learned)
        counts = (len(findings), added, len(folded.learned) - added, folded.below)
        if not dry_run:
            with self._journal.translated():
                learn.learn(db, folded.learned)
        return Consolidated(folded.learned, *counts, dry_run)

    def _embed(self, texts: Sequence[str]) -> Any:
        """Vectors of texts; where there is no model, all differ."""
        import numpy as np

        with contextlib.suppress(EmbedError):
            if self._embedder is not None:
                return self._embedder.embed(list(texts))
        return np.zeros((len(texts), 1), dtype="float32")

    # Where findings come from

    def _findings_of(self, its: Session) -> Iterator[Finding]:
        from kinen.consolidation.rounds import from_round

        paths = [*its.rounds, *its.artifacts, *filter(None, [its.summary])]
        for path in paths:
            with contextlib.suppress(OSError, UnsafeFile):
                yield from from_round(self._ref(path), self._text(path), self._at(path))

    def _text(self, path: str) -> str:
        """The text of a file of the space."""
        limit = self.config.index.max_file_mb << 20
        return inside.read(self.space.root, path, limit).decode("utf-8", "replace")

    def _ref(self, path: str) -> str:
        from kinen.sources.files.layout import kind_of

        return f"{kind_of(path)}:{path}"

    def _at(self, path: str) -> str:
        record = self._reader.at_path(path)
        return record.at if record else ""

    def _drawer(self, distiller: str) -> Drawer:
        """Who draws memories from sessions; raises QueryError for a name that nobody has."""
        from kinen.consolidation.model import Drawer
        from kinen.distill.chain import AUTO, NAMES

        settings = self.config.consolidation
        chosen = {"auto": AUTO, "configured": settings.order}.get(distiller, (distiller,))
        for name in chosen:
            if name not in NAMES:
                raise QueryError(f"no distiller is called {name!r}", "use " + ", ".join(NAMES))
        return Drawer(chosen, self.config.distill, settings.strategy, os.environ)

    def _findings_since(self, since: str, drawer: Drawer) -> Iterator[Finding]:
        from kinen.consolidation.failures import from_events
        from kinen.consolidation.findings import from_checkpoint
        from kinen.consolidation.rounds import from_round

        self._first_sync()
        for record in self._reader.records(("round", "artifact")):
            with contextlib.suppress(OSError, UnsafeFile):
                full = os.path.join(self.space.root, record.path)
                # A round is dated by its first day, and answered on later ones.
                if max(record.at, iso(os.stat(full).st_mtime)) >= since:
                    yield from from_round(record.ref, self._text(record.path), record.at)
        yield from self._findings_in_documents(since)
        for one in self.checkpoints(since):
            yield from from_checkpoint(one, one.ref)
        yield from self._findings_in_commits(since)
        if self._journal.exists:
            after = _milliseconds(since)
            for capsule in self.entries("capsules")[0]:
                if capsule.status == "open" or max(capsule.opened_at, capsule.closed_at) >= after:
                    yield from drawer.draw(*self.capsule(capsule.id)[1:])
            latest = self.entries("observations", limit=EVENTS)[0]
            yield from from_events(latest[::-1])

    def _findings_in_documents(self, since: str) -> Iterator[Finding]:
        """The decisions of markdown files: decision records, and sections of that name."""
        from kinen.consolidation.decisions import from_document, may_decide
        from kinen.sources.files.layout import is_markdown

        for record in self._reader.records(("note", "resource")):
            if not is_markdown(record.path):
                continue
            with contextlib.suppress(OSError, UnsafeFile):
                full = os.path.join(self.space.root, record.path)
                if max(record.at, iso(os.stat(full).st_mtime)) < since:
                    continue
                text = self._text(record.path)
                if may_decide(record.path, text):
                    yield from from_document(record.ref, text, record.at)

    def _findings_in_commits(self, since: str) -> Iterator[Finding]:
        from kinen.consolidation.findings import from_commit

        for record in self._reader.records(("commit",)):
            about = record.metadata or {}
            if record.at >= since and (about.get("type") or about.get("breaking")):
                yield from from_commit(record.ref, self._whole(record.ref), record.at)

    # The clock of surprise

    def clock(self) -> Clock:
        """How much was met that is not known yet, and how often memories were drawn for it."""
        from kinen.journal import memories as learn
        from kinen.model.journal import Clock

        return learn.clock(self._journal.db) if self._journal.exists else Clock()

    def status(self) -> Status:
        """Counted now, from the databases themselves."""
        epoch, surprise = self.clock()
        return super().status()._replace(epoch=epoch, surprise=surprise)

    def _met(self, findings: Sequence[Finding]) -> None:
        """Have the clock tick for what was just said, and draw memories when it is time."""
        if not findings:
            return
        from kinen.consolidation.fold import nearness, tick
        from kinen.journal import memories as learn

        db, settings = self._journal.db, self.config.consolidation
        known = [one.content for one in learn.memories(db)]
        clock, due = learn.clock(db), False
        near = nearness([one.content for one in findings], known)
        for one, similarity in zip(findings, near, strict=True):
            least = settings.surprisal_threshold
            clock, passed = tick(clock, similarity, one.confidence, least)
            due = due or passed
        learn.keep_clock(db, clock)
        if due:
            self.consolidate()

    def checkpoint(self, text: str, **said: Any) -> Checkpoint:
        """Keep a checkpoint; when enough of what was kept is new, memories are drawn from it."""
        from kinen.consolidation.findings import from_checkpoint

        made = super().checkpoint(text, **said)
        with contextlib.suppress(StoreError):  # it is kept, whatever the journal is like
            self._met(from_checkpoint(made, made.ref))
        return made

    def load(self, file: Path | IO[bytes], **how: Any) -> Loaded:
        """Take in what was told elsewhere; however old, it is consolidated the next time."""
        loaded = super().load(file, **how)
        if not how.get("dry_run"):
            self.consolidate_anew()
        return loaded

    def consolidate_anew(self) -> None:
        """Have the next consolidation read everything: what was taken in is older than the last."""
        self._keep_meta("consolidated", "")

    def close_capsule(
        self, capsule: str, summary: str = "", *, confidence: float = 1.0
    ) -> tuple[Capsule, Summary | None]:
        """End a capsule, with a summary of yours or one made of it, and draw memories from it."""
        closed = super().close_capsule(capsule, summary, confidence=confidence)
        if self.config.consolidation.on_session_close:
            self.consolidate(capsule=closed[0].id)
        return closed

    def close_session(self, name: str = "") -> tuple[Session, Consolidated]:
        """Say that a session is complete, sum it up, and draw memories from it."""
        from kinen.worklog import sessions

        its = self.session(name)
        if its.ended:
            raise QueryError(f"{its.name} is {its.status} already", "`kinen session show` has it")
        on = self.config.consolidation.on_session_close
        done = self.consolidate(session=its.name) if on else Consolidated(())
        lines = [f"- {one.content}" for one in self.drawn_from(its.name) if one.type == "decision"]
        said = "\n".join(["## Decided", "", *lines]) if lines else ""
        listed = [f"- [[{path.removesuffix('.md')}]]" for path in (*its.rounds, *its.artifacts)]
        said += "\n\n" + "\n".join(["## In it", "", *listed]) if listed else ""
        sessions.close_session(self.space.root, its, said.strip(), now())
        self._written()
        return self.session(its.name), done

    # Memories

    def memories(self, type: str = "", *, hidden: bool = False) -> list[Learned]:  # noqa: A002
        """What was drawn, newest first; with `hidden`, what is no longer shown instead."""
        from kinen.journal import memories as learn
        from kinen.journal import queries

        if type and type not in MEMORY_TYPES:
            raise QueryError(f"no type {type!r}", "use one of " + ", ".join(MEMORY_TYPES))
        if not self._journal.exists:
            return []
        db = self._journal.db
        if hidden:
            away = queries.suppressed(db)
            found = [one for one in learn.memories(db, everything=True) if one.ref in away]
        else:
            found = learn.memories(db)
        return [one for one in found if type in ("", one.type)]

    def entries(self, plural: str, **wanted: Any) -> tuple[list[Any], int]:
        """As the journal has them, without memories that are no longer shown."""
        if plural != "memories" or wanted.get("audit"):
            return super().entries(plural, **wanted)
        away = self._suppressed()
        found, _ = super().entries(plural, **{**wanted, "limit": 0})
        shown = [one for one in found if one.ref not in away]
        return shown[: wanted.get("limit") or None], len(shown)

    def origin(self, memory: Learned) -> Origin:
        """The session that a memory was drawn from, and the files and symbols it is about."""
        from kinen.journal.origin import origin

        return origin(self._journal.db, memory)

    def learned(self, name: str) -> Learned:
        """A memory by its ref, its id or the beginning of it."""
        from kinen.journal import queries

        hint = "`kinen memories list` shows them"
        if not self._journal.exists:
            raise NotFound(f"no memory {name!r}", hint)
        try:
            id_ = queries.resolve(self._journal.db, name, ["memory"])[1]
        except NotFound as error:
            raise NotFound(error.message, hint) from None
        found: Learned = queries.entry(self._journal.db, "memory", id_)
        if found.forgotten_at:
            raise NotFound(f"{found.ref} was forgotten for good", hint)
        return found

    def _erase(self, ref: str, *, forget: bool) -> Erased:
        """Take out an entry, and the memories that were drawn from it: they have its words."""
        from kinen.journal import memories as learn

        erased = super()._erase(ref, forget=forget)
        if erased.suppressed:
            return erased
        drawn = [
            one.ref
            for one in learn.memories(self._journal.db, everything=True)
            if not (one.redacted or one.forgotten_at) and set(erased.refs) & set(one.derived_from)
        ]
        for one in drawn:
            super()._erase(one, forget=forget)
        also = tuple(one for one in erased.also if one not in drawn)
        return erased._replace(refs=(*erased.refs, *drawn), also=also)

    def drawn_from(self, session: str) -> list[Learned]:
        """The memories that a session's files, or its capsule, are a source of."""
        inside = f":sessions/{session}/"
        return [one for one in self.memories() if any(inside in ref for ref in one.derived_from)]

    def hide_memory(self, name: str) -> Learned:
        """Show a memory no more, wherever; it is not drawn again, and can be brought back."""
        from kinen.journal import erase

        found = self.learned(name)
        erase.suppress(self._journal, found.ref, round(now() * 1000))
        return found

    def restore_memory(self, name: str) -> Learned:
        """Show a memory again that was forgotten."""
        from kinen.journal import erase

        found = self.learned(name)
        erase.unsuppress(self._journal, found.ref)
        return found

    def _consolidated_at(self) -> str:
        if not self._journal.exists:
            return ""
        sql = "SELECT value FROM meta WHERE key = 'consolidated'"
        row = self._journal.db.execute(sql).fetchone()
        return str(row[0]) if row else ""

    def _keep_meta(self, key: str, value: str) -> None:
        if self._journal.exists:
            with self._journal.writing() as db:
                db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def _milliseconds(at: str) -> int:
    from datetime import datetime

    return max(1, round(datetime.fromisoformat(at).timestamp() * 1000)) if at else 0
