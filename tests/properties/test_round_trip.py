"""Export, import, export: the same bytes, for any journal."""

from __future__ import annotations

import io
import json
import sqlite3
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import kinen.journal
from kinen.database import statements
from kinen.journal.bundle import Filter, export, load
from kinen.masking import mask
from kinen.vocabulary import CAPSULE_TYPES, EVENTS, REDACTED

MIGRATIONS = sorted((Path(kinen.journal.__file__).parent / "migrations").glob("*.sql"))
TABLES = ("observations", "capsules", "summaries", "pins", "memories", "suppressed")


@cache
def empty() -> bytes:
    db = sqlite3.connect(":memory:", isolation_level=None)
    for script in MIGRATIONS:
        for statement in statements(script.read_text()):
            db.execute(statement)
    return db.serialize()


def journal() -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.deserialize(empty())
    return db


# What a journal holds was masked when it was written.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40).map(lambda one: mask(one)[0])
ID = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)
FEW = st.sampled_from(["", "a", "b", "é/ö", "c d"])
NAMED = st.sampled_from(["a", "b", "é/ö", "c d"])
TIME = st.integers(0, 6) | st.integers(0, 253_402_300_799_999)
RATIO = st.floats(0, 1)
FLAG = st.integers(0, 1)
WHEN = st.just(0) | st.integers(0, 3)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ID, inner, max_size=3),
    max_leaves=6,
)
OBJECT = st.dictionaries(ID, VALUES, max_size=3).map(json.dumps)
LIST = st.lists(TEXT, max_size=3).map(lambda one: json.dumps(one, ensure_ascii=False))
PROOF = st.just("{}") | st.lists(ID, unique=True, min_size=1, max_size=3).map(
    lambda one: json.dumps({"count": len(one) + 1, "classes": sorted(one)})
)
SCOPE = dict.fromkeys(["session", "repo", "agent", "user", "task"], FEW)
IDS = st.sampled_from([f"{letter}{n}" for letter in "xyz" for n in range(4)])

COLUMNS: dict[str, dict[str, Any]] = {
    "observations": {
        "id": IDS,
        "kind": st.sampled_from(EVENTS),
        "content": TEXT,
        "provenance": OBJECT,
        "ts": TIME,
        **SCOPE,
        "capsule": FEW | IDS,
        "branch": TEXT,
        "head": FEW,
        "files": LIST,
        "masked": PROOF,
        "redacted": FLAG,
        "forgotten_at": WHEN,
    },
    "capsules": {
        "id": IDS,
        "type": st.sampled_from(CAPSULE_TYPES),
        "intent": TEXT,
        "status": st.sampled_from(["open", "closed"]),
        "opened_at": TIME,
        "closed_at": TIME,
        "reason": FEW,
        **SCOPE,
        "forgotten_at": WHEN,
    },
    "summaries": {
        "id": IDS,
        "capsule": IDS,
        "content": TEXT,
        "confidence": RATIO,
        "created_at": TIME,
        "evidence_refs": LIST,
        "written": FLAG,
        "redacted": FLAG,
        "forgotten_at": WHEN,
    },
    "pins": {
        "id": IDS,
        "target_type": st.sampled_from(["observation", "summary", "capsule", "memory", "file"]),
        "target_id": IDS | NAMED,
        "reason": TEXT,
        "created_at": TIME,
        "expires_at": TIME,
        **SCOPE,
    },
    "memories": {
        "id": IDS,
        "type": NAMED,
        "content": TEXT,
        "confidence": RATIO,
        "created_at": TIME,
        "derived_from": LIST,
        "superseded_by": FEW,
        **SCOPE,
        "redacted": FLAG,
        "forgotten_at": WHEN,
    },
    "suppressed": {"ref": NAMED, "at": TIME},
}
ROWS = st.fixed_dictionaries(
    {
        table: st.lists(
            st.fixed_dictionaries(columns),
            max_size=6,
            unique_by=lambda row: next(iter(row.values())),
        )
        for table, columns in COLUMNS.items()
    }
)


def filled(rows: dict[str, list[dict[str, Any]]]) -> sqlite3.Connection:
    db = journal()
    for table, found in rows.items():
        for row in found:
            if row.get("redacted"):
                row["content"] = REDACTED
                row.update({"provenance": "{}"} if "provenance" in row else {})
            names, places = ", ".join(row), ", ".join("?" * len(row))
            db.execute(f"INSERT INTO {table}({names}) VALUES ({places})", list(row.values()))
    return db


def exported(db: sqlite3.Connection, **options: Any) -> bytes:
    parts: list[str] = []
    export(db, parts.append, exported_at=1, **options)
    return "".join(parts).encode()


@given(ROWS, st.sampled_from(["json", "jsonl"]))
def test_export_import_export_is_identical(rows: Any, form: Any) -> None:
    db, other = filled(rows), journal()
    data = exported(db, form=form)
    result = load(other, io.BytesIO(data))
    assert exported(other, form=form) == data
    assert (result.masked, result.ignored, result.forgotten) == (0, {}, 0)
    counts = export(db, lambda _: None, exported_at=1)
    assert result.added == counts == dict(zip(TABLES, counts.values(), strict=True))


@given(ROWS, st.sampled_from(["skip", "overwrite"]))
def test_what_comes_twice_changes_nothing(rows: Any, conflict: Any) -> None:
    db, other = filled(rows), journal()
    data = exported(db)
    load(other, io.BytesIO(data))
    load(other, io.BytesIO(data), conflict=conflict)
    assert exported(other) == data
    load(db, io.BytesIO(data), conflict=conflict)
    assert exported(db) == data


@given(ROWS, FEW, FEW, st.integers(0, 4), st.integers(0, 5))
def test_a_part_comes_back_as_that_part(
    rows: Any, session: str, repo: str, after: int, before: int
) -> None:
    only = Filter(session, repo, after, before)
    db, other = filled(rows), journal()
    data = exported(db, only=only)
    load(other, io.BytesIO(data))
    assert exported(other, only=only) == data


@given(ROWS, ROWS)
def test_two_journals_become_one_in_either_order(one: Any, two: Any) -> None:
    """Nothing of the first is lost, and nothing of the second that was not there."""
    db = filled(one)
    before = json.loads(exported(db))
    load(db, io.BytesIO(exported(filled(two))))
    after = json.loads(exported(db))
    for table in TABLES:
        key = "ref" if table == "suppressed" else "id"
        kept = {item[key]: item for item in after[table]}
        for item in before[table]:
            for derived in ("observationIds", "summaryId"):
                item.pop(derived, None)
                kept[item[key]].pop(derived, None)
            assert kept[item[key]] == item
