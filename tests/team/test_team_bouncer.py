"""A team's database behind PgBouncer, where each transaction may have another server process."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from psycopg import conninfo

from kinen.errors import KinenError
from kinen.postgres.connection import Database
from kinen.team.postgres import PostgresTeam
from kinen.team.schema import SERVER_ROLE, prepare
from team_service import free_port, observation

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
INI = """
[databases]
* = host={host} port={port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = 2
{more}
"""
TLS = "client_tls_sslmode = require\nclient_tls_cert_file = {0}/cert\nclient_tls_key_file = {0}/key"
IGNORES = "ignore_startup_parameters = options"
CERTIFICATE = (
    "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    " -addext subjectAltName=DNS:localhost -keyout key -out cert"
)


class Bouncer:
    """A PgBouncer in front of a database."""

    def __init__(self, url: str, folder: Path, more: str) -> None:
        parts = conninfo.conninfo_to_dict(url)
        self._folder = folder
        self._port = free_port()
        user = f"{parts['user']}:{parts['password']}"
        self.url = f"postgresql://{user}@localhost:{self._port}/{parts['dbname']}"
        if more == TLS:
            subprocess.run(CERTIFICATE.split(), cwd=folder, check=True, capture_output=True)
            self.url += f"?sslmode=verify-full&sslrootcert={folder}/cert"
        ini = INI.format(**parts, own=self._port, folder=folder, more=more.format(folder))
        (folder / "ini").write_text(ini)
        (folder / "users").write_text(f'"{parts["user"]}" "{parts["password"]}"\n')
        self._identity: dict[str, Any] = {}
        if os.getuid() == 0:  # it refuses root
            for path in (folder, *folder.iterdir()):
                shutil.chown(path, "nobody")
            self._identity = {"user": "nobody", "extra_groups": []}
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        with (self._folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [PROGRAM, self._folder / "ini"], stdout=log, stderr=log, **self._identity
            )
        while self.process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self._port)) == 0:
                    return self.process
            time.sleep(0.05)
        raise AssertionError((self._folder / "log").read_text())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture(params=[TLS, IGNORES], ids=["tls", "ignores settings"])
def bouncer(postgres_url: str, request: Any) -> Iterator[Bouncer]:
    if not os.path.exists(PROGRAM):
        pytest.skip("no pgbouncer: apt-get install pgbouncer")
    folder = Path("/tmp") / f"kinen-bouncer-{os.getpid()}"
    folder.mkdir()
    running = Bouncer(postgres_url, folder, request.param)
    yield running
    running.kill()
    shutil.rmtree(folder)


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
