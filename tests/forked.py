"""Runs many command lines of kinen, each in a process of its own, with one start of Python.

A process that has loaded kinen forks for each line, so that hundreds of lines take seconds.
Standard output and standard error are pipes, or two pseudo-terminals.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import gc
import importlib
import io
import json
import os
import pkgutil
import pty
import selectors
import signal
import subprocess
import sys
import tempfile
import termios
import tty
from typing import TYPE_CHECKING, Any, NamedTuple

import kinen
import shortcuts
from kinen.embed.language import dictionary

if TYPE_CHECKING:
    from pathlib import Path

SECONDS = 240
FEW = 30
"""With at most this many lines, importing everything beforehand takes longer than it saves."""
SERVERS = tuple(f"kinen.{name}" for name in ("frameworks", "http", "lsp", "mcp", "postgres", "tui"))
"""What few commands need, and takes seconds to import."""
BIG_PAGES = {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
"""A fork copies the table of pages: with pages of two megabytes in a third of the time."""


class Ran(NamedTuple):
    """How a line ended, and the bytes that it wrote."""

    line: tuple[str, ...]
    code: int
    out: bytes
    err: bytes


def run_lines(
    lines: list[list[str]],
    cwd: Path,
    *,
    terminal: str = "",
    stdin: bytes = b"",
    **env: str,
) -> list[Ran]:
    """Run lines one after the other; `terminal` names the streams that are one (`out err`)."""
    request = {"lines": lines, "terminal": terminal.split(), "stdin": stdin.decode("latin-1")}
    done = subprocess.run(
        [sys.executable, __file__],
        input=json.dumps(request).encode(),
        capture_output=True,
        cwd=cwd,
        env={**os.environ, **BIG_PAGES, **env},
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    rows = json.loads(done.stdout)
    assert len(rows) == len(lines)
    return [
        Ran(tuple(line), code, base64.b64decode(out), base64.b64decode(err))
        for line, (code, out, err) in zip(lines, rows, strict=True)
    ]


class Starter:
    """A process that has loaded kinen and forks for each command that it is asked for.

    Starting Python and importing kinen takes most of the time of a short command.
    """

    def __init__(self) -> None:
        own = ("HOME", "USERPROFILE", "KINEN_HOME")  # of the test that needs it first
        env = {name: value for name, value in os.environ.items() if name not in own}
        self._process = subprocess.Popen(
            [sys.executable, __file__, "serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**env, **BIG_PAGES},
        )

    def run(
        self,
        line: list[str],
        cwd: str | Path,
        stdin: str | bytes | None,
        env: dict[str, str],
        umask: int | None = None,
    ) -> Ran:
        """Run a command to its end; without standard input, that is open and silent."""
        requests = self._process.stdin
        answers = self._process.stdout
        assert requests is not None
        assert answers is not None
        if isinstance(stdin, bytes):
            stdin = stdin.decode("utf-8", "surrogateescape")
        request = {"line": line, "cwd": os.fspath(cwd), "stdin": stdin, "env": env, "umask": umask}
        requests.write(json.dumps(request).encode() + b"\n")
        requests.flush()
        code, out, err = json.loads(answers.readline())
        return Ran(tuple(line), code, base64.b64decode(out), base64.b64decode(err))

    def close(self) -> None:
        self._process.communicate(timeout=60)


@functools.cache
def shared() -> Starter:
    """The one of this process."""
    return Starter()


def serve() -> None:
    """Answer the requests of a Starter until its end of the pipe is closed."""
    _load()
    for request in sys.stdin.buffer:
        data = json.loads(request)
        os.environ.clear()
        os.environ.update(data["env"])
        os.chdir(data["cwd"])
        stdin = data["stdin"]
        if stdin is not None:
            stdin = stdin.encode("utf-8", "surrogateescape")
        umask = None if data["umask"] is None else os.umask(data["umask"])
        answer = _run(data["line"], [], stdin)
        if umask is not None:
            os.umask(umask)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
        os.chdir("/")


def main() -> None:
    data: Any = json.load(sys.stdin.buffer)
    for name in BIG_PAGES:  # not for what a line starts
        os.environ.pop(name, None)
    if len(data["lines"]) > FEW:
        _load()
    stdin = data["stdin"].encode("latin-1")
    rows = [_run(line, data["terminal"], stdin) for line in data["lines"]]
    sys.stdout.write(json.dumps(rows))


def _load() -> None:
    """Import what commands need and the model, once: each child begins with them."""
    for module in pkgutil.walk_packages(kinen.__path__, "kinen."):
        if not module.name.startswith(SERVERS) and not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):  # the extra of a surface is not installed
                importlib.import_module(module.name)
    shortcuts.share()
    shortcuts.shipped("english")
    dictionary()
    gc.freeze()  # so that a child does not copy the pages of all objects


def _run(line: list[str], terminals: list[str], stdin: bytes | None) -> tuple[int, str, str]:
    ends = [_ends(name in terminals) for name in ("out", "err")]
    _silent()  # its other end stays open in this process
    pid = os.fork()
    if pid == 0:
        _child(line, [write for _, write in ends], stdin)
    for _, write in ends:
        os.close(write)
    out, err = _read([read for read, _ in ends])
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    return code, base64.b64encode(out).decode(), base64.b64encode(err).decode()


def _ends(terminal: bool) -> tuple[int, int]:
    if not terminal:
        return os.pipe()
    read, write = pty.openpty()
    tty.setraw(write, termios.TCSANOW)  # so that a newline stays what it is
    return read, write


def _child(line: list[str], streams: list[int], stdin: bytes | None) -> None:
    os.setsid()
    signal.alarm(SECONDS)
    read = _silent()[0] if stdin is None else _filled(stdin)
    for fd, target in ((read, 0), (streams[0], 1), (streams[1], 2)):
        os.dup2(fd, target)
    os.closerange(3, 64)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(_stream(0, "stdin")), "utf-8")
    for number, name in ((1, "stdout"), (2, "stderr")):
        raw = io.BufferedWriter(_stream(number, name, "w"))
        setattr(sys, name, io.TextIOWrapper(raw, "utf-8", "strict", line_buffering=True))
    sys.argv = ["kinen", *line]
    code = 70
    try:
        from kinen.cli import main

        main()
    except BaseException:
        import traceback

        traceback.print_exc()
    os._exit(code)


def _stream(number: int, name: str, mode: str = "r") -> io.FileIO:
    """A stream with the name that Python gives it."""
    file = io.FileIO(number, mode)
    file.name = f"<{name}>"
    return file


@functools.cache
def _silent() -> tuple[int, int]:
    """A pipe that nothing is written to."""
    return os.pipe()


def _filled(data: bytes) -> int:
    """A descriptor to read some bytes from: a pipe holds only little."""
    if len(data) < 60_000:
        read, write = os.pipe()
        os.write(write, data)
        os.close(write)
        return read
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        return os.dup(file.fileno())


def _read(streams: list[int]) -> list[bytes]:
    """All that comes out of the streams, until the last writer has closed them."""
    parts: dict[int, list[bytes]] = {stream: [] for stream in streams}
    with selectors.DefaultSelector() as waiting:
        for stream in streams:
            waiting.register(stream, selectors.EVENT_READ)
        while waiting.get_map():
            for key, _ in waiting.select():
                data = b""
                with contextlib.suppress(OSError):  # a terminal whose other side has closed
                    data = os.read(key.fd, 65_536)
                if data:
                    parts[key.fd].append(data)
                else:
                    waiting.unregister(key.fd)
                    os.close(key.fd)
    return [b"".join(parts[stream]) for stream in streams]


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["serve"] else main()
