"""What holds before an endpoint is reached, over real sockets: who may ask, how much, how long."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import signal
import socket
import sqlite3
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from daemon.served import TOKEN, Raw, application, client, opened, serving, tcp_door, unix_door
from kinen.http import guard
from kinen.http import server as httpserver
from kinen.http.app import create_app
from kinen.http.space import Hub
from kinen.memory import Memory
from kinen.memory.pool import MemoryPool

if TYPE_CHECKING:
    from collections.abc import Iterator


SHOWN = {"Authorization": f"Bearer {TOKEN}"}
HEALTH = b"GET /v1/health HTTP/1.1\r\nHost: kinen\r\n"
END = b"Connection: close\r\n\r\n"
HANGING = 300.0
"""Seconds that only guard against waiting forever."""


class Served:
    """A server on both transports, with the space of a folder by default."""

    def __init__(self, folder: Path) -> None:
        self.used = 0
        (folder / ".kinen").mkdir(parents=True)
        self.door, self.path = unix_door()
        self.tcp, self.port = tcp_door()
        self.pool, self.folder = MemoryPool(opened), str(folder)
        self.app = create_app(
            self.pool,
            hub=Hub(),
            state=dict,
            access=guard.Access(TOKEN, self.port),
            default=str(folder),
            used=self.use,
        )
        self.url = f"http://127.0.0.1:{self.port}/v1"

    def use(self) -> None:
        self.used += 1

    def get(self, path: str = "/health", **headers: str) -> httpx.Response:
        return httpx.get(f"{self.url}{path}", headers=headers)


@pytest.fixture
def served(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Served]:
    """The server; `@head(seconds)` has it wait so long for the head of a request."""
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
    created = Served(tmp_path / "space")
    seconds: float = getattr(request, "param", HANGING)
    limits = httpserver.Limits(tcp=256, unix=256, tcp_head=seconds, unix_head=seconds)
    with serving(created.app, created.door, created.tcp, limits=limits):
        yield created


def head(seconds: float) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("served", [seconds], indirect=True)


def fault(answer: bytes) -> tuple[int, str]:
    """The status of an answer as it came, and the code of its error."""
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["error"]["code"]


# Who


@pytest.mark.quick
def test_over_tcp_the_token_is_needed(served: Served) -> None:
    got = served.get()
    assert (got.status_code, got.headers["www-authenticate"]) == (401, "Bearer")
    assert got.json()["error"]["code"] == "unauthorized"


@pytest.mark.parametrize("shown", ["Bearer x", f"Bearer {TOKEN}x", TOKEN, "Bearer", "Basic x"])
def test_over_tcp_a_wrong_token_is_refused(served: Served, shown: str) -> None:
    assert served.get(Authorization=shown).status_code == 401


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LocalHost", "[::1]"])
def test_over_tcp_who_shows_the_token_is_answered(served: Served, name: str) -> None:
    assert served.get(**SHOWN, Host=f"{name}:{served.port}").status_code == 200


def test_over_the_socket_no_token_is_needed(served: Served) -> None:
    with client(served.path) as over:
        assert over.get("/v1/health").status_code == 200


@pytest.mark.quick
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", "127.0.0.1.evil:{}"])
def test_a_foreign_host_is_refused(served: Served, host: str) -> None:
    got = served.get(**SHOWN, Host=host.format(served.port))
    assert (got.status_code, got.json()["error"]["code"]) == (403, "forbidden")


def test_a_request_without_a_host_is_refused(served: Served) -> None:
    data = f"Authorization: Bearer {TOKEN}\r\n\r\n".encode()
    with Raw(("127.0.0.1", served.port)) as raw:
        heard = raw.say(b"GET /v1/health HTTP/1.0\r\n", data).hear()
    assert fault(heard)[0] == 403


@pytest.mark.quick
@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:1", "x"])
def test_a_foreign_origin_is_refused(served: Served, origin: str) -> None:
    got = served.get(**SHOWN, Origin=origin)
    assert (got.status_code, got.json()["error"]["code"]) == (403, "forbidden")


def test_the_own_origin_is_not_foreign(served: Served) -> None:
    assert served.get(**SHOWN, Origin=f"http://127.0.0.1:{served.port}").status_code == 200


@pytest.mark.quick
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_of_another_site_is_refused(served: Served, site: str) -> None:
    assert served.get(**SHOWN, **{"Sec-Fetch-Site": site}).status_code == 403


@pytest.mark.quick
def test_no_page_is_ever_told_that_it_may_read(served: Served) -> None:
    request = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    for got in (
        httpx.options(f"{served.url}/search", headers=request),
        served.get(**SHOWN),
        served.get(),
    ):
        assert not [name for name in got.headers if name.startswith("access-control")]
        assert got.headers["x-content-type-options"] == "nosniff"
        assert got.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(("token", "port"), [("", 80), ("", 0), (TOKEN, 0)])
def test_without_a_token_or_a_port_nobody_is_answered_over_tcp(token: str, port: int) -> None:
    door, at = tcp_door()
    with serving(application(access=guard.Access(token, port)), door):
        host = f"127.0.0.1:{port}" if port else f"127.0.0.1:{at}"
        for value in (f"Bearer {token}".strip(), "Bearer x", ""):
            headers = {"Authorization": value, "Host": host}
            got = httpx.get(f"http://127.0.0.1:{at}/v1/health", headers=headers)
            assert got.status_code in (401, 403)


def test_a_client_that_has_hung_up_already_is_not_taken_for_the_socket() -> None:
    """Of such a connection the server does not know the other end, as of a Unix socket."""
    text: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        text.append(message)

    scope = {"type": "http", "method": "GET", "path": "/v1/health", "headers": []}
    app = application(access=guard.Access(TOKEN, 80))
    for server in (("127.0.0.1", 80), None):
        ends = {"client": None, "server": server}
        asyncio.run(app({**scope, **ends}, receive, send))
    assert [item["status"] for item in text if "status" in item] == [403, 403]


def test_a_websocket_is_refused(served: Served) -> None:
    text = (
        b"GET /v1/events HTTP/1.1\r\nHost: kinen\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    )
    with Raw(served.path, 1.0) as raw:
        raw.say(text, b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n\r\n")
        assert b" 101 " not in raw.socket.recv(4096)


# How much


def test_a_body_that_says_it_is_too_large_is_not_read(served: Served) -> None:
    for path, size in (("/search", guard.REQUEST_BYTES), ("/import", guard.IMPORT_BYTES)):
        head = f"POST /v1{path} HTTP/1.1\r\nHost: kinen\r\nContent-Length: {size + 1}\r\n\r\n"
        with Raw(served.path) as raw:
            assert fault(raw.say(head.encode()).hear()) == (413, "too_large")


def test_a_body_of_unknown_length_ends_at_the_same_limit(served: Served) -> None:
    head = b"POST /v1/search HTTP/1.1\r\nHost: kinen\r\nTransfer-Encoding: chunked\r\n\r\n"
    block = b"10000\r\n" + b"a" * 65_536 + b"\r\n"
    with Raw(served.path) as raw:
        raw.say(head)
        try:
            for _ in range(40):
                raw.say(block)
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert fault(raw.hear()) == (413, "too_large")


def test_a_bundle_of_unknown_length_ends_at_its_own_limit(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "IMPORT_BYTES", 100_000)
    head = b"POST /v1/import HTTP/1.1\r\nHost: kinen\r\nTransfer-Encoding: chunked\r\n\r\n"
    with Raw(served.path) as raw, contextlib.suppress(BrokenPipeError, ConnectionResetError):
        raw.say(head, *([b"10000\r\n" + b"a" * 65_536 + b"\r\n"] * 2))
        assert fault(raw.hear()) == (413, "too_large")


def test_a_bundle_may_be_larger_than_other_bodies(served: Served) -> None:
    item = {"kind": "message", "content": "a" * 1000, "ts": 1, "provenance": {}, "scopeIds": {}}
    message = [{**item, "id": f"o{n}", "redacted": False} for n in range(2000)]
    bundle = json.dumps({"version": "1.0", "exported_at": 1, "observations": message}).encode()
    assert len(bundle) > guard.REQUEST_BYTES
    with client(served.path) as over:
        got = over.post("/v1/import", content=bundle)
        assert got.json()["added"]["observations"] == 2000
        exported = over.get("/v1/export").content
        assert over.get("/v1/export").content.count(b'"id": "o') == 2000
    assert len(exported) > guard.REQUEST_BYTES


def test_an_answer_that_is_too_large_is_an_error_but_an_export_is_not(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    with client(served.path) as over:
        for n in range(20):
            over.post("/v1/observations", json={"content": f"{n} " + "a" * 1000})
        monkeypatch.setattr(guard, "RESPONSE_BYTES", 10_000)
        got = over.post("/v1/observations/list", json={})
        assert (got.status_code, got.json()["error"]["code"]) == (413, "too_large")
        assert over.post("/v1/observations/list", json={"limit": 5}).status_code == 200
        assert len(over.get("/v1/export").content) > 10_000


def test_a_head_that_is_too_large_is_refused_in_json(served: Served) -> None:
    with Raw(served.path) as raw:
        raw.say(HEALTH)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            raw.say(b"X: " + b"a" * 40_000 + b"\r\n")
        assert fault(raw.hear()) == (431, "head_too_large")


@pytest.mark.parametrize(
    "said",
    [
        b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
        b"GET\r\n\r\n",
        HEALTH + b"A\x00B: c\r\n\r\n",
        HEALTH + b"Content-Length: x\r\n\r\n",
        HEALTH + b"Content-Length: -1\r\n\r\n",
        HEALTH + b"Host: again\r\n\r\n",
        b"GET /v1/h\xe9alth HTTP/1.1\r\nHost: kinen\r\n\r\n",
    ],
)
def test_what_is_no_http_is_refused_in_json(served: Served, said: bytes) -> None:
    with Raw(served.path) as raw:
        assert fault(raw.say(said).hear()) == (400, "invalid")


def test_a_body_that_breaks_off_breaks_nothing(served: Served) -> None:
    head = b"POST /v1/search HTTP/1.1\r\nHost: kinen\r\nTransfer-Encoding: chunked\r\n\r\n"
    with Raw(served.path) as raw:
        raw.say(head, b"5\r\n{")
    with Raw(served.path) as raw:
        assert fault(raw.say(head, b"zz\r\n").hear())[0] == 400
    assert b" 200 " in health_response(served)


# How long


def health_response(served: Served) -> bytes:
    with Raw(served.path) as raw:
        return raw.say(HEALTH, END).hear()


@head(0.5)
def test_a_head_that_dribbles_is_cut_off_and_keeps_nobody_waiting(served: Served) -> None:
    with Raw(served.path, HANGING) as slow, Raw(served.path, HANGING) as silent:
        answered = 0
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            slow.say(b"G")
            while True:  # until it is cut off
                slow.say(b"E")
                assert b" 200 " in health_response(served)
                answered += 1
        assert answered
        assert silent.hear() == b""


@head(0.3)
def test_a_second_head_that_dribbles_is_cut_off_too(served: Served) -> None:
    with Raw(served.path, HANGING) as raw:
        assert b" 200 " in raw.say(HEALTH + b"\r\n").hear_one()
        raw.say(b"GET /v1/hea")
        assert raw.hear() == b""


@head(2.0)
def test_a_client_that_asks_again_is_not_cut_off(served: Served) -> None:
    """The clock of the first head does not run on through the requests after it."""
    for _ in range(20):
        longest_pause = 0.0
        with Raw(served.path, HANGING) as raw:
            began = last = time.monotonic()
            while last - began < 3.0:
                try:
                    assert b" 200 " in raw.say(HEALTH + b"\r\n").hear_one()
                except (OSError, IndexError):
                    break
                longest_pause = max(longest_pause, time.monotonic() - last)
                last = time.monotonic()
            else:
                return
        # On a busy machine this process may sleep for too long, which is no fault of the server.
        assert longest_pause > 0.5 or time.monotonic() - last > 0.5
    pytest.skip("this machine is too busy to ask twice in two seconds")


def test_a_body_that_dribbles_is_refused_and_keeps_nobody_waiting(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "REQUEST_SECONDS", 0.5)
    head = b"POST /v1/search HTTP/1.1\r\nHost: kinen\r\nContent-Length: 1000\r\n\r\n"
    with Raw(served.path) as slow:
        slow.say(head)
        while not select.select([slow.socket], [], [], 0.05)[0]:
            slow.say(b"a")
            assert b" 200 " in health_response(served)
        assert fault(slow.hear()) == (408, "too_slow")


def late_observations(served: Served, monkeypatch: pytest.MonkeyPatch, seconds: float) -> list[str]:
    """Which of `late` and `dropped` is stored; both got no answer in time.

    The journal is locked: `late` waits for it, and `dropped` for its turn.
    """
    with client(served.path) as over:
        assert over.post("/v1/observations", json={"content": "first"}).status_code == 200
        with Memory.open(served.folder) as memory:
            journal = Path(memory.space.data) / "journal.db"
        db = sqlite3.connect(journal, isolation_level=None)
        db.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr(guard, "RESPONSE_SECONDS", seconds)
        for name in ("late", "dropped"):
            got = over.post("/v1/observations", json={"content": f"{name} {seconds}"})
            assert (got.status_code, got.json()["error"]["code"]) == (504, "too_long")
        db.close()
        monkeypatch.setattr(guard, "RESPONSE_SECONDS", HANGING)
        assert over.post("/v1/observations", json={"content": "in time"}).status_code == 200
        stored: list[str] = []
        deadline = time.monotonic() + 10 * seconds
        while f"late {seconds}" not in stored and time.monotonic() < deadline:
            data = over.post("/v1/observations/list", json={}).json()["observations"]
            stored = [observation["content"] for observation in data]
    return [content.split()[0] for content in stored if content.endswith(f" {seconds}")]


def test_an_answer_that_takes_too_long_is_an_error_and_the_work_goes_on(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine the time can be over before the request reaches its lane: try with more.
    seconds = 0.3
    observations = late_observations(served, monkeypatch, seconds)
    while "late" not in observations and seconds < 60:
        seconds *= 3
        observations = late_observations(served, monkeypatch, seconds)
    assert observations == ["late"]


def test_two_hundred_at_once_are_all_answered(served: Served) -> None:
    together = threading.Barrier(200)

    def keep(n: int) -> bytes:
        body = json.dumps({"id": f"o{n}", "content": f"number {n}"}).encode()
        head = f"POST /v1/observations HTTP/1.1\r\nHost: kinen\r\nContent-Length: {len(body)}\r\n"
        with Raw(served.path) as raw:
            together.wait(HANGING)
            kind = b"Content-Type: application/json\r\n"
            return raw.say(head.encode(), kind, END, body).hear()[9:12]

    with ThreadPoolExecutor(200) as pool:
        assert list(pool.map(keep, range(200))) == [b"200"] * 200
    with client(served.path) as over:
        data = over.post("/v1/observations/list", json={"limit": 1000}).json()["observations"]
    assert {item["id"] for item in data} == {f"o{n}" for n in range(200)}


def test_two_hundred_silent_connections_keep_nobody_waiting(served: Served) -> None:
    silent = [Raw(served.path) for _ in range(200)]
    for item in silent[::2]:
        item.say(b"POST /v1/search HTTP/1.1\r\nHost: kinen\r\nContent-Length: 9\r\n\r\n{")
    assert b" 200 " in health_response(served)
    for item in silent:
        item.socket.close()


# The server itself


def test_asking_about_the_daemon_is_no_use_of_it(served: Served) -> None:
    with client(served.path) as over:
        for path in ("health", "status"):
            over.get(f"/v1/{path}")
        with over.stream("GET", "/v1/events") as heard:
            next(heard.iter_lines())
        assert served.used == 0
        over.get("/v1/pins")
        over.get("/v1/nothing")
        assert served.used == 2
        served.get()
        assert served.used == 2


def test_a_request_that_waits_to_be_told_to_go_on_is(served: Served) -> None:
    body = b'{"content": "a"}'
    head = b"POST /v1/observations HTTP/1.1\r\nHost: kinen\r\nExpect: 100-continue\r\n"
    more = b"Content-Type: application/json\r\nContent-Length: %d\r\n" % len(body)
    with Raw(served.path) as raw:
        raw.say(head, more, END)
        assert raw.socket.recv(4096).startswith(b"HTTP/1.1 100 ")
        assert b" 200 " in raw.say(body).hear()


@pytest.mark.skipif(sys.platform != "linux", reason="counts in /proc")
def test_nothing_wakes_the_server_while_nobody_asks() -> None:
    door, path = unix_door()
    server, ids = httpserver.make(application(), guard.failure), list[int]()

    def run() -> None:
        ids.append(threading.get_native_id())
        asyncio.run(server.serve(sockets=[door]))

    thread = threading.Thread(target=run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    with client(path) as over:
        over.get("/v1/health")

    def woken() -> int:
        with open(f"/proc/{os.getpid()}/task/{ids[0]}/status", encoding="ascii") as file:
            return int(file.read().rpartition("voluntary_ctxt_switches:")[0].split()[-2])

    end = time.monotonic() + 300
    while True:
        before = woken()
        time.sleep(1.0)
        if woken() - before <= 2:
            break
        assert time.monotonic() < end
    server.stop()
    thread.join(300)
    assert not thread.is_alive()


def test_the_server_leaves_signals_to_others_and_ends_when_told() -> None:
    door, path = unix_door()
    server = httpserver.make(application(), guard.failure)

    async def run() -> None:
        handlers = [signal.getsignal(item) for item in (signal.SIGINT, signal.SIGTERM)]
        serving_ = asyncio.create_task(server.serve(sockets=[door]))
        while not server.started:
            await asyncio.sleep(0.01)
        now = [signal.getsignal(value) for value in (signal.SIGINT, signal.SIGTERM)]
        assert now == handlers
        threading.Timer(0.05, server.stop).start()
        await asyncio.wait_for(serving_, HANGING)

    asyncio.run(run())
    with socket.socket(socket.AF_UNIX) as late, pytest.raises(ConnectionRefusedError):
        late.connect(path)


def test_a_server_that_is_told_to_end_before_it_began_never_serves() -> None:
    server, (door, path) = httpserver.make(application(), guard.failure), unix_door()
    server.stop()
    asyncio.run(asyncio.wait_for(server.serve(sockets=[door]), HANGING))
    with socket.socket(socket.AF_UNIX) as late, pytest.raises(ConnectionRefusedError):
        late.connect(path)
