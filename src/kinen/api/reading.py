"""Requests that read, and their answers: a file or record as text, and the context of the work."""

import contextlib
from typing import Any

from pydantic import BaseModel, Field, model_validator

from kinen.api import responses
from kinen.api.refs import resolve
from kinen.api.requests import Budget, Request
from kinen.errors import KinenError
from kinen.memory import Memory
from kinen.model.documents import Revision
from kinen.model.journal import Recall
from kinen.model.records import FILE_KINDS, KINDS, Chunk, Record
from kinen.recall.clip import cut
from kinen.render import history
from kinen.text import QUARTERS, estimate, weight

LATEST_COMMITS = 5
"""Commits returned with a file."""
SEAM = range(600, 19, -1)
"""Characters that the end of a chunk and the beginning of the next may share."""


class ContextFields(BaseModel):
    session: str = ""
    file: str = Field("", description="path, or its end")
    plan: bool = False
    issue: str = Field("", description="of a tracker")
    depth: int = Field(1, ge=1, le=4, description="steps to follow")
    budget: Budget = 0

    def read(self, memory: Memory) -> Recall:
        if self.file:
            memory.git.inside(self.file)
        return memory.context.around(
            session=self.session,
            file=self.file,
            plan=self.plan,
            issue=self.issue,
            depth=self.depth,
            budget=self.budget,
        )


class ReadContext(ContextFields, Request):
    """The context of a file, a session, an issue, the active plan, or the current work."""


class ArtifactFields(BaseModel):
    path: str = Field(min_length=1, description="path or ref")
    ref: str = Field("", description="git commit, branch or tag")
    offset: int = Field(0, ge=0, description="first line")
    budget: int = Field(4000, ge=50, le=100_000, description="most tokens")

    @model_validator(mode="before")
    @classmethod
    def _path_in_ref(cls, values: Any) -> Any:
        """Accept the ref of a record as `ref`, which is its name everywhere else."""
        if not isinstance(values, dict) or {"path", "name", "file", "id"} & values.keys():
            return values
        if str(values.get("ref", "")).partition(":")[0] not in KINDS:
            return values
        return {**values, "path": values["ref"], "ref": ""}

    def read(self, memory: Memory) -> responses.Artifact:
        record, text = self._record(memory)
        commits = self._commits(memory, record)
        if self.ref and commits:
            record = record._replace(tags=commits[-1].tags, at=commits[-1].at)
        lines = text.splitlines()
        content, end = within(lines, self.offset, self.budget)
        return responses.Artifact(
            ref=record.ref,
            path=record.path,
            type=record.kind,
            title=record.title,
            at=record.at,
            tags=list(record.tags),
            content=content,
            tokens=estimate(content),
            lines=len(lines),
            next_offset=end if end < len(lines) else 0,
            commits=[responses.Revision(**history.revision_json(commit)) for commit in commits],
        )

    def _commits(self, memory: Memory, record: Record) -> list[Revision]:
        """The latest commits of a file, with its first page only."""
        if not record.path or self.offset:
            return []
        with contextlib.suppress(KinenError):  # not committed, or no repository
            full = memory.git.inside(record.path)
            git = memory.git
            revisions = git.history_at(full, self.ref) if self.ref else git.history(full)
            return revisions[-LATEST_COMMITS:]
        return []

    def _record(self, memory: Memory) -> tuple[Record, str]:
        kind, _, key = self.path.partition(":")
        if self.ref:
            path = key if kind in FILE_KINDS else self.path.removeprefix("file:")
            full = memory.git.inside(path)
            path = memory.git.relative(full)
            return Record(f"file:{path}", "file", path, path), memory.git.read(full, self.ref)
        name, line, number = resolve(memory, self.path)
        record, chunks = memory.records.show(name, -1 if kind == "file" else line, number)
        if record.kind == "file":
            return record, memory.git.read(memory.git.inside(record.path))
        return record, join_chunks(chunks)


class ReadArtifact(ArtifactFields, Request):
    """The text of a path or ref; of a file also as of a commit."""


def within(lines: list[str], start: int, budget: int) -> tuple[str, int]:
    """The lines from `start` that fit a budget, and the next line; a long first line is cut."""
    end = start
    room = budget * QUARTERS
    while end < len(lines) and weight(lines[end]) <= room:
        room -= weight(lines[end])
        end += 1
    if end == start < len(lines):
        return cut(lines[start], budget), start + 1
    return "\n".join(lines[start:end]), end


def join_chunks(chunks: list[Chunk]) -> str:
    """The text that chunks were cut from, without what two of them share."""
    text = ""
    last_line = 0
    for chunk in chunks:
        gap = 2
        if chunk.start_line and last_line:
            gap = min(2, max(1, chunk.start_line - last_line))
        seam = next((size for size in SEAM if text[-size:] == chunk.text[:size]), 0)
        if text and not seam:
            text += "\n" * gap
        text += chunk.text[seam:]
        last_line = chunk.end_line
    return text
