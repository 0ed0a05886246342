"""`kinen serve`: the daemon with a port, for whoever shows the token."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from kinen import Memory
from kinen.daemon import control

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from daemon.conftest import Running


@pytest.fixture
def noted(space: Path, write: Callable[[str, str], Path]) -> Path:
    write("tea.md", "# Tea\n\nThe kettle whistles.\n")
    with Memory.open(space) as memory:
        memory.sync(embed=False)
    return space


@pytest.fixture
def served(noted: Path, home: Path) -> Iterator[str]:
    """The address of a real `kinen serve` in the space's folder."""
    line = [sys.executable, "-m", "kinen", "serve", "--port", "0"]
    process = subprocess.Popen(
        line, cwd=noted, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=300)[1]
    assert process.returncode == 0 and "http.token" in said
    assert not control.look(str(home / "kinen")).held


def token(home: Path) -> dict[str, str]:
    path = home / "kinen" / "http.token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return {"Authorization": f"Bearer {path.read_text().strip()}"}


def test_it_answers_for_its_folder_to_whoever_shows_the_token(
    served: str, home: Path, kinen: Any
) -> None:
    assert served.startswith("http://127.0.0.1:")
    asked = {"query": "kettle", "mode": "fulltext"}
    refused = httpx.post(f"{served}/search", json=asked)
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "unauthorized")
    wrong = {"Authorization": token(home)["Authorization"] + "x"}
    assert httpx.post(f"{served}/search", json=asked, headers=wrong).status_code == 401
    found = httpx.post(f"{served}/search", json=asked, headers=token(home))
    assert found.json()["results"][0]["source"]["path"] == "tea.md"
    for name, value in (("Host", "evil.example"), ("Origin", "http://evil.example")):
        foreign = httpx.post(f"{served}/search", json=asked, headers={**token(home), name: value})
        assert foreign.status_code == 403
    assert "access-control-allow-origin" not in found.headers
    stop = httpx.post(f"{served}/stop", json={})
    assert stop.status_code == 401
    alone = kinen("search", "--fulltext", "kettle", "--json")  # over the socket, without a token
    assert alone.out == found.text + "\n"


def test_what_it_knows_of_itself_is_told_to_nobody_else(served: str) -> None:
    for headers in ({"X-Kinen-Version": "0.0.1"}, {"X-Kinen-Config": "/elsewhere"}):
        told = httpx.get(f"{served}/health", headers=headers)
        assert told.status_code == 401 and "config" not in told.text


def test_a_daemon_that_runs_makes_room(daemon: Running, noted: Path, kinen: Any) -> None:
    first = daemon.start()
    line = [sys.executable, "-m", "kinen", "serve", "--port", "0"]
    process = subprocess.Popen(line, cwd=noted, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline().startswith("http://")
        state = daemon.state()
        assert state["pid"] == process.pid != first
        assert state["port"] and state["idle_seconds_left"] is None
        assert f"port {state['port']}" in kinen("daemon", "status").out
        assert kinen("daemon", "stop").code == 0
        assert process.wait(300) == 0
    finally:
        process.kill()
        process.communicate()


def test_a_port_that_is_taken_is_one_line(noted: Path, kinen: Any, home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ran = kinen("serve", "--port", port)
    assert ran.code == 2
    assert ran.err == f"kinen: --port: {port}: Address already in use · choose another\n"
    assert not control.look(str(home / "kinen")).held
    assert not os.path.exists(home / "kinen" / "daemon.sock")


def test_changes_are_told_as_they_are_indexed(
    daemon: Running, noted: Path, write: Callable[[str, str], Path]
) -> None:
    daemon.start()
    daemon.settled(noted)
    lines: list[str] = []
    ready = threading.Event()

    def listen() -> None:
        transport = httpx.HTTPTransport(uds=str(daemon.home / "daemon.sock"))
        with (
            httpx.Client(transport=transport, base_url="http://localhost", timeout=300) as client,
            client.stream("GET", "/v1/events") as stream,
        ):
            for line in stream.iter_lines():
                lines.append(line)
                ready.set()

    thread = threading.Thread(target=listen)
    thread.start()
    assert ready.wait(300)
    write("more.md", "# More\n\nmorewords\n")
    daemon.until(lambda _: "event: embedded" in lines)
    daemon.end()
    thread.join(300)
    assert not thread.is_alive()  # the stream ends with the daemon
    told = json.loads(lines[lines.index("event: synced") + 1].removeprefix("data: "))
    assert told == {"space": noted.name, "root": str(noted)} | {
        "added": 1,
        "changed": 0,
        "removed": 0,
        "skipped": 0,
    }


def test_status_and_doctor_show_it(daemon: Running, noted: Path, kinen: Any) -> None:
    assert "has not run yet" in kinen("status").out
    pid = daemon.start()
    daemon.settled(noted)
    said = kinen("status")
    assert f"pid {pid}" in said.out and ", idle" in said.out and " MB" in said.out
    assert f"{noted.name}  idle, inotify, 20" in said.out and "nothing changed" in said.out
    told = json.loads(kinen("status", "--json").out)["daemon"]
    assert told["spaces"][0]["watch"] in ("inotify", "polling", "watchfiles")
    assert told["spaces"][0]["synced"] and told["queue"] == []
    found = json.loads(kinen("doctor", "--json").out)["findings"]
    assert {"what": "daemon", "fine": True, "said": f"running (pid {pid})", "mend": ""} in found
