"""A team's database behind PgBouncer, where each transaction may have another server process."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from bouncer import IGNORES, TLS, Bouncer, bouncing
from kinen.errors import KinenError
from kinen.postgres.connection import Database
from kinen.team.postgres import PostgresTeam
from kinen.team.schema import SERVER_ROLE, prepare
from team_service import observation

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=[TLS, IGNORES], ids=["tls", "ignores settings"])
def bouncer(postgres_url: str, request: Any) -> Iterator[Bouncer]:
    with bouncing(postgres_url, request.param) as running:
        yield running


def test_nothing_is_lost_through_pgbouncer_and_when_it_is_killed(bouncer: Bouncer) -> None:
    with Database(bouncer.url, most=6) as database:
        prepare(database)
        with database.statement() as connection:
            assert connection.execute("SHOW statement_timeout").fetchone() == ("30s",)

        def share(n: int) -> None:
            team = PostgresTeam(database, f"space {n % 3}", "ada", SERVER_ROLE)
            for _ in range(300):
                try:
                    team.push([observation(f"e{n}", f"entry {n}")])
                    page = team.pull(0, 50, erased=False)
                except KinenError:
                    time.sleep(0.1)
                    continue
                assert {int(entry.id[1:]) % 3 for entry in page.versions} == {n % 3}
                return
            raise AssertionError(n)

        with ThreadPoolExecutor(6) as pool:
            shared = [pool.submit(share, n) for n in range(60)]
            shared[20].result()
            bouncer.kill()
            bouncer.start()
            for each in shared:
                each.result()
        for n in range(3):
            team = PostgresTeam(database, f"space {n}", "ada", SERVER_ROLE)
            held = team.pull(0, 100, erased=False).versions
            assert {entry.id for entry in held} == {f"e{k}" for k in range(n, 60, 3)}
