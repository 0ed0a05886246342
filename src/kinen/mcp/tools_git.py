"""Tools that ask git's history, and the one that gives the full text behind a ref."""

import contextlib
from typing import Any

from pydantic import AliasChoices, Field, model_validator

from kinen.errors import KinenError, QueryError
from kinen.api import responses as models
from kinen.mcp.tool import Answer, Limit, Names, Offset, Texts, Tool, page, place
from kinen.memory import Memory
from kinen.memory.recall import cut
from kinen.model.records import FILE_KINDS, KINDS, Chunk, Record, Revision
from kinen.render import history as shown
from kinen.text import QUARTERS, estimate, weight

LATEST = 5
"""Commits shown with a file."""
SEAM = range(600, 19, -1)
"""Characters that the end of a chunk and the beginning of the next may share."""


class ListArtifacts(Tool):
    """List the files of the repository, filtered by tag, with tags and last change: names and
    refs only. kinen_get_artifact gives the content.
    """

    called = "kinen_list_artifacts"
    titled = "List files by tag"
    gives = models.Files

    tags: Names = Field(
        [], description="with all of these tags", validation_alias=AliasChoices("tags", "tag")
    )
    include_deleted: bool = Field(
        False, validation_alias=AliasChoices("include_deleted", "includeDeleted", "deleted")
    )
    include_ignored: bool = Field(
        False, validation_alias=AliasChoices("include_ignored", "includeIgnored", "ignored")
    )
    source_only: bool = Field(
        False,
        description="only below folders called src",
        validation_alias=AliasChoices("source_only", "sourceOnly"),
    )
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
        value = models.Files(
            files=[models.File(**shown.file_json(one)) for one in records],
            offset=self.offset,
            **page(total, self.offset, self.limit),
        )
        return Answer(value, shown.files_text(records) or "no files")


class GetArtifact(Tool):
    """Get the full text behind a path or a ref of any answer: file, note, round, checkpoint,
    commit message, observation, summary, memory. Files also at an older commit. Long texts come
    in pages.
    """

    called = "kinen_get_artifact"
    titled = "Read a file, note or record"
    gives = models.Artifact

    path: str = Field(
        min_length=1,
        description="a path, or a ref such as note:docs/auth.md:12 or observation:01JD…",
        validation_alias=AliasChoices("path", "name", "file", "id", "artifact"),
    )
    ref: str = Field(
        "",
        description="git commit, branch or tag to read a file at; HEAD if empty",
        validation_alias=AliasChoices("ref", "commit", "at", "revision"),
    )
    offset: int = Field(0, ge=0, description="the line to begin at, from next_offset")
    budget: int = Field(
        4000,
        ge=50,
        le=100_000,
        description="most tokens of content",
        validation_alias=AliasChoices("budget", "max_tokens"),
    )

    @model_validator(mode="before")
    @classmethod
    def _named_by_ref(cls, given: Any) -> Any:
        """Everywhere else a record's ref is called `ref`."""
        named = isinstance(given, dict) and {"path", "name", "file", "id"} & given.keys()
        if named or str(given.get("ref", "")).partition(":")[0] not in KINDS:
            return given
        return {**given, "path": given["ref"], "ref": ""}

    def answer(self, memory: Memory) -> Answer:
        record, text = self._read(memory)
        commits: list[Revision] = []
        if record.path and not self.offset:
            with contextlib.suppress(KinenError):  # no commit knows it, or there is no repository
                commits = memory.git.history(memory.git.inside(record.path))[-LATEST:]
        lines = text.splitlines()
        content, end = within(lines, self.offset, self.budget)
        value = models.Artifact(
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
            commits=[models.Revision(**shown.revision_json(one)) for one in commits],
        )
        more = f"… go on with offset {value.next_offset}" if value.next_offset else ""
        head = f"[{record.ref}] {record.title}"
        return Answer(value, "\n".join(filter(None, [head, content, more])))

    def _read(self, memory: Memory) -> tuple[Record, str]:
        kind, _, key = self.path.partition(":")
        if self.ref:
            path = key if kind in FILE_KINDS else self.path.removeprefix("file:")
            full = memory.git.inside(path)
            path = memory.git.relative(full)
            return Record(f"file:{path}", "file", path, path), memory.git.read(full, self.ref)
        name, line, n = place(memory, self.path)
        record, chunks = memory.records.show(name, -1 if kind == "file" else line, n)
        if record.kind == "file":
            return record, memory.git.read(memory.git.inside(record.path))
        return record, joined(chunks)


def within(lines: list[str], start: int, budget: int) -> tuple[str, int]:
    """The lines from one on that fit a budget, and the next; a line that does not is cut."""
    end, room = start, budget * QUARTERS
    while end < len(lines) and weight(lines[end]) <= room:
        room -= weight(lines[end])
        end += 1
    if end == start < len(lines):
        return cut(lines[start], budget), start + 1
    return "\n".join(lines[start:end]), end


def joined(chunks: list[Chunk]) -> str:
    """The text that chunks were cut from: what two of them share is there once."""
    text, last = "", 0
    for chunk in chunks:
        gap = min(2, max(1, chunk.start_line - last)) if chunk.start_line and last else 2
        seam = next((n for n in SEAM if text[-n:] == chunk.text[:n]), 0)
        text += chunk.text[seam:] if seam else "\n" * gap * bool(text) + chunk.text
        last = chunk.end_line
    return text


class GetProvenance(Tool):
    """Get the commit history of a file, oldest first, through renames, with the tags it had after
    each commit: who changed it, when and why.
    """

    called = "kinen_get_provenance"
    titled = "History of a file"
    gives = models.Provenance

    path: str = Field(min_length=1, validation_alias=AliasChoices("path", "file"))
    limit: Limit = 50
    offset: Offset = 0

    def answer(self, memory: Memory) -> Answer:
        full = memory.git.inside(self.path)
        found = memory.git.history(full)
        part = found[self.offset : self.offset + self.limit]
        value = models.Provenance(
            path=memory.git.current_name(full),
            revisions=[models.Revision(**shown.revision_json(one)) for one in part],
            by_hand=memory.git.tagged_by_hand(full),
            **page(len(found), self.offset, self.limit),
        )
        return Answer(value, shown.revisions_text(part) or "it came with a merge")


class ListTags(Tool):
    """List the tags of the repository's files with how many files have each: the vocabulary to
    filter kinen_list_artifacts by.
    """

    called = "kinen_list_tags"
    titled = "List tags"
    gives = models.Tags

    limit: Limit = 100
    offset: Offset = 0

    def answer(self, memory: Memory) -> Answer:
        counted = memory.git.tags()
        part = counted[self.offset : self.offset + self.limit]
        value = models.Tags(
            tags=[models.Tag(tag=tag, count=count) for tag, count in part],
            **page(len(counted), self.offset, self.limit),
        )
        return Answer(value, "\n".join(f"{count:>6} {tag}" for tag, count in part) or "no tags")


class GetCochange(Tool):
    """Find files that usually change together with a file (co-change, coupling), with the commits
    that say so: look here before and after an edit for what else needs one.
    """

    called = "kinen_get_cochange"
    titled = "What changes together"
    gives = models.Companions

    path: str = Field("", validation_alias=AliasChoices("path", "file"))
    paths: Texts = Field(
        [], description="several at once", validation_alias=AliasChoices("paths", "files")
    )
    limit: Limit = 10

    def answer(self, memory: Memory) -> Answer:
        paths = [*filter(None, [self.path]), *self.paths]
        if not paths:
            raise QueryError("no file is named", "give path, or paths")
        found = memory.git.cochanged([memory.git.inside(one) for one in paths], self.limit)
        value = models.Companions(
            paths=paths,
            files=[models.Companion(**shown.companion_json(one)) for one in found],
        )
        return Answer(value, shown.companions_text(found) or "nothing changes together with it")
