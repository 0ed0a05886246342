"""Many searches through one daemon: its memory and its open files stay where they were."""

from __future__ import annotations

import os
import socket
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from kinen.ipc import client

if TYPE_CHECKING:
    from daemon.conftest import Running

LONG = bool(os.environ.get("KINEN_STRESS"))
SEARCHES = 20_000 if LONG else 200
WORDS = ("kettle", "teapot", "samovar", "boiler", "leaves", "harbour", "lantern", "copper")
GROWTH = 40
"""Megabytes that it may grow by: caches and the allocator's leftovers, not a leak per search."""
SIGN = 120.0

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="there is no /proc")


class Use(NamedTuple):
    """What a process has at a moment."""

    megabytes: float
    descriptors: int
    threads: int


def use(pid: int) -> Use:
    process = Path(f"/proc/{pid}")
    pages = int((process / "statm").read_text().split()[1])
    return Use(
        pages * os.sysconf("SC_PAGE_SIZE") / 1e6,
        len(os.listdir(process / "fd")),
        len(os.listdir(process / "task")),
    )


def test_many_searches_leave_memory_and_descriptors_as_they_were(
    daemon: Running, space: Path, kinen: Any
) -> None:
    for number in range(40):
        text = " ".join(WORDS[number % 5 : number % 5 + 4])
        (space / f"note-{number}.md").write_text(f"# Note {number}\n\nAbout {text}, {number}.\n")
    assert kinen("index").code == 0
    pid = daemon.start()
    daemon.settled(space)
    began = time.monotonic()
    first = use(pid)
    for number in range(SEARCHES):
        words = f"{WORDS[number % len(WORDS)]} {WORDS[number * 7 % len(WORDS)]} {number}"
        answer = client.ask(
            str(daemon.home),
            "POST /v1/search",
            {"query": words, "limit": 5},
            space=str(space),
            sign=SIGN,
            wait=SIGN,
        )
        assert answer is not None and answer.code == 200, answer and answer.body
        if number == SEARCHES // 10:
            first = use(pid)
    last = use(pid)
    print(f"{SEARCHES} searches in {time.monotonic() - began:.1f} s: {first} -> {last}")
    assert last.megabytes - first.megabytes < GROWTH
    assert last.descriptors <= first.descriptors + 8
    assert last.threads <= first.threads + 40  # a pool has its limit
    assert daemon.state()["pid"] == pid


@pytest.mark.parametrize("cut", [0, 10, 25, 30, 60, 90])
def test_an_answer_counts_however_it_is_cut_into_pieces(cut: int) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-Kinen-Code: 0\r\n\r\n"
    whole = b"HTTP/1.1 100 Continue\r\n\r\n" + head + b"tea\n"
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as door:
        door.bind(f"{folder}/{client.SOCKET}")
        door.listen()

        def serve() -> None:
            connection, _ = door.accept()
            with connection:
                connection.recv(65_536)
                for piece in (whole[:cut], whole[cut:]):
                    connection.sendall(piece)

        thread = threading.Thread(target=serve)
        thread.start()
        answer = client.ask(folder, "POST /v1/search", {"query": "tea"}, sign=SIGN, wait=SIGN)
        thread.join()
    assert answer is not None
    assert (answer.code, answer.body) == (200, b"tea\n")
