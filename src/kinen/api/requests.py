"""Requests: fields in kinen's names, or in those of other tools.

Other names that agents and the seed projects use (`scopeIds`, `capsuleId`, `ttlMs`, `question`) are
translated before validation, the same for HTTP and MCP.
"""

import json
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, model_validator

from kinen.journal.schema import LATEST
from kinen.model.kinds import CAPSULE_TYPES, DISTILLERS, EVENTS, MODES
from kinen.privacy.entrance import plain_values
from kinen.query import MOST, bounds

PROVENANCE_LEVELS = 32
SCOPE = ("session", "repo", "agent", "user", "task")
SYNONYMS: dict[str, tuple[str, ...]] = {
    "after": ("since",),
    "artifact": ("path",),
    "at": ("ref",),
    "before": ("until",),
    "brief_id": ("id",),
    "by": ("other",),
    "capsule_id": ("capsule",),
    "commit": ("ref",),
    "content": ("description",),
    "context": ("context_chunks",),
    "description": ("content",),
    "file": ("files", "path"),
    "files": ("paths",),
    "from": ("since",),
    "id": ("path", "ref"),
    "include_deleted": ("deleted",),
    "include_ignored": ("ignored",),
    "into": ("other",),
    "kind": ("type", "kinds"),
    "kinds": ("type",),
    "max_candidates": ("limit",),
    "max_tokens": ("budget",),
    "message": ("content", "description"),
    "name": ("path",),
    "path": ("paths", "file", "ref"),
    "plan": ("content",),
    "plan_id": ("id",),
    "q": ("query",),
    "query": ("error", "command"),
    "question": ("query",),
    "reason": ("note",),
    "ref": ("target", "path", "id"),
    "revision": ("ref",),
    "scope_ids": ("scope",),
    "search": ("query",),
    "spaces": ("space",),
    "summary": ("description",),
    "summary_content": ("summary",),
    "symbol": ("symbols",),
    "tag": ("tags",),
    "target": ("ref",),
    "target_id": ("ref",),
    "text": ("content", "description", "error", "query"),
    "token_budget": ("budget",),
    "to": ("until",),
    "tool": ("command",),
    "ts": ("at",),
    "type": ("kind", "types"),
    "types": ("type",),
    **{f"{name}_id": (name,) for name in SCOPE},
}
"""Other names for fields, in snake case: the first field that the request has is meant."""

STRATEGIES = {"fts-only": "fts", "vector-only": "vector", "semantic-reranking": "rerank"}
"""Names of strategies and the modes that they are."""


def _mode(strategy: Any) -> Any:
    if not isinstance(strategy, str):
        return strategy
    name = re.sub(r"(?<=[a-z])(?=[A-Z])|_", "-", strategy).lower()
    return STRATEGIES.get(name, name)


VALUES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "cursor": ("offset", lambda cursor: cursor),
    "days": ("since", lambda days: f"{days}d" if days else ""),
    "semantic": ("mode", lambda semantic: "semantic" if semantic else ""),
    "strategy": ("mode", _mode),
    "workspace": ("space", lambda name: [] if name == "current" else name),
}
"""Fields of other tools whose values differ too: the field that is meant, and its value."""

Name = Annotated[str, Field(max_length=500)]
Text = Annotated[str, Field(max_length=20_000)]
Id = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[0-9A-Za-z._-]+$")]
NewId = Annotated[str, Field(max_length=128, pattern=r"^[0-9A-Za-z._-]*$")]
Place = Annotated[str, Field(min_length=1, max_length=4096)]
Moment = Annotated[int, Field(strict=True, ge=0, lt=LATEST)] | Annotated[str, Field(max_length=64)]
Limit = Annotated[int, Field(ge=1, le=1000, description="at most this many")]
Cursor = Annotated[str, Field(max_length=1000, description="`next` of the page before")]
SPACES = "`all`, or names of spaces, instead of that of the request"
TOKENS = "most tokens; 0: as configured"
HITS = "most hits; 0: as configured"
AROUND = "chunks around each; -1: as configured"
Budget = Annotated[int, Field(ge=0, le=MOST["budget"], description=TOKENS)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Names = Annotated[list[Name], BeforeValidator(_as_list), Field(max_length=100)]
Since = Annotated[
    Moment, Field(description="not before: ISO, `2h`, `3d`, `today`, or epoch milliseconds")
]
Until = Annotated[Moment, Field(description="not after, in the same words")]
AsOf = Annotated[Name, Field(description="what was known then: a time, or a commit, branch or tag")]
Before = Annotated[Moment, Field(description="before, in the same words")]


class Request(BaseModel):
    """A request; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")

    @property
    def slow(self) -> bool:
        """Whether it takes so long that others should not wait for it."""
        return False

    @model_validator(mode="before")
    @classmethod
    def _translate(cls, values: Any) -> Any:
        """Replace other names by fields, and put scopes where the request has them."""
        if not isinstance(values, dict):
            return values
        fields: dict[str, Any] = {}
        for name, value in cls._converted(plain_values(dict(values))).items():
            field_name = cls._field_name(name)
            field = cls.model_fields.get(field_name)
            if field_name in fields:
                raise ValueError(f"{field_name} is given twice")
            if isinstance(value, bool) and field is not None and field.annotation is not bool:
                raise ValueError(f"{field_name} cannot be true or false")
            fields[field_name] = value
        scope = fields.get("scope", {})
        if not isinstance(scope, dict):
            return fields
        if "scope" not in cls.model_fields:
            fields.pop("scope", None)
            return {**{cls._field_name(name): value for name, value in scope.items()}, **fields}
        flat = {name: fields.pop(name) for name in SCOPE if name in fields}
        return {**fields, "scope": {**scope, **flat}}

    @classmethod
    def _converted(cls, values: dict[str, Any]) -> dict[str, Any]:
        """The values with those of VALUES in the form that the request has; empty ones go."""
        converted = dict(values)
        for name, (field, convert) in VALUES.items():
            if name not in values or name in cls.model_fields or field not in cls.model_fields:
                continue
            value = convert(converted.pop(name))
            if value and field in converted:
                raise ValueError(f"{field} is given twice")
            if value:
                converted[field] = value
        return converted

    @classmethod
    def _field_name(cls, name: str) -> str:
        """The field that a name means; the name itself if there is none."""
        if name in cls.model_fields:
            return name
        snake = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()
        for candidate in (snake, *SYNONYMS.get(snake, ())):
            if candidate in cls.model_fields:
                return candidate
        return SYNONYMS[snake][0] if snake in _SCOPE_NAMES else name


_SCOPE_NAMES = {"scope_ids", *(f"{name}_id" for name in SCOPE)}


class Scope(BaseModel):
    session: Name = Field("", examples=["s1"])
    repo: Name = ""
    agent: Name = Field("", examples=["claude-code"])
    user: Name = ""
    task: Name = ""


class ScopeFields(Scope, Request):
    """Whose memory it is; an empty field matches anything."""


class Scoped(BaseModel):
    scope: ScopeFields = Field(default_factory=ScopeFields.model_construct)


class Search(Request):
    """A search by words and by meaning."""

    query: Text = Field(min_length=1, examples=["why did we drop redis"])
    mode: Name = Field("", json_schema_extra={"enum": ["", *MODES]})
    types: Names = Field([], description="rounds, notes, commits, ...", examples=[["notes"]])
    kinds: Names = Field(
        [], description="of observations: error, command, ...; of commits: fix, feat, ..."
    )
    meta: Names = Field([], description="metadata as key=value", examples=[["status=complete"]])
    agent: Name = ""
    author: Name = ""
    repo: Name = ""
    session: Name = ""
    tags: Names = []
    paths: Names = Field([], description="below these folders, or matching these globs")
    since: Since = ""
    until: Until = ""
    as_of: AsOf = ""
    limit: int = Field(0, json_schema_extra=bounds("limit", 0), description=HITS)
    context: int = Field(-1, json_schema_extra=bounds("context", -1), description=AROUND)
    min_score: Share | None = Field(
        None, description="least score; 0 shows everything; by default what is close enough"
    )
    exact: bool = Field(False, description="only hits with the query as one phrase")
    near: Annotated[Names, Field(max_length=20)] = []
    space: Names = Field([], description=SPACES)
    files: bool = Field(False, description="only what is in files; as text: their paths")
    explain: bool = Field(False, description="as text: with the votes behind each hit")
    verbose: bool = Field(False, description="as text: with whole passages")
    colour: bool = Field(False, description="as text: for a terminal")
    width: int = Field(0, ge=0, le=1000, description="as text: columns of the terminal; 0: none")
    folder: Name = Field("", description="as text: paths are relative to this folder")


class Recall(Request):
    """What an agent should know, in a token budget; without a query, the latest work."""

    query: Text = Field("", examples=["why did we drop redis"])
    types: Names = Field([], description="decisions, learnings, ... or rounds, checkpoints, ...")
    tags: Names = []
    files: Names = Field([], description="about these files: paths, or ends of paths")
    symbols: Names = []
    issue: Name = Field("", description="an issue, and what concerns it", examples=["bd-a1b2"])
    session: Name = ""
    repo: Name = ""
    agent: Name = ""
    user: Name = ""
    since: Since = ""
    until: Until = ""
    as_of: AsOf = ""
    limit: int = Field(20, json_schema_extra=bounds("limit"))
    budget: int = Field(0, json_schema_extra=bounds("budget", 0), description=TOKENS)
    min_similarity: float = Field(0.0, json_schema_extra={"minimum": 0, "maximum": 1})
    mode: Name = Field("", json_schema_extra={"enum": ["", *MODES]})
    space: Names = Field([], description=SPACES)
    full: bool = Field(False, description="whole records instead of the relevant lines")
    distill: bool = Field(False, description="a digest in place of the hits")
    distiller: Literal["", "auto", *DISTILLERS, "none"] = ""  # type: ignore[valid-type]

    @property
    def slow(self) -> bool:
        return self.distill or self.distiller not in ("", "none")


class Retrieve(Scoped, Request):
    """A recall from the journal: pins, the summary and hits."""

    query: Text = Field("", examples=["flaky test"])
    since: Since = ""
    until: Until = ""
    limit: int = Field(10, ge=1, le=1000)
    budget: Budget = 0


class SessionStart(Scope, Request):
    """The session that begins, and its token budget."""

    budget: Budget = 0


class Prompt(Scope, Request):
    """A prompt, and the token budget of its context."""

    budget: Budget = 0
    prompt: str = Field(examples=["make the retry test pass"])
    known: Annotated[list[Name], Field(max_length=10_000)] = []
    """Refs that are in the agent's context already."""


class Observe(Scoped, Request):
    """An event to store; the same id is stored once."""

    content: str = Field(min_length=1, examples=["the test raced with the cache"])
    kind: Literal[*EVENTS] = "message"  # type: ignore[valid-type]
    id: NewId = ""
    at: Moment = Field("", description="now if empty")
    capsule: Name = ""
    files: Annotated[list[Place], Field(max_length=1000), BeforeValidator(_as_list)] = []
    provenance: dict[str, JsonValue] = {}

    @model_validator(mode="after")
    def _storable(self) -> "Observe":
        level: list[Any] = [self.provenance]
        for _ in range(PROVENANCE_LEVELS):
            children = [node.values() if isinstance(node, dict) else node for node in level]
            level = [node for nodes in children for node in nodes if isinstance(node, dict | list)]
        if level:
            raise ValueError(f"provenance has more than {PROVENANCE_LEVELS} levels")
        json.dumps(self.provenance, ensure_ascii=False, allow_nan=False).encode()
        return self


class ListObservations(Scoped, Request):
    """Filters for observations, newest first."""

    kinds: Annotated[list[Literal[*EVENTS]], BeforeValidator(_as_list)] = []  # type: ignore[valid-type]
    capsule: Name = ""
    since: Since = ""
    until: Before = ""
    limit: Limit = 100
    cursor: Cursor = ""
    include_redacted: bool = False


class PageFields(BaseModel):
    limit: Limit = 100
    cursor: Cursor = ""


class ListPins(Scope, PageFields, Request):
    """Filters for pins or open capsules, newest first."""


class ListCapsules(Scope, PageFields, Request):
    type: Name = ""
    status: Literal["", "open", "closed"] = ""


class OpenCapsule(Scoped, Request):
    """A capsule to open; one left open for the same session is closed as abandoned."""

    intent: Text = Field(examples=["find the flaky test"])
    type: Literal[*CAPSULE_TYPES] = "session"  # type: ignore[valid-type]
    resume: bool = Field(False, description="return the open capsule of that session")
    id: NewId = Field("", description="the same id is opened once")
    parent: NewId = Field("", description="the capsule that it is a part of")


class CloseCapsule(Request):
    """The summary of a capsule; kinen writes one if it is empty."""

    summary: Text = Field("", examples=["the test raced with the cache; now it waits"])
    confidence: Share = 1.0
    generate_summary: bool = Field(
        True, description="accepted for Kindling; a missing summary is always written"
    )


class Pin(Scoped, Request):
    """A record that every recall in a scope begins with, for a time or permanently."""

    target: Annotated[str, Field(max_length=4096)] = Field(
        "", description="a ref, a path or a text", examples=["docs/conventions.md"]
    )
    target_type: Name = Field("", description="with target_id, instead of target")
    target_id: Name = ""
    note: Text = ""
    ttl: Annotated[float, Field(ge=0, lt=LATEST / 1000, allow_inf_nan=False)] | Name = Field(
        0, description="seconds, or as text 30s, 12h, 7d, 2w or a date to come"
    )
    ttl_ms: int = Field(0, ge=0, lt=LATEST)


class Embed(Request):
    """Texts to embed with the model of a fingerprint."""

    texts: list[Text] = Field(min_length=1, max_length=64, examples=[["why did we drop redis"]])
    model: Name = Field(description="its fingerprint", examples=["minilm-1f2e3d"])


class Export(Request):
    form: Literal["json", "jsonl", "html"] = "json"
    session: Name = ""
    repo: Name = ""
    since: Since = ""
    until: Before = ""
