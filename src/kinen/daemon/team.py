"""Synchronises spaces with their teams in the background; without a team there is no thread."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kinen.errors import KinenError

if TYPE_CHECKING:
    from kinen.memory import Memory

MOST_SECONDS = 900.0
"""The longest pause after failures; it doubles from one to the next."""
log = logging.getLogger("kinen.daemon")


@dataclass(slots=True)
class Turn:
    """When a space is synchronised next, on the steady clock, and how often it failed in a row."""

    due: float
    failures: int = 0


class TeamThread:
    """A thread that sends and receives for every space that has a team."""

    def __init__(
        self,
        open_: Callable[[str], Memory],
        note: Callable[[str], None],
    ) -> None:
        self._open = open_
        self._note = note
        self._turns: dict[str, Turn] = {}
        self._wake = threading.Condition()
        self._halted = False
        self._thread: threading.Thread | None = None

    def follow(self, root: str) -> None:
        """Synchronise a space from now on, if it is not followed yet."""
        with self._wake:
            if root in self._turns or self._halted:
                return
            self._turns[root] = Turn(time.monotonic())
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="team", daemon=True)
                self._thread.start()
            self._wake.notify()

    def stop(self, seconds: float) -> None:
        """End the thread; a run under way is waited for, and continues another time if cut."""
        with self._wake:
            self._halted = True
            self._wake.notify()
        if self._thread is not None:
            self._thread.join(seconds)

    def _run(self) -> None:
        while True:
            with self._wake:
                root = self._next()
                while root is None and not self._halted:
                    first = min(turn.due for turn in self._turns.values())
                    self._wake.wait(max(0.0, first - time.monotonic()))
                    root = self._next()
                if self._halted or root is None:
                    return
            self._synchronize(root)

    def _next(self) -> str | None:
        at = time.monotonic()
        return next((root for root, turn in self._turns.items() if turn.due <= at), None)

    def _synchronize(self, root: str) -> None:
        """One run for a space; after a failure the next one comes later."""
        turn = self._turns[root]
        interval = 30.0
        try:
            with self._open(root) as memory:
                interval = memory.config.team.interval
                if memory.team.url and not memory.team.state().left:
                    report = memory.team.sync()
                    if report.pushed or report.pulled:
                        log.info("team: sent %d, received %d", report.pushed, report.pulled)
            turn.failures = 0
        except KinenError as error:
            if not turn.failures:
                self._note(f"team: {error.fact()}")
            turn.failures += 1
        except Exception:
            log.exception("team of %s", root)
            turn.failures += 1
        pause = min(interval * 2.0**turn.failures, max(interval, MOST_SECONDS))
        turn.due = time.monotonic() + pause * random.uniform(0.8, 1.0)  # noqa: S311
