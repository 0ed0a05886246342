"""`memories` and `consolidate`: decisions, lessons, patterns, insights, and their corrections."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kinen.errors import QueryError
from kinen.model.kinds import DISTILLERS, MEMORY_TYPES
from kinen.privacy.injected import without_injected
from kinen.render.journal import (
    consolidated_json,
    consolidated_text,
    learned_text,
    memories_table,
    memory_json,
    origin_text,
)
from kinen.verbs.params import DRY_RUN, SINCE, limit, option, param
from kinen.verbs.verb import Output, PartialResult, Result, Verb, View, group, moment, verb

if TYPE_CHECKING:
    from kinen.journal.memories import Origin
    from kinen.memory import Memory
    from kinen.model.journal import Learned

EMPTY = "no memories yet: `kinen memories draw` draws them from sessions, files and commits"
MEMORY = param("", "a memory", required=True, metavar="ID")


@dataclass(frozen=True, slots=True)
class OtherVersion(Result):
    ref: str
    by: str
    content: str


@dataclass(frozen=True, slots=True)
class MemoryDetails(PartialResult):
    ref: str
    id: str
    type: str
    content: str
    confidence: float
    created_at: str
    derived_from: list[str]
    superseded_by: str
    session: str
    repo: str
    agent: str
    user: str
    task: str
    redacted: bool
    forgotten_at: str | None
    by: str = ""
    """the colleague who wrote it"""
    successor_by: str = ""
    """the colleague who wrote the one that superseded it"""
    edits: str = ""
    """the id of the memory whose wording it replaced"""
    also: list[OtherVersion] = field(default_factory=list)
    """other versions, which somebody wrote at the same time"""
    question: str = ""
    """who forgot it while it was edited: restore keeps it, forget forgets it"""
    capsule: str = ""
    files: list[str] = field(default_factory=list)
    symbols: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class MemoryList(Result):
    memories: list[MemoryDetails]


class ListMemories(Verb):
    """List memories, newest first. Exit 1 if there are none.

    With --as-of, those that held then: memories that were hidden or superseded later come back.
    """

    result = MemoryList
    route = "memories"
    methods = ("GET",)
    tool = "kinen_memories"
    title = "Memories"
    guide = "Memories drawn from sessions, newest first."
    several = True

    type: str = param("--type -t", "only this type (default: all)", choices=MEMORY_TYPES)
    session: str = param(
        "--session", "only those drawn from this session (a part is enough)", metavar="NAME"
    )
    forgotten: bool = param(
        "--forgotten", "list hidden memories instead", default=False, unlisted=True
    )
    as_of: str = param(
        "--as-of",
        "what was known at a time, or in a commit",
        metavar="TIME",
        rare=True,
        unlisted=True,
    )
    limit: int = limit(0, "memories", tool=20, request_default=20)
    pairs: list[tuple[Learned, Origin]]

    def run(self, memory: Memory) -> MemoryList:
        records = memory.consolidation.memories(
            self.type, hidden=self.forgotten, session=self.session, as_of=self.as_of
        )
        chosen = records[: self.limit or None]
        self.total = len(records)
        self.names = memory.journal.short_ids(records)
        self.pairs = [(record, memory.consolidation.origin(record)) for record in chosen]
        rows: list[Any] = [memory_json(*pair) for pair in self.pairs]
        return MemoryList(rows)

    def text(self, result: MemoryList, view: View) -> str:  # noqa: ARG002
        return memories_table(self.pairs, view.screen, self.names)

    def agent_text(self, result: MemoryList) -> str:
        return super().agent_text(result) or "no memories"

    def notes(self, result: MemoryList) -> Iterable[str]:
        count = len(result.memories)
        if count:
            if count < self.total:
                yield f"{count:,} of {self.total:,}; --limit shows more"
        elif self.type or self.session or self.as_of:
            yield "no memory matches: `kinen memories list` lists all"
        else:
            hidden = "no memory is hidden: `kinen memories forget ID` hides one"
            yield hidden if self.forgotten else EMPTY


class AddMemory(Verb):
    """Save a memory in one sentence: what was decided or learned.

    \b
    Examples:
      kinen memories add "Sessions live in Postgres" --why "Redis lost them at a restart"
      kinen memories add "Lesson: the mock clock must be reset" --file tests/clock.py
    """

    result = MemoryDetails
    route = "memories/add"
    event = "memory"
    writes = True

    content: str = param("", "the sentence", required=True, metavar="TEXT", longest=20_000)
    type: str = param(
        "--type -t", "its type (default: its label, else decision)", choices=MEMORY_TYPES
    )
    why: str = param("--why", "the reason", metavar="TEXT", longest=20_000)
    files: tuple[str, ...] = param(
        "--file -f", "file that it is about", many=True, metavar="PATH", separator=""
    )
    session: str = param("--session", "session that it is of", metavar="ID", hidden=True)
    record: Learned

    def run(self, memory: Memory) -> dict[str, Any]:
        self.record = memory.consolidation.remember(
            without_injected(self.content),
            type=self.type,
            why=without_injected(self.why),
            files=[memory.git.inside(file) for file in self.files],
            scope={"session": self.session, "agent": self.client},
        )
        return memory_json(self.record, memory.consolidation.origin(self.record))

    def text(self, result: Any, view: View) -> str:  # noqa: ARG002
        return learned_text(self.record)


@verb(result=MemoryDetails, route="memories/{name}", methods=("GET",))
def show_memory(
    memory: Memory,
    name: str = param("", "an id, or the beginning of one", required=True, metavar="ID"),
) -> Output:
    """Show a memory with all its sources."""
    record = memory.consolidation.get(name)
    origin = memory.consolidation.origin(record)
    return Output(
        memory_json(record, origin),
        lambda view: "\n".join(
            filter(None, (learned_text(record, view.style, sources=True), origin_text(origin)))
        ),
    )


class CorrectMemory(Verb):
    """Edit, merge, supersede, forget or restore a memory, or undo that; the memory that holds."""

    result = MemoryList
    route = "memories"
    event = "memory"
    tool = "kinen_correct_memory"
    title = "Correct a memory"
    guide = "Correct a memory: edit, merge into other, supersede by other, forget, restore, undo."
    writes = True
    idempotent = False

    action: str = param(
        "",
        "what to do",
        default=None,
        required=True,
        choices=("edit", "merge", "supersede", "forget", "restore", "undo"),
        example="undo",
    )
    id: str = param("--id", "an id, or the beginning of one; of none to undo", longest=500)
    other: str = param("--other", "the memory that it is merged into or superseded by", longest=500)
    content: str = param("--content", "the new wording", longest=20_000)

    def run(self, memory: Memory) -> MemoryList:
        part = memory.consolidation
        if self.action != "undo" and not self.id:
            raise QueryError("no id", "give the id of a memory", parameter="id")
        changes: dict[str, Callable[[], Learned]] = {
            "edit": lambda: part.edit(self.id, self.content),
            "merge": lambda: part.merge(self.id, self.other),
            "supersede": lambda: part.supersede(self.id, self.other),
            "forget": lambda: part.hide(self.id),
            "restore": lambda: part.restore(self.id),
            "undo": lambda: part.undo()[1],
        }
        self.record = changes[self.action]()
        row: Any = memory_json(self.record, memory.consolidation.origin(self.record))
        return MemoryList([row])

    def text(self, result: MemoryList, view: View) -> str:  # noqa: ARG002
        return learned_text(self.record)


@verb(writes=True)
def forget(memory: Memory, name: str = MEMORY) -> Output:
    """Hide a memory and do not extract it again.

    `kinen memories restore` shows it again.
    """
    record = memory.consolidation.hide(name)
    return Output({"ref": record.ref}, f"{record.ref}  forgotten")


@verb(writes=True)
def restore(memory: Memory, name: str = MEMORY) -> Output:
    """Show a hidden memory again."""
    record = memory.consolidation.restore(name)
    return Output({"ref": record.ref}, f"{record.ref}  restored")


@verb(writes=True)
def merge(
    memory: Memory, name: str = MEMORY, into: str = param("", "another", metavar="[INTO]")
) -> Output:
    """Merge a memory into another one, which gets its sources. The first is hidden.

    Without INTO, what colleagues edited at the same time is merged into the latest version.
    """
    merged = memory.consolidation.get(name)
    other = memory.consolidation.merge(merged.ref, into)
    text = f"{merged.ref}  merged into {other.ref}" if into else f"{other.ref}  these words stay"
    return Output({"ref": other.ref, "merged": merged.ref}, text)


@verb(writes=True)
def supersede(
    memory: Memory, name: str = MEMORY, by: str = param("", "a newer one", metavar="[NEWER]")
) -> Output:
    """Mark a memory as superseded by a newer one; without NEWER, as valid again."""
    record = memory.consolidation.supersede(name, by)
    newer = f"memory:{record.superseded_by}" if record.superseded_by else ""
    text = f"superseded by {newer}" if newer else "valid again"
    return Output({"ref": record.ref, "superseded_by": newer or None}, f"{record.ref}  {text}")


@verb(writes=True)
def undo(memory: Memory) -> Output:
    """Undo the last edit, merge, supersede, forget or restore; up to 20, one at a time."""
    action, record = memory.consolidation.undo()
    return Output({"undone": action, "ref": record.ref}, f"{record.ref}  {action} undone")


@verb(working="reading sessions, files and commits", writes=True)
def consolidate(
    memory: Memory,
    session: str = option("--session", "NAME", "only this session, by the name of its folder"),
    capsule: str = option("--capsule", "ID", "only this recorded session, by its ref"),
    since: str = SINCE,
    dry_run: bool = DRY_RUN,
    distiller: str = param(
        "--distiller",
        "which engine reads sessions (default: consolidation.order)",
        choices=("configured", "auto", *DISTILLERS),
    ),
) -> Output:
    """Draw memories from files, saved memories, commits and sessions.

    By default it reads what is new since the last run, by rules and locally; a model is used only
    if you name it here or in consolidation.order. The sources stay searchable. Exit 1 if there was
    nothing new.

    \b
    Examples:
      kinen memories draw --dry-run
      kinen memories draw --session 20251206-01
      kinen memories draw --distiller ollama
    """
    result = memory.consolidation.consolidate(
        session=session,
        capsule=capsule,
        since=moment(since),
        dry_run=dry_run,
        distiller=distiller or "configured",
    )
    return Output(
        consolidated_json(result),
        lambda view: consolidated_text(result, view.style),
        found=bool(result.learned),
    )


memories = group(
    "Decisions, lessons, patterns and insights, each with its sources.",
    list=ListMemories,
    add=AddMemory,
    show=show_memory,
    forget=forget,
    restore=restore,
    edit="kinen.cli.editor:edit_memory",
    merge=merge,
    supersede=supersede,
    undo=undo,
)
