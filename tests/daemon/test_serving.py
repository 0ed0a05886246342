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
        message = process.communicate(timeout=300)[1]
    assert process.returncode == 0 and "http.token" in message
    assert not control.look(str(home / "kinen")).held


def token(home: Path) -> dict[str, str]:
    path = home / "kinen" / "http.token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return {"Authorization": f"Bearer {path.read_text().strip()}"}


def test_it_answers_for_its_folder_to_whoever_shows_the_token(
    served: str, home: Path, kinen: Any
) -> None:
    assert served.startswith("http://127.0.0.1:")
    request = {"query": "kettle", "mode": "fulltext"}
    refused = httpx.post(f"{served}/search", json=request)
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "unauthorized")
    wrong = {"Authorization": token(home)["Authorization"] + "x"}
    assert httpx.post(f"{served}/search", json=request, headers=wrong).status_code == 401
    response = httpx.post(f"{served}/search", json=request, headers=token(home))
    assert response.json()["results"][0]["source"]["path"] == "tea.md"
    for name, value in (("Host", "evil.example"), ("Origin", "http://evil.example")):
        foreign = httpx.post(f"{served}/search", json=request, headers={**token(home), name: value})
        assert foreign.status_code == 403
    assert "access-control-allow-origin" not in response.headers
    stop = httpx.post(f"{served}/stop", json={})
    assert stop.status_code == 401
    alone = kinen("search", "--fulltext", "kettle", "--json")  # over the socket, without a token
    assert alone.out == response.text + "\n"


def test_what_it_knows_of_itself_is_told_to_nobody_else(served: str) -> None:
    for headers in ({"X-Kinen-Version": "0.0.1"}, {"X-Kinen-Config": "/elsewhere"}):
        response = httpx.get(f"{served}/health", headers=headers)
        assert response.status_code == 401 and "config" not in response.text


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
    with socket.socket() as used:
        used.bind(("127.0.0.1", 0))
        used.listen()
        port = str(used.getsockname()[1])
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
    data = json.loads(lines[lines.index("event: synced") + 1].removeprefix("data: "))
    assert data == {"space": noted.name, "root": str(noted)} | {
        "added": 1,
        "changed": 0,
        "removed": 0,
        "skipped": 0,
    }


def test_status_and_doctor_show_it(daemon: Running, noted: Path, kinen: Any) -> None:
    assert "has not run yet" in kinen("status").out
    pid = daemon.start()
    daemon.settled(noted)
    result = kinen("status")
    assert f"pid {pid}" in result.out and ", idle" in result.out and " MB" in result.out
    assert f"{noted.name}  idle, inotify, 20" in result.out and "nothing changed" in result.out
    output = json.loads(kinen("status", "--json").out)["daemon"]
    assert output["spaces"][0]["watch"] in ("inotify", "polling", "watchfiles")
    assert output["spaces"][0]["synced"] and output["queue"] == []
    data = json.loads(kinen("doctor", "--json").out)["findings"]
    assert {"what": "daemon", "fine": True, "said": f"running (pid {pid})", "mend": ""} in data
