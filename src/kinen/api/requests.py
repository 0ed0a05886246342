"""Requests: fields in kinen's names, or in those of other tools.

Other names that agents and the seed projects use (`scopeIds`, `capsuleId`, `ttlMs`, `question`) are
translated before validation, the same for HTTP and MCP.
"""

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from kinen.journal.schema import LATEST
from kinen.model.kinds import DISTILLERS, MODES
from kinen.privacy.entrance import plain_values
from kinen.query import bounds

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
Moment = Annotated[int, Field(strict=True, ge=0, lt=LATEST)] | Annotated[str, Field(max_length=64)]
SPACES = "`all`, or names of spaces, instead of that of the request"
TOKENS = "most tokens; 0: as configured"
HITS = "most hits; 0: as configured"
AROUND = "chunks around each; -1: as configured"
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
        """Replace other names by fields, and a scope by its fields."""
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
        fields.pop("scope", None)
        return {**{cls._field_name(name): value for name, value in scope.items()}, **fields}

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
    limit: int = Field(20, json_schema_extra=bounds("limit", 0))
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
