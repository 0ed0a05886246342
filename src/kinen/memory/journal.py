"""What a memory can be told: observations, capsules, pins, and what is to be forgotten."""

from __future__ import annotations

import contextlib
import os
from typing import IO, TYPE_CHECKING, Any, Literal

from kinen import ids, paths
from kinen.errors import NotFound, QueryError
from kinen.memory.search import Asking
from kinen.privacy import entrance
from kinen.storage import private
from kinen.text import now

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kinen.journal.erase import Erased
    from kinen.model.journal import Capsule, JournalState, Observation, Pin, Scope, Summary
    from kinen.transfer.bundle import Loaded

    Path = str | os.PathLike[str]
    Conflict = Literal["skip", "overwrite", "error"]

MEMORIES = 40
"""How many of them are tried for the room that there is in a brief."""


class Keeping(Asking):
    """Everything that writes to the journal."""

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
        from kinen.journal import queries
        from kinen.journal import write as append
        from kinen.journal.jot import allowed, check
        from kinen.journal.schema import LATEST
        from kinen.space.head import read_head

        text = entrance.plain(text)
        check(text, kind)
        if not 0 <= at < LATEST:
            raise QueryError(f"no such time: {at}", "give epoch milliseconds before the year 10000")
        root = self.space.root
        places = [os.path.join(root, file.replace("\0", "")) for file in files]
        named = [paths.inside(place, root) for place in places]
        allowed(named, list(self.config.privacy.exclude))
        journal = self._journal
        if capsule:
            capsule = queries.resolve(journal.db, capsule, ["capsule"])[1]
        branch, head = read_head(*self._git)
        try:
            row = append.row(
                text,
                kind,
                at,
                id=id,
                provenance=dict(provenance or {}),
                capsule=capsule,
                branch=branch,
                head=head,
                files=named,
                **self._scope(scope)._asdict(),
            )
        except (TypeError, ValueError) as error:
            hint = "use strings, numbers, lists and objects"
            raise QueryError(f"provenance is not JSON: {error}", hint) from error
        return journal.observe(row)

    def _scope(self, scope: Scope | Mapping[str, str] | None) -> Scope:
        """A scope as given, in this repository unless it says another."""
        from kinen.model.journal import Scope

        given = scope if isinstance(scope, Scope) else Scope(**(scope or {}))
        return given if given.repo else given._replace(repo=self.space.origin or self.space.name)

    def open_capsule(
        self,
        intent: str,
        *,
        type: str = "session",  # noqa: A002
        scope: Scope | Mapping[str, str] | None = None,
        resume: bool = False,
        id: str = "",  # noqa: A002
    ) -> Capsule:
        """Begin a capsule. One left open for the same session is closed as abandoned first, or,
        with `resume`, goes on. The same `id` is begun once.
        """
        from kinen.model.kinds import CAPSULE_TYPES

        if type not in CAPSULE_TYPES:
            raise QueryError(f"no type {type!r}", "use one of " + ", ".join(CAPSULE_TYPES))
        return self._journal.open_capsule(
            intent, type, self._scope(scope), _milliseconds(), resume=resume, id_=id
        )

    def close_capsule(
        self, capsule: str, summary: str = "", *, confidence: float = 1.0
    ) -> tuple[Capsule, Summary | None]:
        """End a capsule, with a summary of yours or one made of what happened in it."""
        if not 0 <= confidence <= 1:
            raise QueryError(f"confidence {confidence} is not from 0 to 1")
        return self._journal.close_capsule(capsule, summary, _milliseconds(), confidence)

    def close_idle(self) -> None:
        """Close the capsules that a crash left open, as abandoned."""
        if self._journal.exists:
            self._journal.close_idle(_milliseconds())

    def capsule(self, name: str) -> tuple[Capsule, list[Observation], list[Summary]]:
        """A capsule with what happened in it."""
        from kinen.journal import queries

        db = self._journal.db
        id_ = queries.resolve(db, name, ["capsule"])[1]
        found = queries.entries(db, "summaries", queries.Wanted(capsule=id_))[0]
        return queries.entry(db, "capsule", id_), list(queries.stream(db, id_)), found[::-1]

    def entries(self, plural: str, **wanted: Any) -> tuple[list[Any], int]:
        """The newest observations, capsules, summaries, pins or memories, and how many there are.

        Filters: session repo agent kind after before limit audit.
        """
        from kinen.journal import queries

        if plural not in queries.NOUNS:
            raise QueryError(f"no list of {plural!r}", "use one of " + ", ".join(queries.NOUNS))
        if not self._journal.exists:
            return [], 0
        chosen = queries.Wanted(**wanted, now=_milliseconds())
        return queries.entries(self._journal.db, plural, chosen)

    def page(
        self, plural: str, limit: int, **wanted: Any
    ) -> tuple[list[Any], tuple[int, str] | None]:
        """So many of the newest, and the place to go on from (`past`) if there are more."""
        from kinen.journal import queries

        if not self._journal.exists:
            return [], None
        chosen = queries.Wanted(**wanted, limit=limit + 1, now=_milliseconds())
        found = queries.page(self._journal.db, plural, chosen)
        if len(found) <= limit:
            return found, None
        last = found[limit - 1]
        return found[:limit], (getattr(last, queries.NOUNS[plural].time), last.id)

    def observed(self, id: str) -> bool:  # noqa: A002
        """Whether there is, or was, an observation of that id."""
        from kinen.journal import queries

        if not self._journal.exists:
            return False
        return bool(queries.entry(self._journal.db, "observation", entrance.identifier(id)))

    def brief(self, session: str, agent: str, budget: int = 0, *, compacting: bool = False) -> str:
        """What an agent is told when it begins, or has to keep when it compacts."""
        from kinen.journal import capsules
        from kinen.journal.brief import KEEP, brief, decisions_of, plan_of, ranked

        at, size = _milliseconds(), budget or self.config.hooks.budget
        plan, db = plan_of(self.space.root, at / 1000), None
        if self._journal.exists:
            db = self._journal.db
        pins = capsules.pins(db, session, agent, at) if db else []
        if compacting or not db:
            text = brief(plan, pins, None, (), size)
            return f"{KEEP}\n{text}\n" if text and compacting else text
        own = ids.key_id(agent, entrance.name(session)) if session else ""
        last = capsules.summary(db, own)
        decided = decisions_of(self.space.root)
        memories = ranked([*decided, *capsules.memories(db)], capsules.touched(db))[:MEMORIES]
        known = capsules.known(db, own, self.space.root, self.space.data)
        return brief(plan, pins, last, memories, size, known)

    def journal_state(self) -> JournalState:
        """Whether the journal is sound, and what still waits to be written to it."""
        from kinen.model.journal import JournalState

        journal = self._journal
        if not journal.exists:
            return JournalState(False, journal.path)
        problem = journal.check()
        count = "SELECT COUNT(*) FROM observations WHERE forgotten_at = 0"
        observations = 0 if problem else journal.db.execute(count).fetchone()[0]
        bad = [
            os.path.join(folder, name)
            for folder in self._spools
            if os.path.isdir(folder)
            for name in sorted(os.listdir(folder))
            if name.endswith(".bad")
        ]
        waiting = len(self._waiting())
        lost = "" if problem else journal.lost()
        return JournalState(True, journal.path, observations, waiting, tuple(bad), problem, lost)

    def journal_lost(self) -> str:
        """What to say if the journal lost observations that it had; empty if it did not."""
        return self._journal.lost() if self._journal.exists else ""

    def pin(
        self,
        ref: str,
        note: str = "",
        *,
        ttl: float = 0,
        scope: Scope | Mapping[str, str] | None = None,
    ) -> Pin:
        """Have every recall in a scope begin with something, for `ttl` seconds or for good."""
        from kinen.journal.schema import LATEST
        from kinen.model.journal import Scope

        if not 0 <= ttl < LATEST / 1000:
            raise QueryError(f"no such time: {ttl} seconds", "give a time to come, or 0 for good")
        chosen = scope if isinstance(scope, Scope) else Scope(**(scope or {}))
        target, _ = self._named(ref)
        return self._journal.pin(target, note, round(ttl * 1000), chosen, _milliseconds())

    def unpin(self, ref: str) -> list[str]:
        """Take away a pin, or every pin of a ref."""
        with contextlib.suppress(NotFound):
            return self._journal.unpin(ref)
        return self._journal.unpin(self._named(ref)[0])

    def redact(self, ref: str) -> Erased:
        """Empty an entry of the journal for good, keeping its id and relations."""
        return self._erase(ref, forget=False)

    def forget(self, ref: str) -> Erased:
        """Leave only a tombstone of an entry; of a file or commit, show it no more."""
        return self._erase(ref, forget=True)

    def _erase(self, ref: str, *, forget: bool) -> Erased:
        from kinen.index.writer import sync_lock
        from kinen.journal import erase
        from kinen.journal.spool import discard
        from kinen.storage.database import scrub

        journal, (target, ours) = self._journal, self._named(ref)
        at = _milliseconds()
        if not ours:
            erase.suppress(journal, target, at)
            self.sync(embed=False)
            return erase.Erased((target,), suppressed=True)
        erased = erase.erase(journal, target, forget=forget, now=at)
        discard(journal.spools, [ref.partition(":")[2] for ref in erased.refs])
        with journal.translated():
            scrub(journal.db, journal.path)
        with sync_lock(self._file("sync.lock"), 600):
            self._scrub_index()
        return erased

    def _scrub_index(self) -> None:
        """Take what was erased out of index, vectors and cache, freed pages and logs included.

        What was said beside it goes too: earlier states of its segment, the summary made of it.
        """
        import shutil

        from kinen.distill.chain import expire
        from kinen.index import snapshots
        from kinen.index.writer import Writer

        snapshots.prune(self._file("snapshots"), 0)  # they have it too, and can be made again
        shutil.rmtree(self._file("answers"), ignore_errors=True)  # of earlier versions
        expire(self._cache.texts, float("inf"))
        if not os.path.exists(self._file("index.db")):
            return
        with contextlib.closing(Writer(self._file("index.db"))) as writer:
            writer.follow(self._entries)
            self._cache.prune(set(self._reader.digests()))
            self._cache.forget(())
            self._loaded = ("", None)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._file("vectors.bin"))
            writer.scrub()

    def restore(self, ref: str) -> str:
        """Show a file or commit again that was forgotten."""
        from kinen.journal import erase

        found = erase.unsuppress(self._journal, ref)
        self.sync(embed=False)
        return found

    def _named(self, ref: str) -> tuple[str, bool]:
        """The full ref of what is named, and whether the journal has it."""
        from kinen.journal import queries

        if self._journal.exists:
            with contextlib.suppress(NotFound):
                return ":".join(queries.resolve(self._journal.db, ref)), True
        return self.record(ref).ref, False

    def export(
        self,
        out: Path | IO[str],
        *,
        session: str = "",
        repo: str = "",
        after: int = 0,
        before: int = 0,
        form: Literal["json", "jsonl"] = "json",
    ) -> dict[str, int]:
        """Write the journal, or a part of it, as one bundle; a file is replaced as a whole."""
        from kinen.transfer.bundle import Filter, export

        only = Filter(entrance.name(session), entrance.name(repo), after, before)
        moment = os.environ.get("SOURCE_DATE_EPOCH", "")
        at = int(moment) * 1000 if moment.isdecimal() else _milliseconds()

        def write(target: IO[str]) -> dict[str, int]:
            db = self._journal.db
            return export(db, target.write, only=only, form=form, exported_at=at)

        if not isinstance(out, (str, os.PathLike)):
            return write(out)
        if os.path.exists(out) and not os.path.isfile(
            out
        ):  # a pipe or a device: nothing to replace
            with open(out, "w", encoding="utf-8", newline="\n", errors="surrogatepass") as file:
                return write(file)
        draft = f"{os.fspath(out)}.{os.getpid()}.tmp"
        try:
            with open(
                draft,
                "x",
                encoding="utf-8",
                newline="\n",
                errors="surrogatepass",
                opener=private.opener,
            ) as file:
                counts = write(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, out)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(draft)
        return counts

    def load(
        self,
        file: Path | IO[bytes],
        *,
        on_conflict: Conflict = "skip",
        dry_run: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> Loaded:
        """Take in a bundle of kinen or Kindling, or a Kindling database: all of it or nothing."""
        from kinen.transfer import bundle, kindling

        journal = self._journal
        with journal.translated():
            if not isinstance(file, (str, os.PathLike)):
                return bundle.load(
                    journal.db, file, conflict=on_conflict, dry_run=dry_run, progress=progress
                )
            path = os.fspath(file)
            if kindling.is_kindling(path):
                return kindling.load_database(
                    journal.db, path, conflict=on_conflict, dry_run=dry_run
                )
            with open(path, "rb") as opened:
                return bundle.load(
                    journal.db, opened, conflict=on_conflict, dry_run=dry_run, progress=progress
                )


def _milliseconds() -> int:
    return round(now() * 1000)
