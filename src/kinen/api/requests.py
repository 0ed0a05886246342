"""What requests say: kinen's words, or Kindling's (`scopeIds`, `capsuleId`, `ttlMs`)."""

import json
import re
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    model_validator,
)

from kinen.journal.schema import LATEST
from kinen.model.kinds import CAPSULE_TYPES, EVENTS
from kinen.model.records import MODES
from kinen.privacy.entrance import plain_values

DEEP = 32
"""Levels of provenance."""
SCOPE = ("session", "repo", "agent", "user", "task")
_ALSO = """scope_ids scope, ts at, reason note, summary_content summary, type kind types,
    kind type kinds, text content query, q query, question query, tag tags, path paths, file files,
    symbol symbols, ref target, token_budget budget, max_tokens budget, max_candidates limit"""
ALSO = {word: fields for word, *fields in (one.split() for one in _ALSO.split(","))}
ALSO.update({f"{name}_id": [name] for name in (*SCOPE, "capsule")})
"""Other words for a field: the first of those named that there is."""

Name = Annotated[str, Field(max_length=500)]
Text = Annotated[str, Field(max_length=20_000)]
Id = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[0-9A-Za-z._-]+$")]
NewId = Annotated[str, Field(max_length=128, pattern=r"^[0-9A-Za-z._-]*$")]
Place = Annotated[str, Field(min_length=1, max_length=4096)]
Moment = Annotated[int, Field(strict=True, ge=0, lt=LATEST)] | Annotated[str, Field(max_length=64)]
Limit = Annotated[int, Field(ge=1, le=1000, description="at most this many")]
Cursor = Annotated[str, Field(max_length=1000, description="`next` of the page before")]
Budget = Annotated[int, Field(ge=0, le=1_000_000, description="most tokens; 0: as configured")]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


def _several(given: Any) -> Any:
    return [given] if isinstance(given, str) else given


Names = Annotated[list[Name], BeforeValidator(_several), Field(max_length=100)]
Since = Annotated[
    Moment, Field(description="not before: ISO, `2h`, `3d`, `today`, or epoch milliseconds")
]
Until = Annotated[Moment, Field(description="not after, in the same words")]


class Asked(BaseModel):
    """A request; a field that there is not is refused."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _in_our_words(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        given = plain_values(dict(given))
        found: dict[str, Any] = {}
        for name, value in given.items():
            word = cls._word(name)
            field = cls.model_fields.get(word)
            if word in found:
                raise ValueError(f"{word} is given twice")
            if isinstance(value, bool) and field is not None and field.annotation is not bool:
                raise ValueError(f"{word} is neither true nor false")
            found[word] = value
        scope = found.get("scope", {})
        if not isinstance(scope, dict):
            return found
        if "scope" not in cls.model_fields:
            found.pop("scope", None)
            return {**{cls._word(name): value for name, value in scope.items()}, **found}
        flat = {name: found.pop(name) for name in SCOPE if name in found}
        return {**found, "scope": {**scope, **flat}}

    @classmethod
    def _word(cls, name: str) -> str:
        if name in cls.model_fields:
            return name
        snake = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()
        known = (one for one in (snake, *ALSO.get(snake, ())) if one in cls.model_fields)
        return next(known, ALSO.get(snake, [name])[0] if snake in _SCOPED else name)


_SCOPED = {"scope_ids", *(f"{name}_id" for name in SCOPE)}


# Requests


class Flat(Asked):
    """Whose memory it is; an empty field matches anything."""

    session: Name = Field("", examples=["s1"])
    repo: Name = ""
    agent: Name = Field("", examples=["claude-code"])
    user: Name = ""
    task: Name = ""


class Scoped(Asked):
    scope: Flat = Field(default_factory=Flat.model_construct)


class Search(Asked):
    """A question, by word and by meaning."""

    query: Text = Field(min_length=1, examples=["why did we drop redis"])
    mode: Literal["", *MODES] = ""  # type: ignore[valid-type]
    types: Names = Field([], description="rounds, notes, commits, ...", examples=[["notes"]])
    kinds: Names = Field([], description="of observations: error, command, ...")
    agent: Name = ""
    author: Name = ""
    repo: Name = ""
    session: Name = ""
    tags: Names = []
    paths: Names = Field([], description="below these folders, or matching these globs")
    since: Since = ""
    until: Until = ""
    limit: int = Field(0, ge=0, le=1000, description="most hits; 0: as configured")
    context: int = Field(-1, ge=-1, le=100, description="chunks around each; -1: as configured")
    min_score: Share = 0.0
    exact: bool = Field(False, description="only what has the query's words as one phrase")
    near: Annotated[Names, Field(max_length=20)] = []
    files: bool = Field(False, description="as text: only the paths")
    explain: bool = Field(False, description="as text: with the votes behind each hit")
    colour: bool = Field(False, description="as text: for a terminal")


class Recall(Asked):
    """What an agent should know, in a token budget; without a question, what happened last."""

    query: Text = Field("", examples=["why did we drop redis"])
    types: Names = Field([], description="decisions, learnings, ... or rounds, checkpoints, ...")
    tags: Names = []
    files: Names = Field([], description="about these files: paths, or ends of paths")
    symbols: Names = []
    session: Name = ""
    since: Since = ""
    until: Until = ""
    limit: int = Field(20, ge=1, le=1000)
    budget: Budget = 0
    min_similarity: Share = 0.0
    full: bool = Field(False, description="whole records, not the lines that matter")
    distill: bool = Field(False, description="what the hits come to, in their place")
    distiller: Literal["", "auto", "claude", "gemini", "ollama", "openai", "extract", "none"] = ""

    @property
    def long(self) -> bool:
        """Whether others should not have to wait for it."""
        return self.distill or self.distiller not in ("", "none")


class Retrieve(Scoped):
    """What the journal has on a question: pins, the summary, and what was found."""

    query: Text = Field("", examples=["flaky test"])
    since: Since = ""
    until: Until = ""
    limit: int = Field(10, ge=1, le=1000)
    budget: Budget = 0


class Beginning(Flat):
    """Who begins, and how much it may be told."""

    budget: Budget = 0


class Prompt(Beginning):
    prompt: str = Field(examples=["make the retry test pass"])
    known: Annotated[list[Name], Field(max_length=10_000)] = []
    """Refs that the agent has in its context already."""


class Observe(Scoped):
    """Something that happened; the same id is stored once."""

    content: str = Field(min_length=1, examples=["the test raced with the cache"])
    kind: Literal[*EVENTS] = "message"  # type: ignore[valid-type]
    id: NewId = ""
    at: Moment = Field("", description="when; now if not given")
    capsule: Name = ""
    files: Annotated[list[Place], Field(max_length=1000), BeforeValidator(_several)] = []
    provenance: dict[str, JsonValue] = {}

    @model_validator(mode="after")
    def _storable(self) -> "Observe":
        level: list[Any] = [self.provenance]
        for _ in range(DEEP):
            inner = [one.values() if isinstance(one, dict) else one for one in level]
            level = [one for part in inner for one in part if isinstance(one, (dict, list))]
        if level:
            raise ValueError(f"provenance has more than {DEEP} levels")
        json.dumps(self.provenance, ensure_ascii=False, allow_nan=False).encode()
        return self


class Observations(Scoped):
    """Which observations, newest first."""

    kinds: Annotated[list[Literal[*EVENTS]], BeforeValidator(_several)] = []  # type: ignore[valid-type]
    capsule: Name = ""
    since: Since = ""
    until: Annotated[Moment, Field(description="before, in the same words")] = ""
    limit: Limit = 100
    cursor: Cursor = ""
    include_redacted: bool = False


class Page(Asked):
    limit: Limit = 100
    cursor: Cursor = ""


class Pins(Flat, Page):
    """Which pins, newest first."""


class Capsules(Flat, Page):
    type: Name = ""
    status: Literal["", "open", "closed"] = ""


class Open(Scoped):
    """A piece of work that begins. One left open for the same session is closed as abandoned."""

    intent: Text = Field(examples=["find the flaky test"])
    type: Literal[*CAPSULE_TYPES] = "session"  # type: ignore[valid-type]
    resume: bool = Field(False, description="go on with one that is open for that session")
    id: NewId = Field("", description="the same is begun once")


class Close(Asked):
    """What it came to; made of what happened in it if not given."""

    summary: Text = Field("", examples=["the test raced with the cache; now it waits"])
    confidence: Share = 1.0
    generate_summary: bool = Field(True, description="kinen sums up whatever has no summary")


class MakePin(Scoped):
    """What every recall in a scope is to begin with, for a time or for good."""

    target: Annotated[str, Field(max_length=4096)] = Field(
        "", description="a ref or a path", examples=["docs/conventions.md"]
    )
    target_type: Name = Field("", description="with target_id, instead of target")
    target_id: Name = ""
    note: Text = ""
    ttl: float = Field(0, ge=0, lt=LATEST / 1000, allow_inf_nan=False, description="seconds")
    ttl_ms: int = Field(0, ge=0, lt=LATEST)


class Texts(Asked):
    """Texts to be embedded by a model that is known by its fingerprint."""

    texts: list[Text] = Field(min_length=1, max_length=64, examples=[["why did we drop redis"]])
    model: Name = Field(description="its fingerprint", examples=["minilm-1f2e3d"])


class Export(Asked):
    form: Literal["json", "jsonl"] = "json"
    session: Name = ""
    repo: Name = ""
    since: Since = ""
    until: Annotated[Moment, Field(description="before, in the same words")] = ""
