"""`index status`: what the index has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kinen.render.json import counts_json
from kinen.render.text import counted, counts_text, status_text
from kinen.verbs.params import limit
from kinen.verbs.verb import Result, Verb, View

if TYPE_CHECKING:
    from kinen.memory import Memory
    from kinen.model.documents import Counts, Status

SKIPPED = 50
"""Skipped files that an agent sees; the counts say how many there are."""


@dataclass(frozen=True, slots=True)
class SkippedFile(Result):
    path: str
    reason: str
    partly: bool = False
    """whether it was read in part"""


@dataclass(frozen=True, slots=True)
class IndexState(Result):
    space: str
    synced: str | None = None
    counts: dict[str, int] = field(default_factory=dict)
    types: dict[str, int] = field(default_factory=dict)
    pending: int = 0
    """chunks without a vector"""
    skipped: list[SkippedFile] = field(default_factory=list)


class IndexStatus(Verb):
    """Show what is in the index, and why files were skipped or read only in part."""

    result = IndexState
    route = "index/status"
    tool = "kinen_index_status"
    title = "Index status"
    guide = "State of the index, and which files could not be read and why."
    several = True

    limit: int = limit(0, "skipped files", tool=SKIPPED, hidden=True, example=20)
    state: Status

    def run(self, memory: Memory) -> IndexState:
        self.state = memory.index.status()
        partly = memory.index.partly_read()
        rows = memory.index.skipped()[: self.limit or None]
        return IndexState(
            self.state.name,
            self.state.synced or None,
            counts_json(self.state.counts),
            dict(self.state.kinds),
            self.state.pending,
            [SkippedFile(path, reason, path in partly) for path, reason in rows],
        )

    def text(self, result: IndexState, view: View) -> str:
        counts = self.state.counts
        synced = f"last synced {view.screen.at(result.synced)}" if result.synced else "never synced"
        lines = [
            counts_line(counts),
            f"{counted(counts.edges, 'links')}, {counts.broken:,} broken",
            synced,
        ]
        if result.pending:
            chunks = counted(result.pending, "chunks")
            lines.append(f"{chunks} without a vector: run `kinen index`")
        for row in result.skipped:
            word = view.style("warn", "cut" if row.partly else "skipped")
            lines.append(f"{word} {row.path}: {row.reason}")
        return "\n".join(lines)

    def agent_text(self, result: IndexState) -> str:
        lines = (f"skipped {row.path}: {row.reason}" for row in result.skipped)
        return "\n".join([status_text(self.state), *lines])


def counts_line(counts: Counts) -> str:
    """Documents, chunks and vectors in one line."""
    return counts_text(
        {"documents": counts.documents, "chunks": counts.chunks, "vectors": counts.vectors},
        zeros=True,
    )
