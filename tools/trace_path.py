"""Counts what a path through kinen passes: functions, modules and changes of module.

    tools/trace_path.py [PATH ...] [--source DIR] [--json] [--list]

Each path runs in a fresh process with its own home and space, without model and daemon. Counted are
the functions of kinen that are called (not the bodies of modules and classes, what makes a named
tuple, nor comprehensions), the modules they are in, and how often two calls in a row are in
different modules.
MCP and HTTP answer the same search once before it is counted, then five times, of which the one
with the fewest changes counts: a server also works in the background. `--source` takes the `src`
folder of another checkout, to compare with.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import urllib.request
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

PATHS = {
    "cold-search": "`kinen search kettle`, the index up to date",
    "hook-event": "one PostToolUse of Claude Code to the journal",
    "markdown-file": "`kinen index` with one new markdown file",
    "commit": "`kinen search kettle` after one new commit",
    "mcp-search": "kinen_search over standard input and output",
    "http-search": "POST /v1/search on a port of loopback",
}
SOURCE = Path(__file__).parents[1] / "src"
FUNCTION = 0x1
"""CO_OPTIMIZED: set for the code of functions, not of modules and classes."""
STANDARD = ("model/tuples", "model/late")
"""In place of parts of the standard library, which do not count either."""
SECONDS = 120
TIMES = 5
"""Searches of a server that are counted."""


class Tracer:
    """Records calls of functions of one source tree while `recording` is set."""

    def __init__(self, source: Path) -> None:
        self.recording = False
        self.functions: dict[tuple[str, str], int] = {}
        """How often each function was called, by module and name, in the order of first calls."""
        self.changes = 0
        self._last: dict[int, str] = {}
        self._root = os.path.join(os.path.realpath(source), "kinen") + os.sep
        self._names: dict[CodeType, tuple[str, str] | None] = {}

    def start(self) -> None:
        """Watch this thread and every thread that starts later."""
        threading.setprofile(self._event)
        sys.setprofile(self._event)

    def count(self, call: Callable[[], Any]) -> Any:
        """Record a call, and keep what was recorded if it is the shortest so far; what it gave."""
        shortest = (self.functions, self.changes)
        self.functions = {}
        self.changes = 0
        self.recording = True
        answer = call()
        self.recording = False
        if shortest[1] and shortest[1] <= self.changes:
            self.functions, self.changes = shortest
        return answer

    def result(self) -> dict[str, Any]:
        return {
            "functions": len(self.functions),
            "modules": len({module for module, _ in self.functions}),
            "changes": self.changes,
            "calls": [
                {"module": module, "function": name, "calls": count}
                for (module, name), count in self.functions.items()
            ],
        }

    def _event(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not self.recording:
            return
        function = self._name(frame.f_code)
        if function is None:
            return
        thread = threading.get_ident()
        if self._last.get(thread, function[0]) != function[0]:
            self.changes += 1
        self._last[thread] = function[0]
        self.functions[function] = self.functions.get(function, 0) + 1

    def _name(self, code: CodeType) -> tuple[str, str] | None:
        """The module and name of a function of ours, None for any other code."""
        if code not in self._names:
            path = os.path.realpath(code.co_filename)
            ours = path.startswith(self._root) and code.co_flags & FUNCTION
            plain = code.co_name == "<lambda>" or not code.co_name.startswith("<")
            module = path.removeprefix(self._root).removesuffix(".py")
            counts = ours and plain and module not in STANDARD
            self._names[code] = (module, code.co_qualname) if counts else None
        return self._names[code]


def trace(name: str, source: Path) -> dict[str, Any]:
    """Run one path in a fresh process; its counts."""
    with tempfile.TemporaryDirectory() as scratch:
        env = environment(Path(scratch), source)
        space = Path(scratch, "space")
        prepare(name, space, env)
        out = Path(scratch, "result.json")
        line = [sys.executable, os.path.abspath(__file__), "--child", name]
        line += ["--source", str(source), "--out", str(out)]
        done = subprocess.run(
            line, cwd=space, env=env, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        if not out.exists():
            raise SystemExit(f"{name}: {done.stdout}{done.stderr}")
        result: dict[str, Any] = json.loads(out.read_text())
        return result


def environment(scratch: Path, source: Path) -> dict[str, str]:
    """The variables of a process that knows nothing of whoever runs this."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("KINEN_")}
    env |= {"HOME": str(scratch), "KINEN_HOME": str(scratch / "home"), "NO_COLOR": "1"}
    env |= {"PYTHONPATH": str(source.resolve()), "KINEN_DAEMON_AUTO_START": "false"}
    env |= {"KINEN_INDEX_EMBEDDING_PROVIDER": "none", "GIT_CONFIG_GLOBAL": os.devnull}
    for role in ("AUTHOR", "COMMITTER"):
        env[f"GIT_{role}_NAME"] = "Mira"
        env[f"GIT_{role}_EMAIL"] = "mira@example.org"
    return env


def prepare(name: str, space: Path, env: dict[str, str]) -> None:
    """An indexed space, with what the path needs and has not seen."""
    (space / ".kinen").mkdir(parents=True)
    (space / "tea.md").write_text("# Tea\n\nThe kettle whistles.\n")
    run = [sys.executable, "-m", "kinen"]
    if name == "commit":
        commit(space, env, "feat: a kettle", first=True)
    lines = [["index"], ["search", "kettle"]]
    if name == "hook-event":
        lines.append(["log", "the kettle is on", "--session", "s0"])
    for words in lines:
        subprocess.run([*run, *words], cwd=space, env=env, capture_output=True, check=True)
    if name == "markdown-file":
        (space / "pot.md").write_text("# Pot\n\nThe pot is warmed first.\n")
    elif name == "commit":
        (space / "tea.py").write_text("boil()\n")
        commit(space, env, "fix: boil the kettle")


def commit(space: Path, env: dict[str, str], message: str, *, first: bool = False) -> None:
    lines = [["init", "-q"]] if first else []
    lines += [["add", "tea.md" if first else "tea.py"], ["commit", "-qm", message]]
    for words in lines:
        subprocess.run(["git", *words], cwd=space, env=env, capture_output=True, check=True)


def child(name: str, source: Path, out: Path) -> None:
    """Run a path in this process and write its counts."""
    tracer = Tracer(source)
    if name in ("mcp-search", "http-search"):
        serve(name, tracer, out)
        return
    words = {"hook-event": ["hook", "claude-code"], "markdown-file": ["index"]}
    line = words.get(name, ["search", "kettle"])
    if name == "hook-event":
        fill_stdin(json.dumps(hook_payload()))
    from kinen.cli import main as kinen

    tracer.start()
    tracer.recording = True
    with contextlib.suppress(SystemExit):
        kinen(line)
    tracer.recording = False
    out.write_text(json.dumps(tracer.result()))


def hook_payload() -> dict[str, Any]:
    return {
        "session_id": "s1",
        "transcript_path": "/nowhere",
        "cwd": os.getcwd(),
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "make tea", "description": "tea"},
        "tool_response": {"stdout": "done", "stderr": "", "interrupted": False},
    }


def fill_stdin(text: str) -> None:
    """Have standard input give this text."""
    read, write = os.pipe()
    os.write(write, text.encode())
    os.close(write)
    os.dup2(read, 0)


def serve(name: str, tracer: Tracer, out: Path) -> None:
    """Run a server in this process and ask it twice; the second answer is counted."""
    stdin_read, stdin_write = os.pipe()
    stdout_read, stdout_write = os.pipe()
    os.dup2(stdin_read, 0)
    os.dup2(stdout_write, 1)
    ask = ask_mcp if name == "mcp-search" else ask_http
    words = ["mcp"] if name == "mcp-search" else ["serve", "--port", "0"]
    lines = os.fdopen(stdout_read, encoding="utf-8")
    sink = os.fdopen(stdin_write, "w", encoding="utf-8")

    def client() -> None:
        ask(tracer, lines, sink)
        out.write_text(json.dumps(tracer.result()))
        os._exit(0)

    from kinen.cli import main as kinen

    tracer.start()
    threading.Thread(target=client, daemon=True).start()
    kinen(words)


def ask_mcp(tracer: Tracer, lines: Any, sink: Any) -> None:
    """Two searches over standard input and output."""
    about = {"clientInfo": {"name": "trace", "version": "1"}, "capabilities": {}}
    send(sink, lines, 1, "initialize", {"protocolVersion": "2025-06-18", **about})
    print(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}), file=sink)
    call = {"name": "kinen_search", "arguments": {"query": "kettle"}}
    send(sink, lines, 2, "tools/call", call)
    for number in range(3, 3 + TIMES):
        answer = tracer.count(partial(send, sink, lines, number, "tools/call", call))
    if "kettle" not in json.dumps(answer.get("result", "")):
        raise SystemExit(f"mcp-search: {answer}")


def send(sink: Any, lines: Any, number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Send a request; the answer to it, past whatever else the server says."""
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    print(json.dumps(request), file=sink, flush=True)
    for line in lines:
        message: dict[str, Any] = json.loads(line)
        if message.get("id") == number and "method" not in message:
            return message
    raise SystemExit("mcp-search: the server ended")


def ask_http(tracer: Tracer, lines: Any, _sink: object) -> None:
    """Two searches over loopback, with the token of the home."""
    address = next(line.strip() for line in lines if line.startswith("http://"))
    token = Path(os.environ["KINEN_HOME"], "http.token").read_text().strip()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    body = json.dumps({"query": "kettle"}).encode()
    request = urllib.request.Request(f"{address}/search", body, headers)

    def search() -> bytes:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return bytes(answer.read())

    search()
    for _ in range(TIMES):
        text = tracer.count(search)
    if b"kettle" not in text:
        raise SystemExit(f"http-search: {text!r}")


def folder(text: str) -> Path:
    path = Path(text).resolve()
    if not (path / "kinen").is_dir():
        raise argparse.ArgumentTypeError(f"{text} has no package kinen")
    return path


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help=", ".join(PATHS))
    parser.add_argument("--source", type=folder, default=SOURCE, help="the src folder to trace")
    parser.add_argument("--json", action="store_true", help="counts and calls as JSON")
    parser.add_argument(
        "--list", action="store_true", help="also each function, in the order of first calls"
    )
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.source, options.out)
        return 0
    unknown = [name for name in options.paths if name not in PATHS]
    if unknown:
        parser.error(f"unknown path {unknown[0]!r}: use {', '.join(PATHS)}")
    results = {name: trace(name, options.source) for name in options.paths or PATHS}
    if options.json:
        print(json.dumps(results, indent=1))
        return 0
    print(f"{'path':<14} {'functions':>9} {'modules':>8} {'changes':>8}  what")
    for name, result in results.items():
        figures = f"{result['functions']:>9} {result['modules']:>8} {result['changes']:>8}"
        print(f"{name:<14} {figures}  {PATHS[name]}")
        if options.list:
            for call in result["calls"]:
                print(f"    {call['module']}  {call['function']}  {call['calls']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
