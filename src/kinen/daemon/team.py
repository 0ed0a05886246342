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
NEWS_SECONDS = 25.0
"""How long one request waits for news."""
AGAIN_SECONDS = 60.0
"""The longest pause after a request for news that failed."""
CURRENT_SECONDS = 90.0
"""After that long without an answer each space asks for itself."""
SPREAD_SECONDS = 2.0
"""Within that time machines ask after a change: not all at once."""
LEAST = 1 / 3
"""Of the interval, from one run of a space to the next, however much news there is."""
Open = Callable[[str], Memory]
log = logging.getLogger("kinen.daemon")


class _News:
    """What one server says of all its spaces that this machine has: one request waits for it."""

    def __init__(self, open_: Open, halted: threading.Event) -> None:
        self._open = open_
        self._halted = halted
        self._lock = threading.Lock()
        self._spaces: dict[str, tuple[str, threading.Event]] = {}
        """The name in the team of each space, by its root, and what wakes its thread."""
        self._newest: dict[str, str] = {}
        self._heard_at = float("-inf")
        threading.Thread(target=self._run, name="team news", daemon=True).start()

    def follow(self, root: str, name: str, wake: threading.Event) -> None:
        """Wake a thread from now on when its space has news."""
        with self._lock:
            self._spaces[root] = (name, wake)

    def leave(self, root: str) -> None:
        with self._lock:
            self._spaces.pop(root, None)

    def state(self, name: str) -> str:
        """What changes with a space; empty where the server does not say."""
        fresh = time.monotonic() - self._heard_at < CURRENT_SECONDS
        return self._newest.get(name, "") if fresh else ""

    def _run(self) -> None:
        failures = 0
        while not self._halted.wait(min(2.0**failures, AGAIN_SECONDS)):
            with self._lock:
                spaces = dict(self._spaces)
            if not spaces:
                self._halted.wait(1)
                continue
            seen = {name: self._newest.get(name, "") for name, _ in spaces.values()}
            begin = time.monotonic()
            try:
                with self._open(random.choice([*spaces])) as memory:  # noqa: S311
                    news, refused = memory.team.news(seen, NEWS_SECONDS)
            except KinenError as error:
                log.debug("team news: %s", error.fact())
                failures += 1
                continue
            except Exception:
                log.exception("team news")
                failures += 1
                continue
            # an answer at once that tells nothing is of a server that does not wait
            idle = not news and time.monotonic() - begin < 1
            back = failures > 0
            failures = failures + 1 if idle else 0
            self._newest |= {name: news[name] for name in seen.keys() & news.keys()}
            for name in refused:
                self._newest.pop(name, None)
            self._heard_at = time.monotonic()
            for name, wake in spaces.values():
                if name in news or back:  # after an outage runs wait long for the next one
                    wake.set()


class TeamThreads:
    """A thread for every space that has a team: a server that hangs delays no other space."""

    def __init__(self, open_: Open, note: Callable[[str], None]) -> None:
        self._open = open_
        self._note = note
        self._threads: dict[str, tuple[threading.Thread, threading.Event]] = {}
        self._lock = threading.Lock()
        self._left: set[str] = set()
        self._halted = threading.Event()
        self._news: dict[tuple[str, str, str], _News] = {}
        self._taken: dict[str, str] = {}
        """The state of each space, by root, that its last run found."""

    def follow(self, root: str) -> None:
        """Synchronise a space from now on, if it is not followed yet."""
        with self._lock:
            if root in self._threads or self._halted.is_set():
                return
            wake = threading.Event()
            thread = threading.Thread(target=self._run, args=(root, wake), name="team", daemon=True)
            self._threads[root] = (thread, wake)
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
        for _, wake in threads:
            wake.set()
        for thread, _ in threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _run(self, root: str, wake: threading.Event) -> None:
        """One run after the other; after failures the next one comes later."""
        failures = 0
        least = 0.0
        pause = 0.0
        while not self._halted.wait(least):
            if wake.wait(pause * random.uniform(0.8, 1.0) - least):  # noqa: S311
                self._halted.wait(random.uniform(0, min(SPREAD_SECONDS, least)))  # noqa: S311
            wake.clear()
            if self._halted.is_set():
                break
            done, interval = self._synchronize(root, wake, quiet=failures > 0)
            failures = 0 if done else failures + 1
            pause = min(interval * 2.0**failures, max(interval, MOST_SECONDS))
            least = interval * LEAST

    def _synchronize(self, root: str, wake: threading.Event, *, quiet: bool) -> tuple[bool, float]:
        """One run for a space: whether it came to its end, and the pause that it asks for."""
        interval = DEFAULT_INTERVAL
        try:
            with self._open(root) as memory:
                interval = memory.config.team.interval
                shares = bool(memory.team.url) and not memory.team.state().left
                (self._left.discard if shares else self._left.add)(root)
                state = self._state(root, memory, wake, memory.team.server if shares else None)
                current = bool(state) and state == self._taken.get(root)
                if shares and not (current and memory.team.rest()):
                    report = memory.team.sync()
                    self._taken[root] = state
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

    def _state(
        self, root: str, memory: Memory, wake: threading.Event, server: tuple[str, str, str] | None
    ) -> str:
        """The state that the server says a space has; empty where it does not say."""
        with self._lock:
            for key, news in self._news.items():
                if key != server:  # the settings of the space have changed
                    news.leave(root)
            if server is None:
                return ""
            if server not in self._news:
                self._news[server] = _News(self._open, self._halted)
        self._news[server].follow(root, memory.team.space, wake)
        return self._news[server].state(memory.team.space)
