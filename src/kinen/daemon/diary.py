"""What the daemon went through, in a file for people, for `status`, and for the next daemon."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import time
from typing import TYPE_CHECKING, Any

from kinen import __version__
from kinen.privacy import entrance
from kinen.storage import private
from kinen.text import iso

if TYPE_CHECKING:
    from collections.abc import Callable

FILE = "daemon.json"
KEPT = 20
"""Happenings that are remembered."""
JUMP = 5.0
"""Seconds by which the clock may be adjusted without a word."""
log = logging.getLogger("kinen.daemon")


def read(home: str) -> dict[str, Any]:
    """What the last daemon wrote; empty if there was none, or it cannot be read."""
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(private.read(os.path.join(home, FILE)))
        if isinstance(found, dict):
            return found
    return {}


def killed(last: dict[str, Any]) -> bool:
    """Whether the daemon that wrote this did not come to its end by itself."""
    return bool(last.get("pid")) and not last.get("ended")


class Diary:
    """The life of one daemon."""

    def __init__(
        self,
        home: str,
        *,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._home, self._clock, self._steady = home, clock, steady
        self._apart = clock() - steady()
        last = read(home)
        told = last.get("happened")
        self.happened: list[dict[str, str]] = told[-KEPT:] if isinstance(told, list) else []
        self.about: dict[str, Any] = {
            "pid": os.getpid(),
            "version": __version__,
            "started": iso(clock()),
            "ended": None,
        }
        if killed(last):
            since = last.get("started", "some time")
            self.note(f"the daemon before (pid {last['pid']}, since {since}) did not end by itself")
        else:
            self._write()

    def note(self, what: str) -> None:
        """Remember something that people should know of."""
        what = entrance.name(what)
        log.warning(what)
        self.happened = [*self.happened, {"at": iso(self._clock()), "what": what}][-KEPT:]
        self._write()

    def end(self, why: str) -> None:
        log.info("ends: %s", why)
        self.about.update(ended=iso(self._clock()), why=why)
        self._write()

    def look_at_the_clock(self) -> None:
        """Notice that somebody set the clock, or that the machine slept."""
        apart = self._clock() - self._steady()
        jump, self._apart = apart - self._apart, apart
        if abs(jump) > JUMP:
            way = "forward, or the machine slept," if jump > 0 else "back"
            self.note(f"the clock went {way} by {abs(jump):,.0f} s")

    def _write(self) -> None:
        told = json.dumps({**self.about, "happened": self.happened}, ensure_ascii=False, indent=1)
        with contextlib.suppress(OSError):  # a full disk must not end us
            os.stat(self._home)  # what is gone stays gone
            private.write(os.path.join(self._home, FILE), told + "\n")
