"""Golden outputs: what every command prints in one small space, as text that is reviewed.

    python tools/golden.py [NAME]...            run the lines of tests/golden, write what they print
    python tools/golden.py --check [NAME]...    show what differs; exit 1 if anything does

`tests/golden/NAME.txt` is script and result in one, so a new case is a new line. `$ ...` runs with
its output in a pipe, `% ...` on a terminal of 80 columns. Below are standard output (indented),
standard error (after `!`) and the exit code. `build.txt` makes the space; every other file begins
with a copy of it. `# not run: kinen X: why` stands for a command that cannot be run here. The help
of commands is not repeated: it is in docs/reference/cli.md, which a test compares.

The clock stands still within a line and goes on by TICK from line to line. Random numbers follow
from it, so ids are the same in every run. `steady` replaces what still differs.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import difflib
import gc
import hashlib
import importlib
import itertools
import json
import os
import pkgutil
import platform
import pty
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import click

import kinen
from kinen.cli.groups import root
from kinen.verbs.catalogue import names

REPOSITORY = Path(__file__).parents[1]
GOLDEN = REPOSITORY / "tests" / "golden"
BUILD = "build"
TICK = 10
MORNING = 1_772_442_000
"""2026-03-02T09:00:00Z, when `build.txt` begins."""
NOON = MORNING + 3 * 3600
"""When every other file begins."""
HEAVY = "numpy onnxruntime rapidfuzz tokenizers yaml".split()
"""What commands import when they need it."""
SERVERS = tuple(
    f"kinen.{name}" for name in "daemon frameworks http lsp mcp postgres tui web".split()
)
WIDTH = 160
SECONDS = 120
"""A line that takes longer is ended; it only guards against waiting forever."""
LINE = re.compile(
    r"(?:cd (?P<folder>\S+) && )?(?:(?P<shell>.+?) \| )?"
    r"(?P<env>(?:\w+=\S* )*)kinen(?P<words>(?: .*)?)"
)


class Ran(NamedTuple):
    out: str
    err: str
    code: int


class Machine:
    """A home folder with nothing but git around it, a clock, and the commands that run there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.space = self.home / "parcelry"
        self.clock = 0
        for name in ("bin", "tmp", "home"):
            (folder / name).mkdir()
        git = folder / "bin" / "git"  # with the dates, which kinen keeps from git
        dates = 'GIT_AUTHOR_DATE="$NOW" GIT_COMMITTER_DATE="$NOW"'
        git.write_text(f'#!/bin/sh\n{dates} exec {shutil.which("git")} "$@"\n')
        git.chmod(0o755)
        self.shell_path = os.environ["PATH"]
        os.environ.clear()
        os.environ.update(
            HOME=str(self.home),
            USER="mira",
            LOGNAME="mira",
            PATH=str(folder / "bin"),
            TMPDIR=str(folder / "tmp"),
            TZ="CET-1",
            LC_ALL="C.UTF-8",
            TERM="xterm",
            COLUMNS="80",
            NO_COLOR="1",
            KINEN_DAEMON_AUTO_START="false",
            KINEN_PROGRESS="off",
            GIT_CONFIG_GLOBAL=os.devnull,
            GIT_CONFIG_NOSYSTEM="1",
            GIT_AUTHOR_NAME="Mira",
            GIT_AUTHOR_EMAIL="mira@example.org",
            GIT_COMMITTER_NAME="Mira",
            GIT_COMMITTER_EMAIL="mira@example.org",
            DEMO=str(Path(kinen.__file__).parent / "cli" / "demo_space"),
            SESSIONS=str(GOLDEN / "sessions"),
        )
        time.tzset()
        self._stop_clock()

    def _stop_clock(self) -> None:
        """Replace the clock and the random numbers of this process and of its forks."""
        counters: dict[int, Iterator[int]] = {}

        def random(size: int) -> bytes:
            number = next(counters.setdefault(size, itertools.count()))
            return hashlib.shake_128(f"{self.clock} {size} {number}".encode()).digest(size)

        time.time = lambda: float(self.clock)
        time.time_ns = lambda: self.clock * 10**9
        os.urandom = random

    def save(self) -> None:
        shutil.copytree(self.home, self.folder / "built", symlinks=True)

    def restore(self) -> None:
        shutil.rmtree(self.home)
        shutil.copytree(self.folder / "built", self.home, symlinks=True)

    def run(self, line: str, *, terminal: bool) -> Ran:
        """Run `[cd FOLDER &&] [SHELL |] [NAME=VALUE]... kinen WORDS`, or a line of the shell."""
        os.environ["NOW"] = f"{self.clock} +0000"
        matched = LINE.fullmatch(line)
        folder = self.space if self.space.is_dir() else self.home
        if matched is None:
            return self._shell(line, folder)
        folder /= os.path.expandvars(matched["folder"] or "")
        stdin = self._shell(matched["shell"], folder).out if matched["shell"] else ""
        env = dict(pair.split("=", 1) for pair in matched["env"].split())
        words = [os.path.expandvars(word) for word in shlex.split(matched["words"])]
        return self._fork(words, folder, env, stdin, terminal=terminal)

    def _shell(self, line: str, folder: Path) -> Ran:
        env = {**os.environ, "PATH": f"{self.folder}/bin:{self.shell_path}"}
        done = subprocess.run(
            ["sh", "-c", line], cwd=folder, env=env, capture_output=True, text=True, check=False
        )
        return Ran(done.stdout, done.stderr, done.returncode)

    def _fork(
        self, words: list[str], folder: Path, env: dict[str, str], stdin: str, *, terminal: bool
    ) -> Ran:
        """Run a command in a copy of this process, which has loaded kinen already."""
        with contextlib.ExitStack() as stack:
            files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
            files[0].write(stdin.encode())
            files[0].seek(0)
            streams = [file.fileno() for file in files]
            leader, follower = pty.openpty() if terminal else (-1, -1)
            if terminal:
                streams = [follower] * 3
            child = os.fork()
            if child == 0:
                os.environ.update(env)
                os.chdir(folder)
                _command(words, streams)
            if terminal:
                os.close(follower)
            shown = _everything(leader) if terminal else ""
            _, status = os.waitpid(child, 0)
            code = os.waitstatus_to_exitcode(status)
            if terminal:
                return Ran(shown, "", code)
            for file in files[1:]:
                file.seek(0)
            out, err = (file.read().decode(errors="backslashreplace") for file in files[1:])
            return Ran(out, err, code)


def _command(words: list[str], streams: list[int]) -> None:
    """Be the command; returns never."""
    os.setsid()
    signal.alarm(SECONDS)
    tempfile.tempdir = None
    for number, (stream, name) in enumerate(
        zip(streams, ("stdin", "stdout", "stderr"), strict=True)
    ):
        os.dup2(stream, number)
        file = os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False)
        setattr(sys, name, file)
    os.closerange(3, 64)
    sys.argv = ["kinen", *words]
    try:
        from kinen.cli import main

        main()
    finally:
        sys.stdout.flush()
        os._exit(70)


def _everything(leader: int) -> str:
    """All that is written on a terminal, until the last process has closed it."""
    parts = []
    with contextlib.suppress(OSError):  # how the end of a terminal is reported
        while part := os.read(leader, 65_536):
            parts.append(part)
    os.close(leader)
    return b"".join(parts).decode().replace("\r\n", "\n")


def steady(text: str, folder: Path) -> str:
    """A text without what differs between machines and runs."""
    for part, name in (
        (str(folder), "/scratch"),
        (os.path.dirname(sys.executable), "/venv/bin"),
        (str(REPOSITORY), "/kinen"),
        (platform.python_version(), "VERSION"),
        (sqlite3.sqlite_version, "VERSION"),
        (kinen.__version__, "VERSION"),
    ):
        text = text.replace(part, name)
    for pattern, name in (
        (r"(?:\r?\x1b\[K[^\r\n\x1b]*)+\r?\x1b\[K", ""),  # a progress bar, shown when it takes long
        (r"\(\d+\.\d s\)", "(N s)"),
        (r"\d+\.\d+ s of CPU", "N s of CPU"),
        (r'(?<="seconds": )\d+\.\d{3,}', "N"),
        (r'(?<="used": ")[\d:.TZ-]+', "TIME"),  # of a file, here and in the next line
        (r"(?<= MB  )\d{4}-\d\d-\d\d", "DATE"),
        (rf"(?<= · )(?:{'|'.join(_file_dates())})", "DATE"),
        (r"kinen-demo-\w{8}", "kinen-demo"),
        # Digests of paths:
        (r"(?<=/spaces/)[0-9a-f]{16}", "SPACE"),
        (r"(?<=/backups/)[0-9a-f]{8}", "PATH"),
    ):
        text = re.sub(pattern, name, text)
    return text


def _file_dates() -> set[str]:
    """The days of files just written, perhaps before midnight, and of the demo's document."""
    now = datetime.now(UTC)  # `time` has the clock of the golden machine
    demo = Path(kinen.__file__).parent / "cli" / "demo_space" / "resources"
    written = [datetime.fromtimestamp(path.stat().st_mtime, UTC) for path in demo.rglob("*.md")]
    return {f"{at:%Y-%m-%d}" for at in (now, now - timedelta(hours=1), *written)}


def transcript(machine: Machine, text: str) -> str:
    """The text of a golden file with what its lines print now."""
    lines = []
    for line in text.splitlines():
        if line.startswith("#") or (not line and lines and lines[-1].startswith("#")):
            lines.append(line)
        if not line.startswith(("$ ", "% ")):
            continue
        ran = machine.run(line[2:], terminal=line[0] == "%")
        machine.clock += TICK
        lines += [line, *_marked(steady(ran.out, machine.folder), "  ")]
        lines += _marked(steady(ran.err, machine.folder), "! ")
        lines += [f"exit {ran.code}", ""]
    return "\n".join(lines)


def _marked(text: str, mark: str) -> list[str]:
    rows = text.removesuffix("\n").split("\n") if text else []
    return [f"{mark}{row}".rstrip() for row in rows]


def load() -> None:
    """Import kinen once, for every fork; without its servers, which would make forks slow."""
    for module in pkgutil.walk_packages(kinen.__path__, "kinen."):
        if not module.name.startswith(SERVERS) and not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):  # an extra that is not installed
                importlib.import_module(module.name)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # threads do not survive a fork
    for name in HEAVY:
        importlib.import_module(name)
    gc.freeze()


def results(names: list[str]) -> Iterator[tuple[str, str]]:
    """Names of files of tests/golden and what they should contain; all without names."""
    load()
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="kinen-") as path:
        machine = Machine(Path(os.path.realpath(path)))
        machine.clock = MORNING
        built = transcript(machine, (GOLDEN / f"{BUILD}.txt").read_text())
        machine.save()
        if not names or BUILD in names:
            yield f"{BUILD}.txt", built
        for file in sorted(GOLDEN.glob("*.txt")):
            if file.stem != BUILD and (not names or file.stem in names):
                machine.restore()
                machine.clock = NOON
                yield file.name, transcript(machine, file.read_text())
        machine.restore()
        for name, contract in CONTRACTS.items():
            if not names or name.partition(".")[0] in names:
                yield name, steady(contract(machine), machine.folder)


def pretty(value: object, indent: str = "") -> str:
    """JSON with sorted keys; what fits in a line is in one."""
    line = json.dumps(value, sort_keys=True, ensure_ascii=False)
    inner = indent + " "
    if len(indent) + len(line) <= WIDTH or not isinstance(value, dict | list):
        return line
    if isinstance(value, list):
        rows = [pretty(item, inner) for item in value]
    else:
        rows = [f"{json.dumps(key)}: {pretty(value[key], inner)}" for key in sorted(value)]
    begin, end = "[]" if isinstance(value, list) else "{}"
    return begin + "\n" + ",\n".join(inner + row for row in rows) + "\n" + indent + end


def _openapi(_: Machine) -> str:
    """The schema of the daemon; errors and the header that operations share are only named."""
    from kinen.http.app import create_app
    from kinen.http.space import Hub
    from kinen.memory.pool import MemoryPool

    app = create_app(MemoryPool(print), hub=Hub(), state=dict)
    scope = {"type": "http", "method": "GET", "path": "/v1/openapi.json", "query_string": b""}
    parts: list[bytes] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        parts.append(message.get("body", b""))

    asyncio.run(app({**scope, "headers": [], "server": ("daemon.sock", None)}, receive, send))
    schema = json.loads(b"".join(parts))
    for operation in (each for path in schema["paths"].values() for each in path.values()):
        shared = [code for code, response in operation["responses"].items() if "$ref" in response]
        operation["errors"] = " ".join(shared)
        for code in shared:
            del operation["responses"][code]
        names = operation.get("parameters", [])
        operation["parameters"] = [
            "X-Kinen-Space" if name["name"] == "X-Kinen-Space" else name for name in names
        ]
    return f"{pretty(schema)}\n"


def _team_openapi(_: Machine) -> str:
    from kinen.http.team_schema import SCHEMA

    return f"{pretty(SCHEMA)}\n"


def _mcp(_: Machine) -> str:
    """The tools as `tools/list` shows them with `--tools all`."""
    from kinen.mcp.calls import definitions

    return f"{pretty(definitions())}\n"


def _schema(machine: Machine, name: str) -> str:
    """The tables of a database of the space."""
    (path,) = machine.home.rglob(name)
    with contextlib.closing(sqlite3.connect(path)) as db:
        rows = db.execute(
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type DESC, name"
        )
        return "".join(f"{sql};\n" for (sql,) in rows)


CONTRACTS: dict[str, Callable[[Machine], str]] = {
    "openapi.json": _openapi,
    "team-openapi.json": _team_openapi,
    "mcp.json": _mcp,
    "journal.sql": lambda machine: _schema(machine, "journal.db"),
    "index.sql": lambda machine: _schema(machine, "index.db"),
}
"""Files that do not come from a command line."""


def uncovered() -> list[str]:
    """Commands that no line runs, and that have no reason for it."""
    text = "\n".join(file.read_text() for file in GOLDEN.glob("*.txt"))
    lines = re.findall(r"^(?:[$%] (?:.* )?|# not run: )kinen (.*)$", text, re.MULTILINE)
    return [path for path in commands() if not any(re.match(rf"{path}\b", line) for line in lines)]


def commands() -> Iterator[str]:
    """The commands, without groups that only have subcommands."""

    def below(command: click.Command, path: str) -> Iterator[str]:
        if not isinstance(command, click.Group) or command.invoke_without_command:
            yield path
        for name, inner in getattr(command, "commands", {}).items():
            yield from below(inner, f"{path} {name}")

    for name in names():
        command = root.get_command(click.Context(root), name)
        assert command is not None
        yield from below(command, name)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare and print a diff")
    parser.add_argument("names", nargs="*", help="files of tests/golden without their ending")
    options = parser.parse_args()
    code = 0
    for name, text in results(options.names):
        path = GOLDEN / name
        before = path.read_text() if path.exists() else ""
        if options.check:
            diff = difflib.unified_diff(
                before.splitlines(True), text.splitlines(True), f"tests/golden/{name}", "now"
            )
            shown = "".join(diff)
            sys.stdout.write(shown)
            code |= bool(shown)
        elif text != before:
            path.write_text(text)
            print(f"tests/golden/{name}")
    for line in uncovered():
        print(f"no line in tests/golden for: kinen {line}")
        code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
