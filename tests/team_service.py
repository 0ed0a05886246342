"""A team's server as a process, tokens for it, and entries to push."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from starlette.testclient import TestClient

from kinen.http.team_app import TeamServer
from kinen.http.team_metrics import Metrics
from kinen.http.team_mirror import Mirrors
from kinen.model.team import Version
from kinen.team import tokens
from kinen.team.merge import change

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kinen.postgres.connection import Database

SPACE = "github.com/acme/shop"
OTHER = "github.com/acme/payroll"


def client(database: Database, folder: str) -> TestClient:
    """A worker in this process, with its copies of spaces in a folder."""
    return TestClient(
        TeamServer(database, Metrics(), Mirrors(database, folder)).app(),
        base_url="https://team.example",
        follow_redirects=False,
    )


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def start(url: str, *words: str, port: int = 0) -> tuple[subprocess.Popen[str], str]:
    """A server process, and its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "kinen", "serve", "--team", "--port", str(port), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "DATABASE_URL": url},
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert "team server on" in line, line + process.stdout.read()
    return process, line.split()[3]


def ended(process: subprocess.Popen[str]) -> int:
    """The exit status of a server, whose workers have ended too: nobody holds its output."""
    process.communicate(timeout=30)
    return process.returncode


def observation(id_: str, text: str) -> Version:
    fields = {
        "id": id_,
        "kind": "message",
        "content": text,
        "provenance": {},
        "ts": 1,
        "scopeIds": {"agentId": "codex"},
        "redacted": False,
        "capsuleId": "",
        "branch": "",
        "head": "",
        "files": [],
        "redaction": {},
    }
    return change(Version("observation", id_, "ada", "m1"), fields, "m1")


def token(database: Database, person: str = "ada", space: str = SPACE, **options: Any) -> str:
    rights = options.get("rights", ("read", "write"))
    return tokens.create(database, person, [space], rights, options.get("days", 1))[0]


def until(holds: Callable[[], Any], explain: Callable[[], Any] = str) -> None:
    """Wait for a fact."""
    from daemon.conftest import HANGING  # benchmarks, which use this file, have another `daemon`

    end = time.monotonic() + HANGING
    while not holds():
        assert time.monotonic() < end, explain()
        time.sleep(0.1)


class Person:
    """A home and a clone, and the hooks of an agent there."""

    def __init__(
        self, kinen: Any, folder: Path, name: str, server: str, secret: str, space: str
    ) -> None:
        self._kinen = kinen
        self.root = folder / name / "shop"
        (self.root / ".kinen").mkdir(parents=True)
        (self.root / ".kinen" / "config.yml").write_text("space: {id: shop, name: shop}\n")
        self.env = {
            "KINEN_HOME": str(folder / name / "kinen"),
            "KINEN_TEAM_URL": server,
            "KINEN_TEAM_SPACE": space,
            "KINEN_TEAM_SHARE": "all",
            "KINEN_DAEMON_AUTO_START": "false",
            "KINEN_INDEX_EMBEDDING_PROVIDER": "none",
            "TEAM_TOKEN": secret,
        }

    def run(self, *words: str, stdin: str = "") -> Any:
        return self._kinen(*words, cwd=self.root, stdin=stdin, **self.env)

    def event(self, name: str, session: str, **more: Any) -> str:
        payload = {"hook_event_name": name, "session_id": session, "cwd": str(self.root), **more}
        done = self.run("hook", "claude-code", stdin=json.dumps(payload))
        assert done.code == 0
        return str(done.out)

    def session(self, id_: str, prompt: str, answer: str) -> str:
        """A whole session; what it was told at its start."""
        told = self.event("SessionStart", id_, source="startup")
        self.event("UserPromptSubmit", id_, prompt=prompt)
        (self.root / "shop.py").write_text("shelves = 2\n")
        edit = {"file_path": str(self.root / "shop.py"), "old_string": "1", "new_string": "2"}
        self.event("PostToolUse", id_, tool_name="Edit", tool_input=edit, tool_response={})
        self.event("Stop", id_, last_assistant_message=answer)
        self.event("SessionEnd", id_)
        return told
