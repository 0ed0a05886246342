"""Export, import, export: the same bytes, for any journal."""

from __future__ import annotations

import contextlib
import io
import json
import sqlite3
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journals import MIGRATIONS, OPEN, closed_journals, connected
from kinen.errors import StoreError
from kinen.journal.selection import Selection
from kinen.model.kinds import CAPSULE_TYPES, EVENTS, REDACTED
from kinen.privacy.masking import mask
from kinen.render.export import ExportPage
from kinen.storage.database import statements
from kinen.transfer import stream
from kinen.transfer.bundle import BundleWriter, Filter, bundle_in, export, load, write_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("closed_journals")
__all__ = ["closed_journals"]
unhurried = settings(deadline=None)
KEY = b"k" * 32
TABLES = ("observations", "capsules", "summaries", "pins", "memories", "suppressed", "tag_ops")


@cache
def empty() -> bytes:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        for script in MIGRATIONS:
            for statement in statements(script.read_text()):
                db.execute(statement)
        return db.serialize()


def journal() -> sqlite3.Connection:
    """A new journal; no test uses more than a few of them at a time."""
    while len(OPEN) > 4:
        OPEN.pop(0).close()
    db = connected(":memory:")
    db.deserialize(empty())
    return db


# What a journal holds was masked when it was written.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40).map(
    lambda text: mask(text)[0]
)
ID = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)
FEW = st.sampled_from(["", "a", "b", "é/ö", "c d"])
NAME = st.sampled_from(["a", "b", "é/ö", "c d"])
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
LIST = st.lists(TEXT, max_size=3).map(lambda texts: json.dumps(texts, ensure_ascii=False))
PROOF = st.just("{}") | st.lists(ID, unique=True, min_size=1, max_size=3).map(
    lambda classes: json.dumps({"count": len(classes) + 1, "classes": sorted(classes)})
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
        "target_id": IDS | NAME,
        "reason": TEXT,
        "created_at": TIME,
        "expires_at": TIME,
        **SCOPE,
    },
    "memories": {
        "id": IDS,
        "type": NAME,
        "content": TEXT,
        "confidence": RATIO,
        "created_at": TIME,
        "derived_from": LIST,
        "superseded_by": FEW,
        **SCOPE,
        "redacted": FLAG,
        "forgotten_at": WHEN,
    },
    "suppressed": {"ref": NAME, "at": TIME},
    "tag_ops": {
        "id": IDS,
        "path": NAME,
        "op": st.sampled_from(["+", "-"]),
        "tag": IDS,
        "head": FEW,
        "created_at": TIME,
    },
}
ROWS = st.fixed_dictionaries(
    {
        table: st.lists(
            st.fixed_dictionaries(columns),
            max_size=5,
            unique_by=lambda row: row.get("id", row.get("ref")),
        )
        for table, columns in COLUMNS.items()
    }
)


def filled(rows: dict[str, list[dict[str, Any]]]) -> sqlite3.Connection:
    db = journal()
    for table, entries in rows.items():
        for row in entries:
            if row.get("redacted"):
                row["content"] = REDACTED
                row.update({"provenance": "{}"} if "provenance" in row else {})
            names, places = ", ".join(row), ", ".join("?" * len(row))
            db.execute(f"INSERT INTO {table}({names}) VALUES ({places})", list(row.values()))
    return db


def exported(db: sqlite3.Connection, **options: Any) -> bytes:
    parts: list[str] = []
    export(db, parts.append, exported_at=1, key=KEY, **options)
    return "".join(parts).encode()


@pytest.mark.quick
@unhurried
@given(ROWS, st.sampled_from(["json", "jsonl"]))
def test_export_import_export_is_identical(rows: Any, form: Any) -> None:
    db, other = filled(rows), journal()
    data = exported(db, form=form)
    result = load(other, io.BytesIO(data), key=KEY)
    assert exported(other, form=form) == data
    assert (result.masked, result.ignored, result.forgotten) == (0, {}, 0)
    counts = export(db, lambda _: None, exported_at=1, key=KEY)
    assert result.added == counts == dict(zip(TABLES, counts.values(), strict=True))


@unhurried
@given(ROWS, st.sampled_from(["skip", "overwrite"]))
def test_what_comes_twice_changes_nothing(rows: Any, conflict: Any) -> None:
    db, other = filled(rows), journal()
    data = exported(db)
    load(other, io.BytesIO(data), key=KEY)
    load(other, io.BytesIO(data), key=KEY, conflict=conflict)
    assert exported(other) == data
    load(db, io.BytesIO(data), key=KEY, conflict=conflict)
    assert exported(db) == data


@unhurried
@given(ROWS, FEW, FEW, st.integers(0, 4), st.integers(0, 5))
def test_a_part_comes_back_as_that_part(
    rows: Any, session: str, repo: str, after: int, before: int
) -> None:
    only = Filter(session, repo, after, before)
    db, other = filled(rows), journal()
    data = exported(db, only=only)
    load(other, io.BytesIO(data), key=KEY)
    assert exported(other, only=only) == data


def page(db: sqlite3.Connection, only: Filter) -> bytes:
    parts: list[str] = []
    selection = Selection(db, only)

    def write_bundle() -> None:
        writer = BundleWriter(parts.append)
        write_lines(selection, writer.write, exported_at=1, key=KEY)
        writer.close()

    with selection.snapshot():
        ExportPage(selection, [], [], {}).write(parts.append, {"Space": "tea"}, write_bundle)
    return "".join(parts).encode()


@unhurried
@given(ROWS, FEW, st.integers(0, 4), st.integers(0, 5))
def test_a_page_comes_back_as_it_was(rows: Any, session: str, after: int, before: int) -> None:
    only = Filter(session, after=after, before=before, shared=True)
    db, other = filled(rows), journal()
    data = page(db, only)
    with bundle_in(io.BytesIO(data)) as lines:
        assert lines.read() == exported(db, only=only, form="jsonl")
        lines.seek(0)
        result = load(other, lines, key=KEY)
    assert page(other, only) == data
    assert (result.masked, result.ignored, result.forgotten) == (0, {}, 0)


@unhurried
@given(ROWS)
def test_a_page_has_every_entry_that_was_not_erased(rows: Any) -> None:
    db = filled(rows)
    whole = json.loads(exported(db))
    shared = json.loads(exported(db, only=Filter(shared=True)))
    for table in ("observations", "memories"):
        live = [item["id"] for item in whole[table] if not item.get("redacted")]
        assert [item["id"] for item in shared[table]] == live
    erased = {row["id"] for row in rows["observations"] if row["redacted"] or row["forgotten_at"]}
    for capsule in shared["capsules"]:
        assert not erased & set(capsule["observationIds"])
    assert shared["suppressed"] == []


@unhurried
@given(ROWS, ROWS)
def test_what_was_there_stays_when_more_comes(ours: Any, theirs: Any) -> None:
    db = filled(ours)
    before = json.loads(exported(db))
    load(db, io.BytesIO(exported(filled(theirs))), key=KEY)
    after = json.loads(exported(db))
    for table in TABLES:
        key = "ref" if table == "suppressed" else "id"
        items = {item[key]: item for item in after[table]}
        for item in before[table]:
            for derived in ("observationIds", "summaryId"):
                item.pop(derived, None)
                items[item[key]].pop(derived, None)
            assert items[item[key]] == item


DAMAGE = st.lists(
    st.tuples(
        st.floats(0, 1), st.integers(0, 3), st.sampled_from(b'{}[]":,\\ \n09eEtfn\xff\xc3a-.')
    ),
    min_size=1,
    max_size=3,
)


@unhurried
@given(ROWS, st.sampled_from(["json", "jsonl"]), DAMAGE)
def test_a_damaged_bundle_is_taken_whole_or_not_at_all(rows: Any, form: Any, damage: Any) -> None:
    data = bytearray(exported(filled(rows), form=form))
    for where, length, byte in damage:
        at = int(where * len(data))
        data[at : at + length] = bytes([byte])
    db = journal()
    before = list(db.iterdump())
    try:
        result = load(db, io.BytesIO(bytes(data)), key=KEY)
    except StoreError:
        assert list(db.iterdump()) == before
    else:
        assert sum(result.added.values()) >= sum(
            export(db, lambda _: None, exported_at=1, key=KEY).values()
        )


DOCUMENT = st.dictionaries(
    st.sampled_from(["a", "b", "é", "dataset", "dataset.x"]), VALUES | st.lists(VALUES, max_size=8)
)


@unhurried
@given(
    DOCUMENT,
    st.sampled_from([{}, {"separators": (",", ":")}, {"indent": 1}, {"ensure_ascii": False}]),
    st.integers(1, 40),
)
def test_a_document_in_pieces_is_the_document(
    document: dict[str, Any], layout: Any, chunk: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "CHUNK", chunk)
        members = list(stream.document(io.BytesIO(json.dumps(document, **layout).encode())))
    assert members == list(flat(document))


def flat(document: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in document.items():
        if isinstance(value, list):
            yield from ((prefix + key, element) for element in value)
        elif prefix + key == "dataset" and isinstance(value, dict):
            yield from flat(value, "dataset.")
        else:
            yield prefix + key, value
