"""What belongs to a file, a session, a prompt or the current work."""

from __future__ import annotations

import os
from itertools import zip_longest
from typing import TYPE_CHECKING

from kinen.characters import storable
from kinen.errors import NotFound, QueryError
from kinen.model.records import Query
from kinen.paths import inside
from kinen.recall.clip import compact, cut
from kinen.text import iso, spelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kinen.memory.core import Core
    from kinen.memory.git import Git
    from kinen.memory.index import Index
    from kinen.memory.journal import Journal
    from kinen.memory.recall import Recaller
    from kinen.memory.records import Records
    from kinen.memory.search import Searcher
    from kinen.memory.worklog import Worklog
    from kinen.model.journal import Capsule, Item, Recall
    from kinen.model.records import Record
    from kinen.recall.prompts import Related

EACH = 8
"""Things of each kind that are looked at."""
TOKENS = 60
"""Tokens of a thing in a context."""
PLAN = 250
"""Tokens of the plan in a context."""
CHANGED = 10
"""Changed files that the current work is known by."""


class Context:
    """What belongs to a file, a session, a prompt or the current work."""

    def __init__(
        self,
        core: Core,
        index: Index,
        searcher: Searcher,
        records: Records,
        journal: Journal,
        git: Git,
        worklog: Worklog,
        recaller: Recaller,
    ) -> None:
        self._core = core
        self._index = index
        self._searcher = searcher
        self._records = records
        self._journal = journal
        self._git = git
        self._worklog = worklog
        self._recaller = recaller

    def related(self, prompt: str, session: str, budget: int, known: Sequence[str] = ()) -> Related:
        """What full text finds for a prompt in other sessions and in files, as an agent is told.

        Refs in `known` are in its context already.
        """
        from kinen.memory.prompts import related

        return related(self._searcher.search, self._core.reader, prompt, session, budget, known)

    def around(
        self, *, session: str = "", file: str = "", depth: int = 1, budget: int = 0
    ) -> Recall:
        """Sessions, memories, checkpoints, commits and the plan around a file, a session or what is
        being worked on, inside a token budget. Each step of depth looks around what was found.
        """
        from kinen.recall import tiers

        session, file = storable(session), spelled(file)
        if session and file:
            raise QueryError("a session or a file", "give one of them")
        if depth < 1:
            raise QueryError(f"a depth of {depth} sees nothing", "use 1 or more")
        self._index.prepare()
        if session:
            title, files, refs, own = self._session_surroundings(session)
        elif file:
            title, files, refs, own = file, (self._one_file(file),), set(), []
        else:
            title, files, refs, own = self._work_surroundings()
        found = [own, *self._about(files, refs)]
        for _ in range(1, depth):
            known, refs = refs, refs | {one.ref for part in found for one in part}
            if refs == known:
                break
            near = self._neighbours(refs, files)
            found += [*self._about((), refs), near]
        plan, nudge = self._recaller.current_plan(PLAN)
        ranked = [one for row in zip_longest(*found) for one in row if one is not None]
        size = budget or self._core.config.recall.budget
        return tiers.tiers(title, size, plan, ranked, [nudge] if nudge else [])

    def _one_file(self, file: str) -> str:
        """The current name of a file that is known by its path, or by the end of it."""
        if self._has(file):
            return self._git.current_name(file)
        if self._core.reader.at_path(self._git.relative(file)):
            return self._git.relative(file)
        paths = [
            one.path for one in self._core.reader.records(("file",)) if one.path.endswith(file)
        ]
        near = [path for path in paths if path == file or path.endswith(f"/{file}")]
        if len(near) > 1:
            raise QueryError(f"several files end in {file}: {', '.join(near[:5])}", "say more")
        if near:
            return near[0]
        if self._recent(Query("", limit=1, files=(file,))):
            return file
        raise NotFound(f"nothing is known of {file}", "`kinen files` lists what is")

    def _session_surroundings(self, name: str) -> tuple[str, tuple[str, ...], set[str], list[Item]]:
        """A session's files, refs and what it came to: of a capsule, or of a folder."""
        try:
            capsule, observations, summaries = self._journal.capsule(self._capsule_named(name))
        except NotFound:
            its = self._worklog.session(name)
            refs = {f"round:{path}" for path in its.rounds}
            refs |= {f"artifact:{path}" for path in its.artifacts}
            said = [self._record_item(self._core.reader.record(ref)) for ref in sorted(refs)]
            return its.title, (), refs, [one for one in said if one]
        count: dict[str, int] = {}
        for one in observations:
            for path in one.files:
                if not os.path.isabs(inside(path, self._core.space.root)):  # else it is elsewhere
                    count[path] = count.get(path, 0) + 1
        files = sorted(count, key=lambda path: (-count[path], path))[:CHANGED]
        refs = {capsule.ref, *(one.ref for one in observations), *(one.ref for one in summaries)}
        own = [self._capsule_item(capsule)]
        return capsule.intent or name, tuple(files), refs, own

    def _capsule_named(self, name: str) -> str:
        """A capsule by its id, or the newest one of a session, known by how it begins."""
        found = self._journal.entries("capsules", session=name)[0]
        exact = [one for one in found if one.scope.session == name]
        return next((one.id for one in (*exact, *found)), name)

    def _work_surroundings(self) -> tuple[str, tuple[str, ...], set[str], list[Item]]:
        """What is changed and not committed, and the session that goes on."""
        from kinen.worklog.folder import git_state

        branch, _, changed = git_state(self._git.worktree or self._core.space.root)
        own = []
        capsules = self._journal.entries("capsules", limit=20)[0]
        going = [one for one in capsules if one.status == "open"]
        own += [self._capsule_item(one) for one in (going or capsules)[:2]]
        return branch or self._core.space.name, changed[:CHANGED], set(), own

    def _about(self, files: Sequence[str], refs: set[str]) -> Iterable[list[Item]]:
        """Memories, checkpoints, commits, sessions and companions of files and records."""
        query = Query("", limit=EACH, files=tuple(files))
        checkpoints: list[Record] = []
        alone: list[Record] = []
        sessions: list[Item] = []
        if files:
            checkpoints = self._recent(query._replace(kinds=("checkpoint",)))
            said = self._recent(query._replace(kinds=("observation",), limit=40))
            parents = [str((one.metadata or {}).get("parent", "")) for one in said]
            alone = [one for one, ref in zip(said, parents, strict=True) if not ref]
            known = dict.fromkeys(ref for ref in parents if ref and ref not in refs)
            sessions = self._capsules([*known][:EACH])
        commits = self._commits_of(files)
        found = refs | {one.ref for one in checkpoints} | {one.ref for one in commits}
        memories = self._drawn_from(found, files)
        yield [self._item("memories", one) for one in memories[:EACH]]
        yield [self._item("checkpoints", one) for one in checkpoints]
        yield sessions
        yield [self._item("hits", one) for one in alone[:EACH]]
        yield [self._item("commits", one) for one in commits]
        tracked = [path for path in files if self._has(path)]
        yield self._companions(tracked) if tracked else []

    def _has(self, path: str) -> bool:
        """Whether there is a repository, and a commit in it knows the path."""
        return bool(self._core.git_folders[0] and self._git.tracked_or_new(path))

    def _recent(self, query: Query) -> list[Record]:
        hits = self._recaller.latest(query._replace(limit=4 * query.limit))
        return list({hit.record.ref: hit.record for hit in hits}.values())[: query.limit]

    def _commits_of(self, files: Sequence[str]) -> list[Record]:
        """The latest commits that touched these files, merges left out."""
        found: dict[str, str] = {}
        for path in files:
            if self._has(path):
                found.update((one.ref, one.at) for one in self._git.history(path)[-EACH:])
        newest = sorted(found, key=lambda ref: (found[ref], ref), reverse=True)[:EACH]
        return [record for ref in newest if (record := self._core.reader.record(ref))]

    def _drawn_from(self, refs: set[str], files: Sequence[str]) -> list[Record]:
        """Memories that were drawn from any of these, or name one of the files; newest first."""
        names = {path for file in files for path in (file, file.rpartition("/")[2])}
        found = []
        for record in self._core.reader.records(("memory",)):
            about = record.metadata or {}
            if about.get("superseded_by"):
                continue
            text = self._records.whole_text(record.ref) if names else ""
            if refs & set(about.get("derived_from", ())) or any(name in text for name in names):
                found.append(record)
        return sorted(found, key=lambda one: (one.at, one.ref), reverse=True)

    def _neighbours(self, refs: set[str], files: Sequence[str]) -> list[Item]:
        """What is one link away from what was found."""
        found: dict[str, None] = {}
        for ref in sorted(refs):
            for edge in self._records.links(ref):
                found.update(dict.fromkeys((edge.source, edge.target)))
        known = refs | {f"file:{path}" for path in files} | {""}
        records = (self._core.reader.record(ref) for ref in found if ref not in known)
        told = (self._record_item(one) for one in records if one and one.kind != "file")
        return [one for one in told if one][: 2 * EACH]

    def _companions(self, files: Sequence[str]) -> list[Item]:
        from kinen.recall.tiers import item

        return [
            item("files", f"file:{one.path}", f"{one.support} commits together")
            for one in self._git.cochanged(files, limit=5)
        ]

    def _capsules(self, refs: Iterable[str]) -> list[Item]:
        capsules = self._journal.entries("capsules")[0] if self._core.store.exists else []
        known = {one.ref: one for one in capsules}
        return [self._capsule_item(known[ref]) for ref in refs if ref in known]

    def _capsule_item(self, capsule: Capsule) -> Item:
        """A session by what it came to, or what it was for."""
        from kinen.journal import queries
        from kinen.recall.tiers import item

        wanted = queries.EntryFilter(capsule=capsule.id, limit=1)
        summaries = queries.entries(self._core.store.db, "summaries", wanted)[0]
        text = summaries[0].content if summaries else capsule.intent
        at = iso((capsule.closed_at or capsule.opened_at) / 1000)
        return item("sessions", capsule.ref, cut(text, 2 * TOKENS), at=at)

    def _record_item(self, record: Record | None) -> Item | None:
        tiers = {"memory": "memories", "checkpoint": "checkpoints", "commit": "commits"}
        return self._item(tiers.get(record.kind, "hits"), record) if record else None

    def _item(self, tier: str, record: Record) -> Item:
        from kinen.recall.tiers import item

        text = record.title if record.kind == "commit" else self._records.whole_text(record.ref)
        if record.title and not text.startswith(("#", record.title)):
            text = f"{record.title}\n{text}"
        return item(tier, record.ref, compact(text, record.title, TOKENS), at=record.at)
