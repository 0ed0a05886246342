"""A colleague's redaction reaches an index that waits for vectors of something else."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from embed.test_http import Service
from kinen.team.merge import redact
from kinen.team.postgres import PostgresTeam
from team_service import Person, observation, token

if TYPE_CHECKING:
    from collections.abc import Iterator
    from http.server import BaseHTTPRequestHandler
    from pathlib import Path

    from kinen.postgres.connection import Database

SPACE = "erasing"
NEEDLE = "quixotryzephyrwombat"
SECONDS = 120


class SlowService(Service):
    """An embedding service that waits before each answer for a permit, once it is `slow`."""

    def __init__(self) -> None:
        self.slow = False
        self.waiting = threading.Semaphore(0)
        self.permits = threading.Semaphore(0)
        super().__init__()

    def respond(self, handler: BaseHTTPRequestHandler, sent: bytes) -> None:
        if self.slow:
            self.waiting.release()
            self.permits.acquire(timeout=SECONDS)
        super().respond(handler, sent)


@pytest.fixture
def service() -> Iterator[SlowService]:
    service = SlowService()
    yield service
    service.slow = False
    service.permits.release(1000)
    service.close()


def test_a_redaction_does_not_wait_for_an_embedding(
    kinen: Any, tmp_path: Path, server: str, database: Database, service: SlowService
) -> None:
    team = PostgresTeam(database, SPACE, "bob")
    entry = observation("secret", f"the kettle has a {NEEDLE}")
    team.push([entry, observation("plain", "the kettle has a lid")])
    ada = Person(kinen, tmp_path, "ada", server, token(database, "ada", SPACE), SPACE)
    ada.env |= {
        "KINEN_INDEX_EMBEDDING_PROVIDER": "ollama",
        "KINEN_INDEX_EMBEDDING_ENDPOINT": service.url,
        "KINEN_INDEX_EMBEDDING_MODEL": "some-model",
    }
    home = tmp_path / "ada" / "kinen"

    def places() -> list[str]:
        files = [path for path in home.rglob("*") if path.is_file()]
        return sorted(path.name for path in files if NEEDLE.encode() in path.read_bytes())

    def shown() -> bool:
        return NEEDLE in ada.run("search", "--fulltext", "-v", "kettle").out

    assert ada.run("sync").code == 0
    assert ada.run("index").code == 0
    assert {"journal.db", "index.db"} <= {*places()}
    assert shown()

    for number in range(300):  # some strides of vectors
        (ada.root / f"note{number}.md").write_text(f"# Note {number}\n\nThe shelf {number}.\n")
    service.slow = True
    line = [sys.executable, "-m", "kinen", "index"]
    with subprocess.Popen(
        line,
        cwd=ada.root,
        env={**os.environ, **ada.env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as indexing:
        assert service.waiting.acquire(timeout=SECONDS)
        team.push([redact(entry)])
        assert ada.run("sync").code == 0
        # the embedding waits for its first answer: nothing shows the text, no index has it
        assert not shown()
        for index in home.rglob("index.db"):
            with closing(sqlite3.connect(index)) as db:
                dump = "\n".join(db.iterdump())
            assert NEEDLE not in dump
        # with one more answer its last bytes are gone, while the rest still waits
        for _ in range(2):
            service.permits.release()
            assert service.waiting.acquire(timeout=SECONDS)
        assert places() == []
        assert indexing.poll() is None
        service.slow = False
        service.permits.release(1000)
        assert indexing.wait(SECONDS) == 0, indexing.stdout and indexing.stdout.read()
    assert places() == []
    assert "the kettle has a lid" in ada.run("list", "observations").out
    assert json.loads(ada.run("status", "--json").out)
