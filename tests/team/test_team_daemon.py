"""A real daemon shares by itself with a real server, and waits for one that is away."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import sqlite3
import threading
from typing import TYPE_CHECKING, Any

import pytest

from daemon.conftest import Running
from kinen.team.postgres import PostgresTeam
from team_service import SPACE, ended, free_port, observation, start, token, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kinen.postgres.connection import Database


@pytest.fixture
def hanging() -> Iterator[tuple[str, threading.Event]]:
    """The address of a server that never ends an answer, and whether somebody waits for one.

    A byte of a header every second: no timeout of a client ends it.
    """
    waiting = threading.Event()
    over = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def drip() -> None:
        connection, _ = listener.accept()
        waiting.set()
        with connection, contextlib.suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            while not over.wait(1):
                connection.sendall(b"x")

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", waiting
    finally:
        over.set()
        listener.close()


def test_the_daemon_shares_by_itself_and_catches_up_after_an_outage(
    kinen: Any,
    space: Path,
    home: Path,
    url: str,
    database: Database,
    tmp_path: Path,
    hanging: tuple[str, threading.Event],
) -> None:
    address, waiting = hanging
    port = free_port()
    settings = {
        "team.url": f"http://127.0.0.1:{port}",
        "team.space": SPACE,
        "team.share": "all",
        "team.interval": "1",
        "index.embedding_provider": "none",
    }
    kinen("init")
    for name, value in settings.items():
        kinen("config", "set", "--user", name, value)
    kinen("team", "login", stdin=token(database))
    team = PostgresTeam(database, SPACE, "bob")
    team.push([observation("of-bob", "bob descaled the kettle")])
    kinen("log", "ada filled the kettle")
    running = Running(home / "kinen")
    running.start()
    process = None
    try:
        _join(kinen, tmp_path / "hangs", address, token(database))
        until(waiting.is_set, running.log)
        # that team hangs from here to the end
        kinen("search", "kettle")  # the daemon learns of the space
        until(lambda: "cannot reach the team's server" in running.log(), running.log)
        # the hook's path works as always while the team is away
        event = {
            "session_id": "s1",
            "cwd": str(space),
            "prompt": "why is the kettle cold",
            "hook_event_name": "UserPromptSubmit",
        }
        hook = kinen("hook", "claude-code", stdin=json.dumps(event))
        assert hook.code == 0
        process, _ = start(url, "--workers", "1", port=port)
        expected = {"ada filled the kettle", "why is the kettle cold"}
        until(lambda: _stored(team) >= expected, running.log)
        until(lambda: "bob descaled the kettle" in _local(home), running.log)
    finally:
        running.end()
        if process is not None:
            process.send_signal(signal.SIGTERM)
            ended(process)
    ids = [version.id for version in team.pull(0, 1000, erased=False).versions]
    assert len(ids) == len(set(ids))


def _join(kinen: Any, folder: Path, address: str, text: str) -> None:
    """A space of its own with another team, which the daemon learns of."""
    folder.mkdir()
    kinen("init", cwd=folder)
    kinen("config", "set", "team.url", address, cwd=folder)
    kinen("trust", cwd=folder)
    kinen("team", "login", stdin=text, cwd=folder)
    kinen("search", "kettle", cwd=folder)


def _stored(team: PostgresTeam) -> set[str]:
    versions = team.pull(0, 1000, erased=False).versions
    return {str(version.fields.get("content", "")) for version in versions}


def _local(home: Path) -> set[str]:
    texts: set[str] = set()
    for path in (home / "kinen").rglob("journal.db"):
        with sqlite3.connect(path) as db:
            texts |= {text for (text,) in db.execute("SELECT content FROM observations")}
    return texts
