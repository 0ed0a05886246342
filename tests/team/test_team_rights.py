"""Who may change and erase what others wrote, and what nobody learns of another space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from kinen.model.team import Version
from kinen.team import members
from kinen.team.accept import accept
from kinen.team.merge import change, redact, to_json, tombstone, withdraw
from kinen.team.postgres import PostgresTeam, connect
from team_service import OTHER, SPACE, client, observation, token

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.testclient import TestClient

    from kinen.postgres.connection import Database


def memory(text: str, author: str = "ada") -> Version:
    fields = {
        "id": "memory-1",
        "type": "decision",
        "content": text,
        "confidence": 1.0,
        "derivedFrom": [],
        "createdAt": 1,
        "supersededBy": "",
    }
    return change(Version("memory", "memory-1", author, "m1"), fields, "m1")


ENTRY = observation("x", "the kettle is hot")
EDIT = change(ENTRY, {"content": "bob was here"}, "m2")
LEARNED = memory("kettles are hot")
CASES = {
    # who pushes what over Ada's entry: the text that is left, "" for a forgotten entry
    "the author forgets": (ENTRY, tombstone(ENTRY, 5), "ada", False, ""),
    "an admin forgets": (ENTRY, tombstone(ENTRY, 5), "root", True, ""),
    "a colleague forgets": (ENTRY, tombstone(ENTRY, 5), "bob", False, "the kettle is hot"),
    "a colleague redacts": (ENTRY, redact(ENTRY), "bob", False, "[redacted]"),
    "a colleague rewrites": (ENTRY, EDIT, "bob", False, "the kettle is hot"),
    "the author rewrites": (ENTRY, EDIT, "ada", False, "bob was here"),
    "a colleague takes back": (ENTRY, withdraw(ENTRY, "m2"), "bob", False, "the kettle is hot"),
    "a colleague edits a memory": (
        LEARNED,
        change(LEARNED, {"content": "cold"}, "m2"),
        "bob",
        False,
        "cold",
    ),
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
    merged = accept(stored, version, person, admin=admin)
    assert merged.author == "ada"
    assert merged.fields.get("content", "") == text
    assert accept(merged, version, person, admin=admin) == merged


def headers(text: str, space: str = SPACE) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}", "X-Kinen-Space": space}


def test_rights_hold_on_the_server_and_in_the_database(
    application: TestClient, database: Database, url: str
) -> None:
    people = {name: headers(token(database, name)) for name in ("ada", "bob")}
    rights = ("read", "write", "admin")
    people["root"] = headers(token(database, "root", rights=rights))

    def push(who: str, version: Version) -> Any:
        body = {"versions": [to_json(version)]}
        answer = application.post("/v1/team/push", headers=people[who], json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    assert push("ada", ENTRY) == {"entries": 1, "refused": 0}
    assert push("bob", tombstone(ENTRY, 5)) == {"entries": 1, "refused": 1}
    assert push("root", tombstone(ENTRY, 5)) == {"entries": 1, "refused": 0}
    with database.transaction() as connection:
        connection.execute("DROP ROLE IF EXISTS team_writer_test")
        connection.execute("CREATE ROLE team_writer_test LOGIN PASSWORD 'pw'")
        audit = connection.execute(
            "SELECT person, refs FROM kinen.team_audit WHERE action = 'push' AND refs <> '{}'"
        ).fetchall()
    assert audit == [("root", ["observation:x"])]
    push("ada", observation("y", "the kettle is cold"))
    members.add(database, "team_writer_test", SPACE, "eve", writes=True)
    login = psycopg.conninfo.conninfo_to_dict(url)
    login |= {"user": "team_writer_test", "password": "pw"}
    address = f"postgresql://team_writer_test:pw@{login['host']}:{login['port']}/{login['dbname']}"
    eve = connect(address, SPACE, "ignored")
    assert eve.person == "eve"
    assert eve.push([tombstone(observation("y", ""), 5)]).refused == 1
    statement = "UPDATE kinen.team_entry SET forgotten = true, version = '{}' WHERE id = 'y'"
    with psycopg.connect(psycopg.conninfo.make_conninfo(**login), autocommit=True) as person:
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="by its author"):
            person.execute(statement)
        for change_of_author in ("eve", "bob"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="keeps its author"):
                person.execute("UPDATE kinen.team_entry SET author = %s", (change_of_author,))
    members.add(database, "team_writer_test", SPACE, "eve", writes=True, admin=True)
    admin = connect(address, SPACE, "ignored")
    assert admin.push([tombstone(observation("y", ""), 5)]).refused == 0
    eve.close()
    admin.close()
    with database.transaction() as connection:
        connection.execute("DROP OWNED BY team_writer_test; DROP ROLE team_writer_test")


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
