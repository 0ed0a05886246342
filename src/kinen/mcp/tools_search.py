"""Tools that search and read the memory: search, recall, context, texts, links, tags, the index."""

import os
import time
from collections.abc import Callable, Sequence
from threading import Event, Thread
from typing import Annotated, Any, Literal

from pydantic import Field

from kinen import query
from kinen.api import responses
from kinen.api.paging import next_page
from kinen.api.reading import ArtifactFields, ContextFields
from kinen.api.refs import resolve
from kinen.api.requests import Request
from kinen.errors import KinenError, QueryError
from kinen.ipc import client
from kinen.mcp.tool import Answer, AsOf, Limit, Names, Offset, Texts, Tool
from kinen.memory import Memory
from kinen.memory.federation import recall_spaces, search_spaces
from kinen.model.kinds import MODES
from kinen.model.records import Chunk, Edge, Hit, Hits, Query
from kinen.query import bounds, listed, recall_query, search_query
from kinen.recall.clip import compact
from kinen.recall.tiers import author_of
from kinen.render.graph import broken_text, edges_json, links_text, related_json, related_text
from kinen.render.journal import recall_json, recall_text
from kinen.render.json import counts_json, hit_json, hits_json, record_json, tag_json
from kinen.render.text import report_text, status_text
from kinen.text import estimate

SHORT = 70
"""Tokens of a hit that does not fit the budget."""
SKIPPED = 50
"""Skipped files that are listed; the counts say how many there are."""
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
        text = compact(hit.display.text, question, least)
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
            return Context.model_validate({"budget": self.budget}).answer(memory)
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
        value = responses.Recall(**recall_json(recall))
        if not self.explain:
            for item in value.items:
                item.votes = []
        return Answer(value, recall_text(recall) or "nothing yet")


class Context(ContextFields, Tool, Request):
    """Memories, checkpoints, commits and files around the uncommitted changes, or around a file,
    a session or the active plan.
    """

    tool_name = "kinen_context"
    tool_title = "Context of the current work"
    unlisted = ("depth", "issue")

    def answer(self, memory: Memory) -> Answer:
        recall = self.read(memory)
        value = responses.Recall(**recall_json(recall))
        return Answer(value, recall_text(recall) or "nothing yet")


class Read(ArtifactFields, Tool, Request):
    """Text of a path or of any ref; of a file with tags and commits."""

    tool_name = "kinen_read"
    tool_title = "Read a file, note or record"
    unlisted = ("budget",)

    links: bool = False

    def answer(self, memory: Memory) -> Answer:
        artifact = self.read(memory)
        value = artifact.model_dump(mode="json", exclude_defaults=True)
        more = f"… continue with offset {artifact.next_offset}" if artifact.next_offset else ""
        head = f"[{artifact.ref}] {artifact.title}"
        texts = [head, artifact.content, more]
        if self.links:
            for direction in ("both", "related"):
                place = {"path": artifact.ref, "direction": direction}
                linked = Links.model_validate(place).answer(memory)
                fields = linked.value.model_dump(mode="json", exclude_defaults=True)
                value |= {name: fields[name] for name in ("edges", "related") if name in fields}
                texts.append(linked.text)
        return Answer(value, "\n".join(filter(None, texts)))


class ListTags(Tool, Request):
    """Tags of files and notes with how many have each."""

    tool_name = "kinen_list_tags"
    tool_title = "List tags"
    unlisted = ("limit", "offset")

    limit: Limit = 100
    offset: Offset = 0

    def answer(self, memory: Memory) -> Answer:
        tags = memory.records.tags()
        page = tags[self.offset : self.offset + self.limit]
        value = responses.Tags(
            tags=[responses.Tag(**tag_json(row)) for row in page],
            **next_page(len(tags), self.offset, self.limit),
        )
        lines = (f"{row.total:>6} {row.tag}" for row in page)
        return Answer(value, "\n".join(lines) or "no tags")


class Links(Tool, Request):
    """Links and backlinks of a note, file or commit; direction related: notes close by link,
    meaning or tag. Of all notes, without a path: orphans, broken links.
    """

    tool_name = "kinen_links"
    tool_title = "Links and backlinks"
    unlisted = ("depth", "limit", "offset")

    path: str = Field("", description="path or ref")
    direction: Literal["both", "incoming", "outgoing", "related", "orphans", "broken"] = "both"
    depth: int = Field(1, ge=1, le=6)
    limit: Limit = 50
    offset: Offset = 0

    def answer(self, memory: Memory) -> Answer:
        if self.direction == "orphans":
            return self._orphans(memory)
        if self.direction == "broken":
            return self._edges("", memory.records.broken_links(), "no broken links")
        if not self.path:
            raise QueryError("path is required", "give path, or direction orphans or broken")
        ref = memory.records.get(resolve(memory, self.path)[0]).ref
        if self.direction == "related":
            return self._related(memory, ref)
        edges = memory.records.links(ref, self.depth)
        if self.direction != "both":
            ends = {"incoming": lambda edge: edge.target, "outgoing": lambda edge: edge.source}
            edges = [edge for edge in edges if ends[self.direction](edge) == ref]
        return self._edges(ref, edges, f"{ref} has no links")

    def _edges(self, ref: str, edges: Sequence[Edge], empty: str) -> Answer:
        """A page of edges around a record, or of all."""
        page = edges[self.offset : self.offset + self.limit]
        value = self._page(len(edges), ref=ref, edges=edges_json(page))
        text = links_text(ref, page) if ref else broken_text(page)
        return Answer(value, text or empty)

    def _orphans(self, memory: Memory) -> Answer:
        records = memory.records.orphans()
        page = records[self.offset : self.offset + self.limit]
        value = self._page(len(records), orphans=[record_json(record) for record in page])
        text = "\n".join(record.ref for record in page)
        return Answer(value, text or "no orphans: every note is linked")

    def _related(self, memory: Memory, ref: str) -> Answer:
        limit = min(self.offset + self.limit, query.MOST["limit"])
        record, items, _ = memory.relations.related(ref, limit)
        page = items[self.offset :]
        value = self._page(len(items), ref=ref, related=related_json(record, page)["related"])
        return Answer(value, related_text(page) or f"nothing is related to {ref}")

    def _page(self, total: int, **fields: Any) -> responses.LinkPage:
        return responses.LinkPage(**(fields | next_page(total, self.offset, self.limit)))


class IndexStatus(Tool, Request):
    """State of the index, and which files could not be read and why."""

    tool_name = "kinen_index_status"
    tool_title = "Index status"

    def answer(self, memory: Memory) -> Answer:
        state = memory.index.status()
        skipped = memory.index.skipped()[:SKIPPED]
        value = responses.IndexStatus(
            space=state.name,
            synced=state.synced,
            counts=counts_json(state.counts),
            types=dict(state.kinds),
            pending=state.pending,
            skipped=[responses.Skipped(path=path, reason=why) for path, why in skipped],
        )
        lines = (f"skipped {path}: {reason}" for path, reason in skipped)
        return Answer(value, "\n".join([status_text(state), *lines]))


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
