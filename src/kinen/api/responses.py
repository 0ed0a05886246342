"""What tools answer with, as JSON: the same names as `--json`, empty instead of null.

A field that is empty is left out; its default stands in the schema. There are no nullable unions,
which some clients reject.
"""

from typing import Any

from pydantic import BaseModel, Field, model_validator


class Value(BaseModel):
    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: Any) -> Any:
        if isinstance(given, dict):
            return {name: value for name, value in given.items() if value is not None}
        return given


class Page(Value):
    total: int
    next_offset: int = Field(0, description="where the next page begins; 0 when this is the last")


# Asking


class Chunk(Value):
    content: str = Field(description="the passage around what matched")
    start_line: int = 0
    end_line: int = 0
    line: int = Field(0, description="the line that says most of what was asked")
    page: int = 0
    heading: str = ""


class Source(Value):
    ref: str
    path: str = ""
    type: str
    title: str = ""
    at: str = ""
    session: str = ""
    tags: list[str] = []
    metadata: dict[str, Any] = {}


class Neighbours(Value):
    before: list[str] = []
    after: list[str] = []


class Vote(Value):
    retriever: str
    rank: int
    score: float
    share: float


class Hit(Value):
    chunk: Chunk
    source: Source
    context: Neighbours = Neighbours()
    score: float
    match_type: str
    votes: list[Vote] = []
    tokens: int = Field(description="of content and context, as given here")
    more: int = Field(0, description="tokens left out to keep the budget")


class Found(Value):
    query: str
    mode: str
    results: list[Hit]
    notes: list[str] = []
    tokens: int


class Item(Value):
    tier: str
    ref: str
    text: str
    tokens: int
    score: float = 0.0
    votes: list[Vote] = []
    at: str = ""


class Dropped(Value):
    tier: str
    ref: str
    tokens: int
    reason: str


class Digest(Value):
    text: str = ""
    by: str = ""
    sources: list[str] = []
    tokens_in: int = 0
    tokens_out: int = 0
    cached: bool = False
    notes: list[str] = []


class Recalled(Value):
    query: str
    budget: int
    tokens: int
    over_budget: bool = False
    items: list[Item]
    dropped: list[Dropped] = []
    digest: Digest = Digest()
    notes: list[str] = []


class Edge(Value):
    source: str
    target: str = Field("", description="empty where the link leads nowhere")
    type: str
    written: str = ""
    text: str = ""
    line: int = 0


class Links(Page):
    ref: str
    edges: list[Edge]


class Skipped(Value):
    path: str
    reason: str


class IndexStatus(Value):
    space: str
    synced: str = ""
    counts: dict[str, int]
    types: dict[str, int]
    pending: int
    skipped: list[Skipped] = []


class Rebuilt(Value):
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


# Git


class File(Value):
    ref: str
    path: str
    tags: list[str] = []
    last_modified: str = ""
    alive: bool = True
    commits: int = 0


class Files(Page):
    files: list[File]
    offset: int = 0


class Revision(Value):
    ref: str
    at: str
    author: str
    subject: str
    status: str
    path: str
    before: str = ""
    tags: list[str] = []


class Artifact(Value):
    ref: str
    path: str = ""
    type: str
    title: str = ""
    at: str = ""
    tags: list[str] = []
    content: str
    tokens: int = Field(description="of content, as given here")
    lines: int = Field(description="of the whole text")
    next_offset: int = Field(0, description="the line to go on from; 0 when nothing is left")
    commits: list[Revision] = Field([], description="the latest that touched it, oldest first")


class Provenance(Page):
    path: str
    revisions: list[Revision]
    by_hand: list[str] = []


class Tag(Value):
    tag: str
    count: int


class Tags(Page):
    tags: list[Tag]


class Commit(Value):
    ref: str
    subject: str


class Companion(Value):
    ref: str
    path: str
    count: int
    jaccard: float
    weight: float
    score: float
    commits: list[Commit] = []


class Companions(Value):
    paths: list[str]
    files: list[Companion]


class Step(Value):
    kind: str = Field(description="edit or run")
    text: str
    ref: str


class Fix(Value):
    error: str
    ref: str
    at: str
    session: str = ""
    command: str = Field("", description="what failed")
    likeness: float
    fixed_at: str = Field("", description="when the same command succeeded; empty if it did not")
    steps: list[Step] = []
    more_steps: int = 0
    success: str = ""
    commit: str = ""
    came_back: str = Field("", description="when the same error was next seen after that")


class Fixes(Value):
    fixes: list[Fix]


class Invocation(Value):
    invocation: str
    succeeded: int
    failed: int
    at: str
    session: str = ""
    ref: str


class Invocations(Value):
    invocations: list[Invocation]


# Telling: what is there now, without the text that was just sent


class Checkpoint(Value):
    ref: str
    id: str
    at: str
    tags: list[str] = []
    branch: str = ""
    commit: str = ""
    files: list[str] = []
    summary: str = ""
    plan: str = ""
    type: str = ""


class Plan(Value):
    ref: str
    id: str
    title: str
    text: str = ""
    tokens: int = Field(0, description="of the whole text")
    status: str
    created: str = ""
    updated: str = ""
    tags: list[str] = []
    current: bool = False


class Plans(Value):
    plans: list[Plan]


class Observation(Value):
    ref: str
    kind: str
    at: str
    session: str = ""
    agent: str = ""
    capsule: str = ""
    files: list[str] = []
    branch: str = ""
    masked: dict[str, Any] = Field({}, description="what looked like a secret and was masked")


class Pin(Value):
    ref: str
    target: str
    note: str = ""
    expires_at: str = ""


class Pins(Value):
    pins: list[Pin] = []
    unpinned: list[str] = []
