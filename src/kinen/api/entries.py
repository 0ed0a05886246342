"""Responses with entries of the journal and the worklog, in the names of `--json`."""

from typing import Any, get_origin

from pydantic import Field, create_model

from kinen.api.responses import Response
from kinen.model import journal


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


def entry(kind: type[Any], name: str = "", **more: Any) -> Any:
    """The model of the JSON of an entry (`render.journal.entry_json`), with further fields.

    Names of colleagues are not in it: only entries of a team have them.
    """
    fields: dict[str, Any] = {"ref": str}
    for key, value in kind.__annotations__.items():
        if value is journal.Scope:
            fields |= dict.fromkeys(journal.Scope._fields, str)
        elif key == "ts" or key.endswith("_at"):
            fields["at" if key == "ts" else key] = str | None
        elif key not in ("by", "successor_by"):
            shapes: dict[Any, Any] = {tuple: list[str], None: value}
            fields[key] = shapes.get(get_origin(value), dict[str, Any])
    rows: dict[str, Any] = {key: (value, ...) for key, value in (fields | more).items()}
    return create_model(name or kind.__name__, __base__=Response, **rows)


def several(row: Any) -> Any:
    return list[row]


def page(name: str, row: Any) -> Any:
    """The model of a page of entries."""
    rows: dict[str, Any] = {name: (several(row), ...), "next": (str | None, ...)}
    title = name.removesuffix("s").capitalize()
    return create_model(f"{title}Page", __base__=Response, **rows)


Observation: Any = entry(journal.Observation)
NewObservation = entry(journal.Observation, "NewObservation", deduplicated=bool)
Summary = entry(journal.Summary)
Capsule = entry(journal.Capsule)
ClosedCapsule = entry(journal.Capsule, "ClosedCapsule", summary=Summary | None)
ROWS: dict[str, Any] = {"parts": Capsule, "summaries": Summary, "observations": Observation}
LISTS = {name: several(row) for name, row in ROWS.items()}
CapsuleDetails = entry(journal.Capsule, "CapsuleDetails", **LISTS)
Pin = entry(journal.Pin)
ObservationPage = page("observations", Observation)
CapsulePage = page("capsules", Capsule)
PinPage = page("pins", Pin)


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
