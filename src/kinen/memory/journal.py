"""What a memory can be told: observations, capsules, pins, and what is to be forgotten."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from kinen import ids, paths
from kinen.errors import NotFound, QueryError
from kinen.ids import milliseconds
from kinen.journal import erase, queries
from kinen.journal.edits import attributed
from kinen.journal.queries import Activity
from kinen.journal.schema import LATEST
from kinen.journal.write import observation_row
from kinen.model.journal import Capsule, JournalState, Observation, Pin, Scope, Summary
from kinen.model.kinds import CAPSULE_TYPES, EVENTS, MEMORY_TYPES
from kinen.model.records import Query
from kinen.privacy import entrance
from kinen.query import choice_hint
from kinen.space import early
from kinen.text import now

if TYPE_CHECKING:
    from kinen.journal.erase import Erased
    from kinen.journal.start import Start
    from kinen.memory.core import Core
    from kinen.memory.index import Index
    from kinen.memory.records import Records

    Path = str | os.PathLike[str]
    Conflict = Literal["skip", "overwrite", "error"]

CLEAN_SECONDS = 1.0
"""How long erasing waits for a process that indexes the space, which cleans up otherwise."""


class Journal:
    """Everything that writes to the journal."""

    def __init__(
        self, core: Core, index: Index, records: Records, on_close: Callable[[str], object]
    ) -> None:
        """`on_close` is called with the id of a capsule that ends, to draw memories from it."""
        self._core = core
        self._index = index
        self._records = records
        self._on_close = on_close

    def observe(
        self,
        text: str,
        *,
        kind: str = "message",
        scope: Scope | Mapping[str, str] | None = None,
        files: Sequence[str] = (),
        capsule: str = "",
        provenance: Mapping[str, Any] | None = None,
        at: int = 0,
        id: str = "",  # noqa: A002
    ) -> Observation:
        """Keep something that happened; when this returns, it is on disk, its secrets masked.

        `at` is epoch milliseconds, now if not given. The same `id` is stored once.
        """
        root = self._core.space.root
        places = [os.path.join(root, file.replace("\0", "")) for file in files]
        journal = self._core.store
        if capsule:
            capsule = queries.resolve(journal.db, capsule, ["capsule"])[1]
        try:
            row = observation_row(
                text,
                kind,
                at,
                git_folders=self._core.git_folders,
                files=[paths.inside(place, root) for place in places],
                excluded=self._core.config.privacy.exclude,
                id=id,
                provenance=dict(provenance or {}),
                capsule=capsule,
                **self.scope(scope)._asdict(),
            )
        except (TypeError, ValueError) as error:
            hint = "use strings, numbers, lists and objects"
            raise QueryError(f"provenance is not JSON: {error}", hint) from error
        return journal.observe(row)

    def scope(self, scope: Scope | Mapping[str, str] | None) -> Scope:
        """A scope as given, in this repository unless it says another."""
        chosen = scope if isinstance(scope, Scope) else Scope(**(scope or {}))
        if chosen.repo:
            return chosen
        return chosen._replace(repo=self._core.space.origin or self._core.space.name)

    def part_of_scope(self, name: str) -> str:
        """Whether a name in Kindling's `--scope` means a `session` or a `repo` of this journal."""
        db = self._core.store.db if self._core.store.exists else None
        return queries.part_of(db, name) if db else "session"

    def open_capsule(
        self,
        intent: str,
        *,
        type: str = "session",  # noqa: A002
        scope: Scope | Mapping[str, str] | None = None,
        resume: bool = False,
        id: str = "",  # noqa: A002
        parent: str = "",
    ) -> Capsule:
        """Begin a capsule. One left open for the same session is closed as abandoned first, or,
        with `resume`, goes on. The same `id` is begun once. `parent` is a capsule it is part of.
        """
        if type not in CAPSULE_TYPES:
            raise QueryError(f"no type {type!r}", "use one of " + ", ".join(CAPSULE_TYPES))
        return self._core.store.open_capsule(
            intent, type, self.scope(scope), milliseconds(), resume=resume, id_=id, parent=parent
        )

    def close_capsule(
        self, capsule: str, summary: str = "", *, confidence: float = 1.0, at: int = 0
    ) -> tuple[Capsule, Summary | None]:
        """End a capsule with a summary, by default one made of what happened in it.

        `at` is when it ended in epoch milliseconds, now if omitted. Memories are drawn from it
        where `consolidation.on_session_close` says so.
        """
        if not 0 <= confidence <= 1:
            raise QueryError(f"confidence {confidence} is not from 0 to 1")
        at = at or milliseconds()
        closed = self._core.store.close_capsule(capsule, summary, at, confidence)
        if self._core.config.consolidation.on_session_close:
            self._on_close(closed[0].id)
        return closed

    def close_ended(self) -> None:
        """Close the sessions that ended before their folder was a space."""
        for place in self._core.early_places():
            for path in early.ends(place):
                try:
                    end = early.read(path)[1]
                    with contextlib.suppress(NotFound):
                        self.close_capsule(end["capsule"], at=end["at"])
                except OSError:
                    continue  # another process closed it
                except (ValueError, KeyError, TypeError):
                    early.set_aside(path)
                else:
                    early.discard(path)

    def close_idle(self) -> None:
        """Close the capsules that a crash left open, as abandoned."""
        if self._core.store.exists:
            self._core.store.close_idle(milliseconds())

    def capsule(self, name: str) -> tuple[Capsule, list[Observation], list[Summary]]:
        """A capsule with what happened in it."""
        db = self._core.store.db
        id_ = queries.resolve(db, name, ["capsule"])[1]
        summaries = queries.entries(db, "summaries", queries.EntryFilter(capsule=id_))[0]
        (capsule,) = attributed(db, [queries.entry(db, "capsule", id_)])
        observations = attributed(db, queries.stream(db, id_))
        return capsule, observations, attributed(db, summaries[::-1])

    def parts(self, capsule: str) -> list[Capsule]:
        """The capsules that are directly part of a capsule, oldest first."""
        db = self._core.store.db
        return attributed(db, queries.parts(db, queries.resolve(db, capsule, ["capsule"])[1]))

    def entries(
        self,
        plural: str,
        *,
        session: str = "",
        repo: str = "",
        agent: str = "",
        user: str = "",
        kind: str = "",
        after: int = 0,
        before: int = 0,
        limit: int = 0,
        audit: bool = False,
    ) -> tuple[list[Any], int]:
        """The newest observations, capsules, summaries, pins or memories, and how many there are.

        Times are epoch milliseconds; names match by their beginning. Memories that were hidden are
        left out, unless `audit` asks for everything.
        """
        if plural not in queries.NOUNS:
            raise QueryError(f"no list of {plural!r}", "use one of " + ", ".join(queries.NOUNS))
        kinds = {"observations": EVENTS, "capsules": CAPSULE_TYPES, "memories": MEMORY_TYPES}
        if kind and kind not in kinds.get(plural, (kind,)):
            raise QueryError(f"no {plural} of the kind {kind!r}", choice_hint(kind, kinds[plural]))
        if not self._core.store.exists:
            return [], 0
        hides = plural == "memories" and not audit
        entry_filter = queries.EntryFilter(
            session=session,
            repo=repo,
            agent=agent,
            user=user,
            kind=kind,
            after=after,
            before=before,
            limit=0 if hides else limit,
            audit=audit,
            now=milliseconds(),
        )
        entries, count = self._core.store.entries(plural, entry_filter)
        if hides:
            hidden = self._index.sources.suppressed()
            visible = [entry for entry in entries if entry.ref not in hidden]
            entries = visible[: limit or None]
            count = len(visible)
        return attributed(self._core.store.db, entries), count

    def short_ids(self, entries: Sequence[Any]) -> dict[str, str]:
        """The ref of each entry → the beginning of its id that is unique here."""
        if not self._core.store.exists:
            return {}
        shorts = queries.short_ids(self._core.store.db, [entry.id for entry in entries])
        return {entry.ref: shorts[entry.id] for entry in entries}

    def page(
        self,
        plural: str,
        limit: int,
        *,
        scope: Scope | None = None,
        kind: str = "",
        kinds: tuple[str, ...] = (),
        capsule: str = "",
        status: str = "",
        after: int = 0,
        before: int = 0,
        redacted: bool = True,
        past: tuple[int, str] | None = None,
    ) -> tuple[list[Any], tuple[int, str] | None]:
        """The newest entries, and where the next page begins (`past`) if there are more."""
        if not self._core.store.exists:
            return [], None
        entry_filter = queries.EntryFilter(
            scope=scope or Scope(),
            kind=kind,
            kinds=kinds,
            capsule=capsule,
            status=status,
            after=after,
            before=before,
            redacted=redacted,
            past=past,
            limit=limit + 1,
            now=milliseconds(),
        )
        entries = queries.page(self._core.store.db, plural, entry_filter)
        if len(entries) <= limit:
            return entries, None
        last = entries[limit - 1]
        return entries[:limit], (getattr(last, queries.NOUNS[plural].time), last.id)

    def observed(self, id: str) -> bool:  # noqa: A002
        """Whether there is, or was, an observation of that id."""
        if not self._core.store.exists:
            return False
        return bool(self._core.store.entry("observation", entrance.identifier(id)))

    def brief(self, session: str, agent: str, budget: int = 0, *, compacting: bool = False) -> str:
        """What an agent is told when it begins, or has to keep when it compacts."""
        from kinen.journal.start import KEEP

        start = self.start(session, agent, budget)
        if not compacting:
            return start.brief()[0]
        text = start.to_preserve()[0]
        return f"{KEEP}\n{text}\n" if text else ""

    def start(self, session: str = "", agent: str = "", budget: int = 0) -> Start:
        """An agent that begins here."""
        from kinen.config.trust import trusts_memory
        from kinen.journal.admission import Admission
        from kinen.journal.start import Start
        from kinen.space import read_head

        space = self._core.space
        db = self._core.store.db if self._core.store.exists else None
        trusted = trusts_memory(space.home, space.root, (space.id, *space.aliases))
        return Start(
            db,
            Admission(space.root, db, trusted=trusted, excluded=self._core.config.privacy.exclude),
            tree=space.root,
            index=self._core.folder,
            session=session,
            agent=agent,
            capsule=ids.key_id(agent, entrance.name(session)) if session else "",
            branch=read_head(*self._core.git_folders)[0],
            now=milliseconds(),
            budget=budget or self._core.config.hooks.budget,
            asks=self._core.config.memories.ask != "off",
        )

    def state(self) -> JournalState:
        """Whether the journal is sound, and what still waits to be written to it."""
        journal = self._core.store
        if not journal.exists:
            return JournalState(False, journal.path)
        problem = journal.check()
        observations = 0 if problem else queries.observation_count(journal.db)
        bad = [
            os.path.join(folder, name)
            for folder in self._core.spools
            if os.path.isdir(folder)
            for name in sorted(os.listdir(folder))
            if name.endswith(".bad")
        ]
        waiting = len(self._core.waiting())
        lost = "" if problem else journal.lost()
        return JournalState(True, journal.path, observations, waiting, tuple(bad), problem, lost)

    def agents(self) -> list[tuple[str, int, int]]:
        """Each agent with the number of its observations and the time of the last."""
        return queries.agents(self._core.store.db) if self._core.store.exists else []

    def activity(self) -> dict[tuple[str, int], int]:
        """Events by agent and hour since 1970, also of sessions that the repository brought."""
        from kinen.memory.traces import Traces

        counts = Traces(self._core).hours()
        own = self._core.census.hours(self._core.store.db) if self._core.store.exists else {}
        return counts | {key: count + counts.get(key, 0) for key, count in own.items()}

    def edited_files(self, after: int, before: int) -> list[queries.FileEdits]:
        """The files that agents edited in a time, in milliseconds; the most edited first."""
        from kinen.memory.traces import Traces

        edits = Traces(self._core).edits(after, before)
        if self._core.store.exists:
            edits += queries.edits(self._core.store.db, after, before)
        return queries.by_file(edits)

    def masked(self) -> list[tuple[str, int]]:
        """Classes of secrets that were masked, with the number of observations."""
        return queries.masked(self._core.store.db) if self._core.store.exists else []

    def recent_activity(self) -> Activity:
        """What happened lately: events per day, agents with their last event, open sessions."""
        if not self._core.store.exists:
            return Activity()
        return queries.recent_activity(self._core.store.db, now())

    def lost(self) -> str:
        """What to say if the journal lost observations that it had; empty if it did not."""
        return self._core.store.lost() if self._core.store.exists else ""

    def pin(
        self,
        ref: str,
        note: str = "",
        *,
        ttl: float = 0,
        scope: Scope | Mapping[str, str] | None = None,
    ) -> Pin:
        """Have every recall in a scope begin with a record, for `ttl` seconds or for good.

        A text that names no record is stored first.
        """
        if not 0 <= ttl < LATEST / 1000:
            raise QueryError(f"no such time: {ttl} seconds", "give a time to come, or 0 for good")
        chosen = scope if isinstance(scope, Scope) else Scope(**(scope or {}))
        if self.is_text(ref):
            target = self.observe(ref, scope=chosen).ref
        else:
            try:
                target = self._resolve(ref)[0]
            except NotFound as error:
                hint = f"{error.hint}; a text of your own has several words"
                raise NotFound(error.message, hint) from None
        return self._core.store.pin(target, note, round(ttl * 1000), chosen, milliseconds())

    def is_text(self, ref: str) -> bool:
        """Whether something to pin is a text of its own: several words that name no record."""
        return len(ref.split()) > 1 and not self._records.knows(ref)

    def with_texts(self, pins: Sequence[Pin]) -> list[Pin]:
        """The pins for a reader: the note of each begins with the text that it pins."""
        return [pin._replace(note=f"{self._text_of(pin.target)}  {pin.note}") for pin in pins]

    def unpin(self, ref: str) -> list[str]:
        """Take away a pin, or every pin of a ref."""
        with contextlib.suppress(NotFound):
            return self._core.store.unpin(ref)
        return self._core.store.unpin(self._resolve(ref)[0])

    def redact(self, ref: str) -> Erased:
        """Empty an entry of the journal for good, keeping its id and relations."""
        return self._erase(ref, forget=False)

    def forget(self, ref: str) -> Erased:
        """Leave only a tombstone of an entry; of a file or commit, show it no more."""
        return self._erase(ref, forget=True)

    def erasable(self, ref: str) -> Erased:
        """What `redact` and `forget` would take out; `refs` begins with the entry itself."""
        target, recorded = self._erasable(ref)
        if not recorded:
            return erase.Erased((target, *self._parts_of(target)), suppressed=True)
        return erase.preview(self._core.store.db, target)

    def _erase(self, ref: str, *, forget: bool) -> Erased:
        """Take out an entry, the memories drawn from it, and what agents were shown of it."""
        target, recorded = self._erasable(ref)
        text = self._text_of(ref) if recorded else ""
        if recorded:
            at = milliseconds()
            erased = erase.erase(self._core.store, target, forget=forget, now=at)
        else:
            refs = (target, *self._parts_of(target))
            erase.suppress(self._core.store, refs, milliseconds())
            erased = erase.Erased(refs, suppressed=True)
        return erased._replace(waiting=self.clean(erased.refs, text))

    def _erasable(self, ref: str) -> tuple[str, bool]:
        """As `_resolve`, and a file that is read but stands in no index yet, or not again yet."""
        try:
            return self._resolve(ref)
        except NotFound:
            from kinen.sources.files.layout import is_read, kind_of

            with contextlib.suppress(NotFound):
                path = self._core.inside(ref)
                if is_read(path) and os.path.isfile(os.path.join(self._core.space.root, path)):
                    return f"{kind_of(path)}:{path}", False
            raise

    def clean(self, refs: Sequence[str], text: str = "") -> str:
        """Take what was erased in the journal out of everything that is made of it.

        Returns who has to end first, if somebody has: then that process does the rest.
        """
        from kinen.memory import erasing

        erasing.hide(self._core, refs, text)
        return erasing.clean(self._core, wait=CLEAN_SECONDS)

    def restore(self, ref: str, on_wait: Callable[[str], None] | None = None) -> str:
        """Show a file or commit again that was forgotten.

        It is read again for that; `on_wait` is called with who indexes the space, if anybody does.
        """
        restored = erase.unsuppress(self._core.store, ref)
        self._index.sync(embed=False, on_wait=on_wait)
        return restored

    def _resolve(self, ref: str) -> tuple[str, bool]:
        """The full ref of what is named, and whether the journal has it."""
        if self._core.store.exists:
            with contextlib.suppress(NotFound):
                return ":".join(self._core.store.resolve(ref)), True
        record = self._records.get(ref)
        of_clone = bool((record.metadata or {}).get("origin"))
        return record.ref, record.kind in queries.KINDS and not of_clone

    def _parts_of(self, ref: str) -> list[str]:
        """The entries of a session that came with the clone: they are hidden with it."""
        if not ref.startswith("capsule:"):
            return []
        parts = Query("", kinds=("observation", "summary"), parents=(ref,))
        return [record.ref for record in self._core.reader.matching(parts)]

    def _text_of(self, ref: str) -> str:
        """The text of an entry of the journal, before it goes."""
        with contextlib.suppress(NotFound):
            if self._core.store.exists:
                kind, id_ = self._core.store.resolve(ref)
                return str(getattr(self._core.store.entry(kind, id_), "content", ""))
        return ""
