"""A real standby of the team's database: the server reads it, and it takes over."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import conninfo

import postgres_server
from kinen.http.team_mirror import Mirrors
from kinen.postgres.connection import Database
from kinen.team.merge import redact
from kinen.team.postgres import PostgresTeam
from kinen.team.schema import prepare
from kinen.team.sync import synchronize
from kinen.verbs.requests import call_of
from kinen.verbs.search import Search
from team_machines import Machine, state, template
from team_service import free_port, observation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kinen.memory import Memory

SECONDS = 60


class Standby:
    """A streaming copy of the whole server of the tests, made by pg_basebackup."""

    def __init__(self, server: str, url: str, folder: Path) -> None:
        self._folder = folder
        self._data = folder / "data"
        self.port = free_port()
        self._identity: dict[str, Any] = {}
        if os.getuid() == 0:  # PostgreSQL refuses root
            shutil.chown(folder, postgres_server.SCRATCH_USER)
            self._identity = {"user": postgres_server.SCRATCH_USER, "extra_groups": []}
        with psycopg.connect(server) as connection:
            places = dict(connection.execute("SELECT name, setting FROM pg_config").fetchall())
        self._programs = Path(places["BINDIR"])
        self._libraries = places["LIBDIR"]
        if not (self._programs / "pg_basebackup").exists():
            pytest.skip(f"no pg_basebackup in {self._programs}")
        done = self._run("pg_basebackup", "-R", "-c", "fast", "-D", self._data, "-d", server)
        if done.returncode:
            pytest.skip(f"no copy of the server: {done.stderr.strip()[-200:]}")
        own = {"port": self.port, "host": "127.0.0.1"}
        self.server = conninfo.make_conninfo(server, **own)
        parts = conninfo.conninfo_to_dict(url)
        user = f"{parts['user']}:{parts['password']}"
        self.url = f"postgresql://{user}@127.0.0.1:{self.port}/{parts['dbname']}"
        self.start()

    def _run(self, program: str, *words: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self._programs / program, *words],
            cwd=self._folder,
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": self._libraries},
            **self._identity,
        )

    def start(self) -> None:
        options = f"-p {self.port} -h 127.0.0.1 -k '' -c max_connections=200"
        words = ["-D", self._data, "-o", options, "-l", self._folder / "log", "-w", "start"]
        done = self._run("pg_ctl", *words)
        assert done.returncode == 0, done.stdout + done.stderr

    def cut(self) -> None:
        """Stream from nobody any more."""
        (self._data / "postgresql.auto.conf").write_text("")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", self._data, "-m", "immediate", "stop")

    def execute(self, query: str) -> Any:
        with psycopg.connect(self.server, autocommit=True) as connection:
            return (connection.execute(query).fetchone() or (None,))[0]

    def until_replayed(self, server: str) -> None:
        with psycopg.connect(server, autocommit=True) as connection:
            place = (connection.execute("SELECT pg_current_wal_lsn()").fetchone() or ("",))[0]
        end = time.monotonic() + SECONDS
        while not self.execute(f"SELECT pg_last_wal_replay_lsn() >= '{place}'"):
            assert time.monotonic() < end
            time.sleep(0.05)


@pytest.fixture
def standby(postgres_server_url: str, postgres_url: str) -> Iterator[Standby]:
    with Database(postgres_url) as database:
        prepare(database)
    folder = Path("/tmp") / f"kinen-standby-{os.getpid()}"  # short, and open to its user
    folder.mkdir()
    standby = None
    try:
        standby = Standby(postgres_server_url, postgres_url, folder)
        yield standby
    finally:
        if standby:
            standby.stop()
        shutil.rmtree(folder)


def test_searches_read_a_standby_and_never_show_less_than_the_database(
    standby: Standby, postgres_server_url: str, postgres_url: str, tmp_path: Path
) -> None:
    def look(memory: Memory) -> list[str]:
        found = call_of(Search, {"query": "kettle"}, memory).answer(memory).data
        return sorted({*re.findall(r"kettle (\d)", json.dumps(found))})

    reads = Database(standby.url, patience=2)
    with Database(postgres_url) as database, reads:
        team = PostgresTeam(database, "shop", "ada")
        team.push([observation(f"o{n}", f"the kettle {n} is hot") for n in range(3)])
        standby.until_replayed(postgres_server_url)
        mirrors = Mirrors(database, str(tmp_path / "copies"), reads)
        assert mirrors.call("shop", look) == ["0", "1", "2"]
        # what is newest, what was erased, and the rest
        assert reads.pool_stats()["requests_num"] >= 3
        epoch = team.pull(0, 1, erased=False).epoch

        def until(refs: list[str]) -> None:
            end = time.monotonic() + SECONDS
            while (shown := mirrors.call("shop", look)) != refs:
                assert time.monotonic() < end, shown
                time.sleep(0.1)

        standby.execute("SELECT pg_wal_replay_pause()")  # it lags behind
        team.push([redact(observation("o0", "the kettle 0 is hot"))])
        team.push([observation("o3", "the kettle 3 is hot")])
        until(["1", "2", "3"])
        standby.execute("SELECT pg_wal_replay_resume()")
        standby.until_replayed(postgres_server_url)
        team.push([observation("o4", "the kettle 4 is hot")])
        until(["1", "2", "3", "4"])
        standby.stop()
        team.push([observation("o5", "the kettle 5 is hot")])
        until(["1", "2", "3", "4", "5"])
        assert team.pull(0, 1, erased=False).epoch == epoch


def test_a_standby_that_takes_over_gets_back_what_it_lacks(
    standby: Standby, postgres_server_url: str, postgres_url: str, tmp_path: Path
) -> None:
    empty = template(tmp_path)
    ada, bob = (Machine(tmp_path / name, name, empty) for name in ("ada", "bob"))

    def share(url: str) -> list[Any]:
        with Database(url) as database:
            reports = []
            for who in (ada, bob, ada, bob):
                team = PostgresTeam(database, "shop", who.name, "kinen_team")
                reports.append(synchronize(who.replica(), team, "shop"))
            return reports

    for number in range(20):
        ada.observe(f"early {number}")
    share(postgres_url)
    standby.until_replayed(postgres_server_url)
    standby.stop()
    for number in range(5):
        ada.observe(f"wombat {number}")
    assert not any(report.compared for report in share(postgres_url))
    # the server is lost, with what it never sent
    standby.cut()
    standby.start()
    standby.execute("SELECT pg_promote()")
    reports = share(standby.url)
    assert reports[0].compared
    assert reports[0].repaired == 5
    with Database(standby.url) as database:
        held = PostgresTeam(database, "shop", "x").pull(0, 1000, erased=False).versions
    assert len(held) == len(state(held)) == 25


def test_an_index_is_searched_on_a_standby(
    standby: Standby, postgres_server_url: str, postgres_url: str, kinen: Any, space: Path
) -> None:
    (space / "kettle.md").write_text("# Kettle\n\nThe kettle has a lid.\n")
    kinen("init")
    assert kinen("index", "--engine", postgres_url).code == 0
    standby.until_replayed(postgres_server_url)
    for words in (("--fulltext", "kettle"), ("--space", "all", "what has a lid")):
        assert "kettle.md" in kinen("search", "--engine", standby.url, *words).out
