"""The sections of a bundle: which field of JSON is which column of which table."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

from kinen.journal.selection import TABLES
from kinen.model.kinds import CAPSULE_TYPES, EVENTS
from kinen.transfer import fields as forms
from kinen.transfer.fields import SCOPE, Form, UnfitValue, choice

REQUIRED: Any = object()


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    column: str
    form: Form
    empty: Any = REQUIRED
    always: bool = False
    """Whether an optional field is exported even where it is empty."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(SCOPE.values()) if self.form is forms.SCOPES else (self.column,)

    @property
    def omitted(self) -> str:
        """The JSON that an export leaves out."""
        if self.always or self.empty is REQUIRED:
            return ""
        return self.form.show(*self.form.store(self.empty))

    def value(self, item: dict[str, Any]) -> Any:
        """The checked value of an entry; null means that the field is left out."""
        value = item.get(self.name)
        if value is None:
            if self.empty is REQUIRED:
                raise UnfitValue("missing")
            return self.empty
        if not self.form.fits(value):
            raise UnfitValue(f"not {self.form.description}")
        return value


@dataclass(frozen=True, slots=True)
class Section:
    """One array of a bundle: the table of that name."""

    noun: str
    table: str
    fields: tuple[Field, ...]
    derived: tuple[Field, ...] = ()
    """Fields that follow from other tables: exported, and only checked on import."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(chain.from_iterable(field.columns for field in self.fields))

    @property
    def key(self) -> Field:
        """The field that identifies an entry."""
        return self.fields[0]

    @property
    def forgettable(self) -> bool:
        """Whether a forgotten entry leaves a tombstone."""
        return TABLES[self.table].forgettable


_SCOPE_IDS = Field("scopeIds", "", forms.SCOPES, {}, always=True)
_CREATED = Field("createdAt", "created_at", forms.TIME)
_REDACTED = Field("redacted", "redacted", forms.FLAG, False)
_CONFIDENCE = Field("confidence", "confidence", forms.RATIO, 1.0, always=True)

SECTIONS = (
    Section(
        "observation",
        "observations",
        (
            Field("id", "id", forms.ID),
            Field("kind", "kind", choice(EVENTS)),
            Field("content", "content", forms.TEXT),
            Field("provenance", "provenance", forms.OBJECT, {}, always=True),
            Field("ts", "ts", forms.TIME),
            _SCOPE_IDS,
            Field("redacted", "redacted", forms.FLAG, False, always=True),
            Field("capsuleId", "capsule", forms.OPTIONAL_ID, ""),
            Field("branch", "branch", forms.WORD, ""),
            Field("head", "head", forms.WORD, ""),
            Field("files", "files", forms.LIST, []),
            # last: it counts the secrets that were masked in the fields before it
            Field("redaction", "masked", forms.EVIDENCE, {}),
        ),
    ),
    Section(
        "capsule",
        "capsules",
        (
            Field("id", "id", forms.ID),
            Field("type", "type", choice(CAPSULE_TYPES)),
            Field("intent", "intent", forms.TEXT, "", always=True),
            Field("status", "status", choice(("open", "closed"))),
            Field("openedAt", "opened_at", forms.TIME),
            Field("closedAt", "closed_at", forms.TIME, 0),
            Field("reason", "reason", forms.TEXT, ""),
            _SCOPE_IDS,
            Field("parentId", "parent", forms.OPTIONAL_ID, ""),
        ),
        derived=(
            Field("observationIds", "", forms.IDS, [], always=True),
            Field("summaryId", "", forms.OPTIONAL_ID, ""),
        ),
    ),
    Section(
        "summary",
        "summaries",
        (
            Field("id", "id", forms.ID),
            Field("capsuleId", "capsule", forms.ID),
            Field("content", "content", forms.TEXT),
            _CONFIDENCE,
            _CREATED,
            Field("evidenceRefs", "evidence_refs", forms.LIST, [], always=True),
            Field("written", "written", forms.FLAG, True),
            _REDACTED,
        ),
    ),
    Section(
        "pin",
        "pins",
        (
            Field("id", "id", forms.ID),
            Field("targetType", "target_type", forms.ID),
            Field("targetId", "target_id", forms.REF),
            Field("reason", "reason", forms.TEXT, ""),
            _CREATED,
            Field("expiresAt", "expires_at", forms.TIME, 0),
            _SCOPE_IDS,
        ),
    ),
    Section(
        "memory",
        "memories",
        (
            Field("id", "id", forms.ID),
            Field("type", "type", forms.WORD),
            Field("content", "content", forms.TEXT),
            _CONFIDENCE,
            _CREATED,
            Field("derivedFrom", "derived_from", forms.LIST, [], always=True),
            Field("supersededBy", "superseded_by", forms.OPTIONAL_ID, ""),
            _SCOPE_IDS,
            _REDACTED,
            Field("edits", "edits", forms.OPTIONAL_ID, ""),
        ),
    ),
    Section(
        "suppressed", "suppressed", (Field("ref", "ref", forms.REF), Field("at", "at", forms.TIME))
    ),
    Section(
        "tag",
        "tag_ops",
        (
            Field("id", "id", forms.ID),
            Field("path", "path", forms.REF),
            Field("op", "op", choice(("+", "-"))),
            Field("tag", "tag", forms.ID),
            Field("head", "head", forms.WORD, ""),
            _CREATED,
        ),
    ),
)
