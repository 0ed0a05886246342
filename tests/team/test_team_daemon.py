"""A real daemon shares by itself with a real server, and waits for one that is away."""

from __future__ import annotations

import json
import signal
import sqlite3
import time
from typing import TYPE_CHECKING, Any

from daemon.conftest import HANGING, Running
from kinen.team.postgres import PostgresTeam
from team_service import SPACE, ended, free_port, observation, start, token

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kinen.postgres.connection import Database


def until(holds: Callable[[], Any], explain: Callable[[], str]) -> None:
    end = time.monotonic() + HANGING
    while not holds():
        assert time.monotonic() < end, explain()
        time.sleep(0.05)


def test_the_daemon_shares_by_itself_and_catches_up_after_an_outage(
    kinen: Any,
    space: Path,
    home: Path,
    url: str,
    database: Database,
) -> None:
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


def _stored(team: PostgresTeam) -> set[str]:
    versions = team.pull(0, 1000, erased=False).versions
    return {str(version.fields.get("content", "")) for version in versions}


def _local(home: Path) -> set[str]:
    texts: set[str] = set()
    for path in (home / "kinen").rglob("journal.db"):
        with sqlite3.connect(path) as db:
            texts |= {text for (text,) in db.execute("SELECT content FROM observations")}
    return texts
