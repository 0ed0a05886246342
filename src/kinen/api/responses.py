"""Responses of the HTTP endpoints and the MCP tools, in the names of `--json`.

A field with a default may be empty. Over HTTP it is there all the same; MCP leaves out what equals
its default, which saves tokens, and drops `null` from its schemas, which some clients refuse.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from kinen.verbs.verb import add_examples


def _document(schema: dict[str, Any], _model: object) -> None:
    """Say that there are no other fields, and give examples."""
    schema["additionalProperties"] = False
    add_examples(schema)


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


class Source(Response):
    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    ref: str
    path: str = ""
    type: str
    title: str = ""
    at: str = ""
    session: str = ""
    tags: list[str] = []
    metadata: dict[str, Any] = {}

    space: str = Field("", description="its name, where several were asked")
    root: str = Field("", description="folder of the space")
    file: str = Field("", description="absolute path")


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


class ImportReport(Response):
    dry_run: bool
    added: dict[str, Any]
    skipped: dict[str, Any]
    replaced: dict[str, Any]
    forgotten: int
    masked: int
    ignored: dict[str, Any]
    notes: list[str]
