"""Starts a process that outlives the hook. Hooks import this module: it is light."""

from __future__ import annotations

import os
import time


def start(line: list[str], seconds: float = 0) -> None:
    """Start a process that has no files of this one, and wait for its end at most some seconds."""
    if os.name == "nt":
        import subprocess

        null = subprocess.DEVNULL
        apart = 0x00000208  # detached, in a group of its own
        subprocess.Popen(line, stdin=null, stdout=null, stderr=null, creationflags=apart)
        return
    # `subprocess` would cost a hook a third of its time. What the client left open is closed there.
    for file in os.listdir("/dev/fd"):
        try:
            os.set_inheritable(int(file), False)
        except OSError:
            continue  # it was that of the listing
    null = os.open(os.devnull, os.O_RDWR)
    files = [(os.POSIX_SPAWN_DUP2, null, n) for n in range(3)]
    process = os.posix_spawn(line[0], line, os.environ, file_actions=files, setsid=True)
    end = time.monotonic() + seconds
    while time.monotonic() < end and not os.waitpid(process, os.WNOHANG)[0]:
        time.sleep(0.02)
