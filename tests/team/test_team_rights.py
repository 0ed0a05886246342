"""Who may change and erase what others wrote, and what nobody learns of another space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kinen.model.team import Version
from kinen.team.accept import accept
from kinen.team.merge import change, redact, to_json, tombstone, withdraw
from kinen.team.postgres import PostgresTeam
from kinen.team.rows import checked
from team_service import OTHER, SPACE, client, observation, token

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.testclient import TestClient

    from kinen.postgres.connection import Database


def memory(text: str, author: str = "ada", id_: str = "memory-1") -> Version:
    fields = {
        "id": id_,
        "type": "decision",
        "content": text,
        "confidence": 1.0,
        "derivedFrom": [],
        "createdAt": 1,
        "supersededBy": "",
    }
    return change(Version("memory", id_, author, "m1"), fields, "m1")


ENTRY = observation("x", "the kettle is hot")
EDIT = change(ENTRY, {"content": "bob was here"}, "m2")
LEARNED = memory("kettles are hot")
COLD = change(LEARNED, {"content": "cold"}, "m2")
CASES = {
    # who pushes what over Ada's entry: the text that is left, "" for a forgotten entry
    "the author forgets": (ENTRY, tombstone(ENTRY, 5), "ada", False, ""),
    "an admin forgets": (ENTRY, tombstone(ENTRY, 5), "root", True, ""),
    "a colleague forgets": (ENTRY, tombstone(ENTRY, 5), "bob", False, "the kettle is hot"),
    "a colleague redacts": (ENTRY, redact(ENTRY), "bob", False, "[redacted]"),
    "a colleague rewrites": (ENTRY, EDIT, "bob", False, "the kettle is hot"),
    "the author rewrites": (ENTRY, EDIT, "ada", False, "bob was here"),
    "a colleague takes back": (ENTRY, withdraw(ENTRY, "m2"), "bob", False, "the kettle is hot"),
    "a colleague edits a memory": (LEARNED, COLD, "bob", False, "kettles are hot"),
    "an admin edits a memory": (LEARNED, COLD, "root", True, "kettles are hot"),
    "an admin takes back": (ENTRY, withdraw(ENTRY, "m2"), "root", True, ""),
    "the author edits a memory": (LEARNED, COLD, "ada", False, "cold"),
    "a colleague claims a memory": (
        LEARNED,
        tombstone(memory("mine", "aaa"), 5),
        "aaa",
        False,
        "kettles are hot",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_only_its_author_or_an_admin_forgets_an_entry(name: str) -> None:
    stored, version, person, admin, text = CASES[name]
    find = {stored.key: stored}.get
    push = lambda onto: accept(  # noqa: E731
        onto, checked(version), person, lambda *key: find(key), admin=admin
    )
    merged = push(stored).version
    assert merged.author == "ada"
    assert (merged.fields.get("content") or "") == text
    assert push(merged).version == merged


def headers(text: str, space: str = SPACE) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}", "X-Kinen-Space": space}


def test_rights_hold_on_the_server_and_the_audit_tells_erasing_from_changing(
    application: TestClient, database: Database
) -> None:
    people = {name: headers(token(database, name)) for name in ("ada", "bob")}
    rights = ("read", "write", "admin")
    people["root"] = headers(token(database, "root", rights=rights))

    def push(who: str, version: Version) -> Any:
        body = {"versions": [to_json(version)]}
        answer = application.post("/v1/team/push", headers=people[who], json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    assert push("ada", ENTRY) == {"entries": 1, "refused": 0, "invalid": {}}
    assert push("bob", tombstone(ENTRY, 5)) == {"entries": 1, "refused": 1, "invalid": {}}
    push("ada", LEARNED)
    assert push("bob", COLD)["invalid"] == {"memory:memory-1": "only its author, ada, changes it"}
    later = change(LEARNED, {"supersededBy": "memory-2"}, "m2")
    assert push("bob", later)["invalid"]  # nobody's
    push("bob", memory("kettles are cold", "bob", "memory-2"))
    assert not push("bob", later)["invalid"]
    push("bob", redact(LEARNED))
    assert push("root", tombstone(ENTRY, 5)) == {"entries": 1, "refused": 0, "invalid": {}}
    with database.transaction() as connection:
        audit = connection.execute(
            "SELECT person, refs, changed FROM kinen.team_audit"
            " WHERE action = 'push' AND refs || changed <> '{}' ORDER BY at"
        ).fetchall()
    # what lost text is told from what got another successor
    assert audit == [
        ("bob", [], ["memory:memory-1"]),
        ("bob", ["memory:memory-1"], []),
        ("root", ["observation:x"], []),
    ]


def test_a_search_tells_nothing_of_another_space(
    application: TestClient, database: Database, tmp_path: Path
) -> None:
    own = headers(token(database, "ada", "quiet"), "quiet")
    foreign = headers(token(database, "boss", OTHER), OTHER)
    PostgresTeam(database, "quiet", "ada").push(
        [observation(f"own-{number}", f"kettle number {number}") for number in range(5)]
    )

    def ask(server: TestClient, query: str, **more: Any) -> Any:
        answer = server.post("/v1/search", headers=own, json={"query": query, **more})
        assert answer.status_code == 200, answer.text
        return answer.json()

    queries = ("kettle", "kettel", "zyxoma", "salary", "number 3")
    before = [ask(application, query) for query in queries]
    assert before[-1]["results"][0]["source"]["ref"] == "observation:own-3"
    assert str(tmp_path.parent) not in str(before)
    # the other space now has these words often: frequencies, corrections and counts would change
    PostgresTeam(database, OTHER, "boss").push(
        [observation(f"boss-{number}", f"zyxomma salary kettle {number}") for number in range(60)]
    )
    worker = client(database, str(tmp_path / "worker"))
    seen = worker.post("/v1/search", headers=foreign, json={"query": "zyxoma salary"})
    assert "zyxomma" in seen.text
    assert [ask(worker, query) for query in queries] == before
    # a ref, a session or a name of the other space opens nothing
    for condition in ({"session": "boss-1"}, {"author": "boss"}, {"meta": ["by=boss"]}):
        assert ask(worker, "salary", **condition)["results"] == []
    for spaces in ([OTHER], ["all"]):
        body = {"query": "salary", "space": spaces}
        assert worker.post("/v1/search", headers=own, json=body).status_code == 400
