"""The daemon's own record: a file with its last incidents, for `status` and the next daemon."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from typing import Any

from kinen import __version__
from kinen.privacy import entrance
from kinen.storage import private
from kinen.text import iso

FILE = "daemon.json"
INCIDENTS = 20
"""Incidents that the file holds."""
CLOCK_JUMP = 5.0
"""Seconds by which the clock may be adjusted without an incident."""


def read(home: str) -> dict[str, Any]:
    """The record of the last daemon; empty if there was none, or it cannot be read."""
    with contextlib.suppress(OSError, ValueError):
        record = json.loads(private.read(os.path.join(home, FILE)))
        if isinstance(record, dict):
            return record
    return {}


def killed(last: dict[str, Any]) -> bool:
    """Whether the daemon that wrote this was killed."""
    return bool(last.get("pid")) and not last.get("ended")


class Diary:
    """The record of one daemon."""

    def __init__(
        self,
        home: str,
        *,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        import logging  # whoever only reads the record does not pay for it

        self._log = logging.getLogger("kinen.daemon")
        self._home = home
        self._clock = clock
        self._steady = steady
        self._offset = clock() - steady()
        last = read(home)
        incidents = last.get("happened")
        self.happened: list[dict[str, str]] = []
        if isinstance(incidents, list):
            self.happened = incidents[-INCIDENTS:]
        self.about: dict[str, Any] = {
            "pid": os.getpid(),
            "version": __version__,
            "started": iso(clock()),
            "ended": None,
        }
        if killed(last):
            since = last.get("started", "an unknown time")
            self.note(f"the last daemon (pid {last['pid']}, since {since}) was killed")
        else:
            self._write()

    def note(self, what: str) -> None:
        """Add an incident that users should know of."""
        what = entrance.name(what)
        self._log.warning(what)
        self.happened.append({"at": iso(self._clock()), "what": what})
        self.happened = self.happened[-INCIDENTS:]
        self._write()

    def end(self, reason: str) -> None:
        self._log.info("stopped: %s", reason)
        self.about.update(ended=iso(self._clock()), why=reason)
        self._write()

    def check_clock(self) -> None:
        """Note that the clock was set, or that the machine slept."""
        offset = self._clock() - self._steady()
        jump = offset - self._offset
        self._offset = offset
        if abs(jump) > CLOCK_JUMP:
            direction = "forward, or the machine slept," if jump > 0 else "back"
            self.note(f"the clock went {direction} by {abs(jump):,.0f} s")

    def _write(self) -> None:
        text = json.dumps({**self.about, "happened": self.happened}, ensure_ascii=False, indent=1)
        with contextlib.suppress(OSError):  # a full disk must not end the daemon
            os.stat(self._home)  # do not create a home that was deleted
            private.write(os.path.join(self._home, FILE), text + "\n")
