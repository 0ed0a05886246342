"""Tools that ask the memory: search, recall, context, links, the state of the index."""

import os
import time
from collections.abc import Callable
from threading import Thread
from typing import Annotated, Literal

from anyio import from_thread
from pydantic import AliasChoices, Field

from kinen import render
from kinen.ipc import client
from kinen.api import responses as models
from kinen.mcp.tool import (
    Answer,
    Budget,
    Limit,
    Names,
    Offset,
    Texts,
    Tool,
    page,
    place,
)
from kinen.memory import Memory
from kinen.memory.recall import compact
from kinen.model.records import MODES, Chunk, Hit, Hits
from kinen.query import listed, recall_query, search_query
from kinen.render.journal import recall_json, recall_text
from kinen.text import estimate

SHORT = 70
"""Tokens of a hit whose text has no room."""
SKIPPED = 50
"""Files named that could not be read; the counts say how many there are."""
PHASES = ("read", "history", "embed")
BUSY_SECONDS = 5.0
"""How long a rebuild waits for another process that indexes the same space."""

Since = Annotated[str, Field(description="not older than: 2h, 3d, 1w, today, 2026-03-01")]
Until = Annotated[str, Field(description="not newer than, in the same words")]
Session = Annotated[str, Field(validation_alias=AliasChoices("session", "sessionId"))]


class Search(Tool):
    """Search the project's memory by word and by meaning: notes, rounds, decisions, checkpoints,
    past sessions, commits, files. Ask a full question or give identifiers. Each result has a ref,
    lines, score and the text around it.
    """

    called = "kinen_search"
    titled = "Search memory"
    gives = models.Found

    query: str = Field(min_length=1, validation_alias=AliasChoices("query", "q", "question"))
    mode: str = Field(
        "",
        description="fulltext for exact words, semantic for meaning only; hybrid if empty",
        json_schema_extra={"enum": [*MODES]},
    )
    type: str = Field(
        "all",
        description="rounds, artifacts, resources, notes, checkpoints, plans, files, commits, "
        "observations, capsules, summaries, memories, or all; several with commas",
        validation_alias=AliasChoices("type", "types", "kind", "kinds"),
    )
    session: Session = ""
    tags: Names = Field([])
    paths: Texts = Field(
        [],
        description="below these folders, or matching these globs",
        validation_alias=AliasChoices("paths", "path"),
    )
    since: Since = ""
    until: Until = ""
    limit: int = Field(10, ge=1, le=50, description="at most this many")
    context_chunks: int = Field(
        0,
        ge=0,
        le=10,
        description="chunks before and after each passage",
        validation_alias=AliasChoices("context_chunks", "contextChunks", "context"),
    )
    budget: int = Field(
        4000, ge=200, le=100_000, description="most tokens of text; hits beyond it are shortened"
    )
    exact: bool = Field(False, description="only what has the query's words as one phrase")
    explain: bool = Field(False, description="with the votes behind each score, and all metadata")

    def answer(self, memory: Memory) -> Answer:
        query = search_query(
            self.query,
            memory.config.search,
            mode={"fts": "fulltext"}.get(self.mode, self.mode),
            types=[self.type],
            session=self.session,
            tags=self.tags,
            paths=self.paths,
            since=self.since,
            until=self.until,
            limit=self.limit,
            context=self.context_chunks,
            exact=self.exact,
        )
        answer = found(memory.search(query), self.budget, explain=self.explain)
        wake(memory)
        return answer


def wake(memory: Memory) -> None:
    """Have a daemon embed the next question: each agent has a server, and each a model else."""
    pid = client.start(memory.space.home) if memory.config.daemon.auto_start else 0
    if pid and hasattr(os, "waitpid"):  # we may outlive it, and then it is ours to bury
        Thread(target=os.waitpid, args=(pid, 0), daemon=True).start()


def found(hits: Hits, budget: int, *, explain: bool) -> Answer:
    """Hits with as much text as there is room for, the best first."""
    least = min(SHORT, budget // max(1, len(hits)))
    told, left = [], budget - least * len(hits)
    for hit in hits:
        shown, more = fitting(hit, hits.query.text, left + least, least)
        tokens = cost(shown)
        left += least - tokens
        values = {**render.hit_json(shown), "tokens": tokens, "more": more}
        if not explain:
            values.update(votes=[], source={**values["source"], "metadata": {}})
        told.append(values)
    whole = {**render.hits_json(hits), "results": told}
    value = models.Found(**whole, tokens=sum(one["tokens"] for one in told))
    text = "\n\n".join(map(hit_text, value.results)) or "nothing was found"
    return Answer(value, "\n".join([text, *(f"({note})" for note in hits.notes)]))


def fitting(hit: Hit, question: str, room: int, least: int) -> tuple[Hit, int]:
    """A hit with its neighbours, alone or shortened, and the tokens that this left out."""
    whole = cost(hit)
    alone = hit._replace(before=(), after=())
    brief = hit.shown._replace(text=compact(hit.shown.text, question, least))
    short = alone._replace(passage=brief)
    chosen = next((one for one in (hit, alone) if cost(one) <= room), short)
    return chosen, whole - cost(chosen)


def cost(hit: Hit) -> int:
    chunks: tuple[Chunk, ...] = (*hit.before, hit.shown, *hit.after)
    return sum(estimate(chunk.text) for chunk in chunks)


def hit_text(hit: models.Hit) -> str:
    """A hit for clients that read text only: where, what, and the text as it stands there."""
    chunk, source = hit.chunk, hit.source
    where = f":{chunk.line}" if chunk.line else ""
    where = where or (f" page {chunk.page}" if chunk.page else "")
    about = chunk.heading or source.title
    head = f"[{source.ref}{where}] {about} ({hit.score:.3f}, {hit.tokens} tokens)"
    rest = f"… {hit.more} more tokens" if hit.more else ""
    parts = [head, *hit.context.before, chunk.content, *hit.context.after, rest]
    return "\n".join(filter(None, parts))


class Recall(Tool):
    """Recall what to know before starting or resuming work: the active plan, pins, the last
    session's summary, then past decisions, learnings and notes on the question, inside a token
    budget. Without a query: what happened last.
    """

    called = "kinen_recall"
    titled = "Recall what matters now"
    gives = models.Recalled

    query: str = Field("", validation_alias=AliasChoices("query", "q", "question"))
    type: str = Field(
        "all",
        description="decision, lesson, pattern, insight, learning, incident,"
        " or a type as in kinen_search",
        validation_alias=AliasChoices("type", "types"),
    )
    limit: Limit = 20
    since: Since = ""
    until: Until = ""
    tags: Names = Field([])
    files: Texts = Field(
        [],
        description="about these files: paths, or ends of them",
        validation_alias=AliasChoices("files", "file"),
    )
    session: Session = ""
    budget: Budget = 0
    full: bool = Field(False, description="whole records instead of the lines that matter")
    distill: bool = Field(False, description="sum the hits up, each line with its source")
    explain: bool = Field(False, description="with the votes behind each score")

    def answer(self, memory: Memory) -> Answer:
        query = recall_query(
            self.query,
            types=[one for one in listed([self.type]) if one != "all"],
            tags=self.tags,
            files=self.files,
            session=self.session,
            since=self.since,
            until=self.until,
            limit=self.limit,
            budget=self.budget,
        )
        distiller = "configured" if self.distill else ""
        given = memory.recall(query, full=self.full, distiller=distiller)
        wake(memory)
        value = models.Recalled(**recall_json(given))
        for item in value.items if not self.explain else ():
            item.votes = []
        return Answer(value, recall_text(given) or "nothing yet")


class Context(Tool):
    """Related sessions, memories, checkpoints, commits and the plan for the current work: around
    the uncommitted changes, or around one file or session.
    """

    called = "kinen_context"
    titled = "Context of the current work"
    gives = models.Recalled

    session: Session = Field("", description="a session's name, or a capsule's id")
    file: str = Field(
        "",
        description="a path, or the end of one",
        validation_alias=AliasChoices("file", "path"),
    )
    depth: int = Field(1, ge=1, le=4, description="also around what was found")
    budget: Budget = 0

    def answer(self, memory: Memory) -> Answer:
        if self.file:
            memory.git.inside(self.file)
        given = memory.context.around(
            session=self.session, file=self.file, depth=self.depth, budget=self.budget
        )
        return Answer(models.Recalled(**recall_json(given)), recall_text(given) or "nothing yet")


class Links(Tool):
    """Links of a note, file or commit: what it points to, what points to it (backlinks), what a
    commit touched, what a memory was drawn from.
    """

    called = "kinen_links"
    titled = "Links and backlinks"
    gives = models.Links

    path: str = Field(
        min_length=1,
        description="a path, or a ref from another answer",
        validation_alias=AliasChoices("path", "ref", "file", "id"),
    )
    direction: Literal["both", "incoming", "outgoing"] = "both"
    depth: int = Field(1, ge=1, le=6, description="steps to go")
    limit: Limit = 50
    offset: Offset = 0

    def answer(self, memory: Memory) -> Answer:
        ref = memory.records.get(place(memory, self.path)[0]).ref
        edges = memory.records.links(ref, self.depth)
        if self.direction != "both":
            ends = {"incoming": lambda edge: edge.target, "outgoing": lambda edge: edge.source}
            edges = [edge for edge in edges if ends[self.direction](edge) == ref]
        shown = edges[self.offset : self.offset + self.limit]
        value = models.Links(
            ref=ref,
            edges=[models.Edge(**one) for one in render.edges_json(shown)],
            **page(len(edges), self.offset, self.limit),
        )
        return Answer(value, render.links_text(ref, shown) or f"{ref} has no links")


class IndexStatus(Tool):
    """State of the index: how many documents, chunks and vectors, when it was last synced, which
    files could not be read and why.
    """

    called = "kinen_index_status"
    titled = "Index status"
    gives = models.IndexStatus

    def answer(self, memory: Memory) -> Answer:
        state, skipped = memory.index.status(), memory.index.skipped()
        value = models.IndexStatus(
            space=state.name,
            synced=state.synced,
            counts=render.counts_json(state.counts),
            types=dict(state.kinds),
            pending=state.pending,
            skipped=[models.Skipped(path=one, reason=why) for one, why in skipped[:SKIPPED]],
        )
        lines = (f"skipped {path}: {reason}" for path, reason in skipped[:SKIPPED])
        return Answer(value, "\n".join([render.status_text(state), *lines]))


class IndexRebuild(Tool):
    """Rebuild the search index from the files, the journal and git. Every search keeps itself up
    to date; reach for this when kinen_index_status shows something wrong. Reports progress.
    """

    called = "kinen_index_rebuild"
    titled = "Rebuild the index"
    gives = models.Rebuilt
    writes = True

    session: Session = Field("", description="only the files of this session")
    embed: bool = Field(True, description="with vectors, for search by meaning")

    def answer(self, memory: Memory, tell: Callable[[str, int, int], None] | None = None) -> Answer:
        report = memory.sync(
            rebuild=True, embed=self.embed, session=self.session, progress=tell, wait=BUSY_SECONDS
        )
        counts = render.counts_json(memory.index.status().counts)
        value = models.Rebuilt(**report._asdict(), counts=counts)
        return Answer(value, render.report_text(report))


def watched(
    report: Callable[[float, float, str], object],
) -> Callable[[str, int, int], None]:
    """Tells a client how far a rebuild is, and ends it when the client has cancelled."""
    last, sent = -1.0, 0.0

    def tell(phase: str, done: int, total: int) -> None:
        nonlocal last, sent
        from_thread.check_cancelled()
        part = done / total if total else done / (done + 1000)
        value, at = PHASES.index(phase) + min(1.0, part), time.monotonic()
        if value > last and (at - sent > 0.1 or not done):
            last, sent = value, at
            from_thread.run(report, round(value, 3), float(len(PHASES)), phase)  # type: ignore[arg-type]

    return tell
