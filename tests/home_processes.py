"""Processes that kinen started and that outlive what started them."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path


def processes_of(home: str) -> list[str]:
    """Processes that have a home, as soon as there are none, or else after a while."""
    end = time.monotonic() + 300
    while True:
        results = [
            pid for pid, environ in _environments() if not environ or _lives_in(home, environ)
        ]
        if not results or time.monotonic() > end:
            return results
        time.sleep(0.05)


def kill_processes_of(home: str) -> None:
    """End every process that has a home."""
    for pid, environ in _environments():
        if _lives_in(home, environ):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)


def _lives_in(home: str, environ: bytes) -> bool:
    return f"KINEN_HOME={home}\0".encode() in environ


def _environments() -> list[tuple[str, bytes]]:
    """The other processes with their environments; a program that is being started has none yet."""
    results = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            environ = path.read_bytes()
            # A kernel thread has no environment either, and no file.
            if (environ or os.readlink(path.parent / "exe")) and path.parent.name != str(
                os.getpid()
            ):
                results.append((path.parent.name, environ))
    return results
