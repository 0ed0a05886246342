"""Tools that are no verbs yet: search, recall, checkpoint, remember, plan, observe, pin …"""

import os
import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from kinen.api import responses
from kinen.api.requests import Request
from kinen.errors import KinenError, QueryError
from kinen.ipc import client
from kinen.mcp.verbs import VERB_TOOLS, Answer, AsOf, Names, Part, Texts, Tool, compact
from kinen.memory import Memory
from kinen.memory.federation import recall_spaces, search_spaces
from kinen.model.kinds import MEMORY_TYPES, MODES
from kinen.model.records import Chunk, Hit, Hits, Query
from kinen.query import bounds, listed, recall_query, search_query
from kinen.recall.clip import compact as shorten
from kinen.recall.tiers import author_of
from kinen.render.journal import (
    learned_text,
    recall_json,
    recall_text,
)
from kinen.render.json import counts_json, hit_json, hits_json
from kinen.render.text import report_text
from kinen.text import estimate
from kinen.verbs.memories import AddMemory
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
    limit: int = Field(20, json_schema_extra=bounds("limit", 0))
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
        return VERB_TOOLS["kinen_checkpoint"], {
            name: value for name, value in rest.items() if name != "type"
        }
