"""Writing an observation never waits for a search of the same space, nor a search for it."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from daemon.served import application, client, serving, unix_door
from kinen import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Ran

OBSERVATION = {"kind": "message", "content": "the kettle was descaled"}


@pytest.fixture(autouse=True)
def tea(space: Path, monkeypatch: pytest.MonkeyPatch, kinen: Callable[..., Ran]) -> None:
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
    (space / "tea.md").write_text("# Tea\n\nThe kettle is on.\n")
    assert kinen("log", "the kettle was bought").code == 0
    assert kinen("index").code == 0


def database(space: Path, name: str) -> Path:
    with Memory.open(space) as memory:
        return Path(memory.space.data).resolve() / name


@contextmanager
def held(space: Path, name: str) -> Iterator[None]:
    """A database that nobody else can use, not even to read."""
    db = sqlite3.connect(database(space, name), isolation_level=None)
    try:
        db.execute("PRAGMA locking_mode=EXCLUSIVE")
        db.execute("BEGIN EXCLUSIVE")
        yield
    finally:
        db.close()


@contextmanager
def writer_of(space: Path, name: str) -> Iterator[None]:
    """A database that others can read but not write."""
    db = sqlite3.connect(database(space, name), isolation_level=None)
    try:
        db.execute("BEGIN IMMEDIATE")
        yield
    finally:
        db.close()


@contextmanager
def server(space: Path) -> Iterator[Callable[[str, dict[str, Any]], Any]]:
    door, path = unix_door()
    with serving(application(default=str(space)), door):

        def post(where: str, body: dict[str, Any]) -> Any:
            with client(path) as item:
                return item.post(f"/v1/{where}", json=body, timeout=120)

        yield post


def wait_until_opened_twice(path: Path) -> None:
    """Until the server has a database open that this test holds: then its request is under way."""
    folder = Path("/proc/self/fd")
    while folder.exists() and sum(path in links(item) for item in folder.iterdir()) < 2:
        time.sleep(0.01)


def links(descriptor: Path) -> list[Path]:
    try:
        return [descriptor.readlink()]
    except OSError:  # closed since
        return []


def test_an_observation_is_kept_while_a_search_of_its_space_waits(space: Path) -> None:
    with (
        server(space) as post,
        ThreadPoolExecutor() as pool,
        held(space, "index.db"),
    ):
        search = pool.submit(post, "search", {"query": "kettle"})
        wait_until_opened_twice(database(space, "index.db"))
        response = post("observations", OBSERVATION)
        assert response.status_code == 200
        assert not search.done()


def test_a_search_is_answered_while_an_observation_of_its_space_waits(space: Path) -> None:
    with (
        server(space) as post,
        ThreadPoolExecutor() as pool,
        writer_of(space, "journal.db"),
    ):
        write = pool.submit(post, "observations", OBSERVATION)
        wait_until_opened_twice(database(space, "journal.db"))
        response = post("search", {"query": "kettle"})
        assert response.status_code == 200
        assert response.json()["results"]
        assert not write.done()
    assert write.result().status_code == 200


def test_a_search_answers_from_the_index_while_something_else_writes_to_it(space: Path) -> None:
    with writer_of(space, "index.db"), server(space) as post:
        assert post("observations", OBSERVATION).status_code == 200
        response = post("search", {"query": "kettle"})
        assert response.status_code == 200
        assert "note:tea.md" in response.text
        assert "still being indexed" in " ".join(response.json()["notes"])


def calls(space: Path, *words: str) -> subprocess.Popen[str]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    command = [sys.executable, "-m", "kinen", "mcp", *words]
    return subprocess.Popen(command, cwd=space, text=True, bufsize=1, **pipes)


@pytest.mark.parametrize("words", [(), ("--space", "space")])
def test_a_tool_that_observes_answers_before_a_search_that_waits(
    space: Path, words: tuple[str, ...]
) -> None:
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    search = {"name": "kinen_search", "arguments": {"query": "kettle"}}
    observe = {"name": "kinen_observe", "arguments": {"content": "the kettle was descaled"}}
    messages = (
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": search},
        {"id": 3, "method": "tools/call", "params": observe},
    )
    with held(space, "index.db"), calls(space, *words) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            for message in messages:
                process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            answers = []
            while not answers or answers[-1].get("id") not in (2, 3):
                answers.append(json.loads(process.stdout.readline()))
            assert answers[-1]["id"] == 3
            assert not answers[-1]["result"].get("isError")
        finally:
            process.kill()
