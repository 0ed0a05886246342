"""Who cannot be locked out: floods of connections, and requests that can be read in two ways."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from daemon.served import TOKEN, Raw, application, client, serving, tcp_door, unix_door
from kinen.http.guard import Access
from kinen.http.server import Limits
from kinen.http.space import LISTENERS, Hub
from kinen.ipc import client as wire

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FLOOD = 900
HANGING = 300
"""Seconds that only guard against waiting forever."""
HEALTH = b"GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
SHOWN = b"Authorization: Bearer %s\r\n"
END = b"Connection: close\r\n\r\n"


class Serve:
    """A real `kinen serve` with its socket, port and token."""

    def __init__(self, process: subprocess.Popen[str], home: Path) -> None:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        self.process = process
        self.home = str(home)
        self.port = int(url.rpartition(":")[2].partition("/")[0])
        self.token = (home / "http.token").read_text().strip().encode()

    def over_tcp(self) -> bytes:
        with Raw(("127.0.0.1", self.port), HANGING) as raw:
            return raw.say(HEALTH % self.port, SHOWN % self.token, END).hear()[9:12]

    def over_socket(self) -> int:
        answer = wire.ask(self.home, "GET /v1/health", sign=HANGING, wait=HANGING)
        return answer.code if answer else 0

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


@contextlib.contextmanager
def serve(space: Path, home: Path, descriptors: int) -> Iterator[Serve]:
    limit = f'ulimit -n {descriptors} && exec "$@"'
    line = ["sh", "-c", limit, "sh", sys.executable, "-m", "kinen", "serve", "--port", "0"]
    process = subprocess.Popen(
        line, cwd=space, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        yield Serve(process, home / "kinen")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=HANGING)


@contextlib.contextmanager
def flood(connect: Any, count: int) -> Iterator[list[socket.socket]]:
    """Connections, `count` of them, that stay open on this side and send nothing."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < count + 200:
        pytest.skip(f"this process may open only {hard} files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count + 200), hard))
    with contextlib.ExitStack() as stack:
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        yield [stack.enter_context(contextlib.closing(connect())) for _ in range(count)]


@pytest.mark.skipif(sys.platform != "linux", reason="counts in /proc")
@pytest.mark.parametrize("descriptors", [1024, 256])
def test_both_doors_answer_while_900_idle_connections_are_open(
    space: Path, home: Path, kinen: Any, descriptors: int
) -> None:
    (space / "tea.md").write_text("# Tea\n\nThe kettle whistles.\n")
    assert kinen("index", "--no-embed").code == 0
    with serve(space, home, descriptors) as served:
        address = ("127.0.0.1", served.port)
        with flood(lambda: socket.create_connection(address, HANGING), FLOOD):
            for _ in range(5):
                assert served.over_tcp() == b"200"
                assert served.over_socket() == 200
            assert kinen("daemon", "status").code == 0
            assert served.descriptors() < descriptors * 3 // 4
        assert served.over_tcp() == b"200"


def test_the_port_answers_while_the_socket_is_flooded(space: Path, home: Path) -> None:
    with serve(space, home, 1024) as served:
        path = wire.socket_path(served.home)

        def connect() -> socket.socket:
            return Raw(path, HANGING).socket

        with flood(connect, FLOOD):
            assert served.over_tcp() == b"200"
            assert served.over_socket() == 200


def is_listening(raw: socket.socket) -> bool:
    """Whether a listener is served; others are refused, or end because somebody was quicker."""
    answer = b""
    while b"listening" not in answer and b" 503 " not in answer:
        piece = raw.recv(4096)
        if not piece:
            break
        answer += piece
    return b"listening" in answer


@pytest.mark.skipif(sys.platform != "linux", reason="counts in /proc")
def test_listeners_are_limited_and_lock_nobody_out(space: Path, home: Path) -> None:
    with serve(space, home, 1024) as served:
        request = b"GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % served.port

        def listen() -> socket.socket:
            raw = Raw(("127.0.0.1", served.port), HANGING)
            return raw.say(request, SHOWN % served.token, b"\r\n").socket

        with flood(listen, 200) as listeners:
            listening = [is_listening(listener) for listener in listeners]
            assert 0 < sum(listening) <= LISTENERS
            assert served.over_tcp() == b"200"
            assert served.over_socket() == 200


def test_the_oldest_silent_connection_makes_room() -> None:
    door, path = unix_door()
    with serving(application(), door, limits=Limits(tcp=1, unix=3)):
        silent = [Raw(path, HANGING) for _ in range(3)]
        with client(path) as over:
            assert over.get("/v1/health").status_code == 200
        assert silent[0].hear() == b""
        for item in silent[1:]:  # these two are served as ever
            head = b"GET /v1/health HTTP/1.1\r\nHost: kinen\r\n"
            assert item.say(head, END).hear().startswith(b"HTTP/1.1 200")
        for item in silent:
            item.socket.close()


def test_connections_that_are_busy_are_not_ended_for_a_new_one() -> None:
    door, path = unix_door()
    hub = Hub()
    with serving(application(hub=hub), door, limits=Limits(tcp=1, unix=2)):
        busy = [Raw(path, HANGING) for _ in range(2)]
        for item in busy:
            item.say(b"GET /v1/events HTTP/1.1\r\nHost: kinen\r\n\r\n")
            while b"listening" not in item.socket.recv(4096):
                pass
        with Raw(path, HANGING) as late:
            assert late.hear() == b""
        hub.publish("sync", {"n": 1})
        for item in busy:
            heard = b""
            while b"event: sync" not in heard:
                part = item.socket.recv(4096)
                assert part, "the stream was cut"
                heard += part
        busy.pop().socket.close()
        end = time.monotonic() + HANGING
        with client(path) as over:
            while True:  # the server notices in its own time that one has gone
                with contextlib.suppress(Exception):
                    assert over.get("/v1/health").status_code == 200
                    break
                assert time.monotonic() < end
        busy.pop().socket.close()


DOUBLED = [
    b"Host: 127.0.0.1:%(port)d\r\n",
    b"Host: evil.example\r\n",
    b"Origin: http://evil.example\r\nOrigin: http://127.0.0.1:%(port)d\r\n",
    b"Origin: http://127.0.0.1:%(port)d\r\nOrigin: http://127.0.0.1:%(port)d\r\n",
    b"Authorization: Bearer wrong\r\n",
    b"authorization: Bearer %(token)s\r\n",
    b"Sec-Fetch-Site: cross-site\r\nSec-Fetch-Site: none\r\n",
    b"Content-Length: 0\r\nContent-Length: 2\r\n",
    b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    b"Content-Type: application/json\r\nContent-Type: text/plain\r\n",
]


@pytest.mark.parametrize("doubled", DOUBLED)
@pytest.mark.parametrize("transport", ["tcp", "unix"])
def test_a_doubled_header_is_refused(doubled: bytes, transport: str) -> None:
    tcp, port = tcp_door()
    unix, path = unix_door()
    text = {b"port": port, b"token": TOKEN.encode()}
    if transport == "unix" and b"uthorization: Bearer wrong" in doubled:
        doubled = doubled * 2  # over the socket no other is shown
    where = ("127.0.0.1", port) if transport == "tcp" else path
    output = b"" if transport == "unix" and b"uthorization" not in doubled else b"yes"
    with serving(application(access=Access(TOKEN, port)), tcp, unix), Raw(where, HANGING) as raw:
        raw.say(HEALTH % port, SHOWN % TOKEN.encode() if output else b"", doubled % text, END)
        heard = raw.hear()
    assert heard.startswith(b"HTTP/1.1 400 ")
    assert b'"code": "invalid"' in heard


@pytest.mark.parametrize("first", [True, False])
def test_a_doubled_token_does_not_stop_the_daemon(space: Path, home: Path, first: bool) -> None:
    with serve(space, home, 1024) as served:
        tokens = [SHOWN % served.token, SHOWN % b"wrong"]
        head = b"POST /v1/stop HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 0\r\n"
        with Raw(("127.0.0.1", served.port), HANGING) as raw:
            raw.say(head % served.port, *(tokens if first else reversed(tokens)), END)
            assert raw.hear().startswith(b"HTTP/1.1 400 ")
        assert served.over_tcp() == b"200"
