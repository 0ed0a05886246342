"""Tools for git history, and the one that returns the full text behind a ref."""

import contextlib
from typing import Any

from pydantic import Field, model_validator

from kinen.api import responses
from kinen.api.paging import next_page
from kinen.api.refs import resolve
from kinen.errors import KinenError, QueryError
from kinen.mcp.tool import Answer, Limit, Names, Offset, Texts, Tool
from kinen.memory import Memory
from kinen.memory.recall import cut
from kinen.model.documents import Revision
from kinen.model.records import FILE_KINDS, KINDS, Chunk, Record
from kinen.render import history, tag_json
from kinen.text import QUARTERS, estimate, weight

LATEST_COMMITS = 5
"""Commits returned with a file."""
SEAM = range(600, 19, -1)
"""Characters that the end of a chunk and the beginning of the next may share."""


class ListArtifacts(Tool):
    """List the repository's files by tag, with tags and last change."""

    tool_name = "kinen_list_artifacts"
    tool_title = "List files by tag"
    response = responses.Files
    unlisted = ("include_ignored", "source_only", "limit", "offset")

    tags: Names = Field([], description="all of these")
    include_deleted: bool = False
    include_ignored: bool = False
    source_only: bool = Field(False, description="only below src")
    limit: Limit = 50
    offset: Offset = 0

    def answer(self, memory: Memory) -> Answer:
        records, total = memory.git.files(
            tags=self.tags,
            deleted=self.include_deleted,
            ignored=self.include_ignored,
            source_only=self.source_only,
            limit=self.limit,
            offset=self.offset,
        )
        value = responses.Files(
            files=[responses.File(**history.file_json(record)) for record in records],
            offset=self.offset,
            **next_page(total, self.offset, self.limit),
        )
        return Answer(value, history.files_text(records) or "no files")


class GetArtifact(Tool):
    """Read the text of a path or of any ref. Files also as of a commit, with the tags and commits
    up to it.
    """

    tool_name = "kinen_get_artifact"
    tool_title = "Read a file, note or record"
    response = responses.Artifact

    path: str = Field(
        min_length=1,
        description="path or ref",
    )
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

    def answer(self, memory: Memory) -> Answer:
        record, text = self._read(memory)
        commits: list[Revision] = []
        if record.path and not self.offset:
            with contextlib.suppress(KinenError):  # not committed, or no repository
                full = memory.git.inside(record.path)
                git = memory.git
                revisions = git.history_at(full, self.ref) if self.ref else git.history(full)
                commits = revisions[-LATEST_COMMITS:]
        if self.ref and commits:
            record = record._replace(tags=commits[-1].tags, at=commits[-1].at)
        lines = text.splitlines()
        content, end = within(lines, self.offset, self.budget)
        value = responses.Artifact(
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
        more = f"… continue with offset {value.next_offset}" if value.next_offset else ""
        head = f"[{record.ref}] {record.title}"
        return Answer(value, "\n".join(filter(None, [head, content, more])))

    def _read(self, memory: Memory) -> tuple[Record, str]:
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


class GetProvenance(Tool):
    """Commits of a file through renames, oldest first: who, when and why (the whole message), and
    its tags after each.
    """

    tool_name = "kinen_get_provenance"
    tool_title = "History of a file"
    response = responses.RevisionPage
    unlisted = ("limit", "offset")

    path: str = Field(min_length=1)
    limit: Limit = 50
    offset: Offset = 0

    def answer(self, memory: Memory) -> Answer:
        full = memory.git.inside(self.path)
        revisions = memory.git.history(full)
        page = revisions[self.offset : self.offset + self.limit]
        value = responses.RevisionPage(
            path=memory.git.current_name(full),
            revisions=[responses.Revision(**history.revision_json(item)) for item in page],
            by_hand=memory.git.tagged_by_hand(full),
            **next_page(len(revisions), self.offset, self.limit),
        )
        return Answer(value, history.revisions_text(page) or "it came with a merge")


class ListTags(Tool):
    """Tags of files and notes with how many have each."""

    tool_name = "kinen_list_tags"
    tool_title = "List tags"
    response = responses.Tags
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


class GetCochange(Tool):
    """Files that usually change together with a file, and the commits that show it: look here
    before and after an edit.
    """

    tool_name = "kinen_get_cochange"
    tool_title = "What changes together"
    response = responses.Companions
    unlisted = ("limit",)

    path: str = ""
    paths: Texts = Field([])
    limit: Limit = 10

    def answer(self, memory: Memory) -> Answer:
        paths = [*filter(None, [self.path]), *self.paths]
        if not paths:
            raise QueryError("path is required", "give path, or paths")
        companions = memory.git.cochanged([memory.git.inside(path) for path in paths], self.limit)
        value = responses.Companions(
            paths=paths,
            files=[responses.Companion(**history.companion_json(item)) for item in companions],
        )
        return Answer(value, history.companions_text(companions) or "no file changes with it")
