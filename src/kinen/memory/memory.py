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
from kinen.space import find as spaces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Self

    from kinen.config.keys import Config
    from kinen.memory.answers import Answers
    from kinen.memory.bundles import Bundles
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
    from kinen.memory.records import Records, Relations
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


class Part:
    """A part of a memory, made when it is first used."""

    def __init__(self, target: str, needs: str) -> None:
        self._target = target
        self._needs = needs.split()
        self._name = ""

    def __set_name__(self, _: type, name: str) -> None:
        self._name = name

    def __get__(self, memory: Memory | None, _: type) -> Any:
        if memory is None:
            return self

        def need(name: str) -> Any:
            later = name.removeprefix("~")
            return getattr(memory, name) if later == name else lambda: getattr(memory, later)

        result = memory.__dict__[self._name] = self.kind()(*map(need, self._needs))
        return result

    def kind(self) -> Any:
        """The class of the part."""
        module, _, name = self._target.partition(":")
        return getattr(__import__(f"kinen.memory.{module}", fromlist=[name]), name)


def part(target: str, needs: str) -> Any:
    """A part `module:Class` and the parts it is made of; `~part` is asked for when it is used."""
    return Part(target, needs)


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

    index: Index = part("index:Index", "core")
    """The index: bringing it up to date, its state, copies of it."""
    snapshots: Snapshots = part("garbage:Snapshots", "core index")
    """Copies of the index."""
    searcher: Searcher = part("search:Searcher", "core index ~past")
    recaller: Recaller = part("recall:Recaller", "core index records searcher ~past ~issues")
    records: Records = part("records:Records", "core index")
    """Records by ref or path, their chunks and links."""
    relations: Relations = part("records:Relations", "core records")
    """What is related to a note: by links, by meaning and by tags."""
    journal: Journal = part("journal:Journal", "core index records _draw_memories")
    """Observations, capsules, summaries and pins."""
    git: Git = part("git:Git", "core index")
    """Files of the repository, their history and tags, what changes together."""
    worklog: Worklog = part("worklog:Worklog", "core index records ~consolidation")
    """Checkpoints, plans, hand-kept sessions and resources: files of the space."""
    consolidation: Consolidation = part(
        "consolidation:Consolidation", "core index records journal ~past"
    )
    """Memories: decisions, lessons, patterns and insights, each with its sources."""
    context: Context = part(
        "context:Context", "core index records recaller journal git worklog issues"
    )
    """What belongs to a file, a session, a prompt or the current work."""
    sessions: Sessions = part("sessions:Sessions", "core journal worklog consolidation searcher")
    """Sessions of agents and people, with their timelines."""
    reports: Reports = part("reports:Reports", "core journal worklog consolidation sessions")
    """Standup and handoff."""
    answers: Answers = part("answers:Answers", "core recaller")
    """Questions answered with citations."""
    experience: Experience = part("experience:Experience", "core index git")
    """How errors were fixed, and how commands are called."""
    reasons: Why = part("why:Why", "core index git records")
    """Why a line, a commit or a memory is there."""
    versions: Versions = part("versions:Versions", "core index git records")
    """Versions of files that edits in sessions replaced."""
    issues: Issues = part("issues:Issues", "core index records journal")
    """Issues of the space's tracker, and what names them."""
    _bundles: Bundles = part("bundles:Bundles", "core records worklog")
    """Files that the journal is exported to and imported from."""
    transfer: Transfer = part("transfer:Transfer", "core journal _bundles consolidation")
    """Export, and import of bundles, transcripts and older formats."""
    workflow: Workflow = part("workflow:Workflow", "journal")
    """Steps of a workflow, recorded by hand or by an adapter."""
    team: Team = part("team:Team", "core journal worklog")
    """What is shared with colleagues, and synchronising with them."""
    past: Past = part("past:Past", "core git")
    """What was known at an earlier time."""

    def _draw_memories(self, capsule: str) -> None:
        """Draw memories from a capsule that ended."""
        self.consolidation.consolidate(capsule=capsule)

    @property
    def ledger(self) -> Ledger:
        """What agents were shown."""
        from kinen.memory.ledger import open_ledger

        return open_ledger(self.core)
