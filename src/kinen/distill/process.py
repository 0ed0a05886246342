"""Runs a command that may hang, flood or start others, and outlives none of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess

    Watch = Callable[[bytes], None]

MOST = 4_000_000
"""Bytes that may be answered."""
PATIENCE = 1.0
"""Seconds that a process has to end when it is asked to; then it is made to."""
PULSE = 0.02


class Failed(Exception):
    """One distiller gave nothing; the message says why in a few words."""


def run(
    command: Sequence[str],
    asked: str,
    env: Mapping[str, str],
    folder: str,
    seconds: float,
    watch: Watch | None = None,
) -> tuple[int, str, str]:
    """How a command ended and what it printed; `watch` is given its output while it runs.

    All three streams are files without a name: nothing of them can block, or stay on the disk.
    """
    import subprocess
    import tempfile

    alone: dict[str, Any] = {"start_new_session": True}
    if os.name == "nt":
        alone = {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        given.write(asked.encode("utf-8", "replace"))
        given.seek(0)
        try:
            process = subprocess.Popen(
                command, stdin=given, stdout=out, stderr=err, env=env, cwd=folder, **alone
            )
        except (OSError, ValueError) as error:
            raise Failed(f"cannot be started: {getattr(error, 'strerror', error)}") from None
        try:
            _wait(process, seconds, out, err, watch)
        finally:
            _end(process)
        return process.returncode, _text(out), _text(err)


def _wait(
    process: subprocess.Popen[bytes],
    seconds: float,
    out: IO[bytes],
    err: IO[bytes],
    watch: Watch | None,
) -> None:
    end = time.monotonic() + seconds
    over = False
    read = 0
    while not over:
        over = process.poll() is not None
        if any(os.fstat(one.fileno()).st_size > MOST for one in (out, err)):
            raise Failed(f"printed more than {MOST // 1_000_000} MB")
        if watch and hasattr(os, "pread"):
            # Not by seek and read: the process writes where the file's position is.
            block = os.pread(out.fileno(), MOST, read)
            read += len(block)
            watch(block)
        if not over and time.monotonic() > end:
            raise Failed(f"no answer within {seconds:g} s")
        time.sleep(0 if over else PULSE)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started; ask first."""
    import subprocess

    if os.name == "nt":
        if process.poll() is None:
            kill = ["taskkill", "/T", "/F", "/PID", str(process.pid)]
            subprocess.run(kill, capture_output=True, check=False)
            process.wait()
        return
    import signal

    for how in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, how)
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)


def _text(printed: IO[bytes]) -> str:
    printed.seek(0)
    return printed.read(MOST).decode("utf-8", "replace")
