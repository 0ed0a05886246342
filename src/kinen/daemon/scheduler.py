"""Which spaces are watched, and when each is synced: once its files have stopped changing."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kinen.daemon.watch import Watch
from kinen.errors import Busy, KinenError
from kinen.memory import Memory
from kinen.space.registry import Space
from kinen.text import iso, now

if TYPE_CHECKING:
    Work = Callable[["SpaceState"], None]

MAX_DEBOUNCE = 30.0
"""Seconds after which a space that never stops changing is synced all the same."""
RETRY_SECONDS = 60.0
"""After how long a failed sync is tried again; doubled each time."""
MAX_RETRY_SECONDS = 3600.0
RETRY_AFTER_CHANGE = 3.0
"""After how long a failed sync is tried again if something changes."""
SCAN_INTERVAL = 0.3
"""How often folders are listed while they come and go, in units of the debounce."""
AT_ONCE = float("-inf")
"""A time in the past, for work that is due."""
BUSY_SECONDS = 1.0
"""After how long a space is tried again that another process is indexing."""
COUNTS = ("added", "changed", "removed", "skipped")
"""Fields of a report that say what a sync changed."""
log = logging.getLogger("kinen.daemon")


class Halted(Exception):
    """The daemon ends: a sync stops where it is, and the next daemon continues."""


@dataclass(slots=True, eq=False)
class SpaceState:
    """One space that is watched, and the work that it needs. Times are of the steady clock."""

    root: str
    name: str
    first_change: float = AT_ONCE
    """When the first change came that is not indexed yet; 0 if there is none."""
    last_change: float = AT_ONCE
    scan_needed: bool = True
    """Whether folders may have come or gone, so that they have to be watched anew."""
    last_scan: float = AT_ONCE
    embedding_needed: bool = False
    status: str = "waiting"
    error: str = ""
    synced: str = ""
    summary: str = ""
    """What the last sync did."""
    failures: int = 0
    not_before: float = 0.0

    def due(self, debounce: float) -> float:
        """When it is to be synced."""
        quiet = min(self.last_change + debounce, self.first_change + max(MAX_DEBOUNCE, debounce))
        return max(quiet, self.not_before)

    def scan_due(self, debounce: float) -> float:
        """When its folders are to be watched anew."""
        return max(self.last_scan + SCAN_INTERVAL * debounce, self.not_before)

    def mark_changed(self) -> None:
        self.last_change = time.monotonic()
        self.first_change = self.first_change or self.last_change


class Scheduler:
    """A thread that syncs spaces, one after the other; without work it sleeps."""

    def __init__(
        self,
        open_: Callable[[str], Memory],
        *,
        debounce: float,
        note: Callable[[str], None],
        publish: Callable[[str, dict[str, Any]], None],
        watch: Callable[[Callable[[str, bool], None]], Watch],
    ) -> None:
        self._open = open_
        self._debounce = debounce
        self._note = note
        self._publish = publish
        self._spaces: dict[str, SpaceState] = {}
        self._wake = threading.Condition()
        self._halted = False
        self.watch = watch(self.changed)
        self._thread = threading.Thread(target=self._run, name="syncs", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """End the thread: a sync under way stops at its next step."""
        with self._wake:
            self._halted = True
            self._wake.notify()
        self.watch.close()
        if self._thread.is_alive():
            self._thread.join(seconds)

    def replace(self, spaces: Iterable[Space]) -> None:
        """Watch these clones and worktrees and no others; new ones are synced."""
        by_root = {space.root: space for space in spaces}
        watched = [*self._spaces]
        for root in watched:
            if root not in by_root:
                self.watch.forget(root)
                with self._wake:
                    self._spaces.pop(root, None)
        for space in by_root.values():
            self.add(space)

    def add(self, space: Space) -> None:
        """Watch a clone or worktree of a space from now on, if it is not watched yet."""
        if space.root in self._spaces:
            return
        with self._wake:
            self._spaces[space.root] = SpaceState(space.root, space.name)
            self._wake.notify()

    def changed(self, root: str, folders: bool) -> None:
        """Note a change in a space, and whether its folders may have changed; cheap."""
        with self._wake:
            space = self._spaces.get(root)
            if space is None:
                return
            space.mark_changed()
            space.scan_needed = space.scan_needed or folders
            space.not_before = min(space.not_before, space.last_change + RETRY_AFTER_CHANGE)
            self._wake.notify()

    def _run(self) -> None:
        # Let requests go first: on Linux the priority of this thread alone can be lowered.
        if hasattr(os, "setpriority") and os.uname().sysname == "Linux":
            try:
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
            except OSError:
                log.info("the priority of syncs could not be lowered")
        while True:
            with self._wake:
                space, work = self._next()
                while space is None and not self._halted:
                    self._wake.wait(self._seconds_left())
                    space, work = self._next()
                if self._halted or space is None:
                    return
                if work == self._sync:  # later changes are for the next sync
                    space.first_change = space.last_change = 0.0
            try:
                self._try(space, work)
            except Halted:
                return

    def _next(self) -> tuple[SpaceState | None, Work]:
        """The next space with due work: first folders to watch, then syncs, then embedding."""
        at = time.monotonic()
        changed = self._changed()
        for space in changed:
            if space.scan_needed and space.scan_due(self._debounce) <= at:
                return space, self._scan
        first = min(
            changed, key=lambda space: (space.due(self._debounce), space.root), default=None
        )
        if first is not None and first.due(self._debounce) <= at:
            return first, self._sync
        for space in self._spaces.values():
            if space.embedding_needed and space.not_before <= at:
                return space, self._embed
        return None, self._embed

    def _changed(self) -> list[SpaceState]:
        return [space for space in [*self._spaces.values()] if space.last_change]

    def _seconds_left(self) -> float | None:
        """Seconds until there is work; None if there is none."""
        changed = self._changed()
        times = [space.due(self._debounce) for space in changed]
        times += [space.scan_due(self._debounce) for space in changed if space.scan_needed]
        times += [space.not_before for space in self._spaces.values() if space.embedding_needed]
        return max(0.0, min(times) - time.monotonic()) if times else None

    def _try(self, space: SpaceState, work: Work) -> None:
        """Do some work; errors are noted, and the work is tried again later."""
        try:
            work(space)
        except Halted:
            raise
        except Busy:
            space.status = "waiting"
            self._postpone(space, BUSY_SECONDS)
        except KinenError as error:
            self._fail(space, str(error))
        except OSError as error:
            self._fail(space, f"{error.filename or 'the system'}: {error.strerror or error}")
        except Exception as error:
            log.exception("%s", space.root)
            self._fail(space, f"unexpected {type(error).__name__}: {error}")
        else:
            if work == self._scan:
                return
            if space.error:
                self._note(f"{space.name}: works again")
            space.error = ""
            space.failures = 0
            space.not_before = 0.0

    def _fail(self, space: SpaceState, error: str) -> None:
        gone = not os.path.isdir(space.root)
        if gone:
            error = f"{space.root} is gone"
        if error != space.error:
            self._note(f"{space.name}: {error}")
            self._publish("trouble", {"space": space.name, "root": space.root, "error": error})
        space.error = error
        space.failures += 1
        space.status = "gone" if gone else "failed"
        if gone:  # the watcher notices when it is back
            space.scan_needed = True
            space.embedding_needed = False
        else:
            delay = RETRY_SECONDS * 2 ** (space.failures - 1)
            self._postpone(space, min(delay, MAX_RETRY_SECONDS))

    def _postpone(self, space: SpaceState, seconds: float) -> None:
        with self._wake:
            space.not_before = time.monotonic() + seconds
            if not space.embedding_needed:
                space.mark_changed()

    def _scan(self, space: SpaceState) -> None:
        """Watch new folders while others still come, so that their changes are noticed."""
        space.last_scan = time.monotonic()
        if os.path.isdir(space.root):
            with self._open(space.root) as memory:
                self._watch(space, memory)

    def _watch(self, space: SpaceState, memory: Memory) -> None:
        if space.scan_needed:
            space.scan_needed = False
            self.watch.watch(memory.index.watched())

    def _sync(self, space: SpaceState) -> None:
        space.status = "syncing"
        with self._open(space.root) as memory:
            self._watch(space, memory)  # before reading, so that no change is missed
            report = memory.sync(embed=False, progress=self._check_halted, wait=BUSY_SECONDS)
        space.synced = iso(now())
        counts = {name: getattr(report, name) for name in COUNTS}
        parts = [f"{count:,} {name}" for name, count in counts.items() if count]
        space.summary = ", ".join(parts) or "nothing changed"
        space.embedding_needed = True
        space.status = "embedding"
        log.info("%s: %s (%.2f s)", space.name, space.summary, report.seconds)
        if any(counts.values()):
            self._publish("synced", {"space": space.name, "root": space.root, **counts})

    def _embed(self, space: SpaceState) -> None:
        space.status = "embedding"
        with self._open(space.root) as memory:
            done, left = memory.index.embed_new(self._interrupted)
        space.embedding_needed = left > 0
        space.status = "embedding" if left else "idle"
        if done:
            log.info("%s: %d chunks embedded, %d left", space.name, done, left)
            progress = {"embedded": done, "pending": left}
            self._publish("embedded", {"space": space.name, "root": space.root, **progress})

    def _interrupted(self) -> bool:
        """Whether embedding has to stop: for a sync, or for the end."""
        at = time.monotonic()
        return self._halted or any(space.due(self._debounce) <= at for space in self._changed())

    def _check_halted(self, *_: object) -> None:
        if self._halted:
            raise Halted

    @property
    def busy(self) -> bool:
        """Whether a space is synced or embedded, or will be soon; failures do not count."""
        return any(
            space.status in ("waiting", "syncing", "embedding")
            or (space.last_change and space.status == "idle")
            for space in [*self._spaces.values()]
        )

    def state(self) -> list[dict[str, Any]]:
        """What `status` shows of each space."""
        states = []
        for space in sorted([*self._spaces.values()], key=lambda space: (space.name, space.root)):
            mode, why = self.watch.mode(space.root)
            waiting = space.last_change and space.status in ("idle", "embedding")
            states.append(
                {
                    "name": space.name,
                    "root": space.root,
                    "state": "waiting" if waiting else space.status,
                    "watch": mode,
                    "why": why,
                    "synced": space.synced,
                    "done": space.summary,
                    "error": space.error,
                }
            )
        return states
