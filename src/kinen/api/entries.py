"""Responses with entries of the journal and the worklog, in the names of `--json`."""

from typing import Any

from pydantic import BaseModel, Field

from kinen.api.responses import CursorPage, Response


class Checkpoint(Response):
    ref: str
    id: str
    at: str
    tags: list[str] = Field(default=[])
    branch: str = ""
    commit: str = ""
    files: list[str] = Field(default=[])
    summary: str = ""
    plan: str = ""
    type: str = ""


class Plan(Response):
    ref: str
    id: str
    title: str
    text: str = ""
    tokens: int = Field(0, description="of the whole text")
    status: str
    created: str = ""
    updated: str = ""
    tags: list[str] = Field(default=[])
    current: bool = False


class Plans(Response):
    plans: list[Plan]


class StoredObservation(Response):
    # Without the content, which the agent has just sent; a docstring would be in the schema.
    ref: str
    kind: str
    at: str
    session: str = ""
    agent: str = ""
    capsule: str = ""
    files: list[str] = Field(default=[])
    branch: str = ""
    masked: dict[str, Any] = Field({}, description="what was masked as a secret")


class StoredPin(Response):
    ref: str
    target: str
    note: str = ""
    expires_at: str = ""


class PinChanges(Response):
    pins: list[StoredPin] = Field(default=[])
    unpinned: list[str] = Field(default=[])


class Entry(BaseModel):
    ref: str
    id: str


class Scope(BaseModel):
    session: str
    repo: str
    agent: str
    user: str
    task: str


class ObservationFields(BaseModel):
    kind: str
    content: str
    at: str | None
    capsule: str
    provenance: dict[str, Any]
    branch: str
    head: str
    files: list[str]
    masked: dict[str, Any]
    redacted: bool
    forgotten_at: str | None


class Observation(ObservationFields, Entry, Scope, Response):
    pass


class NewObservation(ObservationFields, Entry, Scope, Response):
    deduplicated: bool


class ObservationPage(CursorPage, Response):
    observations: list[Observation]


class CapsuleFields(BaseModel):
    type: str
    intent: str
    status: str
    opened_at: str | None
    closed_at: str | None
    reason: str
    forgotten_at: str | None
    parent: str


class Capsule(CapsuleFields, Entry, Scope, Response):
    pass


class Summary(Entry, Response):
    capsule: str
    content: str
    created_at: str | None
    confidence: float
    evidence: list[str]
    written: bool
    redacted: bool
    forgotten_at: str | None


class ClosedCapsule(CapsuleFields, Entry, Scope, Response):
    summary: Summary | None


class CapsuleDetails(CapsuleFields, Entry, Scope, Response):
    parts: list[Capsule]
    summaries: list[Summary]
    observations: list[Observation]


class CapsulePage(CursorPage, Response):
    capsules: list[Capsule]


class Pin(Entry, Scope, Response):
    target: str
    note: str
    created_at: str | None
    expires_at: str | None


class PinPage(CursorPage, Response):
    pins: list[Pin]


class Unpinned(Response):
    unpinned: list[str]


class Forgotten(Response):
    forgotten: list[str]
    refs: list[str]
    also: list[str]
    suppressed: bool
    waiting: str = ""
    """Who has to end before the last bytes can be removed; empty if they are gone."""


class ImportReport(Response):
    dry_run: bool
    added: dict[str, Any]
    skipped: dict[str, Any]
    replaced: dict[str, Any]
    forgotten: int
    masked: int
    ignored: dict[str, Any]
    notes: list[str]
