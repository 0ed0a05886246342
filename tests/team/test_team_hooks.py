"""Who only uses agents shares with the team all the same: hooks see to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from kinen.postgres.connection import Database
from kinen.team.postgres import PostgresTeam
from team_service import Person, token, until

if TYPE_CHECKING:
    from pathlib import Path

SPACE = "hooks"
NINE_HOURS_AHEAD = """
import time
seconds, nanoseconds = time.time, time.time_ns
time.time = lambda: seconds() + 9 * 3600
time.time_ns = lambda: nanoseconds() + 9 * 3600 * 10**9
"""
DECISION = "We decided to use SKIP LOCKED for the payment queue."


@pytest.fixture
def people(kinen: Any, tmp_path: Path, server: str, database: Database) -> list[Person]:
    return [
        Person(kinen, tmp_path, name, server, token(database, name, SPACE), SPACE)
        for name in ("ada", "bob")
    ]


def test_a_decision_of_a_colleague_is_told_at_the_next_start_without_any_command(
    people: list[Person], database: Database
) -> None:
    ada, bob = people
    team = PostgresTeam(database, SPACE, "x")

    def held(noun: str) -> list[str]:
        return [item.id for item in team.pull(0, 1000, erased=False).versions if item.noun == noun]

    bob.session(
        "b1", "tidy the shelves of the shop", "We decided to sort the shelves by size. Done."
    )
    until(lambda: len(held("summary")) == 1)
    ada.session("a1", "choose how payments are queued", f"{DECISION} It is in place.")
    until(lambda: len(held("summary")) == 2)
    bob.event("SessionStart", "b2", source="startup")
    until(
        lambda: "SKIP LOCKED" in bob.run("list", "observations").out,
        lambda: bob.run("list", "summaries"),
    )
    told = bob.event("SessionStart", "b3", source="startup")
    assert "SKIP LOCKED" in told
    assert "by ada" in told
    last = told.find("## Last session")
    assert last > 0, told
    assert "shelves" in told[last:], told
    assert told.index("shelves", last) < told.index("SKIP LOCKED", last), "one's own comes first"
    status = json.loads(bob.run("team", "status", "--json").out)
    assert status["last_success"]
    with database.transaction() as connection:
        audit = connection.execute(
            "SELECT count(*) FROM kinen.team_audit WHERE space = %s AND entries = 0"
            " AND action IN ('pull', 'me')",
            (SPACE,),
        ).fetchone()
    assert audit == (0,), "an empty pull is not written down"


def test_a_colleague_at_work_is_named_once(people: list[Person]) -> None:
    ada, bob = people
    ada.event("SessionStart", "w1", source="startup")
    ada.event("UserPromptSubmit", "w1", prompt="count the teapots of the shop")
    ada.run("sync")
    bob.run("sync")
    told = json.loads(bob.event("SessionStart", "w2", source="startup"))
    lines = told["hookSpecificOutput"]["additionalContext"].splitlines()
    (line,) = [line for line in lines if "teapots" in line]
    assert "at work" in line
    assert line.count("by ada") == 1


def test_a_clock_that_is_ahead_does_not_put_a_decision_first(
    kinen: Any, tmp_path: Path, server: str, database: Database
) -> None:
    space = "clocks"
    people = {
        name: Person(kinen, tmp_path, name, server, token(database, name, space), space)
        for name in ("ada", "bob", "cem")
    }

    (tmp_path / "sitecustomize.py").write_text(NINE_HOURS_AHEAD)

    def ahead(*words: str, cwd: Path, stdin: str, **env: str) -> Any:
        line = [sys.executable, "-m", "kinen", *words]
        done = subprocess.run(
            line,
            cwd=cwd,
            env={**os.environ, **env, "PYTHONPATH": str(tmp_path)},
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        return SimpleNamespace(code=done.returncode, out=done.stdout, err=done.stderr)

    def summaries() -> int:
        page = PostgresTeam(database, space, "x").pull(0, 1000, erased=False)
        return sum(version.noun == "summary" for version in page.versions)

    people["bob"]._kinen = ahead
    for count, (name, colour) in enumerate((("bob", "teal"), ("cem", "crimson")), 1):
        people[name].session(f"{name}1", "colour the button", f"We decided that it is {colour}.")
        until(lambda count=count: summaries() == count)
        assert people["ada"].run("sync").code == 0
    told = people["ada"].event("SessionStart", "a1", source="startup")
    assert told.count("by bob") == told.count("by cem") == 1, told
    assert told.index("crimson") < told.index("teal"), told


def test_a_failure_is_told_by_status_and_doctor(people: list[Person]) -> None:
    ada, _ = people
    ada.env["KINEN_TEAM_URL"] = "http://127.0.0.1:9"
    ada.event("SessionStart", "a1", source="startup")
    until(lambda: "cannot reach" in ada.run("team", "status").out)
    found = ada.run("team", "status", "--json")
    assert json.loads(found.out)["last_success"] is None
    assert "team" in ada.run("doctor").out
