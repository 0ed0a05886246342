"""A team's database whose history is not linear: restored, recovered, or another server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kinen.postgres.connection import Database
from kinen.team.client import HttpTeam
from kinen.team.postgres import PostgresTeam
from kinen.team.sync import Report, synchronize
from team_machines import Machine, state, template
from team_service import token

if TYPE_CHECKING:
    from pathlib import Path

    from kinen.ports import Team

TABLES = ("team_space", "team_entry")


class Backup:
    """The rows of a team as they were, put back as a restore does: into new tables."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.transaction() as connection:
            self._rows = {
                table: connection.execute(f"SELECT * FROM kinen.{table}").fetchall()
                for table in TABLES
            }

    def restore(self, *, epoch: bool) -> None:
        """Without an epoch, as a copy of the files of a server: nothing but the numbers tells."""
        with self._database.transaction() as connection:
            for table, rows in self._rows.items():
                connection.execute(f"TRUNCATE kinen.{table}")
                for row in rows:
                    places = ", ".join(["%s"] * len(row))
                    connection.execute(f"INSERT INTO kinen.{table} VALUES ({places})", row)
            if epoch:
                connection.execute(
                    "CREATE OR REPLACE FUNCTION kinen.team_epoch() RETURNS text"
                    f" LANGUAGE sql AS $$ SELECT 'after {id(self)}' $$"
                )


@pytest.fixture
def people(tmp_path: Path) -> list[Machine]:
    empty = template(tmp_path)
    return [Machine(tmp_path / name, name, empty) for name in ("ada", "bob", "cem")]


def run(machine: Machine, team: Team) -> Report:
    return synchronize(machine.replica(), team, "team")


def run_all(people: list[Machine], teams: list[HttpTeam], times: int = 1) -> None:
    for who, team in [*zip(people, teams, strict=True)] * times:
        assert not run(who, team).unsent


@pytest.mark.parametrize("epoch", [True, False])
def test_after_a_restore_machines_find_what_differs_by_themselves(
    server: str, database: Database, people: list[Machine], epoch: bool
) -> None:
    space = f"restored-{epoch}"
    teams = [HttpTeam(server, space, token(database, who.name, space)) for who in people]
    ada, bob, cem = people
    for number in range(20):
        ada.observe(f"early {number}")
    run_all(people, teams)
    backup = Backup(database)
    secret = bob.observe("a word that is redacted later")
    for number in range(5):
        ada.observe(f"wombat {number}")
    run_all(people, teams, times=2)
    bob.erase(f"observation:{secret}", forget=False)
    gone = ada.refs()[0]
    ada.erase(gone, forget=True)
    run_all(people, teams)
    backup.restore(epoch=epoch)
    report = run(bob, teams[1])
    assert report.compared
    assert report.lost == 5, "colleagues' entries keep their author: their machines send them"
    assert run(ada, teams[0]).repaired >= 5
    for number in range(3):
        cem.observe(f"numbat {number}")
    run_all(people, teams, times=2)
    for who in people:
        for word, count in (("wombat", 5), ("numbat", 3), ("early", 19)):
            query = "SELECT count(*) FROM observations WHERE content LIKE ? AND forgotten_at = 0"
            assert who.db.execute(query, (f"{word}%",)).fetchone() == (count,), (who.name, word)
        assert "redacted later" not in who.everything()
    assert state(ada.shared()) == state(bob.shared()) == state(cem.shared())
    held = PostgresTeam(database, space, "x").pull(0, 1000, erased=False).versions
    assert state(held) == state(ada.shared())
    authors = {version.author for version in held if "wombat" in str(version.fields)}
    assert authors == {"ada"}
    for who, team in zip(people, teams, strict=True):
        again = run(who, team)
        assert (again.compared, again.pushed, again.pulled) == (False, 0, 0)
        team.close()


def test_entries_of_an_older_server_are_compared_too(
    database: Database, people: list[Machine]
) -> None:
    team = PostgresTeam(database, "older", "ada", "kinen_team")
    ada = people[0]
    for number in range(3):
        ada.observe(f"old {number}")
    run(ada, team)
    with database.transaction() as connection:
        connection.execute("UPDATE kinen.team_entry SET print = '' WHERE space = 'older'")
    with ada.replica()._step() as state_:
        state_.epoch = "another"
    report = run(ada, team)
    assert report.compared
    assert (report.pushed, report.pulled, report.lost) == (0, 0, 0)


def test_the_epoch_is_that_of_the_tables(database: Database, postgres_url: str) -> None:
    from kinen.team.schema import prepare

    with Database(postgres_url) as other:
        prepare(other)
        first = PostgresTeam(database, "x", "ada").pull(0, 1, erased=False)
        again = PostgresTeam(database, "x", "ada", "kinen_team").pull(0, 1, erased=False)
        elsewhere = PostgresTeam(other, "x", "ada").pull(0, 1, erased=False)
    assert first.epoch == again.epoch != elsewhere.epoch
    assert first.epoch
