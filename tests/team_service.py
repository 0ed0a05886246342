"""A team's server as a process, tokens for it, and entries to push."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from starlette.testclient import TestClient

from kinen.http.team_app import TeamServer
from kinen.http.team_metrics import Metrics
from kinen.http.team_mirror import Mirrors
from kinen.model.team import Version
from kinen.team import tokens
from kinen.team.merge import change

if TYPE_CHECKING:
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
