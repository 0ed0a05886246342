"""The server as a process: over standard input and output, and over HTTP."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import httpx2
import pytest
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from kinen.mcp import stdio
from kinen.mcp.calls import TOOLS
from kinen.memory import Memory
from mcp import Client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

MODES = ("auto", "legacy")
COMMAND = [sys.executable, "-m", "kinen", "mcp"]
HELLO: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def tea(space: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
    (space / "tea.md").write_text("# Tea\n\nThe kettle is on.\n")


def over_stdio(space: Path, mode: str, *words: str) -> Client:
    output = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], *words], cwd=space, env=dict(os.environ)
    )
    return Client(output, mode=mode)


async def ask(client: Client, tool: str, **values: Any) -> Any:
    answer = await client.call_tool(tool, values)
    assert not answer.is_error, answer.content
    return answer.structured_content


def call(id_: int, tool: str, **values: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": values, "_meta": {"progressToken": id_}}
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}


@contextmanager
def started(space: Path, *words: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*COMMAND, *words], cwd=space, text=True, **pipes, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def send(process: subprocess.Popen[str], *messages: dict[str, Any]) -> None:
    assert process.stdin
    process.stdin.writelines(json.dumps(message) + "\n" for message in messages)
    process.stdin.flush()


async def test_two_processes_at_once_serve_one_space(space: Path) -> None:
    refs: list[str] = []

    async def work(client: Client, n: int) -> None:
        refs.append((await ask(client, "kinen_observe", content=f"cup {n}"))["ref"])
        answer = await ask(client, "kinen_search", query="kettle")
        assert answer["results"][0]["source"]["ref"] == "note:tea.md"

    async with (
        over_stdio(space, "auto") as item,
        over_stdio(space.parent, "legacy", "--space", str(space)) as two,
        anyio.create_task_group() as group,
    ):
        assert (await item.list_tools()).tools == (await two.list_tools()).tools
        await ask(item, "kinen_search", query="kettle")  # indexes it
        for n in range(10):
            group.start_soon(work, (item, two)[n % 2], n)
    with Memory.open(space) as memory:
        assert {
            observation.ref for observation in memory.journal.entries("observations")[0]
        } == set(refs)


async def test_a_process_that_only_reads_writes_nothing(space: Path) -> None:
    async with over_stdio(space, "auto", "--read-only") as client:
        assert len((await client.list_tools()).tools) == 6
        assert (await client.call_tool("kinen_pin", {"ref": "tea.md"})).is_error


def test_the_server_ends_with_its_input_and_says_nothing_but_messages(space: Path) -> None:
    with started(space) as process:
        send(process, HELLO, READY, call(2, "kinen_checkpoint", text="Poured"), {"no": "message"})
        assert process.stdout
        lines = [json.loads(process.stdout.readline()) for _ in range(2)]
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0
    assert err == ""
    messages = [*lines, *map(json.loads, out.splitlines())]
    assert all(message["jsonrpc"] == "2.0" for message in messages)
    answer = next(item["result"] for item in messages if item.get("id") == 2)
    assert (space / answer["structuredContent"]["ref"].partition(":")[2]).exists()


def test_it_ends_in_the_middle_of_a_rebuild_and_leaves_no_process(space: Path) -> None:
    for n in range(600):
        (space / f"{n}.md").write_text(f"# Cup {n}\n\nTea number {n} was green.\n")
    with started(space, start_new_session=True) as process:
        send(process, HELLO, READY, call(2, "kinen_index_rebuild"))
        assert process.stdout
        while "notifications/progress" not in process.stdout.readline():
            pass
        process.communicate(timeout=300)
        assert process.returncode == 0
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    with Memory.open(space) as memory:  # nobody holds the lock, and nothing is lost
        assert memory.sync(wait=0).added
        assert memory.index.status().counts.documents == 601


async def test_no_agent_is_started_for_a_digest(
    space: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("claude", "gemini"):
        (tmp_path / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/started\necho '{{}}'\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("KINEN_DISTILL_ORDER", "claude,gemini,extract")
    for name in [item for item in os.environ if item.startswith(("CLAUDE", "AI_AGENT"))]:
        monkeypatch.delenv(name)
    async with over_stdio(space, "auto") as client:
        answer = await ask(client, "kinen_recall", query="is the kettle on", distill=True)
    assert answer["digest"]["by"] == "extract"
    assert not (tmp_path / "started").exists()


def test_a_space_that_is_not_there_is_said_at_once(space: Path, kinen: Callable[..., Any]) -> None:
    ran = kinen("mcp", "--space", "nowhere")
    assert (ran.code, ran.out) == (2, "")
    assert "no space called 'nowhere'" in ran.err


# HTTP


class Served(NamedTuple):
    url: str
    token: str
    file: Path


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server over HTTP."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "space" / ".kinen").mkdir(parents=True)
    (folder / "space" / "tea.md").write_text("# Tea\n\nThe kettle is on.\n")
    env = {**os.environ, "KINEN_HOME": str(folder), "KINEN_INDEX_EMBEDDING_PROVIDER": "none"}
    with started(folder / "space", "--http", "--port", "0", env=env) as process:
        assert process.stdout
        url, file = process.stdout.readline().strip(), folder / "mcp.token"
        yield Served(url, file.read_text().strip(), file)
        process.terminate()
        process.wait(10)


@asynccontextmanager
async def over_http(served: Served, mode: str) -> AsyncIterator[Client]:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {served.token}"}) as http:
        transport = streamable_http_client(served.url, http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


async def test_over_http_whoever_shows_the_token_is_answered(served: Served) -> None:
    for mode in MODES:
        async with over_http(served, mode) as client:
            answer = await ask(client, "kinen_search", query="kettle")
            assert answer["results"][0]["source"]["ref"] == "note:tea.md"
            output: list[float] = []

            async def progress(done: float, _total: float | None, _: str | None) -> None:
                output.append(done)  # noqa: B023

            await client.call_tool("kinen_index_rebuild", {}, progress_callback=progress)
            assert output
    if os.name != "nt":
        assert stat.S_IMODE(served.file.stat().st_mode) == 0o600


async def test_over_http_nobody_else_is(served: Served) -> None:
    url, token, _ = served
    right = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    port = url.rpartition(":")[2].partition("/")[0]
    refusals = (
        (401, {"Authorization": ""}),
        (401, {"Authorization": f"Bearer {token}x"}),
        (401, {"Authorization": f"Basic {token}"}),
        (403, {"Host": "evil.example"}),
        (403, {"Host": f"evil.example:{port}"}),
        (403, {"Host": "127.0.0.1:1"}),
        (403, {"Origin": "https://evil.example"}),
        (403, {"Origin": "http://127.0.0.1:1"}),
        (403, {"Origin": "null"}),
    )
    async with httpx2.AsyncClient() as http:
        for status, headers in refusals:
            got = await http.post(url, json=HELLO, headers={**right, **headers})
            assert (got.status_code, token in got.text) == (status, False), headers
        for path in ("/", "/docs", "/mcp"):
            got = await http.get(url.removesuffix("/mcp") + path)
            assert got.status_code == 401
        assert (await http.post(url, json=HELLO, headers=right)).status_code == 200


def test_without_a_token_of_ones_own_nothing_listens(
    space: Path, home: Path, kinen: Callable[..., Any]
) -> None:
    file = home / "kinen" / "mcp.token"
    file.parent.mkdir(exist_ok=True)
    for text, mode, message in (
        ("x" * 43, 0o644, "other users can read"),
        ("", 0o600, "no token in"),
    ):
        file.write_text(text)
        file.chmod(mode)
        ran = kinen("mcp", "--http", "--port", "0")
        assert (ran.code, ran.out) == (2, "")
        assert message in ran.err
        assert "delete it" in ran.err


def test_a_port_that_is_taken_is_said(served: Served, kinen: Callable[..., Any]) -> None:
    ran = kinen("mcp", "--http", "--port", served.url.rpartition(":")[2].partition("/")[0])
    assert (ran.code, ran.out) == (2, "")
    assert "choose another" in ran.err


# Standard input and output by lines


def exchanged(space: Path, *lines: str, words: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """What a process answers to lines, all of them, in its order."""
    with started(space, *words) as process:
        out, err = process.communicate("".join(f"{line}\n" for line in lines), timeout=300)
    assert (process.returncode, err) == (0, "")
    return [json.loads(line) for line in out.splitlines()]


def request(id_: Any, method: str, **params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})


@pytest.mark.parametrize(
    ("line", "id_", "code"),
    [
        ("nonsense", None, -32700),
        ("[" * 100_000, None, -32700),
        (f"[{request(7, 'ping')}]", None, -32600),
        ("5", None, -32600),
        ('{"jsonrpc":"1.0","id":7,"method":"ping"}', 7, -32600),
        ('{"jsonrpc":"2.0","id":7,"method":5}', 7, -32600),
        ('{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}', 7, -32600),
        ('{"jsonrpc":"2.0","id":true,"method":"ping"}', None, -32600),
        (request("x", "nope/at-all"), "x", -32601),
        (request(7, "tools/call"), 7, -32602),
        (request(7, "tools/call", name="kinen_search", arguments=[]), 7, -32602),
        (request(7, "prompts/get", name="recall", arguments={"topic": 5}), 7, -32602),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_no_request_is_answered_by_an_error_and_the_next_by_its_result(
    space: Path, line: str, id_: Any, code: int
) -> None:
    hello, wrong, right = exchanged(space, json.dumps(HELLO), line, request(9, "ping"))
    assert hello["result"]["protocolVersion"] == "2025-06-18"
    assert (wrong["id"], wrong["error"]["code"]) == (id_, code)
    assert right == {"jsonrpc": "2.0", "id": 9, "result": {}}


def test_a_line_without_end_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "LONGEST", 1000)
    text = b"x" * 5000 + b"\n" + b"short\n" + b"y" * 1500
    cut = list(stdio.lines(BytesIO(text)))
    assert [len(line) for line in cut] == [1001, 6, 1001]


@pytest.mark.parametrize(
    ("asked", "given"),
    [("2024-11-05", "2024-11-05"), ("2025-11-25", "2025-11-25"), ("1999-01-01", "2025-11-25")],
)
def test_the_version_is_the_clients_or_the_latest(space: Path, asked: str, given: str) -> None:
    params = {**HELLO["params"], "protocolVersion": asked}
    (answer,) = exchanged(space, request(1, "initialize", **params))
    assert answer["result"]["protocolVersion"] == given


def test_nothing_is_listed_before_the_handshake_but_a_ping_is_answered(space: Path) -> None:
    ping, listed = exchanged(space, request(1, "ping"), request(2, "tools/list"))
    assert ping["result"] == {}
    assert listed["error"]["code"] == -32602


MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def test_a_connection_keeps_to_the_generation_of_its_first_request(space: Path) -> None:
    first, second = exchanged(
        space, request(1, "server/discover", _meta=MODERN), json.dumps({**HELLO, "id": 2})
    )
    assert first["result"]["supportedVersions"] == ["2026-07-28"]
    assert second["error"]["code"] == -32022
    _, late = exchanged(space, json.dumps(HELLO), request(2, "tools/list", _meta=MODERN))
    assert late["error"]["code"] == -32600
    future = {**MODERN, "io.modelcontextprotocol/protocolVersion": "2030-01-01"}
    (refused,) = exchanged(space, request(1, "tools/list", _meta=future))
    assert refused["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2030-01-01"}


def test_calls_that_run_at_the_end_of_the_input_are_answered(space: Path) -> None:
    calls = [json.dumps(call(n, "kinen_observe", content=f"cup {n}")) for n in range(2, 12)]
    answers = exchanged(space, json.dumps(HELLO), *calls)
    assert sorted(answer["id"] for answer in answers) == [*range(1, 12)]
    with Memory.open(space) as memory:
        assert len(memory.journal.entries("observations")[0]) == 10


def test_tools_are_listed_as_the_option_or_the_setting_says(
    space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = (json.dumps(HELLO), request(2, "tools/list"))

    def count(*words: str) -> int:
        return len(exchanged(space, *lines, words=words)[1]["result"]["tools"])

    assert count() == 8
    assert count("--tools", "all") == len(TOOLS)
    monkeypatch.setenv("KINEN_MCP_TOOLS", "all")
    assert count() == len(TOOLS)
    assert count("--tools", "main") == 8


HEAVY = ("anyio", "asyncio", "click", "mcp", "mcp_types", "numpy", "onnxruntime", "pydantic")


def test_nothing_heavy_is_imported_before_the_first_call(space: Path) -> None:
    program = f"""
import sys
from kinen.mcp import transports
try:
    transports.serve()
finally:
    print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""
    lines = [json.dumps(HELLO), *(request(n, m) for n, m in enumerate(("tools/list", "ping"), 2))]
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=space,
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(ran.stdout.splitlines()) == 3
    assert ran.stderr.strip() == "[]"


def test_a_click_free_start_reads_the_same_options(space: Path) -> None:
    program = "import sys; from kinen.cli import main\ntry: main(['mcp', '--read-only'])\n"
    program += "finally: print('click' in sys.modules, file=sys.stderr)"
    line = f"{json.dumps(HELLO)}\n"
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=space,
        input=line,
        capture_output=True,
        text=True,
        check=True,
    )
    assert '"id":1' in ran.stdout
    assert ran.stderr.strip() == "False"


SCRIPT = (
    json.dumps(HELLO),
    request(2, "ping"),
    request(3, "tools/list"),
    request(4, "prompts/list"),
    request(5, "prompts/get", name="recall", arguments={"topic": "tea"}),
    request(6, "prompts/get", name="nope"),
    request(7, "resources/list"),
    request(8, "logging/setLevel", level="debug"),
    request(9, "nope/at-all"),
    request(10, "tools/call", name="kinen_status", arguments={}),
    request(11, "tools/call", name="kinen_search", arguments={"query": 3}),
    request(12, "tools/call", name="no_tool", arguments={}),
    request(13, "tools/call"),
)


@pytest.mark.parametrize("modern", [False, True], ids=["handshake", "modern"])
def test_both_servers_give_the_same_answers(space: Path, modern: bool) -> None:
    program = """
import anyio
from mcp.server.stdio import stdio_server
from kinen.mcp.server import create_server
from kinen.mcp.transports import by_folder

async def main():
    server = create_server(by_folder)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

anyio.run(main)
"""
    lines = list(SCRIPT)
    if modern:
        messages = [json.loads(line) for line in SCRIPT[1:]]
        lines = [
            request(item["id"], item["method"], **item["params"], _meta=MODERN) for item in messages
        ]
        lines.append(request(1, "server/discover", _meta=MODERN))
    results = []
    for command in (COMMAND, [sys.executable, "-c", program]):
        answers: dict[int, Any] = {}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(command, cwd=space, text=True, **pipes) as process:
            assert process.stdin
            assert process.stdout
            for line in lines:
                process.stdin.write(f"{line}\n")
                process.stdin.flush()
                answer = json.loads(process.stdout.readline())
                answers[answer.pop("id")] = answer
            process.stdin.close()
        results.append(answers)
    assert results[0] == results[1]
