"""Tables and the JSON of bundles: which field is which column."""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

from kinen.model.kinds import CAPSULE_TYPES, EVENTS, REDACTED
from kinen.transfer.fields import (
    FLAG,
    ID,
    ID_OR_NONE,
    IDS,
    LIST,
    OBJECT,
    PROOF,
    RATIO,
    REF,
    SCOPE,
    SCOPES,
    TEXT,
    TIME,
    WORD,
    Form,
    one_of,
)

REQUIRED = object()


class Field(NamedTuple):
    """One field of an entry. An optional one is left out of JSON where it is empty."""

    name: str
    column: str
    form: Form
    empty: object = REQUIRED
    always: bool = False
    """Whether it is shown even where it is empty."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(SCOPE.values()) if self.form is SCOPES else (self.column,)


class Section(NamedTuple):
    """One array of a bundle: the table of that name."""

    noun: str
    table: str
    fields: tuple[Field, ...]
    derived: tuple[Field, ...] = ()
    """What JSON says and the table does not, since it follows from other tables."""
    order: str = "created_at, id"
    live: str = "forgotten_at = 0"
    erased: str = "redacted"
    """The condition of an entry whose text was taken out."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(chain.from_iterable(field.columns for field in self.fields))

    @property
    def key(self) -> str:
        return self.fields[0].column


_SCOPE_IDS = Field("scopeIds", "", SCOPES, {}, always=True)
_CREATED, _REDACTED = (
    Field("createdAt", "created_at", TIME),
    Field("redacted", "redacted", FLAG, False),
)
_CONFIDENCE = Field("confidence", "confidence", RATIO, 1.0, always=True)

SECTIONS = (
    Section(
        "observation",
        "observations",
        (
            Field("id", "id", ID),
            Field("kind", "kind", one_of(EVENTS)),
            Field("content", "content", TEXT),
            Field("provenance", "provenance", OBJECT, {}, always=True),
            Field("ts", "ts", TIME),
            _SCOPE_IDS,
            Field("redacted", "redacted", FLAG, False, always=True),
            Field("capsuleId", "capsule", ID_OR_NONE, ""),
            Field("branch", "branch", WORD, ""),
            Field("head", "head", WORD, ""),
            Field("files", "files", LIST, []),
            Field("redaction", "masked", PROOF, {}),
        ),
        order="ts, id",
    ),
    Section(
        "capsule",
        "capsules",
        (
            Field("id", "id", ID),
            Field("type", "type", one_of(CAPSULE_TYPES)),
            Field("intent", "intent", TEXT, "", always=True),
            Field("status", "status", one_of(("open", "closed"))),
            Field("openedAt", "opened_at", TIME),
            Field("closedAt", "closed_at", TIME, 0),
            Field("reason", "reason", TEXT, ""),
            _SCOPE_IDS,
        ),
        derived=(
            Field("observationIds", "", IDS, [], always=True),
            Field("summaryId", "", ID_OR_NONE, ""),
        ),
        order="opened_at, id",
        erased=f"intent = '{REDACTED}'",
    ),
    Section(
        "summary",
        "summaries",
        (
            Field("id", "id", ID),
            Field("capsuleId", "capsule", ID),
            Field("content", "content", TEXT),
            _CONFIDENCE,
            _CREATED,
            Field("evidenceRefs", "evidence_refs", LIST, [], always=True),
            Field("written", "written", FLAG, True),
            _REDACTED,
        ),
        # of those that kinen made: one may tell what was since taken out
        erased="redacted OR NOT written AND EXISTS (SELECT 1 FROM observations o"
        " WHERE o.capsule = summaries.capsule AND (o.redacted OR o.forgotten_at))",
    ),
    Section(
        "pin",
        "pins",
        (
            Field("id", "id", ID),
            Field("targetType", "target_type", ID),
            Field("targetId", "target_id", REF),
            Field("reason", "reason", TEXT, ""),
            _CREATED,
            Field("expiresAt", "expires_at", TIME, 0),
            _SCOPE_IDS,
        ),
        live="1",
        erased=f"reason = '{REDACTED}'",
    ),
    Section(
        "memory",
        "memories",
        (
            Field("id", "id", ID),
            Field("type", "type", WORD),
            Field("content", "content", TEXT),
            _CONFIDENCE,
            _CREATED,
            Field("derivedFrom", "derived_from", LIST, [], always=True),
            Field("supersededBy", "superseded_by", ID_OR_NONE, ""),
            _SCOPE_IDS,
            _REDACTED,
        ),
    ),
    Section(
        "suppressed",
        "suppressed",
        (Field("ref", "ref", REF), Field("at", "at", TIME)),
        order="at, ref",
        live="1",
        erased="0",
    ),
    Section(
        "tag",
        "tag_ops",
        (
            Field("id", "id", ID),
            *(Field("path", "path", REF), Field("op", "op", one_of(("+", "-")))),
            *(Field("tag", "tag", ID), Field("head", "head", WORD, ""), _CREATED),
        ),
        live="1",
        erased="0",
    ),
)
