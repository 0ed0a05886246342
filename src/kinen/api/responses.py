"""Responses of the HTTP endpoints and the MCP tools, in the names of `--json`.

A field with a default may be empty. Over HTTP it is there all the same; MCP leaves out what equals
its default, which saves tokens, and drops `null` from its schemas, which some clients refuse.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

EXAMPLES: dict[str, Any] = {
    "at": "2026-03-01T09:30:00.000Z",
    "code": "not_found",
    "content": "Redis lost sessions on restart.",
    "hint": "`kinen space list`",
    "id": "01JD8X9Z3M4N5P6Q7R8S9T0VWX",
    "message": "no space called 'notes'",
    "path": "docs/sessions.md",
    "query": "why did we drop redis",
    "ref": "note:docs/sessions.md",
    "session": "s1",
    "text": "Redis lost sessions on restart.",
    "tokens": 214,
}
"""Examples of fields for OpenAPI, by name."""


def _document(schema: dict[str, Any], _model: object) -> None:
    """Say that there are no other fields, and give examples."""
    schema["additionalProperties"] = False
    for name, field in schema.get("properties", {}).items():
        if name in EXAMPLES:
            field["examples"] = [EXAMPLES[name]]


class Response(BaseModel):
    model_config = ConfigDict(
        json_schema_extra=_document, json_schema_serialization_defaults_required=True
    )

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, values: Any) -> Any:
        if isinstance(values, dict):
            return {name: value for name, value in values.items() if value is not None}
        return values


class Fault(Response):
    code: str
    message: str
    hint: str


class Failure(Response):
    error: Fault


class OffsetPage(BaseModel):
    total: int
    next_offset: int = Field(0, description="of the next page; 0 on the last")


class CursorPage(BaseModel):
    next: str | None


class RecordFields(BaseModel):
    ref: str
    path: str = ""
    type: str
    title: str = ""
    at: str = ""
    session: str = ""
    tags: list[str] = []
    metadata: dict[str, Any] = {}


class Record(RecordFields, Response):
    pass


class Source(RecordFields, Response):
    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    space: str = Field("", description="its name, where several were asked")
    root: str = Field("", description="folder of the space")
    file: str = Field("", description="absolute path")


class Chunk(Response):
    ref: str
    n: int
    text: str
    heading: str
    start_line: int
    end_line: int
    page: int


class Edge(Response):
    source: str
    target: str = Field("", description="empty if the link is broken")
    type: str
    written: str = ""
    text: str = ""
    line: int = 0
    sentence: str = Field("", description="around the link")


class RecordDetails(RecordFields, Response):
    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    chunks: list[Chunk]
    edges: list[Edge] | None = Field(None, description="of commits and files of the repository")


class Passage(Response):
    ref: str = ""
    n: int = Field(0, description="number of the chunk that matched: `ref#n`")
    content: str = Field(description="the passage around what matched")
    start_line: int | None = None
    end_line: int | None = None
    line: int | None = Field(None, description="the line that matches best")
    page: int | None = None
    heading: str = ""


class Neighbours(Response):
    before: list[str] = []
    after: list[str] = []


class Vote(Response):
    retriever: str
    rank: int
    score: float
    share: float


class HitFields(BaseModel):
    chunk: Passage
    source: Source
    context: Neighbours = Neighbours()
    score: float
    strength: int = Field(0, description="0 to 100: how close it is to the question")
    match_type: str
    votes: list[Vote] = []


class Hit(HitFields, Response):
    pass


class SearchResults(Response):
    query: str
    mode: str
    results: list[Hit]
    notes: list[str] = []


class SizedHit(HitFields, Response):
    tokens: int = Field(description="of content and context")
    more: int = Field(0, description="tokens left out to keep the budget")


class SizedResults(Response):
    query: str
    mode: str
    results: list[SizedHit]
    notes: list[str] = []
    tokens: int


class Item(Response):
    tier: str
    ref: str
    text: str
    tokens: int
    score: float = 0.0
    votes: list[Vote] = []
    at: str = ""
    space: str = ""
    by: str = ""
    session: str = ""
    later: str = Field("", description="a later entry that says the same with other values")
    copies: int = Field(0, description="how many others say the same")


class Dropped(Response):
    tier: str
    ref: str
    tokens: int
    reason: str
    space: str = ""


class Digest(Response):
    text: str = ""
    by: str = ""
    sources: list[str] = []
    tokens_in: int = 0
    tokens_out: int = 0
    cached: bool = False
    notes: list[str] = []
    passages: int = Field(0, description="how many it sums up")
    latency_ms: int = Field(0, description="time that a model took")
    reduction: float = Field(0.0, description="share of their tokens that it saves")


class Recall(Response):
    query: str
    budget: int
    tokens: int
    over_budget: bool = False
    search_method: str = Field("", description="a mode of search, or `recent`")
    items: list[Item]
    dropped: list[Dropped] = []
    digest: Digest | None = None
    notes: list[str] = []


class Report(Response):
    space: str = ""
    markdown: str


class Memories(Response):
    memories: list[dict[str, Any]]


class TieredRecall(Response):
    query: str
    budget: int
    tokens: int
    dropped: list[Dropped]
    notes: list[str]
    plan: Item | None
    pins: list[Item]
    summary: Item | None
    hits: list[Item]


class Brief(Response):
    text: str
    tokens: int


class Unrelated(Response):
    ref: str
    reason: str


class PromptContext(Response):
    text: str
    tokens: int
    entries: list[str]
    dropped: list[Unrelated]


class Links(Response):
    ref: str
    edges: list[Edge]


class RelatedRecord(RecordFields, Response):
    score: float
    reasons: list[str] = []


class Orphans(Response):
    orphans: list[Record]


class BrokenLinks(Response):
    edges: list[Edge]


class LinkPage(OffsetPage, Response):
    ref: str = ""
    edges: list[Edge] = []
    related: list[RelatedRecord] = []
    orphans: list[Record] = []


class RevisionFields(BaseModel):
    ref: str
    at: str
    author: str
    subject: str
    status: str
    path: str
    before: str | None = None
    tags: list[str] = []
    message: str = ""


class Revision(RevisionFields, Response):
    pass


class Tag(Response):
    tag: str
    count: int
    files: int = 0
    notes: int = 0


class Tags(OffsetPage, Response):
    tags: list[Tag]


class TagPage(CursorPage, Response):
    tags: list[Tag]


class Artifact(Response):
    ref: str
    path: str = ""
    type: str
    title: str = ""
    at: str = ""
    tags: list[str] = []
    content: str
    tokens: int = Field(description="of content")
    lines: int = Field(description="of the whole text")
    next_offset: int = Field(0, description="the line to continue from; 0 at the end")
    commits: list[Revision] = Field([], description="the latest that touched it, oldest first")


class Skipped(Response):
    path: str
    reason: str


class IndexStatus(Response):
    space: str
    synced: str = ""
    counts: dict[str, int]
    types: dict[str, int]
    pending: int
    skipped: list[Skipped] = []


class IndexReport(Response):
    added: int
    changed: int = 0
    removed: int = 0
    skipped: int = 0
    unchanged: int = 0
    embedded: int = 0
    pending: int = 0
    seconds: float
    notes: list[str] = []
    failure: str = ""
    counts: dict[str, int]


class Status(Response):
    space: dict[str, Any] | None
    daemon: dict[str, Any]


class PageLink(Response):
    url: str = Field(description="opens the pages in a browser, once")
    seconds: int = Field(description="until it expires")


class Health(Response):
    status: str
    version: str
    daemon: dict[str, Any]
