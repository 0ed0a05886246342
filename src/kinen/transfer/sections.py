"""The sections of a bundle: which field of JSON is which column of which table."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

from kinen.ids import is_ulid
from kinen.journal.schema import LATEST
from kinen.journal.selection import TABLES
from kinen.model.kinds import CAPSULE_TYPES, EVENTS
from kinen.privacy.entrance import identifier, masked, masked_values, name
from kinen.privacy.masking import evidence

LONGEST_ID = 200
SCOPE = {f"{column}Id": column for column in ("session", "repo", "agent", "user", "task")}
"""The columns of a scope by their names in JSON."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False).encode
_decode = json.JSONDecoder(parse_constant=lambda _: None).decode


def encode(value: object) -> str:
    """JSON that can be written as UTF-8: half of a surrogate pair stays an escape."""
    text = _encode(value)
    if text.isascii():
        return text
    return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


class UnfitValue(ValueError):
    """A value that a field cannot hold; the message continues "the field is"."""


class Masker:
    """Masks the values of one import, and counts the secrets of one entry by class."""

    def __init__(self) -> None:
        self.secrets: dict[str, int] = {}
        # Most entries repeat the names of others. Per import, because a name may be a secret.
        self._name = lru_cache(4096)(name)

    def unmasked(self, value: Any) -> Any:
        return value

    def id(self, value: str) -> str:
        return identifier(value)

    def ids(self, values: list[str]) -> list[str]:
        return [identifier(value) for value in values]

    def name(self, value: str) -> str:
        return self._name(value)

    def names(self, values: list[str]) -> list[str]:
        return [self._name(value) for value in values]

    def sources(self, values: list[str]) -> list[str]:
        """Names of what something was drawn from; most are ids that were made here."""
        return [value if is_ulid(value) else self._name(value) for value in values]

    def scope(self, scope: dict[str, str]) -> dict[str, str]:
        return {key: self._name(text) for key, text in scope.items() if text and key in SCOPE}

    def text(self, value: str) -> str:
        text, counts = masked(value)
        self._count(counts)
        return text

    def object(self, value: dict[str, Any]) -> dict[str, Any]:
        if not value:
            return value
        values, counts = masked_values(value)
        self._count(counts)
        return values

    def evidence(self, before: dict[str, Any]) -> dict[str, Any]:
        """The evidence of what had been masked in the entry, and of what was masked now."""
        before = masked_values(before)[0] if before else before
        if not self.secrets:
            return before
        new: dict[str, Any] = evidence(self.secrets)
        count = before.get("count", 0) + new["count"]
        classes = {*before.get("classes", ()), *new["classes"]}
        return {**before, "count": count, "classes": sorted(classes)}

    def _count(self, counts: dict[str, int]) -> None:
        for kind, count in counts.items():
            self.secrets[kind] = self.secrets.get(kind, 0) + count


@dataclass(frozen=True, slots=True)
class Form:
    """What a field may hold, and how it gets into columns and out of them."""

    description: str
    fits: Callable[[Any], bool]
    mask: Callable[[Masker, Any], Any] = Masker.unmasked
    """A value without secrets."""
    store: Callable[[Any], tuple[Any, ...]] = lambda value: (value,)
    """The cells of a value."""
    show: Callable[..., str] = encode
    """The JSON of cells."""


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_name(value: Any) -> bool:
    if type(value) is not str or len(value) > LONGEST_ID:
        return False
    return value.isprintable() or not _CONTROL.search(value)


def _is_id(value: Any) -> bool:
    return _is_name(value) and value != ""


def _is_ref(value: Any) -> bool:
    return type(value) is str and value != "" and not _SURROGATE.search(value)


def _is_time(value: Any) -> bool:
    return type(value) is int and 0 <= value < LATEST


def _is_texts(value: Any) -> bool:
    return type(value) is list and all(map(_is_text, value))


def _is_scope(value: Any) -> bool:
    if type(value) is not dict:
        return False
    return all(type(text) is str or text is None for key, text in value.items() if key in SCOPE)


def _is_evidence(value: Any) -> bool:
    if type(value) is not dict:
        return False
    return not value or (type(value.get("count", 0)) is int and _is_texts(value.get("classes", [])))


def _store_json(value: object) -> tuple[str]:
    return (encode(value) if value else "{}" if value == {} else "[]",)


def _store_scope(scope: dict[str, str]) -> tuple[str, ...]:
    return tuple([scope.get(key) or "" for key in SCOPE])


def _show_json(cell: str) -> str:
    """The same JSON always written the same way."""
    if cell in ("{}", "[]"):
        return cell
    value = _decode(cell)
    try:
        return encode(value)
    except ValueError:
        return encode(_finite(value))


def _finite(value: Any) -> Any:
    """A value with null for infinite numbers, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if value in (math.inf, -math.inf) else value


def _show_scope(*cells: str) -> str:
    return encode({key: cell for key, cell in zip(SCOPE, cells, strict=True) if cell})


def choice(words: Collection[str]) -> Form:
    """The form of a field that holds one of some words."""
    accepted = frozenset(words)
    return Form(
        f"one of {', '.join(words)}", lambda value: type(value) is str and value in accepted
    )


ID = Form(f"an id of 1 to {LONGEST_ID} characters", _is_id, Masker.id)
OPTIONAL_ID = Form(f"an id of at most {LONGEST_ID} characters", _is_name, Masker.id)
IDS = Form(
    "a list of ids", lambda value: type(value) is list and all(map(_is_id, value)), Masker.ids
)
REF = Form("a name", _is_ref, Masker.name)
WORD = Form("a text", _is_text, Masker.name)
TEXT = Form("a text", _is_text, Masker.text)
TIME = Form("a time in epoch milliseconds before the year 10000", _is_time, show=str)
FLAG = Form(
    "true or false",
    lambda value: type(value) is bool,
    store=lambda value: (int(value),),
    show=lambda cell: "true" if cell else "false",
)
RATIO = Form("a number from 0 to 1", lambda value: type(value) in (int, float) and 0 <= value <= 1)
LIST = Form("a list of texts", _is_texts, Masker.names, _store_json, _show_json)
SOURCES = Form("a list of texts", _is_texts, Masker.sources, _store_json, _show_json)
OBJECT = Form(
    "an object", lambda value: type(value) is dict, Masker.object, _store_json, _show_json
)
SCOPES = Form("an object of texts", _is_scope, Masker.scope, _store_scope, _show_scope)
EVIDENCE = Form(
    "an object with a count and classes", _is_evidence, Masker.evidence, _store_json, _show_json
)


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
        return tuple(SCOPE.values()) if self.form is SCOPES else (self.column,)

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


_SCOPE_IDS = Field("scopeIds", "", SCOPES, {}, always=True)
_CREATED = Field("createdAt", "created_at", TIME)
_REDACTED = Field("redacted", "redacted", FLAG, False)
_CONFIDENCE = Field("confidence", "confidence", RATIO, 1.0, always=True)

SECTIONS = (
    Section(
        "observation",
        "observations",
        (
            Field("id", "id", ID),
            Field("kind", "kind", choice(EVENTS)),
            Field("content", "content", TEXT),
            Field("provenance", "provenance", OBJECT, {}, always=True),
            Field("ts", "ts", TIME),
            _SCOPE_IDS,
            Field("redacted", "redacted", FLAG, False, always=True),
            Field("capsuleId", "capsule", OPTIONAL_ID, ""),
            Field("branch", "branch", WORD, ""),
            Field("head", "head", WORD, ""),
            Field("files", "files", LIST, []),
            # last: it counts the secrets that were masked in the fields before it
            Field("redaction", "masked", EVIDENCE, {}),
        ),
    ),
    Section(
        "capsule",
        "capsules",
        (
            Field("id", "id", ID),
            Field("type", "type", choice(CAPSULE_TYPES)),
            Field("intent", "intent", TEXT, "", always=True),
            Field("status", "status", choice(("open", "closed"))),
            Field("openedAt", "opened_at", TIME),
            Field("closedAt", "closed_at", TIME, 0),
            Field("reason", "reason", TEXT, ""),
            _SCOPE_IDS,
            Field("parentId", "parent", OPTIONAL_ID, ""),
        ),
        derived=(
            Field("observationIds", "", IDS, [], always=True),
            Field("summaryId", "", OPTIONAL_ID, ""),
        ),
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
            Field("evidenceRefs", "evidence_refs", SOURCES, [], always=True),
            Field("written", "written", FLAG, True),
            _REDACTED,
        ),
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
            Field("supersededBy", "superseded_by", OPTIONAL_ID, ""),
            _SCOPE_IDS,
            _REDACTED,
            Field("edits", "edits", OPTIONAL_ID, ""),
        ),
    ),
    Section("suppressed", "suppressed", (Field("ref", "ref", REF), Field("at", "at", TIME))),
    Section(
        "tag",
        "tag_ops",
        (
            Field("id", "id", ID),
            Field("path", "path", REF),
            Field("op", "op", choice(("+", "-"))),
            Field("tag", "tag", ID),
            Field("head", "head", WORD, ""),
            _CREATED,
        ),
    ),
)
