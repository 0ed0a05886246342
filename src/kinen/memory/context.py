"""Context of a file, a session, a prompt or the current work."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from kinen.characters import storable
from kinen.errors import Ambiguous, NotFound, QueryError
from kinen.journal import queries
from kinen.journal.authors import colleague
from kinen.journal.memories import files_in
from kinen.memory import issues
from kinen.model.journal import Capsule, Item, Recall
from kinen.model.records import Query, Record
from kinen.paths import inside
from kinen.recall import tiers
from kinen.recall.clip import compact, cut
from kinen.recall.tiers import item
from kinen.text import iso, spelled
from kinen.worklog.folder import git_state

if TYPE_CHECKING:
    from kinen.memory.core import Core
    from kinen.memory.git import Git
    from kinen.memory.index import Index
    from kinen.memory.issues import Issues
    from kinen.memory.journal import Journal
    from kinen.memory.recall import Recaller
    from kinen.memory.records import Records
    from kinen.memory.worklog import Worklog

EACH = 8
"""Maximum number of items of each kind."""
TOKENS = 60
"""Maximum tokens of an item."""
PLAN = 250
"""Maximum tokens of the plan."""
CHANGED = 10
"""Maximum number of changed files that describe the current work."""


@dataclass(slots=True)
class Context:
    """Finds the context of a file, a session, a prompt or the current work."""

    _core: Core
    _index: Index
    _records: Records
    _recaller: Recaller
    _journal: Journal
    _git: Git
    _worklog: Worklog
    _issues: Issues

    def around(
        self,
        *,
        session: str = "",
        file: str = "",
        plan: bool = False,
        issue: str = "",
        depth: int = 1,
        budget: int = 0,
    ) -> Recall:
        """Sessions, memories, checkpoints, commits and the plan around a file, a session, an
        issue, the active plan or the current work, inside a token budget. Each further depth
        follows the links of the results.
        """
        session = storable(session)
        file = spelled(file)
        if bool(session) + bool(file) + bool(issue) + plan > 1:
            raise QueryError("a session, a file, an issue or the plan", "give one of them")
        if depth < 1:
            raise QueryError(f"a depth of {depth} sees nothing", "use 1 or more")
        self._index.prepare()
        if session:
            title, files, refs, own = self._session_surroundings(session)
        elif file:
            title = file
            files = (self._resolve_file(file),)
            refs = set()
            own = []
        elif issue:
            title, files, refs, own = self._issue_surroundings(issue)
        elif plan:
            title, files, refs, own = self._plan_surroundings()
        else:
            title, files, refs, own = self._work_surroundings()
        groups = [*self._about(files, refs)]
        for _ in range(1, depth):
            previous = refs
            refs = refs | {item.ref for group in groups for item in group}
            if refs == previous:
                break
            near = self._neighbours(refs, files)
            groups += [*self._about((), refs), near]
        plans, nudge = self._recaller.current_plan(PLAN)
        ranked = [item for row in zip_longest(*groups) for item in row if item is not None]
        own_refs = {item.ref for item in own}
        ranked = [*own, *(item for item in ranked if item.ref not in own_refs)]
        size = budget or self._core.config.recall.budget
        return tiers.tiers(title, size, plans, ranked, [nudge] if nudge else [])

    def _resolve_file(self, file: str) -> str:
        """The current path of a file, from its path or an unambiguous end of it."""
        if self._has(file):
            return self._git.current_name(file)
        try:
            return self._records.get(file).path or file
        except NotFound:
            if self._recent(Query("", limit=1, files=(file,))):
                return file
            raise

    def _session_surroundings(self, name: str) -> tuple[str, tuple[str, ...], set[str], list[Item]]:
        """The title, files, refs and own items of a session: of a capsule, or of a folder."""
        try:
            # The newest capsule of a session, also by the start of its name.
            capsules = self._journal.entries("capsules", session=name)[0]
            exact = [capsule for capsule in capsules if capsule.scope.session == name]
            id_ = next((capsule.id for capsule in (*exact, *capsules)), name)
            capsule, observations, summaries = self._journal.capsule(id_)
        except Ambiguous:
            raise
        except NotFound:
            folder = self._worklog.session(name)
            refs = {f"round:{path}" for path in folder.rounds}
            refs |= {f"artifact:{path}" for path in folder.artifacts}
            items = [self._record_item(self._core.reader.record(ref)) for ref in sorted(refs)]
            return folder.title, (), refs, [item for item in items if item]
        count: dict[str, int] = {}
        for observation in observations:
            for path in observation.files:
                # Files outside the space do not count.
                if not os.path.isabs(inside(path, self._core.space.root)):
                    count[path] = count.get(path, 0) + 1
        files = sorted(count, key=lambda path: (-count[path], path))[:CHANGED]
        refs = {
            capsule.ref,
            *(event.ref for event in observations),
            *(entry.ref for entry in summaries),
        }
        own = [self._capsule_item(capsule)]
        return capsule.intent or name, tuple(files), refs, own

    def _issue_surroundings(self, name: str) -> tuple[str, tuple[str, ...], set[str], list[Item]]:
        """An issue, the records that name it, and the files that its commits changed."""
        details = self._issues.show(name)
        issue = details.issue
        named = issues.concerning(self._core.reader, details)
        own = [issues.issue_item(self._core.reader, details, 3 * TOKENS)]
        own += self._capsules([record.ref for record in named if record.kind == "capsule"][:EACH])
        own += [self._record_item(record) for record in named if record.kind != "capsule"][:EACH]
        files: dict[str, None] = {}
        for record in named:
            if record.kind == "commit":
                edges = self._records.links(record.ref)
                files.update((edge.target[5:], None) for edge in edges if edge.type == "touches")
        refs = {issue.ref, *(record.ref for record in named)}
        title = f"{issue.id} {issue.title}".strip()
        return title, tuple(files)[:CHANGED], refs, [entry for entry in own if entry]

    def _plan_surroundings(self) -> tuple[str, tuple[str, ...], set[str], list[Item]]:
        """The title of the active plan, the files that it names, and its own ref."""
        plan = self._worklog.plan()
        if plan is None:
            raise NotFound("no plan is active", "`kinen plan activate ID` makes one active")
        files = []
        for name in files_in(plan.text):
            try:
                files.append(self._resolve_file(name))
            except NotFound:
                continue
        return plan.title, tuple(dict.fromkeys(files))[:CHANGED], {plan.ref}, []

    def _work_surroundings(self) -> tuple[str, tuple[str, ...], set[str], list[Item]]:
        """The branch, the uncommitted files and the open sessions, or else the latest."""
        branch, _, changed = git_state(self._core.worktree or self._core.space.root)
        own = []
        capsules = self._journal.entries("capsules", limit=20)[0]
        going = [capsule for capsule in capsules if capsule.status == "open"]
        own += [self._capsule_item(capsule) for capsule in (going or capsules)[:2]]
        return branch or self._core.space.name, changed[:CHANGED], set(), own

    def _about(self, files: Sequence[str], refs: set[str]) -> Iterable[list[Item]]:
        """Memories, checkpoints, commits, sessions and companions of files and records."""
        query = Query("", limit=EACH, files=tuple(files))
        checkpoints: list[Record] = []
        alone: list[Record] = []
        sessions: list[Item] = []
        if files:
            checkpoints = self._recent(query._replace(kinds=("checkpoint",)))
            observations = self._recent(query._replace(kinds=("observation",), limit=40))
            parents = [
                str((observation.metadata or {}).get("parent", "")) for observation in observations
            ]
            alone = [
                observation
                for observation, ref in zip(observations, parents, strict=True)
                if not ref
            ]
            capsule_refs = dict.fromkeys(ref for ref in parents if ref and ref not in refs)
            sessions = self._capsules([*capsule_refs][:EACH])
        commits = self._commits_of(files)
        origins = refs | {entry.ref for entry in checkpoints} | {entry.ref for entry in commits}
        memories = self._drawn_from(origins, files)
        yield [self._item("memories", memory) for memory in memories[:EACH]]
        yield [self._item("checkpoints", checkpoint) for checkpoint in checkpoints]
        yield sessions
        yield [self._item("hits", observation) for observation in alone[:EACH]]
        yield [self._item("commits", commit) for commit in commits]
        tracked = [path for path in files if self._has(path)]
        companions = self._git.cochanged(tracked, limit=5) if tracked else []
        yield [
            item("files", f"file:{companion.path}", f"{companion.support} commits together")
            for companion in companions
        ]

    def _has(self, path: str) -> bool:
        """Whether there is a repository and it tracks the path or sees it as new."""
        return bool(self._core.git_folders[0] and self._git.tracked_or_new(path))

    def _recent(self, query: Query) -> list[Record]:
        hits = self._recaller.latest(query._replace(limit=4 * query.limit))
        return list({hit.record.ref: hit.record for hit in hits}.values())[: query.limit]

    def _commits_of(self, files: Sequence[str]) -> list[Record]:
        """The latest commits that changed the files, without merges."""
        dates: dict[str, str] = {}
        for path in files:
            if self._has(path):
                dates.update((commit.ref, commit.at) for commit in self._git.history(path)[-EACH:])
        newest = sorted(dates, key=lambda ref: (dates[ref], ref), reverse=True)[:EACH]
        return [record for ref in newest if (record := self._core.reader.record(ref))]

    def _drawn_from(self, refs: set[str], files: Sequence[str]) -> list[Record]:
        """Memories derived from any of the refs, or that name one of the files; newest first."""
        names = {path for file in files for path in (file, file.rpartition("/")[2])}
        memories = []
        for record in self._core.reader.records(("memory",)):
            about = record.metadata or {}
            if about.get("superseded_by"):
                continue
            text = self._records.whole_text(record.ref) if names else ""
            if refs & set(about.get("derived_from", ())) or any(name in text for name in names):
                memories.append(record)
        return sorted(memories, key=lambda memory: (memory.at, memory.ref), reverse=True)

    def _neighbours(self, refs: set[str], files: Sequence[str]) -> list[Item]:
        """Records one link away from the refs."""
        linked: dict[str, None] = {}
        for ref in sorted(refs):
            for edge in self._records.links(ref):
                linked.update(dict.fromkeys((edge.source, edge.target)))
        excluded = refs | {f"file:{path}" for path in files} | {""}
        records = (self._core.reader.record(ref) for ref in linked if ref not in excluded)
        items = (
            self._record_item(record) for record in records if record and record.kind != "file"
        )
        return [item for item in items if item][: 2 * EACH]

    def _capsules(self, refs: Iterable[str]) -> list[Item]:
        capsules = self._journal.entries("capsules")[0]
        by_ref = {capsule.ref: capsule for capsule in capsules}
        return [self._capsule_item(by_ref[ref]) for ref in refs if ref in by_ref]

    def _capsule_item(self, capsule: Capsule) -> Item:
        """A session with its latest summary, or else its intent."""
        latest = queries.EntryFilter(capsule=capsule.id, limit=1)
        summaries = self._core.store.entries("summaries", latest)[0]
        text = summaries[0].content if summaries else capsule.intent
        at = iso((capsule.closed_at or capsule.opened_at) / 1000)
        author = colleague(self._core.store.db, capsule.ref)
        return item("sessions", capsule.ref, cut(text, 2 * TOKENS), at=at, by=author)

    def _record_item(self, record: Record | None) -> Item | None:
        tiers = {"memory": "memories", "checkpoint": "checkpoints", "commit": "commits"}
        return self._item(tiers.get(record.kind, "hits"), record) if record else None

    def _item(self, tier: str, record: Record) -> Item:
        text = record.title if record.kind == "commit" else self._records.whole_text(record.ref)
        if record.title and not text.startswith(("#", record.title)):
            text = f"{record.title}\n{text}"
        short = compact(text, record.title, TOKENS)
        return item(tier, record.ref, short, at=record.at, by=tiers.author_of(record))
