"""Tools for git history, and the one that returns the full text behind a ref."""

from pydantic import Field

from kinen.api import responses
from kinen.api.paging import next_page
from kinen.api.reading import ArtifactFields
from kinen.api.requests import Request
from kinen.errors import QueryError
from kinen.mcp.tool import Answer, Limit, Names, Offset, Texts, Tool
from kinen.memory import Memory
from kinen.render import history
from kinen.render.json import tag_json


class ListArtifacts(Tool, Request):
    """List the repository's files by tag, with tags and last change."""

    tool_name = "kinen_list_artifacts"
    tool_title = "List files by tag"
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


class GetArtifact(ArtifactFields, Tool, Request):
    """Read the text of a path or of any ref. Files also as of a commit, with the tags and commits
    up to it.
    """

    tool_name = "kinen_get_artifact"
    tool_title = "Read a file, note or record"

    def answer(self, memory: Memory) -> Answer:
        value = self.read(memory)
        more = f"… continue with offset {value.next_offset}" if value.next_offset else ""
        head = f"[{value.ref}] {value.title}"
        return Answer(value, "\n".join(filter(None, [head, value.content, more])))


class GetProvenance(Tool, Request):
    """Commits of a file through renames, oldest first: who, when and why (the whole message), and
    its tags after each.
    """

    tool_name = "kinen_get_provenance"
    tool_title = "History of a file"
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
        return Answer(value, history.messages_text(page) or "it came with a merge")


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


class GetCochange(Tool, Request):
    """Files that usually change together with a file, and the commits that show it: look here
    before and after an edit.
    """

    tool_name = "kinen_get_cochange"
    tool_title = "What changes together"
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
