"""Tools for git history, and the one that returns the full text behind a ref."""

from kinen.api import responses
from kinen.api.paging import next_page
from kinen.api.reading import ArtifactFields
from kinen.api.requests import Request
from kinen.mcp.tool import Answer, Limit, Offset, Tool
from kinen.memory import Memory
from kinen.render.json import tag_json


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
