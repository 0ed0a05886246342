"""A PgBouncer in transaction mode, where each transaction may have another server process."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from psycopg import conninfo

from team_service import free_port

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
        self._more = more
        self._parts = parts
        user = f"{parts['user']}:{parts['password']}"
        self.url = f"postgresql://{user}@localhost:{self._port}/{parts['dbname']}"
        if more == TLS:
            subprocess.run(CERTIFICATE.split(), cwd=folder, check=True, capture_output=True)
            self.url += f"?sslmode=verify-full&sslrootcert={folder}/cert"
        self._configure()
        (folder / "users").write_text(f'"{parts["user"]}" "{parts["password"]}"\n')
        self._identity: dict[str, Any] = {}
        if os.getuid() == 0:  # it refuses root
            for path in (folder, *folder.iterdir()):
                shutil.chown(path, "nobody")
            self._identity = {"user": "nobody", "extra_groups": []}
        self.process = self.start()

    def _configure(self) -> None:
        more = self._more.format(self._folder)
        text = INI.format(**self._parts, own=self._port, folder=self._folder, more=more)
        (self._folder / "ini").write_text(text)

    def point_to(self, port: int) -> None:
        """Ask the server at another port of the same host from now on."""
        self._parts["port"] = str(port)
        self._configure()
        self.process.send_signal(signal.SIGHUP)

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


@contextlib.contextmanager
def bouncing(url: str, more: str) -> Iterator[Bouncer]:
    """A bouncer for a database, with further settings; skips the test where none is installed."""
    if not os.path.exists(PROGRAM):
        pytest.skip("no pgbouncer: apt-get install pgbouncer")
    folder = Path("/tmp") / f"kinen-bouncer-{os.getpid()}"
    folder.mkdir()
    running = Bouncer(url, folder, more)
    try:
        yield running
    finally:
        running.kill()
        shutil.rmtree(folder)
