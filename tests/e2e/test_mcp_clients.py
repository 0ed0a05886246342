"""Clients of others at `kinen mcp`: the Inspector, and the official conformance suite."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMAND = [sys.executable, "-m", "kinen", "mcp"]
BASELINE = Path(__file__).with_name("conformance.yml")


@pytest.fixture(scope="module")
def tools(clients: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment that both run in."""
    return {"PATH": clients, "HOME": str(tmp_path_factory.mktemp("tools")), "TERM": "dumb"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A space, and kinen's own folder beside it."""
    folder = tmp_path_factory.mktemp("mcp")
    (folder / "space" / ".kinen").mkdir(parents=True)
    (folder / "space" / "tea.md").write_text("# Tea\n\nThe kettle is on.\n")
    return folder


class Inspector:
    def __init__(self, env: dict[str, str], place: Path) -> None:
        self.env, self.place = env, place

    def __call__(self, *words: str) -> Any:
        settings = [f"KINEN_HOME={self.place}", "KINEN_INDEX_EMBEDDING_PROVIDER=none"]
        settings.append("KINEN_DAEMON_AUTO_START=false")
        output = [word for setting in settings for word in ("-e", setting)]
        ran = subprocess.run(
            ["mcp-inspector", "--cli", *output, *words],
            cwd=self.place / "space",
            env=self.env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)


@pytest.fixture
def inspector(tools: dict[str, str], place: Path) -> Inspector:
    return Inspector(tools, place)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_lists_and_calls_the_tools(inspector: Inspector, era: str) -> None:
    words = ("--protocol-era", era, *COMMAND)
    listed = inspector(*words, "--method", "tools/list", "--strict")["tools"]
    assert len(listed) == 8
    called = (*words, "--method", "tools/call", "--tool-name")
    results = inspector(*called, "kinen_search", "--tool-arg", "query=kettle", "limit=1")
    assert results["structuredContent"]["results"][0]["source"]["ref"] == "note:tea.md"
    args = json.dumps({"text": f"Poured in {era}", "type": "checkpoint"})
    created = inspector(*called, "kinen_remember", "--tool-args-json", args)["structuredContent"]
    file = inspector.place / "space" / created["ref"].partition(":")[2]
    assert f"Poured in {era}" in file.read_text()


# The suite knows no token: what stands between adds it, and nothing else.


class Doorman:
    """Passes requests on to a server, each with the token."""

    def __init__(self, port: int, token: str) -> None:
        self.token, self.behind = token, port
        self.door = socket.create_server(("127.0.0.1", 0))
        self.port = self.door.getsockname()[1]
        threading.Thread(target=self._welcome, daemon=True).start()

    def _welcome(self) -> None:
        while True:
            try:
                guest, _ = self.door.accept()
            except OSError:
                return
            threading.Thread(target=self._pass, args=[guest], daemon=True).start()

    def _pass(self, guest: socket.socket) -> None:
        """One request for each connection: its head is changed, all else goes as it comes."""
        head = b""
        while b"\r\n\r\n" not in head:
            more = guest.recv(65536)
            if not more:
                guest.close()
                return
            head += more
        head = re.sub(rb"(?im)^connection:.*\r\n", b"", head)
        ours, theirs = (f"127.0.0.1:{port}".encode() for port in (self.port, self.behind))
        head = re.sub(rb"(?im)^(host: *|origin: *http://)" + ours, rb"\g<1>" + theirs, head)
        first, _, rest = head.partition(b"\r\n")
        added = f"Authorization: Bearer {self.token}\r\nConnection: close\r\n".encode()
        with socket.create_connection(("127.0.0.1", self.behind)) as server:
            server.sendall(first + b"\r\n" + added + rest)
            back = threading.Thread(target=_copy, args=[guest, server], daemon=True)
            back.start()
            _copy(server, guest)
        guest.close()


def _copy(item: socket.socket, other: socket.socket) -> None:
    try:
        while data := item.recv(65536):
            other.sendall(data)
        other.shutdown(socket.SHUT_WR)
    except OSError:
        return


@pytest.fixture
def doorman(place: Path) -> Iterator[Doorman]:
    env = {**os.environ, "KINEN_HOME": str(place), "KINEN_INDEX_EMBEDDING_PROVIDER": "none"}
    with subprocess.Popen(
        [*COMMAND, "--http", "--port", "0"],
        cwd=place / "space",
        env=env,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        url = process.stdout.readline()
        port = int(url.rpartition(":")[2].partition("/")[0])
        door = Doorman(port, (place / "mcp.token").read_text().strip())
        yield door
        door.door.close()
        process.terminate()


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
def test_the_official_suite_misses_only_what_is_not_offered(
    tools: dict[str, str], doorman: Doorman, tmp_path: Path, revision: str
) -> None:
    url = f"http://127.0.0.1:{doorman.port}/mcp"
    words = ("--url", url, "--requirements", revision, "--expected-failures", str(BASELINE))
    ran = subprocess.run(
        ["conformance", "server", *words],
        cwd=tmp_path,
        env=tools,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
