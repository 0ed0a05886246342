"""A real daemon in a process of its own, ended with the test that had it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from kinen.daemon import control

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

DEBOUNCE = 0.5
HANGING = 300.0
"""Seconds that only guard against waiting forever."""


class Running:
    """The daemon of a home."""

    def __init__(self, home: Path) -> None:
        self.home, self.env = home, dict[str, str]()
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, *options: str, prefix: tuple[str, ...] = (), **env: str) -> int:
        line = [*prefix, sys.executable, "-m", "kinen", "daemon", "run", *options]
        settings = {"KINEN_DAEMON_WATCH_DEBOUNCE_MS": str(round(DEBOUNCE * 1000))}
        self._processes.append(
            subprocess.Popen(
                line,
                env={**os.environ, **settings, **self.env, **env},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
        return int(self.state()["pid"])

    def state(self) -> dict[str, Any]:
        """What it answers about itself; on a busy machine the answer takes its time."""
        return self.until(bool)

    def space(self, root: Path) -> dict[str, Any]:
        state = control.look(str(self.home)).state
        spaces = [space for space in state.get("spaces", ()) if space["root"] == str(root)]
        return spaces[0] if spaces else {}

    def until(
        self, holds: Callable[[dict[str, Any]], bool], seconds: float = HANGING
    ) -> dict[str, Any]:
        """The state once something holds of it."""
        end = time.monotonic() + seconds
        while not holds(state := control.look(str(self.home)).state):
            assert time.monotonic() < end, json.dumps(state, indent=1) + "\n" + self.log()
            time.sleep(0.02)
        return state

    def settled(self, root: Path, seconds: float = HANGING) -> dict[str, Any]:
        """A space's state once all of it is indexed and embedded."""
        self.until(lambda _: self.space(root).get("state") == "idle", seconds)
        return self.space(root)

    def log(self) -> str:
        path = self.home / "daemon.log"
        return path.read_text() if path.exists() else ""

    def kill(self, number: int = signal.SIGKILL) -> None:
        for process in self._processes:
            process.send_signal(number)
            process.wait(HANGING)
        self._processes.clear()

    def end(self) -> None:
        control.stop(str(self.home))
        for process in self._processes:
            process.wait(HANGING)


@pytest.fixture
def daemon(home: Path) -> Iterator[Running]:
    running = Running(home / "kinen")
    yield running
    running.end()
