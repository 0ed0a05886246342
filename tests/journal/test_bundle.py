from __future__ import annotations

import hmac
import io
import json
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from journals import closed_journals, connected, journal
from kinen.errors import StoreError
from kinen.model.kinds import REDACTED
from kinen.privacy.masking import VERSION
from kinen.transfer import stream
from kinen.transfer.bundle import Filter, export, is_bundle, load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["closed_journals"]
pytestmark = pytest.mark.usefixtures("closed_journals")
TEN = 1772359200000
"""2026-03-01T10:00Z"""
KEY = b"k" * 32
TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3


def dump(db: sqlite3.Connection) -> list[str]:
    assert not db.in_transaction
    assert not db.execute("SELECT * FROM temp.sqlite_master").fetchall()
    return list(db.iterdump())


def exported(db: sqlite3.Connection, **options: Any) -> bytes:
    parts: list[str] = []
    export(db, parts.append, exported_at=TEN, key=KEY, **options)
    return "".join(parts).encode()


def loaded(db: sqlite3.Connection, data: Any, **options: Any) -> Any:
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    return load(db, io.BytesIO(raw), key=KEY, **options)


def bundle(**sections: Any) -> dict[str, Any]:
    return {"version": "1.0", "exported_at": TEN, "scope_filter": {}, **sections}


def observation(id_: str, **more: Any) -> dict[str, Any]:
    return {"id": id_, "kind": "message", "content": f"said {id_}", "ts": TEN, **more}


def filled() -> sqlite3.Connection:
    """A journal with something of everything, and some of it forgotten or redacted."""
    db = journal()
    insert = "INSERT INTO observations(id, kind, content, provenance, ts, session, repo, capsule)"
    for n in range(8):
        values = (
            f"o{n}",
            "message",
            f"said é{n}",
            json.dumps({"n": n}),
            TEN + n,
            f"s{n // 4}",
            "r",
        )
        db.execute(f"{insert} VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*values, f"c{n // 4}"))
    db.execute("UPDATE observations SET files = '[\"a.py\"]', branch = 'main' WHERE id = 'o1'")
    db.execute(
        "UPDATE observations SET content = ?, provenance = '{}', redacted = 1 WHERE id = 'o2'",
        (REDACTED,),
    )
    db.execute("UPDATE observations SET content = '', forgotten_at = 5 WHERE id = 'o3'")
    db.execute(
        "INSERT INTO capsules(id, type, intent, status, opened_at, closed_at, session, repo) VALUES"
        " ('c0', 'session', 'mend it', 'closed', :at, :at + 9, 's0', 'r'),"
        " ('c1', 'session', '', 'open', :at + 4, 0, 's1', 'r')",
        {"at": TEN},
    )
    db.execute(
        "INSERT INTO summaries VALUES ('m0', 'c0', 'mended', 0.5, ?, '[\"o0\"]', 0, 0, 0)",
        (TEN + 9,),
    )
    db.execute(
        "INSERT INTO pins(id, target_type, target_id, reason, created_at) VALUES"
        " ('p0', 'observation', 'o0', 'why', :at), ('p1', 'file', 'src/a b.py', '', :at),"
        " ('p2', 'observation', 'o3', 'of what is forgotten', :at)",
        {"at": TEN},
    )
    db.execute(
        "INSERT INTO memories(id, type, content, created_at, session, repo)"
        " VALUES ('y0', 'decision', 'we mend', ?, 's0', 'r')",
        (TEN,),
    )
    db.execute("INSERT INTO suppressed(ref, at) VALUES ('file:secret.txt', 7)")
    db.execute(
        "INSERT INTO tag_ops(id, path, op, tag, head, created_at)"
        " VALUES ('t0', 'src/é.py', '+', 'auth', 'abc', 8)"
    )
    return db


def test_a_bundle_reads_like_this() -> None:
    text = exported(filled()).decode()
    lines = text.splitlines()
    assert lines[:6] == [
        "{",
        '"version": "1.0",',
        f'"exported_at": {TEN},',
        '"scope_filter": {},',
        f'"masked": {VERSION},',
        '"observations": [',
    ]
    assert lines[6] == (
        '{"id": "o0", "kind": "message", "content": "said é0", "provenance": {"n": 0},'
        f' "ts": {TEN}, "scopeIds": {{"sessionId": "s0", "repoId": "r"}}, "redacted": false,'
        ' "capsuleId": "c0"},'
    )
    whole = json.loads(text)
    nouns = "observations capsules summaries pins memories suppressed tag_ops"
    assert list(whole)[4:] == [*nouns.split(), "digest"]
    assert json.dumps(whole["capsules"][0]) == (
        '{"id": "c0", "type": "session", "intent": "mend it", "status": "closed",'
        f' "openedAt": {TEN}, "closedAt": {TEN + 9},'
        ' "scopeIds": {"sessionId": "s0", "repoId": "r"},'
        ' "observationIds": ["o0", "o1", "o2"], "summaryId": "m0"}'
    )
    assert whole["summaries"][0]["written"] is False
    assert whole["suppressed"] == [{"ref": "file:secret.txt", "at": 7}]
    assert json.dumps(whole["tag_ops"], ensure_ascii=False) == (
        '[{"id": "t0", "path": "src/é.py", "op": "+", "tag": "auth", "head": "abc",'
        ' "createdAt": 8}]'
    )


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_an_export_is_known_by_its_beginning(tmp_path: Path, form: str) -> None:
    file = tmp_path / "bundle"
    file.write_bytes(exported(filled(), form=form))
    assert is_bundle(str(file))
    file.write_bytes(b'{"version": "1.0", "messages": []}')
    assert not is_bundle(str(file))
    assert not is_bundle(str(tmp_path))
    assert not is_bundle(str(tmp_path / "missing"))


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_a_bundle_that_nobody_changed_is_taken_as_it_is(form: str) -> None:
    data = exported(filled(), form=form)
    assert not loaded(journal(), data).notes
    secret = "gh" + "p_" + "a1B2c3D4e5F6" * 3
    changed = data.replace(b"said \xc3\xa90", f"said {secret}".encode())
    assert changed != data
    db = journal()
    result = loaded(db, changed)
    assert result.masked == 1
    assert "no current seal of this home fits the bundle" in result.notes[0]
    assert secret not in exported(db).decode()


def test_lines_that_end_too_early_are_refused() -> None:
    lines = exported(filled(), form="jsonl").splitlines(keepends=True)
    db = journal()
    before = dump(db)
    for n in range(1, len(lines)):
        with pytest.raises(StoreError):
            loaded(db, b"".join(lines[:n]))
        assert dump(db) == before


def test_what_was_forgotten_is_not_exported() -> None:
    text = exported(filled()).decode()
    assert "o3" not in text
    assert "of what is forgotten" not in text


def test_lines_hold_the_same_as_the_document() -> None:
    db = filled()
    header, *lines = exported(db, form="jsonl").decode().splitlines()
    whole = json.loads(exported(db))
    assert json.loads(header) == {key: whole.pop(key) for key in list(whole)[:4]}
    assert list(json.loads(lines.pop())) == ["digest"]
    del whole["digest"]
    sections: dict[str, list[Any]] = {}
    singular = ["observation", "capsule", "summary", "pin", "memory", "suppressed", "tag"]
    nouns = dict(zip(singular, whole, strict=True))
    for line in lines:
        ((noun, item),) = json.loads(line).items()
        sections.setdefault(nouns.get(noun, noun), []).append(item)
    assert sections == whole


def test_counts_come_back() -> None:
    counts = export(filled(), lambda _: None, exported_at=TEN, key=KEY)
    assert list(counts.values()) == [7, 2, 1, 2, 1, 1, 1]


@pytest.mark.parametrize(
    ("only", "ids"),
    [
        (Filter(session="s1"), "o4 o5 o6 o7 c1"),
        (Filter(session="s0"), "o0 o1 o2 c0 m0 p0 y0"),
        (Filter(repo="elsewhere"), ""),
        (Filter(after=TEN + 1, before=TEN + 5), "o1 o2 o4 c0 c1 m0"),
        (Filter(before=TEN + 1), "o0 c0 m0 p0 y0"),
        (Filter(session="s0", after=TEN + 100), ""),
    ],
)
def test_a_filter_takes_what_belongs_together(only: Filter, ids: str) -> None:
    db = filled()
    whole = json.loads(exported(db, only=only))
    exported_ids = [item["id"] for section in list(whole.values())[4:-1] for item in section]
    assert exported_ids == ids.split()
    assert not whole["suppressed"]
    for capsule in whole["capsules"]:
        assert {*capsule["observationIds"]} <= {*exported_ids}
    other = journal()
    loaded(other, exported(db, only=only))
    assert exported(other, only=only) == exported(db, only=only)


def test_a_filter_is_in_the_header() -> None:
    only = Filter("s", "r", 3, 4)
    whole = json.loads(exported(journal(), only=only))
    assert whole["scope_filter"] == {"sessionId": "s", "repoId": "r", "after": 3, "before": 4}


def test_an_export_is_of_one_moment(tmp_path: Path) -> None:
    path = str(tmp_path / "journal.db")
    db, other = journal(path), connected(path)
    db.execute("PRAGMA journal_mode=WAL")
    loaded(db, bundle(observations=[observation("o0")]))

    def write(text: str) -> None:
        other.execute("INSERT OR IGNORE INTO suppressed(ref, at) VALUES ('file:late', 1)")
        parts.append(text)

    parts: list[str] = []
    export(db, write, exported_at=TEN, key=KEY)
    assert json.loads("".join(parts))["suppressed"] == []


def test_numbers_that_json_has_not_do_not_stop_an_export() -> None:
    db = journal()
    loaded(db, bundle(observations=[observation("o0")]))
    db.execute('UPDATE observations SET provenance = \'{"a": [NaN, 1e999, 1], "b": "\\ud800"}\'')
    item = json.loads(exported(db))["observations"][0]
    assert item["provenance"] == {"a": [None, None, 1], "b": "\ud800"}
    other = journal()
    loaded(other, exported(db))
    assert exported(other) == exported(db)


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_what_was_exported_comes_back(form: str) -> None:
    data = exported(filled(), form=form)
    db = journal()
    result = loaded(db, data)
    assert list(result.added.values()) == [7, 2, 1, 2, 1, 1, 1]
    assert (result.forgotten, result.masked, result.ignored, result.notes) == (0, 0, {}, ())
    assert exported(db, form=form) == data


def test_skip_leaves_what_is_there() -> None:
    db = filled()
    loaded(db, exported(db))
    before = dump(db)
    changed = bundle(
        observations=[observation("o0", content="other"), observation("o9")],
        capsules=[{"id": "c0", "type": "session", "status": "open", "openedAt": 1}],
    )
    result = loaded(db, changed)
    assert result.added["observations"] == result.skipped["observations"] == 1
    assert result.skipped["capsules"] == 1
    assert [line for line in dump(db) if line not in before] == [
        line for line in dump(db) if "said o9" in line
    ]


def test_overwrite_replaces_in_place() -> None:
    db = filled()
    order = db.execute("SELECT seq, id FROM observations").fetchall()
    result = loaded(
        db, bundle(observations=[observation("o1", content="new")]), conflict="overwrite"
    )
    assert result.replaced["observations"] == 1
    assert db.execute("SELECT seq, id FROM observations").fetchall() == order
    row = db.execute("SELECT content, files, branch FROM observations WHERE id = 'o1'").fetchone()
    assert row == ("new", "[]", "")
    assert db.execute("SELECT ref FROM changes ORDER BY seq DESC").fetchone() == ("observation:o1",)


def test_error_names_the_first_and_changes_nothing() -> None:
    db = filled()
    before = dump(db)
    items = [observation(f"new{n}") for n in range(300)]
    with pytest.raises(StoreError, match="observation o5 is in the journal already"):
        loaded(
            db,
            bundle(observations=[*items, observation("o5"), observation("o6")]),
            conflict="error",
        )
    assert dump(db) == before
    assert loaded(db, bundle(observations=items), conflict="error").added["observations"] == 300


@pytest.mark.parametrize("conflict", ["skip", "overwrite", "error"])
def test_what_was_forgotten_here_stays_so(conflict: Any) -> None:
    db = filled()
    pin = {"id": "p9", "targetType": "observation", "targetId": "o3", "createdAt": TEN}
    before = dump(db)
    result = loaded(db, bundle(observations=[observation("o3")], pins=[pin]), conflict=conflict)
    assert result.forgotten == 2
    assert not any(result.added.values())
    assert dump(db) == before


def test_what_was_redacted_here_stays_so() -> None:
    db = filled()
    result = loaded(db, bundle(observations=[observation("o2")]), conflict="overwrite")
    assert result.skipped["observations"] == 1
    assert result.notes == ("entries that were redacted here, and stay so: 1",)
    assert db.execute("SELECT content FROM observations WHERE id = 'o2'").fetchone() == (REDACTED,)


def test_what_was_redacted_elsewhere_comes_empty() -> None:
    db = journal()
    item = observation("o0", redacted=True, content="still here", provenance={"a": "still here"})
    loaded(db, bundle(observations=[item]))
    assert "still here" not in "".join(dump(db))


@pytest.mark.parametrize("conflict", ["skip", "overwrite", "error"])
def test_a_dry_run_changes_nothing_and_reports_the_same(conflict: Any) -> None:
    db = journal()
    loaded(db, exported(filled(), only=Filter(session="s0")))
    data = exported(filled(), only=Filter(session="s1"))
    before = dump(db)
    result = loaded(db, data, conflict=conflict, dry_run=True)
    assert dump(db) == before
    assert result == loaded(db, data, conflict=conflict)
    assert result.added["observations"] == 4


def test_secrets_are_masked_on_the_way_in() -> None:
    db = journal()
    capsule = {"id": "c", "type": "session", "status": "open", "openedAt": TEN, "intent": TOKEN}
    items = [
        observation("o0", content=f"use {TOKEN}", redaction={"count": 1, "classes": ["zeta"]}),
        observation("o1", provenance={"deep": [{"command": f"x {TOKEN}"}]}),
        observation("o2"),
    ]
    summary = {"id": "m", "capsuleId": "c", "content": TOKEN, "createdAt": TEN}
    memory = {"id": "y", "type": "decision", "content": TOKEN, "createdAt": TEN}
    sections = {"capsules": [capsule], "summaries": [summary], "memories": [memory]}
    result = loaded(db, bundle(observations=items, **sections))
    assert TOKEN not in "".join(dump(db))
    assert result.masked == 5
    rows = db.execute("SELECT masked FROM observations ORDER BY id").fetchall()
    assert [json.loads(row[0]) for row in rows] == [
        {"count": 2, "classes": ["github_token", "zeta"]},
        {"count": 1, "classes": ["github_token"]},
        {},
    ]


def test_unknown_fields_are_counted() -> None:
    scope = {"sessionId": "s", "teamId": "t"}
    items = [observation(f"o{n}", mood="good", scopeIds=scope) for n in range(250)]
    result = loaded(journal(), bundle(observations=items, edges=[1, 2], metadata={"a": 1}))
    mood, team = "observations.mood", "observations.scopeIds.teamId"
    assert result.ignored == {mood: 250, team: 250, "edges": 2, "metadata": 1}


def test_null_means_left_out() -> None:
    db = journal()
    item = observation("o0", capsuleId=None, scopeIds={"sessionId": None}, provenance=None)
    loaded(db, bundle(observations=[item, observation("o1")]))
    assert len(json.loads(exported(db))["observations"]) == 2


def test_lone_surrogates_do_not_stop_an_import() -> None:
    db = journal()
    item = observation("o0", content="half \ud83d", provenance={"a": "half \ud83d"})
    loaded(db, bundle(observations=[item]))
    data = exported(db)
    assert '"content": "half \ufffd"'.encode() in data
    assert b'{"a": "half \\ud83d"}' in data
    other = journal()
    loaded(other, data)
    assert exported(other) == data


def test_values_that_look_like_the_mark_between_them() -> None:
    db = journal()
    odd = [{"a": ["x", "\x00", "y"]}, {"\x00": ', "\\u0000", '}, {}, {"b": 1}]
    items = [observation(f"o{n}", provenance=value) for n, value in enumerate(odd)]
    loaded(db, bundle(observations=items))
    odd[1] = {"": ', "\\u0000", '}  # a NUL in a name can be stored nowhere
    assert [item["provenance"] for item in json.loads(exported(db))["observations"]] == odd


def test_progress_is_reported() -> None:
    counts: list[int] = []
    items = [observation(f"o{n}") for n in range(600)]
    loaded(journal(), bundle(observations=items), progress=counts.append)
    assert counts == [250, 500, 600]


WRONG: dict[str, list[Any]] = {
    "id": [None, "", 5, "a\nb", "x" * 201, "\ud800"],
    "kind": [None, "gossip", 5, ["message"]],
    "content": [None, 5, {"a": 1}],
    "ts": [None, True, "1", 1.5, -1, 253402300800000, 10**30],
    "provenance": ["{}", [1], 5],
    "scopeIds": [[], {"sessionId": 5}],
    "redacted": [1, "no"],
    "capsuleId": [5, "x" * 201],
    "files": ["a.py", [5], {}],
    "redaction": [5, {"count": "1", "classes": []}, {"count": 1, "classes": "a"}],
}


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field, values in WRONG.items() for value in values]
)
def test_a_wrong_value_in_the_middle_stops_all_of_it(field: str, value: Any) -> None:
    db = filled()
    before = dump(db)
    items = [observation(f"new{n}") for n in range(310)]
    items[234] |= {field: value}
    where = rf"observation 235.*: {field} is "
    with pytest.raises(StoreError, match=where):
        loaded(db, bundle(observations=items))
    assert dump(db) == before


@pytest.mark.parametrize(
    ("section", "item", "what"),
    [
        ("capsules", {"id": "c", "type": "party", "status": "open", "openedAt": 1}, "type is not"),
        ("capsules", {"id": "c", "type": "session", "status": "ajar", "openedAt": 1}, "status is"),
        ("summaries", {"id": "m", "content": "", "createdAt": 1}, "capsuleId is missing"),
        (
            "summaries",
            {"id": "m", "capsuleId": "c", "content": "", "createdAt": 1, "confidence": 1.1},
            "confidence is not a number from 0 to 1",
        ),
        (
            "memories",
            {"id": "m", "type": "x", "content": "", "createdAt": 1, "confidence": True},
            "confidence is not",
        ),
        ("pins", {"id": "p", "targetType": "file", "targetId": "", "createdAt": 1}, "targetId is"),
        ("suppressed", {"ref": "file:a"}, "at is missing"),
        ("suppressed", "file:a", "suppressed 1 is not an object"),
        ("observations", None, "observation 1 is not an object"),
    ],
)
def test_every_section_is_checked(section: str, item: Any, what: str) -> None:
    with pytest.raises(StoreError, match=what):
        loaded(journal(), bundle(**{section: [item]}))


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_a_bundle_that_was_cut_short_is_refused_whole(form: str) -> None:
    data = exported(filled(), form=form).rstrip()
    db = journal()
    loaded(db, bundle(observations=[observation("mine")]))
    before = dump(db)
    ends = {at for at, byte in enumerate(data) if byte == ord("\n")}
    ends |= {at + 1 for at in ends}
    for at in range(0, len(data), 97):
        if form == "jsonl" and at in ends and at:
            continue  # whole lines: what a stream is made of
        with pytest.raises(StoreError):
            loaded(db, data[:at])
        assert dump(db) == before


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "no JSON object at byte 0"),
        (b"[]", "no JSON object at byte 0"),
        (b"SQLite format 3\x00", "no JSON object at byte 0"),
        (b"{}", "not a bundle"),
        (b'{"name": "left-pad", "version": "1.3.0"}', "not a bundle"),
        (b'{"version": "2.0", "exported_at": 1}', "is of version 2.0; this kinen reads 1.x"),
        (b'{"bundleVersion": "3", "exportedAt": 1}', "is of version 3"),
        (b'{"version": 1}', r"invalid version '1'"),
        (b'{"version": "1.0", "version": "1.0"}', "a second 'version'"),
        (b'{"version": "1.0", "x": NaN}', "NaN is not a JSON number"),
        (b'{"version": "1.0", "observations": [{"ts": -Infinity}]}', "-Infinity"),
        (b'{"version": "1.0"} {}', "more text after the end at byte 19"),
        (b'{"version": "1.0",}', "not JSON at byte 18"),
        (b'{"version": "1.0", "list": [1,]}', "not JSON at byte 30"),
        (b'{"version": "1.0", "pins": [{"a": 1} {"b": 1}]}', "not JSON at byte 37"),
        (b'{"version": "1.0", "pins"', "cut short at byte 25"),
        (b'{"version": "1.0", "pins": ["\xff"]}', "not UTF-8 at byte 29"),
        (b'{"version": "1.0", "pins": ["\xc3', "cut short at byte 29"),
        (b'{"version": "1.0", "x": ' + b"[" * 100_000, "nested too deep|cut short|not JSON"),
        (b'{"version": "1.0", "x": ' + b'{"a":' * 100_000, "nested too deep"),
        (b'{"version": "1.0", "x": ' + b"1" * 5000 + b"}", "not JSON"),
        (b'{"version": "1.0"}\n{"observation": {"id": "o0"}\n', "line 2: cut short or not JSON"),
        (b'{"version": "1.0"}\n\n[1]\n', "line 3: not one JSON object"),
        (b'{"version": "1.0"}\n{"pin": {}}]', "line 2: not one JSON object"),
        (b'{"observation": {}}\n{"version": "1.0"}\n', "line 1: no header"),
    ],
)
def test_what_is_no_bundle_is_refused_with_the_place(data: bytes, what: str) -> None:
    db = journal()
    before = dump(db)
    with pytest.raises(StoreError, match=what) as caught:
        loaded(db, data)
    assert caught.value.hint
    assert dump(db) == before


def test_deep_provenance_is_an_error_and_no_crash() -> None:
    nested: Any = {}
    for _ in range(400):
        nested = {"a": nested}
    db = journal()
    loaded(db, bundle(observations=[observation("o0", provenance=nested)]))
    assert exported(db)


class Slow(io.RawIOBase):
    """Gives a few bytes at a time, as a pipe may."""

    def __init__(self, data: bytes, size: int) -> None:
        self._data = io.BytesIO(data)
        self._size = size

    def read(self, size: int = -1) -> bytes:
        return self._data.read(self._size)


DOCUMENT = {
    "a": [1, -2.5, 1e10, 12345678901, True, None, "x\n\u2028", {"b": [{"c": []}, {"c": 1}]}, []],
    "s": "text",
    "o": {"x": [1, 2]},
    "dataset": {"version": "1", "rows": [{"i": n} for n in range(50)], "scope": {}, "none": []},
    "e": [],
    "z": [{"é": "},{", "n": n} for n in range(50)],
}


def flat(document: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in document.items():
        if isinstance(value, list):
            yield from ((prefix + key, element) for element in value)
        elif key == "dataset":
            yield from flat(value, "dataset.")
        else:
            yield prefix + key, value


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1 << 20])
@pytest.mark.parametrize("chunk", [8, 100, 1 << 20])
@pytest.mark.parametrize("layout", [{}, {"separators": (",", ":")}, {"indent": 2}])
def test_pieces_of_any_size_give_the_same(
    monkeypatch: pytest.MonkeyPatch, size: int, chunk: int, layout: dict[str, Any]
) -> None:
    monkeypatch.setattr(stream, "CHUNK", chunk)
    text = json.dumps(DOCUMENT, ensure_ascii=False, **layout)
    data = f"\ufeff \n{text}\n \n".encode()
    assert list(stream.document(Slow(data, size))) == list(flat(DOCUMENT))  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_lines_of_any_size_give_the_same(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(stream, "CHUNK", 64)
    rows: list[dict[str, Any]] = [{"version": "1.0"}]
    rows += [{"pin": {"n": n, "é": "\u2028 \x85"}} for n in range(200)]
    text = "\r\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    members = list(stream.lines(Slow(text.encode(), size)))  # type: ignore[arg-type]
    assert members == [pair for row in rows for pair in row.items()]


def test_an_element_may_be_longer_than_a_reading_but_not_endless(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream, "CHUNK", 1000)
    monkeypatch.setattr(stream, "LIMIT", 100_000)
    text = "long " * 15_000
    data = json.dumps({"a": [1, text, 2]}).encode()
    assert [value for _, value in stream.document(io.BytesIO(data))] == [1, text, 2]
    with pytest.raises(StoreError, match="an entry of more than"):
        list(stream.document(io.BytesIO(json.dumps({"a": [text * 2]}).encode())))
    lines = b'{"version": "1.0"}\n"' + text.encode() * 2
    with pytest.raises(StoreError, match="an entry of more than"):
        list(stream.lines(io.BytesIO(lines)))


def test_an_entry_comes_before_the_rest_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "CHUNK", 1000)
    items = [{"n": n} for n in range(10_000)]
    rows = [{"version": "1.0"}, *({"pin": item} for item in items)]
    document = json.dumps({"version": "1.0", "pins": items})
    for text in (document, "\n".join(map(json.dumps, rows))):
        file = io.BytesIO(text.encode())
        members = stream.members(file)
        assert next(members) == ("version", "1.0")
        at = 0
        for _, item in members:
            at = text.index(json.dumps(item), at)
            assert file.tell() - at <= 3000


def test_a_seal_gets_no_wrong_value_in() -> None:
    """Values of a sealed bundle are checked like any others."""
    for field, value in (("ts", "tomorrow"), ("kind", "gossip"), ("content", "half \ud83d")):
        item = json.dumps({**observation("o0"), field: value})
        header = json.dumps({**bundle(), "masked": VERSION})
        body = f'{header}\n{{"observation": {item}}}\n'.encode()
        seal = f'{{"digest": "{hmac.digest(KEY, body, "sha256").hex()}"}}\n'.encode()
        db = journal()
        before = dump(db)
        with pytest.raises(StoreError, match="observation 1"):
            loaded(db, body + seal)
        assert dump(db) == before
