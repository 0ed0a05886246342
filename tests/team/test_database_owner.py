"""A team in the database of an ordinary owner: no superuser, with and without CREATEROLE."""

from __future__ import annotations

import secrets
import signal
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

import postgres_server
from contract.engines import change, document
from kinen.errors import Denied
from kinen.postgres import schema as index
from kinen.postgres import spaces
from kinen.postgres.connection import Database
from kinen.postgres.writer import PostgresWriter
from kinen.team import admin, tokens
from kinen.team.client import HttpTeam
from kinen.team.roles import check, missing
from kinen.team.schema import MIGRATIONS, prepare
from team_service import SPACE, client, ended, observation, start, token

Dba = Callable[[str], Any]


class Place:
    """A database of an owner, and what its administrator does there."""

    def __init__(self, server: str, rights: str) -> None:
        self.server = server
        self.name = f"owned_{secrets.token_hex(6)}"
        self.owner = f"{self.name}_owner"
        self.schema = f"{self.name}_tables"
        self.roles = [f"{self.schema}_team", f"{self.schema}_member"]
        self.words = f"{self.schema}_words"
        with psycopg.connect(server, autocommit=True) as dba:
            dba.execute(f"CREATE ROLE {self.owner} LOGIN PASSWORD 'pw' {rights}")
            dba.execute(f"CREATE DATABASE {self.name} OWNER {self.owner}")

    @property
    def url(self) -> str:
        address = postgres_server.at(self.server, self.name, self.owner, "pw")
        return f"{address}{'&' if '?' in address else '?'}schema={self.schema}"

    def administer(self, *statements: str) -> None:
        parts = psycopg.conninfo.conninfo_to_dict(self.server)
        login = psycopg.conninfo.make_conninfo(**{**parts, "dbname": self.name})
        with psycopg.connect(login, autocommit=True) as dba:
            for statement in statements:
                dba.execute(statement)  # type: ignore[call-overload]

    def remove(self) -> None:
        with psycopg.connect(self.server, autocommit=True) as dba:
            dba.execute(f"DROP DATABASE {self.name} WITH (FORCE)")
            for role in (*self.roles, self.words, self.owner):
                dba.execute(f"DROP ROLE IF EXISTS {role}")


@pytest.fixture
def place(postgres_server_url: str) -> Iterator[Callable[[str], Place]]:
    made = []

    def make(rights: str) -> Place:
        made.append(Place(postgres_server_url, rights))
        return made[-1]

    yield make
    for each in made:
        each.remove()


def exchange(url: str) -> None:
    """A server of this owner takes an entry and gives it back."""
    with Database(url) as database:
        prepare(database)
        secret = token(database)
    process, address = start(url, "--workers", "1")
    team = HttpTeam(address, SPACE, secret)
    assert team.push([observation("one", "kept by an ordinary owner")]).invalid == {}
    page = team.pull(0, 10, erased=False)
    assert [version.fields["content"] for version in page.versions] == ["kept by an ordinary owner"]
    team.close()
    process.send_signal(signal.SIGTERM)
    assert ended(process) == 0


def test_an_owner_that_may_create_roles_needs_no_administrator(
    place: Callable[[str], Place], ask: Any
) -> None:
    here = place("CREATEROLE")
    answer = ask("team", "check", here.url)
    assert (answer.code, answer.out) == (0, "")
    assert f"user {here.owner}, schema {here.schema}" in answer.err
    with Database(here.url) as database:
        with database.connect() as connection:
            assert missing(connection, here.schema), "the check left something behind"
        prepare(database)
        prepare(database)
    exchange(here.url)
    with Database(here.url) as database:
        here.administer(f"CREATE ROLE {here.name}_eve LOGIN PASSWORD 'pw'")
        try:
            admin.add_member(database, f"{here.name}_eve", SPACE, "eve")
            login = postgres_server.at(here.server, here.name, f"{here.name}_eve", "pw")
            with psycopg.connect(login) as eve:
                query = f"SELECT count(*) FROM {here.schema}.team_entry"
                assert eve.execute(query).fetchone() == (1,)
        finally:
            here.administer(f"DROP ROLE {here.name}_eve")


def test_what_the_check_prints_is_all_that_an_owner_without_createrole_lacks(
    place: Callable[[str], Place], ask: Any
) -> None:
    here = place("NOCREATEROLE")
    with Database(here.url) as database, pytest.raises(Denied, match="CREATE ROLE"):
        prepare(database)
    answer = ask("team", "check", here.url)
    assert answer.code == 1
    lines = answer.out.partition("--")[0].splitlines()
    assert lines[:2] == [f"CREATE ROLE {role} NOLOGIN;" for role in here.roles]
    here.administer(*lines)
    again = ask("team", "check", here.url)
    assert again.code == 0
    note, grant = again.out.splitlines()
    assert note.startswith("-- for `kinen team member add` alone")
    with Database(here.url) as database:
        prepare(database)
        with pytest.raises(Denied):
            admin.add_member(database, here.owner, SPACE, "eve")
        here.administer(grant)
        admin.add_member(database, here.owner, SPACE, "eve")
    exchange(here.url)


def test_a_schema_and_roles_that_an_administrator_made_are_enough(
    place: Callable[[str], Place], ask: Any
) -> None:
    here = place("NOCREATEROLE")
    here.administer(
        f"REVOKE CREATE ON DATABASE {here.name} FROM {here.owner}, PUBLIC",
        f"CREATE SCHEMA {here.schema}",
        *(f"CREATE ROLE {role} NOLOGIN" for role in here.roles),
    )
    lines = ask("team", "check", here.url).out.splitlines()
    team, member = here.roles
    assert lines[0] == f"GRANT CREATE, USAGE ON SCHEMA {here.schema} TO {here.owner};"
    assert lines[1].startswith(f"GRANT {team} TO {here.owner}")
    assert lines[2] == f"GRANT USAGE ON SCHEMA {here.schema} TO {team}, {member};"
    here.administer(*lines[:3])
    exchange(here.url)


def test_an_index_of_an_owner_without_createrole_is_searched_and_its_role_printed(
    place: Callable[[str], Place], ask: Any
) -> None:
    here = place("NOCREATEROLE")
    here.administer(
        "CREATE EXTENSION vector", *(f"CREATE ROLE {role} NOLOGIN" for role in here.roles)
    )
    here.administer(f"CREATE SCHEMA {here.schema} AUTHORIZATION {here.owner}")
    with Database(here.url) as database:
        index.prepare(database)
        space = spaces.register(database, "1" * 64, "tea")
        writer = PostgresWriter(database, space)
        writer.apply("files", iter([change(document("note:a.md", "kettle"))]))
        writer.close()
    answer = ask("team", "check", here.url)
    lines = answer.out.partition("--engine` alone:\n")[2].splitlines()
    assert lines[0] == f"CREATE ROLE {here.words} NOLOGIN;"
    for printed in ([], lines):
        here.administer(*printed)
        with Database(here.url) as database, database.transaction([space.id]) as connection:
            found = connection.execute("SELECT count(*) FROM kinen.matching('kettl', NULL)")
            assert found.fetchone() == (1,)
    assert "--engine" not in ask("team", "check", here.url).out
    with Database(here.url) as database:
        with database.transaction() as connection:
            for table in ("kinen.matching('kettl', NULL)", "kinen.chunk"):
                row = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
                assert row == (0,)
        index.prepare(database)


def test_tables_of_another_owner_are_named(place: Callable[[str], Place], ask: Any) -> None:
    here = place("CREATEROLE")
    parts = psycopg.conninfo.conninfo_to_dict(here.server)
    admin = postgres_server.at(here.server, here.name, parts["user"], parts["password"])
    with Database(f"{admin}{'&' if '?' in admin else '?'}schema={here.schema}") as database:
        prepare(database)
    answer = ask("team", "check", here.url)
    assert f"ALTER TABLE {here.schema}.team_entry OWNER TO {here.owner};" in answer.out
    here.administer(*(line for line in answer.out.splitlines() if not line.startswith("--")))
    assert ask("team", "check", here.url).code == 0
    exchange(here.url)


def test_a_missing_right_is_told_as_such_and_does_not_ask_to_try_again(
    place: Callable[[str], Place], tmp_path: Any
) -> None:
    here = place("CREATEROLE")
    with Database(here.url) as database:
        prepare(database)
        secret = token(database)
        application = client(database, str(tmp_path / "copies"))
        here.administer(f"REVOKE {here.roles[0]} FROM {here.owner} GRANTED BY {here.owner}")
        headers = {"Authorization": f"Bearer {secret}", "X-Kinen-Space": SPACE}
        answer = application.get("/v1/team/pull", headers=headers)
        assert answer.status_code == 500
        assert (
            answer.json()["error"]["message"] == "the team's server lacks a right in its database"
        )
        assert "kinen team check" in answer.json()["error"]["hint"]
        assert check(database, MIGRATIONS).needed == []  # it may grant it to itself again
        prepare(database)
        assert application.get("/v1/team/pull", headers=headers).status_code == 200


def test_two_schemas_of_one_database_do_not_see_each_other(
    place: Callable[[str], Place],
) -> None:
    here = place("CREATEROLE")
    second = here.url.replace(f"schema={here.schema}", f"schema={here.name}_b")
    here.roles += [f"{here.name}_b_team", f"{here.name}_b_member"]
    with Database(here.url) as one, Database(second) as two:
        prepare(one)
        prepare(two)
        tokens.create(one, "ada", [SPACE], ["read"], 1)
        assert len(tokens.tokens(one)) == 1
        assert tokens.tokens(two) == []
        with pytest.raises(Denied), two.transaction() as connection:
            connection.execute(f"SET LOCAL ROLE {here.name}_b_team")
            connection.execute(f"SELECT FROM {here.schema}.team_entry")


def test_a_schema_that_is_no_name_is_refused(ask: Any) -> None:
    answer = ask("team", "check", "postgresql://x@127.0.0.1/x?schema=a;drop")
    assert answer.code == 2
    assert answer.err.startswith("kinen: invalid schema")
