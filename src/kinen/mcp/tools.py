"""Tools that are no verbs yet: search, recall, checkpoint, remember, plan, observe, pin …"""

import os
import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from kinen.api import entries, responses
from kinen.api.requests import Request
from kinen.errors import KinenError, NotFound, QueryError
from kinen.ipc import client
from kinen.mcp.tool import Answer, AsOf, Names, Part, Texts, Tool
from kinen.mcp.verbs import VERB_TOOLS, compact
from kinen.memory import Memory
from kinen.memory.federation import recall_spaces, search_spaces
from kinen.memory.memory import JOURNAL
from kinen.model import journal
from kinen.model.kinds import CHECKPOINT_TYPES, MEMORY_TYPES, MODES
from kinen.model.records import Chunk, Hit, Hits, Query
from kinen.privacy.injected import without_injected
from kinen.query import bounds, listed, recall_query, search_query
from kinen.recall.clip import compact as shorten
from kinen.recall.tiers import author_of
from kinen.render.journal import (
    checkpoint_json,
    entry_json,
    learned_text,
    plan_json,
    recall_json,
    recall_text,
)
from kinen.render.json import counts_json, hit_json, hits_json
from kinen.render.text import report_text
from kinen.text import estimate
from kinen.times import lifetime
from kinen.verbs.memories import AddMemory
from kinen.verbs.refs import pin_target, resolve
from kinen.verbs.search import Recalled

SHORT = 70
"""Tokens of a hit that does not fit the budget."""
PHASES = ("read", "history", "embed")
BUSY_SECONDS = 5.0
"""How long a rebuild waits for another process that indexes the same space."""

Progress = Callable[[str, int, int], None]
Since = Annotated[str, Field(description="3d, or a date")]
Until = str


class Search(Tool, Request):
    """Search notes, decisions, past sessions, commits, files and code by word and by meaning."""

    tool_name = "kinen_search"
    tool_title = "Search memory"
    unlisted = (
        *("mode", "kinds", "session", "tags", "meta", "until", "as_of", "context_chunks"),
        *("limit", "budget", "min_score", "exact", "explain", "space"),
    )

    query: str = Field(min_length=1)
    mode: str = Field(
        "",
        description="fulltext for exact words, semantic for meaning only; hybrid if empty",
        json_schema_extra={"enum": [*MODES]},
    )
    type: str = Field(
        "all",
        description="notes, rounds, checkpoints, memories, symbols, files or commits",
    )
    kinds: Names = Field([], description="of commits (fix, feat, …) or observations (error, …)")
    session: str = ""
    tags: Names = Field([])
    meta: Names = Field([], description="metadata as key=value")
    paths: Texts = Field([])
    since: Since = ""
    until: Until = ""
    as_of: AsOf = ""
    limit: int = Field(10, json_schema_extra=bounds("limit", 0))
    context_chunks: int = Field(
        0,
        json_schema_extra=bounds("context", 0),
        description="chunks before and after each passage",
    )
    budget: int = Field(4000, ge=200, le=100_000, description="most tokens")
    min_score: float | None = Field(None, ge=0, le=1, description="0: also what is not close")
    exact: bool = Field(False, description="only what has the query's words as one phrase")
    explain: bool = Field(False, description="with the votes behind each score, and all metadata")
    space: Names = Field([], description="all, or names of other spaces")

    def answer(self, memory: Memory) -> Answer:
        if self.space:
            hits = search_spaces(self.space, self._query)
        else:
            hits = memory.search(self._query(memory))
        start_daemon(memory)
        return search_answer(hits, self.budget, explain=self.explain)

    def _query(self, memory: Memory) -> Query:
        return search_query(
            self.query,
            memory.config.search,
            mode=self.mode,
            types=[self.type],
            kinds=self.kinds,
            meta=self.meta,
            min_score=self.min_score,
            context=self.context_chunks,
            as_of=self.as_of,
            **self.parameters("session", "tags", "paths", "since", "until", "limit", "exact"),
        )


def start_daemon(memory: Memory) -> None:
    """Have a daemon embed the next query, so that not every agent's server loads a model."""
    pid = client.start(memory.space.home) if memory.config.daemon.auto_start else 0
    if pid and hasattr(os, "waitpid"):  # reap it if it ends before this process
        Thread(target=os.waitpid, args=(pid, 0), daemon=True).start()


def search_answer(hits: Hits, budget: int, *, explain: bool) -> Answer:
    """Hits with as much text as fits the budget, the best first."""
    least = min(SHORT, budget // max(1, len(hits)))
    results = []
    left = budget - least * len(hits)
    for hit in hits:
        fitted, tokens, more = fit(hit, hits.query.text, left + least, least)
        left += least - tokens
        result = {**hit_json(fitted), "tokens": tokens, "more": more}
        if not explain:
            author = author_of(hit.record)
            short = {"metadata": {"by": author} if author else {}, "root": "", "file": ""}
            result.update(votes=[], source={**result["source"], **short})
        results.append(result)
    total = sum(result["tokens"] for result in results)
    value = responses.SizedResults(**{**hits_json(hits), "results": results, "tokens": total})
    text = "\n\n".join(map(hit_text, value.results)) or "no hits"
    return Answer(value, "\n".join([text, *(f"({note})" for note in hits.notes)]))


def fit(hit: Hit, question: str, room: int, least: int) -> tuple[Hit, int, int]:
    """A hit with its neighbours, alone or shortened; its tokens, and how many are left out."""
    whole = cost(hit)
    if whole <= room:
        return hit, whole, 0
    fitted = hit._replace(before=(), after=())
    tokens = cost(fitted)
    if tokens > room:
        text = shorten(hit.display.text, question, least)
        fitted = fitted._replace(passage=hit.display._replace(text=text))
        tokens = cost(fitted)
    return fitted, tokens, whole - tokens


def cost(hit: Hit) -> int:
    chunks: tuple[Chunk, ...] = (*hit.before, hit.display, *hit.after)
    return sum(estimate(chunk.text) for chunk in chunks)


def hit_text(hit: responses.SizedHit) -> str:
    """A hit for clients that read text only: its place, its heading and its text."""
    chunk = hit.chunk
    source = hit.source
    where = f" page {chunk.page}" if chunk.page else ""
    if chunk.line:
        where = f":{chunk.line}"
    heading = chunk.heading or source.title
    place = f"{source.space}: {source.ref}" if source.space else source.ref
    by = source.metadata.get("by") or source.metadata.get("author")
    author = f" by {by}" if by else ""
    head = f"[{place}{where}]{author} {heading} ({hit.strength}, {hit.tokens} tokens)"
    rest = f"… {hit.more} more tokens" if hit.more else ""
    parts = [head, *hit.context.before, chunk.content, *hit.context.after, rest]
    return "\n".join(filter(None, parts))


class Recall(Tool, Request):
    """What to know to start or resume work: plan, pins, last summary, decisions, lessons, notes."""

    tool_name = "kinen_recall"
    tool_title = "Recall what matters now"
    unlisted = (
        *("explain", "until", "as_of", "limit", "mode", "min_similarity", "symbols", "tags"),
        *(
            "files",
            "issue",
            "session",
            "repo",
            "agent",
            "user",
            "budget",
            "full",
            "distill",
            "space",
        ),
    )

    query: str = Field("")
    type: str = Field("all", description="decision, lesson, or as in kinen_search")
    limit: int = Field(20, json_schema_extra=bounds("limit"))
    since: Since = ""
    until: Until = ""
    as_of: AsOf = ""
    tags: Names = Field([])
    files: Texts = Field([], description="paths, or ends of them")
    symbols: Names = Field([])
    mode: str = ""
    min_similarity: float = 0.0
    issue: str = ""
    session: str = ""
    repo: str = ""
    agent: str = ""
    user: str = ""
    budget: int = Field(0, json_schema_extra=bounds("budget", 0), description="most tokens")
    changes: bool = Field(False, description="on uncommitted changes")
    full: bool = Field(False, description="whole records")
    distill: bool = Field(False, description="with sources")
    explain: bool = Field(False, description="with the votes behind each score")
    space: Names = Field([], description="as in kinen_search")

    def answer(self, memory: Memory) -> Answer:
        if self.changes:
            others = self.model_fields_set - {"changes", "budget"}
            if others:
                fact = f"changes and {', '.join(sorted(others))}"
                raise QueryError(fact, "give changes alone, or with budget")
            context = VERB_TOOLS["kinen_context"]
            return context.model_validate({"budget": self.budget}).answer(memory)
        types = [name for name in listed([self.type]) if name != "all"]
        fields = self.parameters(
            *("tags", "files", "symbols", "session", "since", "until", "as_of", "limit", "budget"),
            *("mode", "min_similarity", "repo", "agent", "user", "issue"),
        )
        parsed = recall_query(self.query, types=types, **fields)
        distiller = "configured" if self.distill else ""
        if self.space and distiller:
            raise QueryError("a digest is of one space", "omit distill, or name one space")
        if self.space:
            recall = recall_spaces(self.space, parsed, full=self.full)
        else:
            recall = memory.recall(parsed, full=self.full, distiller=distiller)
        start_daemon(memory)
        value = recall_json(recall)
        if not self.explain:
            for item in value["items"]:
                item["votes"] = []
        return Answer(compact(TypeAdapter(Recalled), value), recall_text(recall) or "nothing yet")


class IndexRebuild(Tool, Request):
    """Rebuild the index, if kinen_index_status shows a fault."""

    tool_name = "kinen_index_rebuild"
    tool_title = "Rebuild the index"
    writes = True
    unlisted = ("session", "embed")

    session: str = Field("", description="only its files")
    embed: bool = Field(True, description="with vectors")

    def answer(self, memory: Memory, progress: Progress | None = None) -> Answer:
        scope = self.parameters("embed", "session")
        report = memory.sync(rebuild=True, progress=progress, wait=BUSY_SECONDS, **scope)
        counts = counts_json(memory.index.counts())
        value = responses.IndexReport(**report._asdict(), counts=counts)
        return Answer(value, report_text(report))


def report_progress(send: Callable[[float, float, str], object], cancelled: Event) -> Progress:
    """Send a client the progress of a rebuild, and end it once the client has cancelled."""
    last_value = -1.0
    last_sent = 0.0

    def report(phase: str, done: int, total: int) -> None:
        nonlocal last_value, last_sent
        if cancelled.is_set():
            raise KinenError("cancelled", "the index is incomplete: rebuild it again")
        part = done / total if total else done / (done + 1000)
        value = PHASES.index(phase) + min(1.0, part)
        at = time.monotonic()
        if value > last_value and (at - last_sent > 0.1 or not done):
            last_value = value
            last_sent = at
            send(round(value, 3), float(len(PHASES)), phase)

    return report


class Checkpoint(Tool, Request):
    """Save work that was finished, and why. Branch, commit and changed files are added."""

    tool_name = "kinen_checkpoint"
    tool_title = "Save a checkpoint"
    writes = True
    idempotent = False
    unlisted = (
        *("impact", "confidence", "unknowns"),
        *("context", "decision", "alternatives", "evidence", "symbols"),
    )

    description: str = Field(min_length=1, description="markdown")
    type: str = Field("", json_schema_extra={"enum": [*CHECKPOINT_TYPES]})
    tags: Names = Field([])
    context: str = Field("")
    decision: str = ""
    alternatives: Texts = Field([])
    impact: str = ""
    evidence: Texts = Field([])
    symbols: Names = Field([])
    next: str = Field("", description="next step")
    confidence: int = Field(0, ge=0, le=5, description="1 a guess, 5 certain")
    unknowns: Texts = Field([])

    def answer(self, memory: Memory) -> Answer:
        fields = {key: value for key, value in self if value and key != "description"}
        drawn = memory.consolidation.of_client(self._client)  # first: a client may have to repeat
        checkpoint = memory.worklog.checkpoint(self.description, **fields)
        lines = [checkpoint.ref, *map(learned_text, drawn.learned), *drawn.notes]
        return Answer(entries.Checkpoint(**checkpoint_json(checkpoint)), "\n".join(lines))


class SaveMemory(Tool, Request):
    """Save what was decided or learned."""

    tool_name = "kinen_remember"
    writes = True

    text: str = Field(min_length=1)
    type: str = Field("", json_schema_extra={"enum": [*MEMORY_TYPES]})
    why: str = ""
    files: Texts = Field([])
    session: str = ""

    def answer(self, memory: Memory) -> Answer:
        fields = self.parameters("type", "why", "files", "session")
        call = AddMemory(content=self.text, **fields)
        call.client = self._client
        return Answer({"memories": [call.run(memory)]}, learned_text(call.record))


class Remember(Tool):
    """Save what was decided or learned, in one sentence. Type checkpoint: finished work and the
    next step; commit and changed files are added.
    """

    tool_name = "kinen_remember"
    tool_title = "Save a memory or a checkpoint"
    writes = True
    idempotent = False

    text: str
    type: Literal[*MEMORY_TYPES, "checkpoint"] = "insight"  # type: ignore[valid-type]
    why: str = ""
    files: list[str] = Field([])
    next: str = ""

    @classmethod
    def part(cls, arguments: dict[str, Any]) -> Part:
        if arguments.get("type") != "checkpoint":
            return SaveMemory, arguments
        fields = {"why": "context", "files": "evidence"}
        rest = {fields.get(name, name): value for name, value in arguments.items()}
        return Checkpoint, {name: value for name, value in rest.items() if name != "type"}


class Plan(Tool, Request):
    """Keep the plan of a task of several steps; every recall shows it."""

    tool_name = "kinen_plan"
    tool_title = "Save, read and update plans"
    writes = True
    idempotent = False
    unlisted = ("id", "tags", "status", "activate")

    action: Literal["save", "get", "list", "activate", "check", "update", "complete", "archive"]
    id: str = Field("", description="default: the active plan")
    title: str = ""
    content: str = Field("", description="markdown, - [ ] steps")
    tags: Names = Field([])
    status: str = Field("", json_schema_extra={"enum": ["active", "completed", "archived"]})
    activate: bool = Field(True, description="with save")
    step: int = Field(0, description="negative: uncheck")

    def answer(self, memory: Memory) -> Answer:
        if self.action == "list":
            plans = [plan_response(plan, whole=False) for plan in memory.worklog.plans()]
            lines = (f"{'*' if plan.current else '-'} {plan.id} {plan.title}" for plan in plans)
            return Answer(entries.Plans(plans=plans), "\n".join(lines) or "no plans")
        plan = self._run(memory)
        if plan is None:
            return Answer(entries.Plans(plans=[]), "no plan is active: save one, or list them")
        value = plan_response(plan, whole=self.action == "get")
        text = f"{plan.ref} {plan.status}\n{value.text}".strip()
        return Answer(entries.Plans(plans=[value]), text)

    def _run(self, memory: Memory) -> journal.Plan | None:
        content = without_injected(self.content)
        if self.action == "save":
            return memory.worklog.save_plan(
                self.title, content, id=self.id, tags=self.tags, activate=self.activate
            )
        plan = memory.worklog.plan(self.id)
        if self.action == "get":
            return plan
        if plan is None:
            raise NotFound("no plan is active", "give an id; the action list shows them")
        if self.action == "check":
            return memory.worklog.check_plan(abs(self.step), plan.id, done=self.step > 0)
        if self.action == "activate":
            return memory.worklog.activate_plan(plan.id)
        statuses = {"complete": "completed", "archive": "archived"}
        fields: dict[str, Any] = {
            "title": self.title,
            "text": content,
            "tags": self.tags,
            "status": statuses.get(self.action, self.status),
        }
        changes = {name: value for name, value in fields.items() if value}
        if not changes:
            raise QueryError("nothing to update", "give title, content, tags or status")
        return memory.worklog.update_plan(plan.id, **changes)


def plan_response(plan: journal.Plan, *, whole: bool) -> entries.Plan:
    """A plan with its text, or only with what that would cost."""
    fields = plan_json(plan)
    if not whole:
        fields["text"] = ""
    return entries.Plan(**fields, tokens=estimate(plan.text))


class Observe(Tool, Request):
    """Record an event: an error and its fix, a command's outcome, what the user said."""

    tool_name = "kinen_observe"
    tool_title = "Keep an observation"
    writes = True
    lane = JOURNAL
    idempotent = False
    unlisted = ("agent", "capsule", "session")

    content: str = Field(min_length=1)
    kind: str = Field("message", description="or command, error …")
    files: Texts = Field([], description="paths")
    session: str = ""
    agent: str = ""
    capsule: str = ""

    def answer(self, memory: Memory) -> Answer:
        observation = memory.observe(
            without_injected(self.content),
            kind=self.kind,
            files=[memory.git.inside(file) for file in self.files],
            scope={"session": self.session, "agent": self.agent or self._client},
            capsule=self.capsule,
        )
        return Answer(entries.StoredObservation(**entry_json(observation)), observation.ref)


class Pin(Tool, Request):
    """Pin a ref or a text so that every recall begins with it, or remove a pin."""

    tool_name = "kinen_pin"
    tool_title = "Pin or unpin"
    writes = True
    unlisted = ("session",)

    ref: str = Field(min_length=1, description="ref, path or text")
    note: str = Field("", description="why")
    ttl: str = Field("", description="12h, 7d, 2w, or a date")
    session: str = Field("", description="only in this session")
    remove: bool = False

    def answer(self, memory: Memory) -> Answer:
        if self.remove:
            unpinned = memory.journal.unpin(resolve(memory, self.ref)[0])
            value = entries.PinChanges(unpinned=unpinned)
            return Answer(value, "unpinned " + ", ".join(unpinned))
        name = pin_target(memory, self.ref)
        ttl = lifetime(self.ttl)
        pin = memory.journal.pin(name, self.note, ttl=ttl, scope={"session": self.session})
        value = entries.PinChanges(pins=[entries.StoredPin(**entry_json(pin))])
        return Answer(value, f"{pin.ref} {pin.target}")
