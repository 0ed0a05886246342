"""The command line, MCP and HTTP accept the same words, and refuse them for the same reason."""

from __future__ import annotations

import contextlib
import io
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import pytest
from starlette.testclient import TestClient

from kinen.cli import main
from kinen.cli.run import option
from kinen.http.app import create_app
from kinen.http.guard import Access
from kinen.http.space import Hub
from kinen.mcp.server import create_server
from kinen.memory import Memory
from kinen.memory.pool import MemoryPool
from kinen.model.kinds import MODES
from mcp import Client

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOTE = "tea.md"


class Reply(NamedTuple):
    ok: bool
    error: str
    """The fact and the hint, without what only this surface adds."""


class Surfaces:
    """One space with its three surfaces."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / ".kinen").mkdir()
        (folder / NOTE).write_text("# Tea\n\nThe kettle is on.\n")
        with Memory.open(folder) as memory:
            memory.sync()
        self.pool = MemoryPool(lambda _: Memory.open(folder))
        app = create_app(self.pool, hub=Hub(), state=dict, access=Access("t", 7))
        headers = {"X-Kinen-Space": str(folder), "Authorization": "Bearer t"}
        self.client = TestClient(
            app, base_url="http://127.0.0.1:7", headers=headers, raise_server_exceptions=False
        )

    def cli(self, *words: str) -> Reply:
        out = io.StringIO()
        error = io.StringIO()
        code = 0
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
                code = main([*words]) or 0
        except SystemExit as ended:
            code = int(ended.code or 0)
        finally:
            os.chdir(before)
        return Reply(code < 2, error.getvalue().strip().removeprefix("kinen: "))

    def mcp(self, tool: str, **arguments: Any) -> Reply:
        async def call() -> Reply:
            with Memory.open(self.folder) as memory:
                async with Client(create_server(memory)) as client:
                    result = await client.call_tool(tool, arguments)
            text = result.content[0].text
            return Reply(not result.is_error, text if result.is_error else "")

        return anyio.run(call)

    def http(self, path: str, **body: Any) -> Reply:
        answer = self.client.post(f"/v1{path}", json=body)
        if answer.status_code == 200:
            return Reply(True, "")
        failure = answer.json()["error"]
        assert answer.status_code == 400, answer.text
        return Reply(False, f"{failure['message']} · {failure['hint']}")


@pytest.fixture(scope="module")
def surfaces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surfaces]:
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("home")
        patch.setenv("HOME", str(home))
        patch.setenv("KINEN_HOME", str(home / "kinen"))
        patch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
        surfaces = Surfaces(tmp_path_factory.mktemp("space"))
        with surfaces.client as client:
            yield surfaces
            assert client.portal
            client.portal.call(surfaces.pool.close)


@pytest.fixture(autouse=True)
def same_home(surfaces: Surfaces, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINEN_HOME", str(surfaces.folder.parent / "kinen"))
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")


def agree(replies: tuple[Reply, Reply, Reply], *, ok: bool, parameter: str = "") -> None:
    """All accept, or all refuse in the same words but for what the parameter is called."""
    assert [reply.ok for reply in replies] == [ok] * 3, replies
    if ok:
        return
    by_cli, by_mcp, by_http = (reply.error for reply in replies)
    assert by_mcp == by_http
    assert "--" not in by_mcp
    if parameter:
        assert by_mcp.startswith(f"{parameter}: ")
        by_mcp = by_mcp.replace(f"{parameter}: ", f"{option(parameter)}: ", 1)
    assert by_cli == by_mcp


DURATIONS = [
    *(("30s", True), ("90m", True), ("2h", True), ("3d", True), ("2w", True), ("2999-01-31", True)),
    *(("2020-01-01", False), ("yesterday", False), ("long", False), ("0d", False), ("-1d", False)),
    *(("2h ago", False), ("99999999d", False)),
]


@pytest.mark.parametrize(("ttl", "ok"), DURATIONS)
def test_a_pin_lasts_as_long_on_every_surface(surfaces: Surfaces, ttl: str, ok: bool) -> None:
    replies = (
        surfaces.cli("pin", NOTE, "--ttl", ttl),
        surfaces.mcp("kinen_pin", ref=NOTE, ttl=ttl),
        surfaces.http("/pins", target=NOTE, ttl=ttl),
    )
    agree(replies, ok=ok, parameter="ttl")


TIMES = [
    *(("2h", True), ("3d", True), ("1w", True), ("today", True), ("yesterday", True)),
    *(("2026-03-01", True), ("2026-03-01T12:00Z", True), ("2 h ago", True)),
    *(("soon", False), ("2026-13-01", False), ("3y", False), ("0000-01-01", False)),
]


@pytest.mark.parametrize("name", ["since", "until"])
@pytest.mark.parametrize(("time", "ok"), TIMES)
def test_a_time_means_the_same_on_every_surface(
    surfaces: Surfaces, name: str, time: str, ok: bool
) -> None:
    arguments = {"query": "kettle", name: time}
    replies = (
        surfaces.cli("search", "kettle", f"--{name}", time),
        surfaces.mcp("kinen_search", **arguments),
        surfaces.http("/search", **arguments),
    )
    agree(replies, ok=ok)


NUMBERS = [
    *(("search", "limit", 1, True), ("search", "limit", 1000, True)),
    *(
        ("search", "limit", 1001, False),
        ("search", "limit", -1, False),
        ("search", "limit", 0, True),
    ),
    *(("search", "context", 50, True), ("search", "context", 51, False)),
    ("search", "context", -2, False),
    *(("recall", "limit", 1000, True), ("recall", "limit", 1001, False)),
    *(("recall", "limit", 0, True), ("recall", "limit", -1, False)),
    ("recall", "budget", 1_000_000, True),
    *(("recall", "budget", 1_000_001, False), ("recall", "budget", -1, False)),
]


@pytest.mark.parametrize(("verb", "name", "number", "ok"), NUMBERS)
def test_a_number_has_the_same_bounds_on_every_surface(
    surfaces: Surfaces, verb: str, name: str, number: int, ok: bool
) -> None:
    arguments = {"query": "kettle", name: number}
    replies = (
        surfaces.cli(verb, "kettle", f"--{name}", str(number)),
        surfaces.mcp(f"kinen_{verb}", **arguments),
        surfaces.http(f"/{verb}", **arguments),
    )
    agree(replies, ok=ok, parameter=name)


@pytest.mark.parametrize("mode", [*MODES, "psychic"])
def test_every_surface_has_the_same_modes(surfaces: Surfaces, mode: str) -> None:
    # Without vectors a search by meaning alone is refused, which is agreement as well.
    ok = mode in MODES and mode != "semantic"
    replies = (
        surfaces.cli("search", "kettle", "--mode", mode),
        surfaces.mcp("kinen_search", query="kettle", mode=mode),
        surfaces.http("/search", query="kettle", mode=mode),
    )
    assert [reply.ok for reply in replies] == [ok] * 3, replies
    if mode == "psychic":
        for reply in replies:
            assert all(name in reply.error for name in MODES)


def test_a_recall_of_an_issue_is_the_same_everywhere(surfaces: Surfaces) -> None:
    (surfaces.folder / ".beads").mkdir(exist_ok=True)
    issue = '{"id": "tea-a1b2", "title": "The kettle leaks"}\n'
    (surfaces.folder / ".beads" / "issues.jsonl").write_text(issue)
    assert surfaces.http("/recall", issue="tea-a1b2").ok  # an unknown one is a 404 of HTTP
    for name, ok in (("tea-a1b2", True), ("tea-zzzz", False)):
        replies = (
            surfaces.cli("recall", "--issue", name),
            surfaces.mcp("kinen_recall", issue=name),
            surfaces.mcp("kinen_context", issue=name),
        )
        agree(replies, ok=ok)


GOLDFISH = [
    ({"search": "kettle", "days": 2}, True),
    ({"search": "kettle", "from": "2026-03-01", "to": "today"}, True),
    ({"search": "kettle", "workspace": "current", "minSimilarity": 0.2}, True),
    ({"search": "kettle", "symbols": ["boil"], "semantic": False}, True),
    ({"search": "kettle", "repo": "shop", "agent": "ada", "user": "mira"}, True),
    ({"search": "kettle", "semantic": True}, False),
    ({"search": "kettle", "minSimilarity": 2}, False),
    ({"search": "kettle", "days": -1}, False),
]


@pytest.mark.parametrize(("words", "ok"), GOLDFISH)
def test_recall_takes_the_parameters_of_goldfish(
    surfaces: Surfaces, words: dict[str, Any], ok: bool
) -> None:
    options = [text for name, value in words.items() for text in cli_words(name, value)]
    replies = (
        surfaces.cli("recall", *options),
        surfaces.mcp("kinen_recall", **words),
        surfaces.http("/recall", **words),
    )
    assert [reply.ok for reply in replies] == [ok] * 3, replies


def cli_words(name: str, value: Any) -> list[str]:
    """A parameter of Goldfish on a command line."""
    if name == "workspace":
        return []
    if isinstance(value, bool):
        return [f"--{name}"] if value else []
    names = {"minSimilarity": "min-similarity", "symbols": "symbol"}
    texts = value if isinstance(value, list) else [value]
    return [word for text in texts for word in (f"--{names.get(name, name)}", str(text))]
