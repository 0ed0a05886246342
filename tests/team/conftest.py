"""A database and a server for all tests of a file."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

import postgres_server
from kinen.postgres.connection import Database
from kinen.team.schema import prepare
from team_service import client, ended, start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.testclient import TestClient


@pytest.fixture(scope="module")
def url(postgres_server_url: str) -> Iterator[str]:
    address = postgres_server.create_database(postgres_server_url)
    with Database(address) as database:
        prepare(database)
    yield address
    postgres_server.drop_database(postgres_server_url, address)


@pytest.fixture(scope="module")
def database(url: str) -> Iterator[Database]:
    with Database(url) as database:
        yield database


@pytest.fixture(scope="module")
def server(url: str) -> Iterator[str]:
    process, address = start(url, "--workers", "2")
    yield address
    process.send_signal(signal.SIGTERM)
    assert ended(process) == 0


@pytest.fixture(scope="module")
def application(database: Database, tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    """The server's application in this process."""
    return client(database, str(tmp_path_factory.mktemp("copies") / "worker"))
