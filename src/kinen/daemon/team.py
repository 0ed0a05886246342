"""Synchronises spaces with their teams in the background; without a team there is no thread."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable

from kinen.errors import KinenError
from kinen.memory import Memory

MOST_SECONDS = 900.0
"""The longest pause after failures; it doubles from one to the next."""
DEFAULT_INTERVAL = 30.0
"""The pause where the settings of a space cannot be read."""
log = logging.getLogger("kinen.daemon")


class TeamThreads:
    """A thread for every space that has a team: a server that hangs delays no other space."""

    def __init__(self, open_: Callable[[str], Memory], note: Callable[[str], None]) -> None:
        self._open = open_
        self._note = note
        self._threads: dict[str, threading.Thread] = {}
        self._lock = threading.Lock()
        self._left: set[str] = set()
        self._halted = threading.Event()

    def follow(self, root: str) -> None:
        """Synchronise a space from now on, if it is not followed yet."""
        with self._lock:
            if root in self._threads or self._halted.is_set():
                return
            thread = threading.Thread(target=self._run, args=(root,), name="team", daemon=True)
            self._threads[root] = thread
            thread.start()

    @property
    def spaces(self) -> int:
        """How many spaces are followed that have not left their team."""
        with self._lock:
            return len(self._threads.keys() - self._left)

    def stop(self, seconds: float) -> None:
        """End the threads; runs under way are waited for, and continue another time if cut."""
        self._halted.set()
        end = time.monotonic() + seconds
        with self._lock:
            threads = list(self._threads.values())
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _run(self, root: str) -> None:
        """One run after the other; after failures the next one comes later."""
        failures = 0
        pause = 0.0
        while not self._halted.wait(pause * random.uniform(0.8, 1.0)):  # noqa: S311
            done, interval = self._synchronize(root, quiet=failures > 0)
            failures = 0 if done else failures + 1
            pause = min(interval * 2.0**failures, max(interval, MOST_SECONDS))

    def _synchronize(self, root: str, *, quiet: bool) -> tuple[bool, float]:
        """One run for a space: whether it came to its end, and the pause that it asks for."""
        interval = DEFAULT_INTERVAL
        try:
            with self._open(root) as memory:
                interval = memory.config.team.interval
                shares = bool(memory.team.url) and not memory.team.state().left
                (self._left.discard if shares else self._left.add)(root)
                if shares:
                    report = memory.team.sync()
                    if report.pushed or report.pulled:
                        log.info("team: sent %d, received %d", report.pushed, report.pulled)
        except KinenError as error:
            if not quiet:
                self._note(f"team: {error.fact()}")
            return False, interval
        except Exception:
            log.exception("team of %s", root)
            return False, interval
        return True, interval
