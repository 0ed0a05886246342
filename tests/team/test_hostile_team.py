"""A hostile colleague, a stolen token, a hostile server, a login to the database: what holds."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import httpx
import psycopg
import pytest

from kinen.errors import StoreError
from kinen.journal.write import row
from kinen.model.journal import Scope
from kinen.model.kinds import REDACTED
from kinen.model.team import ERASED, Version
from kinen.postgres.connection import Database
from kinen.postgres.migrations import migrate
from kinen.team import admin, rows
from kinen.team.accept import FREE, STEP
from kinen.team.client import HttpTeam
from kinen.team.merge import change, encode, from_json, redact, to_json, tombstone, withdraw
from kinen.team.postgres import PostgresTeam, connect
from kinen.team.roles import provide
from kinen.team.schema import MIGRATIONS, prepare
from kinen.team.sync import synchronize
from team_forgery import ENTRIES, SECRET, hostile_server
from team_machines import Dictionary, Machine, template
from team_service import observation, token

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.testclient import TestClient

ENTRY, _, CAPSULE, SUMMARY, GENERATED, MEMORY, PIN, TAG, HIDDEN, SESSION, PROMPT = ENTRIES
GOOD = observation("good", "this one is fine")


def forge(version: Version | dict[str, Any], **parts: Any) -> dict[str, Any]:
    """The JSON of a version with other parts; those of mappings are added."""
    item = dict(version) if isinstance(version, dict) else to_json(version)
    for name, value in parts.items():
        item[name] = {**item[name], **value} if type(value) is dict else value
    return item


def erased(version: Version, **fields: Any) -> dict[str, Any]:
    """A version whose fields have the stamp of a redaction."""
    return forge(version, fields=fields, stamps={name: [ERASED, "zz"] for name in fields})


def withdrawn(version: Version, **fields: Any) -> dict[str, Any]:
    """A version that says that it was taken back, with what is left in it."""
    left = {**dict.fromkeys(version.fields), "withdrawn": True, **fields}
    return forge(version, fields=left, stamps={name: [9, "m2"] for name in left})


TOO_LARGE = observation("large", "x" * (9 << 20))
FORGED: dict[str, dict[str, Any]] = {
    "redacted with another text": erased(ENTRY, content="deploy needs NO approval"),
    "a field that redacting leaves": erased(ENTRY, ts=7),
    "a session redacted with another text": erased(CAPSULE, intent="u2 wrote this intent"),
    "a memory redacted with another text": erased(MEMORY, content="never retry"),
    "redacted by a machine": forge(redact(ENTRY), stamps={"content": [ERASED, "zz"]}),
    "taken back with half a character": withdrawn(GOOD, id=None, content="\ud800"),
    "taken back with a secret": withdrawn(GOOD, content=f"raw secret {SECRET}"),
    "taken back with unknown fields": withdrawn(GOOD, junk={"a": 1}),
    "taken back by a word": withdrawn(GOOD, withdrawn="yes"),
    "forgotten with a text": forge(GOOD, forgotten=5),
    "forgotten before time": forge(tombstone(GOOD, 1), forgotten=-5),
    "forgotten with a secret as id": forge(tombstone(GOOD, 1), id=SECRET),
    "forgotten with half a character as id": forge(tombstone(GOOD, 1), id="\ud800"),
    "forgotten with NUL as id": forge(tombstone(GOOD, 1), id="a\0b"),
    "a secret as a machine": forge(GOOD, machine=SECRET),
    "a secret in a stamp": forge(GOOD, stamps={"ts": [1, SECRET]}),
    "half a character in a stamp": forge(GOOD, stamps={"ts": [1, "\ud800"]}),
    "not a number": forge(GOOD, fields={"provenance": {"a": math.nan}}),
    "an infinite number": forge(GOOD, fields={"provenance": {"a": math.inf}}),
    "a mark that holds a text": forge(HIDDEN, fields={"hidden": SECRET}),
    "a mark on a file": forge(HIDDEN, id="note:a.md", fields={"ref": "note:a.md"}),
    "an unknown field": forge(GOOD, fields={"ju nk": 1}, stamps={"ju nk": [1, ""]}),
    "an unknown noun": forge(GOOD, noun="In voice"),
    "observations that an observation was made of": forge(GOOD, cleaned=["x"]),
    "too many changes": forge(GOOD, stamps={"ts": [ERASED - 1, "m2"]}),
    "too large": to_json(TOO_LARGE),
    "the end of a mark": to_json(tombstone(HIDDEN, 5)),
    "a prompt in her session": forge(PROMPT, id="evil", fields={"id": "evil", "content": "evil"}),
    "a summary of her session": forge(SUMMARY, id="evil", fields={"id": "evil"}),
    "a part of her session": forge(
        SESSION, id="evil", fields={"id": "evil", "parentId": "ada-d"}, stamps={"parentId": [1, ""]}
    ),
    "an edited memory": to_json(change(MEMORY, {"content": "never retry"}, "zz")),
    "other sources of a memory": to_json(change(MEMORY, {"derivedFrom": ["note:a.md"]}, "zz")),
    "a successor of somebody else": to_json(change(MEMORY, {"supersededBy": "memory-1"}, "zz")),
    "an edited note of a pin": to_json(change(PIN, {"reason": "evil"}, "zz")),
    "another tag": to_json(change(TAG, {"tag": "evil"}, "zz")),
    "an edited prompt": to_json(change(PROMPT, {"content": "evil"}, "zz")),
    "taken back by a colleague": withdrawn(MEMORY),
    "not a version": {"noun": "observation"},
}


class Person:
    """Requests of one person about one space."""

    def __init__(self, application: TestClient, database: Database, name: str, space: str) -> None:
        self._application = application
        text = token(database, name, space)
        self._headers = {"Authorization": f"Bearer {text}", "X-Kinen-Space": space}

    def push(self, *items: dict[str, Any]) -> Any:
        body = json.dumps({"versions": items}).encode()
        answer = self._application.post("/v1/team/push", headers=self._headers, content=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def pull(self, erased: int = 0) -> Any:
        answer = self._application.get(f"/v1/team/pull?erased={erased}", headers=self._headers)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture
def people(
    application: TestClient, database: Database, request: pytest.FixtureRequest
) -> Callable[[str], Person]:
    return lambda name: Person(application, database, name, request.node.name[:150])


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_version_is_refused_by_name_and_the_rest_of_its_message_stored(
    name: str, people: Callable[[str], Person], database: Database
) -> None:
    ada = people("ada")
    mallory = people("mallory")
    ada.push(*map(to_json, ENTRIES))
    before = {item["id"]: item for item in ada.pull()["versions"]}
    assert len(before) == len(ENTRIES)
    fine = to_json(observation("fine", "stored all the same"))
    answer = mallory.push(FORGED[name], fine)
    assert answer["entries"] == 1
    assert len(answer["invalid"]) == 1, answer
    (ref,) = answer["invalid"]
    expected = FORGED[name].get("id", "versions[0]")
    assert ref.endswith(expected) or not expected.isprintable()
    after = {item["id"]: item for item in ada.pull()["versions"]}
    assert after.pop("fine")["fields"]["content"] == "stored all the same"
    assert after == before
    assert ada.pull(erased=1)["versions"] == []
    with database.transaction() as connection:
        texts = connection.execute("SELECT id, version FROM kinen.team_entry").fetchall()
    assert SECRET not in str(texts)


def test_text_that_postgresql_cannot_hold_is_stored_and_received(database: Database) -> None:
    team = PostgresTeam(database, "odd", "ada")
    assert team.push([observation("odd", "a\0b\ud800c")]).invalid == {}
    (version,) = team.pull(0, 9, erased=False).versions
    assert version.fields["content"] == "ab\ufffdc"


def test_a_secret_in_what_was_masked_before_is_masked(people: Callable[[str], Person]) -> None:
    ada = people("ada")
    ada.push(forge(GOOD, fields={"redaction": {"count": 1, "classes": [SECRET], "x": SECRET}}))
    assert SECRET not in str(ada.pull())


def test_a_colleague_redacts_and_rewrites_nothing(people: Callable[[str], Person]) -> None:
    ada = people("ada")
    mallory = people("mallory")
    ada.push(*map(to_json, ENTRIES))
    names = {"capsule": "intent", "pin": "reason", "tag": "tag"}
    for entry in (ENTRY, CAPSULE, SUMMARY, GENERATED, MEMORY, PIN, TAG):
        name = names.get(entry.noun, "content")
        for evil in ({name: "evil"}, {"withdrawn": False, name: "evil"}):
            answer = mallory.push(to_json(change(entry, evil, "zz")))
            assert answer["entries"] == 0
            assert answer["invalid"] == {entry.ref: "only its author, ada, changes it"}
    cleaned = change(GENERATED, {"content": "evil"}, "zz")
    mallory.push(to_json(replace(cleaned, cleaned=frozenset({"ada-1"}))))
    assert "evil" not in str(ada.pull())
    by_id = {item["id"]: item["fields"] for item in ada.pull()["versions"]}
    # made of something that was erased, says the colleague: empty until Ada's machine repeats it
    assert by_id["ada-g"]["content"] == REDACTED
    assert by_id["ada-s"]["content"] == SUMMARY.fields["content"]
    before = {item["id"]: item for item in ada.pull()["versions"]}
    for entry in ENTRIES:
        mallory.push(withdrawn(entry))
        if entry is not HIDDEN:
            mallory.push(to_json(tombstone(entry, 5)))
    assert {item["id"]: item for item in ada.pull()["versions"]} == before
    mallory.push(to_json(redact(ENTRY)))
    by_id = {item["id"]: item["fields"] for item in ada.pull()["versions"]}
    assert by_id["ada-1"]["content"] == REDACTED


def test_no_number_of_changes_keeps_others_from_changing_a_mark(
    people: Callable[[str], Person],
) -> None:
    ada = people("ada")
    mallory = people("mallory")
    ada.push(to_json(HIDDEN))
    number = FREE - 1  # fields that are left out are added, as one more change
    for _ in range(5):
        stamps = {"hidden": [number, "zz"]}
        assert not mallory.push(forge(HIDDEN, fields={"hidden": False}, stamps=stamps))["invalid"]
        number += STEP - 1
    far = forge(HIDDEN, fields={"hidden": False}, stamps={"hidden": [number + STEP + 1, "zz"]})
    assert mallory.push(far)["invalid"]
    (stored,) = ada.pull()["versions"]
    assert stored["fields"]["hidden"] is False
    again = change(from_json(stored), {"hidden": True}, "m1")
    assert not ada.push(to_json(again))["invalid"]
    assert ada.pull()["versions"][0]["fields"]["hidden"] is True


def test_an_edit_does_not_bring_back_what_its_author_took_back(
    people: Callable[[str], Person], database: Database, request: pytest.FixtureRequest
) -> None:
    ada = people("ada")
    bob = people("bob")
    ada.push(to_json(MEMORY))
    assert PostgresTeam(database, request.node.name[:150], "ada").withdraw("m1") == 1
    late = MEMORY
    for text in ("first", "second", "third"):
        late = change(late, {"content": text}, "m2")
    for person in (bob, ada):  # also from another machine of hers, which did not know
        assert not person.push(to_json(late))["invalid"]
        (stored,) = ada.pull()["versions"]
        assert {name for name, value in stored["fields"].items() if value} == {"withdrawn"}


def test_rows_that_an_older_server_let_in_are_named_and_stop_nobody(
    people: Callable[[str], Person], database: Database, request: pytest.FixtureRequest
) -> None:
    ada = people("ada")
    bob = people("bob")
    ada.push(to_json(ENTRY), to_json(GOOD))
    half = encode(to_json(GOOD)).replace("this one is fine", r"half \ud800")
    rows_of = {
        "empty": "{}",
        "no JSON": "{",
        "not a number": encode(to_json(GOOD)).replace('"ts":1', '"ts":NaN'),
        "half": half.replace('"good"', '"half"'),
    }
    with database.transaction() as connection:
        for number, (id_, text) in enumerate(rows_of.items(), 900):
            connection.execute(
                "INSERT INTO kinen.team_entry VALUES (%s, 'observation', %s, 'ada', %s, true,"
                " false, %s)",
                (request.node.name[:150], id_, text, number),
            )
        connection.execute("UPDATE kinen.team_space SET seq = 950")
    for flag in (0, 1):
        page = ada.pull(flag)
        assert page["unread"].keys() == {f"observation:{id_}" for id_ in rows_of if id_ != "half"}
    assert {item["id"] for item in ada.pull()["versions"]} == {"ada-1", "good", "half"}
    # its author repairs one by pushing it again, and nobody else takes it
    again = to_json(observation("empty", "as it was"))
    bob.push(again)
    assert "as it was" not in str(bob.pull())
    ada.push(again)
    assert "as it was" in str(bob.pull())


@pytest.fixture
def ada(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path / "ada", "ada", template(tmp_path))
    rows.write(machine.db, ENTRIES)
    yield machine
    machine.db.close()


def sync_with(machine: Machine, answer: Callable[[str, str], Any]) -> Any:
    """One run of a machine with a server that answers so."""

    def respond(method: str, path: str) -> Any:
        if path.endswith("/me"):
            return {"person": "ada"}
        return {"entries": 1} if method == "POST" else answer(method, path)

    with hostile_server(respond) as url:
        team = HttpTeam(url, "space", "kinen_x", sleep=lambda _: None)
        try:
            return synchronize(machine.replica(), team, "space")
        finally:
            team.close()


def test_a_server_erases_and_does_not_replace_what_was_written_on_a_machine(ada: Machine) -> None:
    sync_with(ada, lambda *_: {"versions": [], "cursor": 0, "more": False})
    evil = {"content": "evil", "intent": "evil", "ts": 7, "targetId": "evil", "tag": "evil"}
    pages = [
        # as hers, as somebody else's, from another machine, taken back first, shared again
        *(
            [
                forge(
                    change(entry, {name: evil[name] for name in evil.keys() & entry.fields}, "zz"),
                    **by,
                )
            ]
            for entry in (ENTRY, CAPSULE, SUMMARY, GENERATED, MEMORY, PIN, TAG)
            for by in ({}, {"author": "eve"}, {"machine": "m9"}, {"author": "eve", "machine": "m9"})
        ),
        [withdrawn(ENTRY) | {"author": "eve"}],
        [
            forge(
                ENTRY,
                fields={"withdrawn": False, "content": "evil"},
                stamps={name: [99, "zz"] for name in (*ENTRY.fields, "withdrawn")},
                author="eve",
            )
        ],
    ]
    for number, page in enumerate(pages, 1):
        answers = iter([page])
        report = sync_with(
            ada,
            lambda *_, number=number, answers=answers: {  # type: ignore[misc]
                "versions": next(answers, []),
                "cursor": number,
                "more": False,
            },
        )
        assert "evil" not in ada.everything()
        if "withdrawn" not in page[0]["fields"]:
            assert report.replaced == [f"{page[0]['noun']}:{page[0]['id']}"], number
    shown = rows.read(ada.db, "observation", "ada-1")
    assert shown and shown.fields["content"] == ENTRY.fields["content"]
    sync_with(ada, lambda *_: {"versions": [to_json(redact(ENTRY))], "cursor": 99, "more": False})
    shown = rows.read(ada.db, "observation", "ada-1")
    assert shown and shown.fields["content"] == REDACTED


def test_nobody_else_is_in_a_session_and_its_author_is_on_any_machine(
    people: Callable[[str], Person], ada: Machine
) -> None:
    author = people("ada")
    author.push(*map(to_json, ENTRIES))
    fields = {"id": "more", "content": "typed on the laptop"}
    more = forge(PROMPT, id="more", fields=fields, machine="laptop")
    assert author.push(more)["entries"] == 1
    # begun outside, then moved into her session
    moved = observation("moved", "evil")
    mallory = people("mallory")
    mallory.push(to_json(moved))
    answer = mallory.push(to_json(change(moved, {"capsuleId": "ada-d"}, "zz")))
    assert answer["invalid"] == {"observation:moved": "capsule:ada-d is a session of ada"}
    page = [
        forge(more | {"author": "ada"}),
        forge(to_json(PROMPT), id="evil", fields={"id": "evil", "content": "evil"}, author="eve"),
    ]
    report = sync_with(ada, lambda *_: {"versions": page, "cursor": 9, "more": False})
    assert report.unread == {"observation:evil": "capsule:ada-d is a session of ada"}
    assert "evil" not in ada.everything()
    shown = rows.read(ada.db, "observation", "more")
    assert shown and shown.fields["content"] == "typed on the laptop"


def test_a_redaction_counts_for_what_its_author_took_back_before_it_came(ada: Machine) -> None:
    assert "deploy needs approval" in ada.everything()
    sync_with(ada, lambda *_: {"versions": [], "cursor": 0, "more": False})
    gone = [to_json(withdraw(redact(entry), "m1")) for entry in (ENTRY, GENERATED, CAPSULE)]
    sync_with(ada, lambda *_: {"versions": gone, "cursor": 9, "more": False})
    assert "deploy needs approval" not in ada.everything()
    shown = rows.read(ada.db, "observation", "ada-1")
    assert shown and (shown.fields["content"], shown.forgotten) == (REDACTED, 0)
    ada.replica().rejoin()
    report = synchronize(ada.replica(), Dictionary().member("ada"), "other")
    assert (report.unsent, ada.replica().waiting()) == ({}, 0)


def test_a_server_takes_no_session_from_its_author(ada: Machine) -> None:
    claim = forge(redact(SESSION), author="eve", machine="m9")
    report = sync_with(ada, lambda *_: {"versions": [claim], "cursor": 9, "more": False})
    assert report.unsent == {}
    assert report.pushed == len(ENTRIES) - 1  # the session itself is the team's already
    ada.journal.open_capsule("", "session", Scope(session="s1"), 9, resume=True)
    cells = row("more of it", "message", 9, session="s1")
    assert ada.journal.observe(cells).capsule == "ada-d"
    report = sync_with(ada, lambda *_: {"versions": [], "cursor": 9, "more": False})
    assert (report.pushed, report.unsent) == (1, {})


def test_forged_versions_of_a_page_are_named_and_the_others_taken_over(ada: Machine) -> None:
    items = [*FORGED.values(), to_json(observation("theirs", "from a colleague"))]
    items = [item for item in items if item is not FORGED["too large"]]
    report = sync_with(ada, lambda *_: {"versions": items, "cursor": 9, "more": False})
    shown = rows.read(ada.db, "observation", "theirs")
    assert shown and shown.fields["content"] == "from a colleague"
    assert report.unread["observation:ada-1"].startswith("a redacted ")
    for text in (SECRET, "NO approval", "junk"):
        assert text not in ada.everything()


BAD_PAGES: dict[str, Any] = {
    "no object": [],
    "no JSON": b"{",
    "deep": b'{"versions":' + b"[" * 100_000,
    "too long": b'{"versions":[' + b" " * (33 << 20) + b"]}",
    "more than asked": {"versions": [{}] * 201, "cursor": 1, "more": False},
    "no cursor": {"versions": [], "more": False},
    "a cursor that is no number": {"versions": [], "cursor": True, "more": False},
    "a cursor that goes back": {"versions": [], "cursor": -1, "more": False},
    "a cursor beyond the last": {"versions": [], "cursor": 1 << 62, "more": False},
    "a cursor that stands still": {"versions": [], "cursor": 0, "more": True},
}


@pytest.mark.parametrize("name", BAD_PAGES)
def test_what_is_not_a_page_is_one_line_and_changes_nothing(name: str, ada: Machine) -> None:
    with pytest.raises(StoreError, match="the team's server sent no"):
        sync_with(ada, lambda *_: BAD_PAGES[name])
    assert (ada.replica().state.cursor, ada.replica().state.erased_cursor) == (0, 0)


def test_pages_without_end_end(ada: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinen.team.sync.MOST_PAGES", 7)
    number = iter(range(1, 100))
    sync_with(ada, lambda *_: {"versions": [], "cursor": next(number), "more": True})
    assert ada.replica().state.cursor + ada.replica().state.erased_cursor < 99
    assert ada.replica().waiting() == 0


def test_a_name_that_cannot_be_shown_is_refused() -> None:
    with hostile_server(lambda *_: {"person": "a\x1b]0;b"}) as url:
        team = HttpTeam(url, "space", "kinen_x")
        with pytest.raises(StoreError, match="sent no name"):
            assert team.person
        team.close()


def test_what_the_team_refuses_is_named_and_the_rest_is_sent(
    server: str, database: Database, ada: Machine
) -> None:
    rows.write(ada.db, [TOO_LARGE])
    team = HttpTeam(server, "refused", token(database, "ada", "refused"))
    report = synchronize(ada.replica(), team, "refused", batch=2)
    assert report.pushed == len(ENTRIES)
    assert report.unsent == {"observation:large": "more than 8 MiB in an observation of the team"}
    assert synchronize(ada.replica(), team, "refused", batch=2).pushed == 0
    team.close()


def test_what_waits_is_not_sent_when_its_level_is_no_longer_shared(
    database: Database, ada: Machine
) -> None:
    ada.replica("all").begin("quiet")
    assert ada.replica("all").scan() == len(ENTRIES)
    team = PostgresTeam(database, "quiet", "ada")
    synchronize(ada.replica("none"), team, "quiet", batch=2)
    assert (team.newest()[:2], ada.replica("none").waiting()) == ((0, 0), 0)
    synchronize(ada.replica("summaries"), team, "quiet", batch=2)
    nouns = {version.noun for version in team.pull(0, 99, erased=False).versions}
    assert nouns == {"capsule", "summary", "memory", "tag"}


MEMBER = f"team_member_{os.getpid()}"
"""A role of its own for each process: roles belong to the whole server."""


@pytest.fixture
def login(database: Database, url: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of the database for somebody with a login and no right."""
    with database.transaction() as connection:
        connection.execute(f"DROP ROLE IF EXISTS {MEMBER}")
        connection.execute(f"CREATE ROLE {MEMBER} LOGIN PASSWORD 'pw'")
    parts = psycopg.conninfo.conninfo_to_dict(url)
    yield f"postgresql://{MEMBER}:pw@{parts['host']}:{parts['port']}/{parts['dbname']}"
    with database.transaction() as connection:
        connection.execute(
            f"GRANT {MEMBER} TO CURRENT_USER; DROP OWNED BY {MEMBER}; DROP ROLE {MEMBER}"
        )


WRITES = (
    "UPDATE kinen.team_entry SET version = replace(version, 'fine', 'FORGED BY SQL')",
    "UPDATE kinen.team_entry SET version = '{}'",
    "UPDATE kinen.team_entry SET author = 'eve'",
    "UPDATE kinen.team_entry SET seq = seq + 1",
    "UPDATE kinen.team_space SET seq = -100",
    "INSERT INTO kinen.team_space VALUES ('members', 1) ON CONFLICT (space) DO UPDATE SET seq = 1",
    "INSERT INTO kinen.team_entry VALUES ('members', 'pin', 'p', 'eve', '{}', false, false, 1)",
    "DELETE FROM kinen.team_entry",
    "TRUNCATE kinen.team_entry",
)


def test_a_login_to_the_database_reads_and_says_how_to_write(
    database: Database, login: str, kinen: Any, space: Path
) -> None:
    PostgresTeam(database, "members", "ada").push([GOOD])
    admin.add_member(database, MEMBER, "members", "eve")
    with psycopg.connect(login, autocommit=True) as person:
        for statement in WRITES:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                person.execute(statement)
    eve = connect(login, "members", "ignored")
    assert [version.id for version in eve.pull(0, 9, erased=False).versions] == ["good"]
    eve.close()
    assert kinen("log", "written by eve").code == 0
    sync = {"KINEN_TEAM_URL": login, "KINEN_TEAM_SPACE": "members"}
    done = kinen("sync", **sync, KINEN_TEAM_SHARE="all")
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert "a login to the database only reads" in done.err
    assert "kinen team login" in done.err
    assert "received 1" in kinen("sync", **sync, KINEN_TEAM_SHARE="none").out
    assert "this one is fine" in kinen("list", "observations").out


def test_rights_to_write_of_an_older_version_are_taken_back(
    postgres_url: str, login: str, database: Database
) -> None:
    with Database(postgres_url) as older:
        provide(older)
        migrate(older, "team", MIGRATIONS[:2])
        with older.transaction() as connection:
            connection.execute(f"GRANT kinen_member TO {MEMBER}")
            connection.execute(
                f"INSERT INTO kinen.team_member VALUES ('{MEMBER}', 'members', 'eve', true, true)"
            )
            connection.execute("INSERT INTO kinen.team_space VALUES ('members', 5)")
            connection.execute(
                "INSERT INTO kinen.team_entry VALUES"
                " ('members', 'observation', 'good', 'ada', %s, false, false, 5)",
                (encode(to_json(GOOD)),),
            )
        address = login.rpartition("/")[0] + "/" + postgres_url.rpartition("/")[2]
        with psycopg.connect(address, autocommit=True) as person:
            changed = person.execute("UPDATE kinen.team_space SET seq = 6")
            assert changed.rowcount == 1  # as it was
            prepare(older)
            for statement in WRITES:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    person.execute(statement)
            assert person.execute("SELECT id FROM kinen.team_entry").fetchall() == [("good",)]
        with older.transaction() as connection:
            connection.execute(f"GRANT {MEMBER} TO CURRENT_USER; DROP OWNED BY {MEMBER}")


def test_a_stolen_token_ends_when_it_is_revoked(server: str, database: Database) -> None:
    from kinen.team import tokens

    text = token(database, "ada", "stolen")
    headers = {"Authorization": f"Bearer {text}", "X-Kinen-Space": "stolen"}
    with httpx.Client(base_url=server, headers=headers, verify=False) as thief:
        body = {"versions": [to_json(GOOD)]}
        assert thief.post("/v1/team/push", json=body).status_code == 200
        assert thief.get("/v1/team/pull", headers={"X-Kinen-Space": "other"}).status_code == 403
        tokens.revoke(database, text.split("_")[1])
        assert thief.post("/v1/team/push", json=body).status_code == 401
    with database.transaction() as connection:
        audit = connection.execute(
            "SELECT person, action, entries FROM kinen.team_audit"
            " WHERE token = %s AND status = 200",
            (text.split("_")[1],),
        ).fetchall()
    assert audit == [("ada", "push", 1)]
