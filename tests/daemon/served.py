"""A project, the application that serves its memory, and a server for it in a thread."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import httpx

import kinen.cli
from kinen.errors import SpaceError
from kinen.http import server as httpserver
from kinen.http.app import create_app
from kinen.http.guard import failure
from kinen.http.space import Hub
from kinen.memory import Memory
from kinen.memory.pool import MemoryPool
from kinen.space import find

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from kinen.http.guard import Guard

TOKEN = "a-token-that-nobody-guesses"
NOTE = "notes/oncall.md"


class Project:
    """A repository with notes and a history, and kinen's own folder for it."""

    def __init__(self, folder: Path) -> None:
        self.root, self.home = folder / "parcelry", folder / "home"
        shutil.copytree(Path(kinen.cli.__file__).parent / "demo_space", self.root)
        self.git("init", "-q")
        self.commit("docs: all of it")
        for name in (NOTE, "notes/onboarding.md"):
            (self.root / name).write_text((self.root / name).read_text() + "\nMore.\n")
        self.commit("docs(oncall): more")
        (folder / "elsewhere.md").write_text("# Not of this space\n")

    def git(self, *words: str) -> None:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", *who, *words], cwd=self.root, check=True, capture_output=True)

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def enter(self, patch: pytest.MonkeyPatch) -> None:
        """Have this process know its home; without vectors, which no test here is about."""
        patch.setenv("KINEN_HOME", str(self.home))
        patch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")


def opened(folder: str) -> Memory:
    if not folder or not find.locate(folder):
        raise SpaceError(f"{folder or 'nowhere'} is in no space", "run `kinen init` there")
    return Memory.open(folder)


POOLS: WeakKeyDictionary[Any, MemoryPool] = WeakKeyDictionary()
"""The memories of each application, which the daemon closes, and here the end of `serving`."""


def application(**more: Any) -> Guard:
    values: dict[str, Any] = {"hub": Hub(), "state": lambda: {"pid": 1}, **more}
    pool = MemoryPool(opened)
    app = create_app(pool, **values)
    POOLS[app] = pool
    return app


@contextmanager
def serving(
    app: Any, *doors: socket.socket, limits: httpserver.Limits | None = None
) -> Iterator[httpserver.IdleServer]:
    """A server in a thread of its own, stopped at the end; folders of Unix sockets go with it."""
    paths = [door.getsockname() for door in doors if door.family == socket.AF_UNIX]
    server = httpserver.make(app, failure, limits)

    async def serve() -> None:
        await server.serve(sockets=list(doors))
        if app in POOLS:
            await POOLS[app].close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        yield server
    finally:
        server.stop()
        thread.join(300)
        for path in paths:
            shutil.rmtree(Path(path).parent)
        assert not thread.is_alive()


def unix_door() -> tuple[socket.socket, str]:
    """A socket and its path, which may not be long."""
    path = f"{tempfile.mkdtemp()}/s"
    door = socket.socket(socket.AF_UNIX)
    door.bind(path)
    return door, path


def tcp_door() -> tuple[socket.socket, int]:
    door = socket.socket()
    door.bind(("127.0.0.1", 0))
    return door, door.getsockname()[1]


@contextmanager
def client(path: str, **headers: str) -> Iterator[httpx.Client]:
    """Asks over a Unix socket."""
    over = httpx.HTTPTransport(uds=path)
    with httpx.Client(
        transport=over, base_url="http://kinen", headers=headers, timeout=300
    ) as item:
        yield item


class Raw:
    """A connection that says exactly what it is told to."""

    def __init__(self, where: Any, seconds: float = 300.0) -> None:
        self.socket = socket.socket(socket.AF_UNIX if isinstance(where, str) else socket.AF_INET)
        self.socket.settimeout(seconds)
        self.socket.connect(where)

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def say(self, *parts: bytes) -> Raw:
        for part in parts:
            self.socket.sendall(part)
        return self

    def hear_one(self) -> bytes:
        """One answer of a connection that goes on."""
        heard = b""
        while b"\r\n\r\n" not in heard:
            part = self.socket.recv(65_536)
            if not part:
                raise ConnectionResetError(f"it ended after {heard!r}")
            heard += part
        head, _, body = heard.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split()[0])
        while len(body) < length:
            body += self.socket.recv(65_536)
        return head + b"\r\n\r\n" + body

    def hear(self) -> bytes:
        """Everything until the other side ends."""
        heard = b""
        while True:
            try:
                more = self.socket.recv(65_536)
            except ConnectionResetError:
                return heard
            if not more:
                return heard
            heard += more
