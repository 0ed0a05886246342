"""Runs a command on a terminal of 80 columns, or in a shell."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = 80


def on_terminal(*words: str, cwd: Path, **env: str) -> tuple[int, str]:
    """The exit code of a command, and what it prints on a terminal."""
    leader, follower = pty.openpty()
    run = subprocess.Popen(
        [sys.executable, "-m", "kinen", *words],
        cwd=cwd,
        env={**os.environ, "COLUMNS": str(COLUMNS), "TERM": "xterm", **env},
        stdin=follower,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    text = b""
    with contextlib.suppress(OSError):  # a terminal ends with an error, not with nothing
        while part := os.read(leader, 65536):
            text += part
    os.close(leader)
    return run.wait(60), text.decode().replace("\r\n", "\n")


def in_shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of a shell that calls `kinen`."""
    function = f'kinen() {{ {sys.executable} -m kinen "$@"; }}; '
    return subprocess.run(
        ["bash", "-c", function + line], cwd=folder, capture_output=True, text=True, check=False
    )
