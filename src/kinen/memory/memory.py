"""Memory: one space, as every surface uses it.

The four everyday verbs are methods; everything else is in a part, which is made when it is first
used: a search loads nothing that it does not need (docs/decisions/0002-cold-start.md).
"""

from __future__ import annotations

import os

from kinen import config as configuration
from kinen import paths
from kinen.errors import SpaceError
from kinen.memory.core import Core
from kinen.model.late import cached_property
from kinen.space import find as spaces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Self

    from kinen.config.keys import Config
    from kinen.memory.answers import Answers
    from kinen.memory.consolidation import Consolidation
    from kinen.memory.context import Context
    from kinen.memory.experience import Experience
    from kinen.memory.garbage import Snapshots
    from kinen.memory.git import Git
    from kinen.memory.index import Index, Progress
    from kinen.memory.issues import Issues
    from kinen.memory.journal import Journal
    from kinen.memory.ledger import Ledger
    from kinen.memory.past import Past
    from kinen.memory.recall import Recaller
    from kinen.memory.records import Records
    from kinen.memory.related import Relations
    from kinen.memory.reports import Reports
    from kinen.memory.search import Searcher
    from kinen.memory.sessions import Sessions
    from kinen.memory.team import Team
    from kinen.memory.transfer import Transfer
    from kinen.memory.versions import Versions
    from kinen.memory.why import Why
    from kinen.memory.workflow import Workflow
    from kinen.memory.worklog import Worklog
    from kinen.model.documents import Report
    from kinen.model.journal import Observation, Recall, Scope
    from kinen.model.records import Hits, Query
    from kinen.ports import Embedder
    from kinen.space.registry import Space

ASK = "ask"
"""The lane for everything that reads the index."""
JOURNAL = "journal"
"""The lane for calls that only write to the journal."""


class Memory:
    """The memory of one space. Use it as a context manager, or close it."""

    def __init__(
        self,
        space: Space,
        config: Config,
        *,
        models: dict[tuple[object, ...], Embedder | None] | None = None,
        on_repair: Callable[[str], None] | None = None,
    ) -> None:
        """Embedders in `models` are shared with other memories; `on_repair` gets repairs."""
        self.core = Core(space, config, models, on_repair)
        self.config = config

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        space: str | None = None,
        home: str | os.PathLike[str] | None = None,
        settings: dict[str, Any] | None = None,
    ) -> Self:
        """The memory of the space at a path, or of a named one; settings are dotted config keys."""
        data = os.fspath(home) if home else paths.default_home(os.environ)
        start = None if path is None else os.fspath(path)
        if start is not None and not os.path.isdir(start):
            raise SpaceError(f"no folder {start}", "give the folder of a space")
        anyway = start is not None and space is None
        chosen = spaces.find(start, name=space, home=data, anyway=anyway)
        paths.debug(f"space {chosen.name} in {chosen.root}, data below {data}")
        return cls(chosen, configuration.load(data, chosen.root, overrides=settings))

    @property
    def space(self) -> Space:
        return self.core.space

    def close(self) -> None:
        self.core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def renew(self) -> None:
        """Close the index if its file was replaced since it was opened."""
        if self.core.is_replaced():
            self.close()

    def search(self, query: Query | str) -> Hits:
        """Answer a query; a space that was never indexed is indexed first."""
        return self.searcher.search(query)

    def recall(
        self,
        query: Query | str = "",
        *,
        full: bool = False,
        distiller: str = "",
        summary: bool = False,
    ) -> Recall:
        """What answers a question, inside a token budget, below the plan and the pins.

        Without a question, what happened last. With `full` whole records, with `summary` the
        latest summary in scope too. With a distiller (`configured`, `auto`, `extract`, `claude`,
        ...) it ends in a digest in place of the hits.
        """
        if summary:
            return self.recaller.with_summary(query)
        return self.recaller.recall(query, full=full, distiller=distiller)

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
        """Record something that happened; when this returns, it is on disk, its secrets masked.

        `at` is epoch milliseconds, now if omitted. The same `id` is stored once.
        """
        return self.journal.observe(
            text,
            kind=kind,
            scope=scope,
            files=files,
            capsule=capsule,
            provenance=provenance,
            at=at,
            id=id,
        )

    def sync(
        self,
        *,
        embed: bool = True,
        rebuild: bool = False,
        session: str = "",
        progress: Progress | None = None,
        seconds: float | None = None,
        wait: float = 3600.0,
        on_wait: Callable[[str], None] | None = None,
    ) -> Report:
        """Bring the index up to date: all full text first, then vectors for at most `seconds`.

        It waits up to `wait` seconds for another process that indexes the space, then raises
        Busy; `on_wait` is called once with who that is and how far it is.
        """
        return self.index.sync(
            embed=embed,
            rebuild=rebuild,
            session=session,
            progress=progress,
            seconds=seconds,
            wait=wait,
            on_wait=on_wait,
        )

    @cached_property
    def index(self) -> Index:
        """The index: bringing it up to date, its state, copies of it."""
        from kinen.memory.index import Index

        return Index(self.core)

    @cached_property
    def snapshots(self) -> Snapshots:
        """Copies of the index."""
        from kinen.memory.garbage import Snapshots

        return Snapshots(self.core, self.index)

    @cached_property
    def searcher(self) -> Searcher:
        from kinen.memory.search import Searcher

        return Searcher(self.core, self.index, lambda: self.past)

    @cached_property
    def recaller(self) -> Recaller:
        from kinen.memory.recall import Recaller

        return Recaller(
            self.core,
            self.index,
            self.records,
            self.searcher,
            lambda: self.past,
            lambda: self.issues,
        )

    @cached_property
    def records(self) -> Records:
        """Records by ref or path, their chunks and links."""
        from kinen.memory.records import Records

        return Records(self.core, self.index)

    @cached_property
    def relations(self) -> Relations:
        """What is related to a note: by links, by meaning and by tags."""
        from kinen.memory.related import Relations

        return Relations(self.core, self.records)

    @cached_property
    def journal(self) -> Journal:
        """Observations, capsules, summaries and pins."""
        from kinen.memory.journal import Journal

        def draw_memories(capsule: str) -> None:
            self.consolidation.consolidate(capsule=capsule)

        return Journal(self.core, self.index, self.records, draw_memories)

    @cached_property
    def git(self) -> Git:
        """Files of the repository, their history and tags, what changes together."""
        from kinen.memory.git import Git

        return Git(self.core, self.index)

    @cached_property
    def worklog(self) -> Worklog:
        """Checkpoints, plans, hand-kept sessions and resources: files of the space."""
        from kinen.memory.worklog import Worklog

        return Worklog(self.core, self.index, self.records, lambda: self.consolidation)

    @cached_property
    def consolidation(self) -> Consolidation:
        """Memories: decisions, lessons, patterns and insights, each with its sources."""
        from kinen.memory.consolidation import Consolidation

        return Consolidation(self.core, self.index, self.records, self.journal, lambda: self.past)

    @cached_property
    def context(self) -> Context:
        """What belongs to a file, a session, a prompt or the current work."""
        from kinen.memory.context import Context

        return Context(
            self.core,
            self.index,
            self.records,
            self.recaller,
            self.journal,
            self.git,
            self.worklog,
            self.issues,
        )

    @cached_property
    def sessions(self) -> Sessions:
        """Sessions of agents and people, with their timelines."""
        from kinen.memory.sessions import Sessions

        return Sessions(self.core, self.journal, self.worklog, self.consolidation, self.searcher)

    @cached_property
    def reports(self) -> Reports:
        """Standup and handoff."""
        from kinen.memory.reports import Reports

        return Reports(self.core, self.journal, self.worklog, self.consolidation, self.sessions)

    @cached_property
    def answers(self) -> Answers:
        """Questions answered with citations."""
        from kinen.memory.answers import Answers

        return Answers(self.core, self.recaller)

    @cached_property
    def experience(self) -> Experience:
        """How errors were fixed, and how commands are called."""
        from kinen.memory.experience import Experience

        return Experience(self.core, self.index, self.git)

    @cached_property
    def reasons(self) -> Why:
        """Why a line, a commit or a memory is there."""
        from kinen.memory.why import Why

        return Why(self.core, self.index, self.git, self.records)

    @cached_property
    def versions(self) -> Versions:
        """Versions of files that edits in sessions replaced."""
        from kinen.memory.versions import Versions

        return Versions(self.core, self.index, self.git, self.records)

    @cached_property
    def issues(self) -> Issues:
        """Issues of the space's tracker, and what names them."""
        from kinen.memory.issues import Issues

        return Issues(self.core, self.index, self.records, self.journal)

    @cached_property
    def transfer(self) -> Transfer:
        """Export, and import of bundles, transcripts and older formats."""
        from kinen.memory.bundles import Bundles
        from kinen.memory.transfer import Transfer

        bundles = Bundles(self.core, self.records, self.worklog)
        return Transfer(self.core, self.journal, bundles, self.consolidation)

    @cached_property
    def workflow(self) -> Workflow:
        """Steps of a workflow, recorded by hand or by an adapter."""
        from kinen.memory.workflow import Workflow

        return Workflow(self.journal)

    @cached_property
    def team(self) -> Team:
        """What is shared with colleagues, and synchronising with them."""
        from kinen.memory.team import Team

        return Team(self.core, self.journal, self.worklog)

    @cached_property
    def past(self) -> Past:
        """What was known at an earlier time."""
        from kinen.memory.past import Past

        return Past(self.core, self.git)

    @property
    def ledger(self) -> Ledger:
        """What agents were shown."""
        from kinen.memory.ledger import open_ledger

        return open_ledger(self.core)
