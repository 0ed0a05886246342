"""`kinen serve --team` on a real PostgreSQL: who may do what, and what survives."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from kinen.postgres.connection import Database
from kinen.team import admin, tokens
from kinen.team.client import HttpTeam
from kinen.team.merge import to_json
from kinen.team.postgres import PostgresTeam, connect
from kinen.team.share import Policy
from kinen.team.sync import synchronize
from team_machines import Machine, template
from team_service import OTHER, SPACE, ended, observation, start, token


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    return template(tmp_path)


REQUESTS: list[tuple[str, str, Any]] = [
    ("GET", "/v1/search?query=x", None),
    ("POST", "/v1/search", {"query": "x"}),
    ("GET", "/v1/team/me", None),
    ("GET", "/v1/team/pull?after=0", None),
    ("POST", "/v1/team/push", {"versions": []}),
    ("POST", "/v1/team/withdraw", {"machine": "m1"}),
    ("GET", "/metrics", None),
]


def test_every_endpoint_refuses_missing_expired_revoked_and_foreign_tokens(
    server: str, database: Database
) -> None:
    expired = token(database)
    revoked = token(database)
    tokens.revoke(database, revoked.split("_")[1])
    with database.transaction() as connection:
        connection.execute(
            "UPDATE kinen.team_token SET expires_at = now() - interval '1 second' WHERE id = %s",
            (expired.split("_")[1],),
        )
    good = token(database)
    forged = good[:-1] + ("A" if good[-1] != "A" else "B")
    foreign = token(database, "mallory", OTHER)
    cases = {"": 401, expired: 401, revoked: 401, forged: 401, "kinen__": 401, foreign: 403}
    with httpx.Client(base_url=server) as client:
        for method, path, body in REQUESTS:
            for text, status in cases.items():
                headers = {"Authorization": f"Bearer {text}"} if text else {}
                headers["X-Kinen-Space"] = SPACE
                response = client.request(method, path, json=body, headers=headers)
                # whoever guesses often is slowed down on top of being refused
                assert response.status_code in (status, 429 if status == 401 else status), path
                assert "error" in response.json()
        # a stranger's body is not even read
        unread = client.post("/v1/team/push", content=b"{", headers={"X-Kinen-Space": SPACE})
        assert unread.status_code in (401, 429)
        reader = token(database, rights=("read",))
        headers = {"Authorization": f"Bearer {reader}", "X-Kinen-Space": SPACE}
        for method, path, body in REQUESTS:
            allowed = "/search" in path or (method == "GET" and path != "/metrics")
            response = client.request(method, path, json=body, headers=headers)
            assert response.status_code == (200 if allowed else 403), path


def test_what_is_not_a_request_of_kinen_is_refused_without_a_trace_of_the_inside(
    server: str, database: Database
) -> None:
    bodies: list[Any] = [
        b"",
        b"[]",
        b"{",
        b'{"versions": 3}',
    ]
    headers = {"Authorization": f"Bearer {token(database)}", "X-Kinen-Space": SPACE}
    with httpx.Client(base_url=server, headers=headers) as client:
        for body in bodies:
            response = client.post("/v1/team/push", content=body)
            assert response.status_code == 400, body
            assert "Traceback" not in response.text
        for query in ("after=-1", "after=x", "limit=99999999", "erased=2", "after=1e9"):
            assert client.get(f"/v1/team/pull?{query}").status_code == 400, query
        assert client.get("/v1/team/nothing").status_code == 404
        long = client.get("/v1/team/me", headers={"X-Kinen-Space": "x" * 300})
        assert long.status_code == 400


def test_another_space_is_not_readable_by_api_by_sql_or_by_guessing_ids(
    server: str, database: Database, url: str
) -> None:
    PostgresTeam(database, OTHER, "boss").push([observation("salary-1", "the salary is 7")])
    with httpx.Client(base_url=server) as client:
        headers = {"Authorization": f"Bearer {token(database)}", "X-Kinen-Space": OTHER}
        assert client.get("/v1/team/pull", headers=headers).status_code == 403
        mine = {**headers, "X-Kinen-Space": SPACE}
        item = to_json(observation("salary-1", "mine"))
        assert (
            client.post("/v1/team/push", headers=mine, json={"versions": [item]}).status_code == 200
        )
        page = client.get("/v1/team/pull", headers=mine).json()
        assert "the salary is 7" not in str(page)
    reader = f"team_reader_{os.getpid()}"  # roles belong to the whole server
    with database.transaction() as connection:
        connection.execute(f"DROP ROLE IF EXISTS {reader}")
        connection.execute(f"CREATE ROLE {reader} LOGIN PASSWORD 'pw'")
    admin.add_member(database, reader, SPACE, "eve")
    login = psycopg.conninfo.conninfo_to_dict(url)
    login |= {"user": reader, "password": "pw"}
    with psycopg.connect(psycopg.conninfo.make_conninfo(**login), autocommit=True) as person:
        spaces = person.execute("SELECT DISTINCT space FROM kinen.team_entry").fetchall()
        assert spaces == [(SPACE,)]
        assert person.execute("SELECT space FROM kinen.team_space").fetchall() == [(SPACE,)]
        person.execute("SELECT set_config('kinen.space', %s, false)", (OTHER,))
        query = "SELECT count(*) FROM kinen.team_entry WHERE id = 'salary-1' AND space = %s"
        assert person.execute(query, (OTHER,)).fetchone() == (0,)
        for statement in (
            "SET ROLE kinen_team",
            "SELECT * FROM kinen.team_token",
            "SELECT * FROM kinen.team_member",
            "SELECT * FROM kinen.team_audit",
            "INSERT INTO kinen.team_entry VALUES ('x', 'pin', 'm', 'eve', '{}', false, false, 1)",
            "DELETE FROM kinen.team_entry",
            "UPDATE kinen.team_entry SET version = '{}'",
            "UPDATE kinen.team_space SET seq = 1",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                person.execute(statement)
    with database.transaction() as connection:
        connection.execute(
            f"GRANT {reader} TO CURRENT_USER; DROP OWNED BY {reader}; DROP ROLE {reader}"
        )


def test_two_people_share_by_server_and_by_database(
    server: str, database: Database, url: str, tmp_path: Path, empty: Path
) -> None:
    ada = Machine(tmp_path / "ada", "ada", empty)
    bob = Machine(tmp_path / "bob", "bob", empty)
    space = "shared"
    secret = "sk-ant-api03-" + "a1B2" * 24
    entry = ada.observe("we chose postgres for the team")
    private = ada.observe("the key is in .env", files=[".env"])
    by_server = HttpTeam(server, space, token(database, "ada", space))
    by_database = connect(url, space, "bob")
    synchronize(ada.replica(), by_server, space)
    # a client without masking would send this: the server masks again
    by_server.push([observation("leak", f"export KEY={secret}")])
    synchronize(bob.replica(), by_database, space)
    rows = dict(bob.db.execute("SELECT id, content FROM observations").fetchall())
    assert rows[entry] == "we chose postgres for the team"
    assert private not in rows
    assert secret not in rows["leak"]
    authors = dict(bob.db.execute("SELECT id, author FROM team_entries").fetchall())
    assert authors[entry] == "ada"
    with database.transaction() as connection:
        stored = connection.execute("SELECT string_agg(version, '') FROM kinen.team_entry")
        assert secret not in str(stored.fetchone())
    bob.erase(f"observation:{entry}", forget=False)
    synchronize(bob.replica(), by_database, space)
    synchronize(ada.replica(), by_server, space)
    assert "we chose postgres" not in ada.everything()
    more = ada.observe("taken back later")
    synchronize(ada.replica(), by_server, space)
    synchronize(bob.replica(), by_database, space)
    assert by_server.withdraw("m1") >= 1
    synchronize(bob.replica(), by_database, space)
    assert "taken back later" not in bob.everything()
    assert "taken back later" in ada.everything()
    ada.replica().rejoin()
    synchronize(ada.replica(), by_server, space)
    synchronize(bob.replica(), by_database, space)
    assert dict(bob.db.execute("SELECT id, content FROM observations"))[more] == "taken back later"
    with database.transaction() as connection:
        audit = connection.execute(
            "SELECT DISTINCT person, action FROM kinen.team_audit WHERE space = %s", (space,)
        ).fetchall()
    assert {("ada", "push"), ("ada", "pull"), ("ada", "withdraw")} <= set(audit)
    by_server.close()
    by_database.close()


def test_nothing_acknowledged_is_lost_when_the_server_is_killed(
    url: str, database: Database, tmp_path: Path, empty: Path
) -> None:
    ada = Machine(tmp_path / "ada", "ada", empty)
    space = "killed"
    text = token(database, "ada", space)
    ids = [ada.observe(f"event {number}") for number in range(40)]
    process, address = start(url, "--workers", "1")
    acknowledged: list[str] = []
    team = HttpTeam(address, space, text, sleep=lambda _: None)
    replica = ada.replica()
    replica.begin(space)
    replica.scan()
    first = replica.pending(15, erased=False)
    team.push(first)
    replica.acknowledge(first)
    acknowledged += [version.id for version in first]
    process.kill()
    ended(process)
    team.close()
    process, address = start(url, "--workers", "1")
    again = HttpTeam(address, space, text)
    synchronize(Machine.replica(ada), again, space)
    process.send_signal(signal.SIGTERM)
    assert ended(process) == 0
    again.close()
    stored = PostgresTeam(database, space, "x").pull(0, 1000, erased=False).versions
    assert {version.id for version in stored} == set(ids)
    assert set(acknowledged) <= set(ids)
    assert len(stored) == len(ids)


def test_a_policy_decides_what_leaves() -> None:
    fields = dict(observation("x", "text").fields)
    checkpoint = {**fields, "provenance": {"role": "checkpoint"}}
    hidden = {**fields, "files": ["config/.env"]}
    memory = {"derivedFrom": [], "content": "x"}
    table = [
        ("none", "observation", checkpoint, False),
        ("checkpoints", "observation", checkpoint, True),
        ("checkpoints", "observation", fields, False),
        ("summaries", "memory", memory, True),
        ("summaries", "observation", fields, False),
        ("all", "observation", fields, True),
        ("all", "observation", hidden, False),
        ("all", "tag", {"path": ".env"}, False),
        ("all", "suppressed", {"ref": "note:secret.md"}, False),
        ("all", "pin", {"targetType": "note", "targetId": "a.md"}, False),
    ]
    for level, noun, entry, expected in table:
        assert Policy(level, (".env",)).allows(noun, entry) is expected, (level, noun)


def test_workers_share_a_copy_of_a_space_and_outlive_each_other(
    url: str, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    space = "shared"
    headers = {"Authorization": f"Bearer {token(database, 'ada', space)}", "X-Kinen-Space": space}
    team = PostgresTeam(database, space, "ada")
    process, address = start(url, "--workers", "3")

    def search(_: int = 0) -> set[str]:
        with httpx.Client(base_url=address, headers=headers, timeout=60) as client:
            while True:
                try:
                    answer = client.post("/v1/search", json={"query": "kettle", "limit": 50})
                except httpx.TransportError:
                    continue  # its worker was killed
                if answer.status_code == 200:
                    return {hit["source"]["ref"] for hit in answer.json()["results"]}

    expected = search()
    assert expected == set()
    with ThreadPoolExecutor(8) as pool:
        for n in range(4):
            team.push([observation(f"kettle{n}", f"kettle number {n}")])
            expected.add(f"observation:kettle{n}")
            answers = pool.map(search, range(16))
            worker = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0]
            os.kill(int(worker), signal.SIGKILL)
            assert all(answer <= expected for answer in answers)
            while search() != expected:
                pass
    assert len([*tmp_path.rglob("journal.db")]) == 1
    process.send_signal(signal.SIGTERM)
    assert ended(process) == 0
    assert not [*tmp_path.rglob("*.db")]


def test_searches_ask_the_replica(
    url: str, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database stands for its own standby: what counts is that the server reads it as one."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    PostgresTeam(database, "copied", "ada").push([observation("tea", "the kettle is hot")])
    headers = {"X-Kinen-Space": "copied"}
    headers["Authorization"] = f"Bearer {token(database, 'ada', 'copied')}"
    process, address = start(url, "--workers", "1", "--replica", url)
    answer = httpx.post(f"{address}/v1/search", json={"query": "kettle"}, headers=headers)
    with database.transaction() as connection:
        asked = connection.execute(
            "SELECT query FROM pg_stat_activity WHERE application_name = 'kinen team standby'"
        ).fetchall()
    process.send_signal(signal.SIGTERM)
    assert ended(process) == 0
    assert [hit["source"]["ref"] for hit in answer.json()["results"]] == ["observation:tea"]
    assert asked
