"""Which spaces are watched, and when each is brought up to date: once it is quiet again."""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import TYPE_CHECKING, Any

from kinen.errors import Busy, KinenError
from kinen.text import iso, now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kinen.daemon.watch import Watch
    from kinen.memory import Memory
    from kinen.model.records import Report
    from kinen.space.registry import Space

MOST = 30.0
"""Seconds after which a space that never gets quiet is brought up to date all the same."""
AGAIN, LATEST, SOON = 60.0, 3600.0, 3.0
"""Seconds after which a sync that failed is tried again, doubled each time up to the latter; with a
change, soon.
"""
GAP = 0.3
"""How often folders are looked at while they come and go, in intervals of the debounce."""
AT_ONCE = float("-inf")
"""A time that has long come."""
BUSY = 1.0
"""Seconds until a space is looked at again that another process is indexing."""
log = logging.getLogger("kinen.daemon")


class Halted(Exception):
    """The daemon ends: a sync stops where it is, and the next one goes on."""


class Tended:
    """One space that is watched, and how far it is."""

    def __init__(self, root: str, name: str, data: str) -> None:
        self.root, self.name, self.data = root, name, data
        self.first = self.last = 0.0
        """When the first and the last change came that are not indexed yet; 0 if there is none."""
        self.refold, self.embed = True, False
        """Folders may have come or gone; chunks may want vectors."""
        self.refolded = AT_ONCE
        """When its folders were last looked at."""
        self.state, self.error, self.synced = "waiting", "", ""
        self.done = ""
        self.tries, self.not_before = 0, 0.0

    def due(self, debounce: float) -> float:
        """When it is to be brought up to date, by the steady clock."""
        quiet = min(self.last + debounce, self.first + max(MOST, debounce))
        return max(quiet, self.not_before)


class Syncs:
    """One thread that brings spaces up to date, one after the other; idle, it sleeps for good."""

    def __init__(
        self,
        open_: Callable[[str], Memory],
        *,
        debounce: float,
        tell: Callable[[str], None],
        publish: Callable[[str, dict[str, Any]], None],
        watch: Callable[[Callable[[str, bool], None]], Watch],
    ) -> None:
        self._open, self._debounce, self._tell, self._publish = open_, debounce, tell, publish
        self._tended: dict[str, Tended] = {}
        self._wake = threading.Condition()
        self._halted = False
        self.watch = watch(self.changed)
        self._thread = threading.Thread(target=self._run, name="syncs", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, patience: float) -> None:
        """End the thread: a sync under way stops at its next step."""
        with self._wake:
            self._halted = True
            self._wake.notify()
        self.watch.close()
        if self._thread.is_alive():
            self._thread.join(patience)

    # What is to be done

    def tend(self, spaces: Iterable[Space]) -> None:
        """Watch these spaces and no others; new ones are brought up to date."""
        wanted = {space.data: space for space in spaces}
        known = {one.data: one.root for one in [*self._tended.values()]}
        for data in known.keys() - wanted.keys():
            self._leave(known[data])
        for data in wanted.keys() - known.keys():
            self.meet(wanted[data])

    def meet(self, space: Space) -> None:
        """Watch this space from now on, if it is not watched yet.

        Of clones that share one index it is the one that was asked for last.
        """
        if space.root in self._tended:
            return
        for other in [one.root for one in [*self._tended.values()] if one.data == space.data]:
            self._leave(other)
        with self._wake:
            one = self._tended[space.root] = Tended(space.root, space.name, space.data)
            one.first = one.last = AT_ONCE
            self._wake.notify()

    def _leave(self, root: str) -> None:
        self.watch.forget(root)
        with self._wake:
            self._tended.pop(root, None)

    def changed(self, root: str, folders: bool) -> None:
        """Something changed in a space; cheap, since it may be called at any rate."""
        with self._wake:
            one = self._tended.get(root)
            if one is None:
                return
            one.last = time.monotonic()
            one.first = one.first or one.last
            one.refold = one.refold or folders
            one.not_before = min(one.not_before, one.last + SOON)
            self._wake.notify()

    # The thread

    def _run(self) -> None:
        _go_easy()
        while True:
            with self._wake:
                one, work = self._next()
                while one is None and not self._halted:
                    self._wake.wait(self._until_next())
                    one, work = self._next()
                if self._halted or one is None:
                    return
                if work == self._sync:  # what comes from now on counts for the next time
                    one.first = one.last = 0.0
            try:
                self._tried(one, work)
            except Halted:
                return

    def _next(self) -> tuple[Tended | None, Callable[[Tended], None]]:
        """A space whose time has come: its folders to be watched, to be read, to be embedded."""
        at = time.monotonic()
        for one in self._dirty():
            if one.refold and self._refolds(one) <= at:
                return one, self._refold
        dirty = sorted((one.due(self._debounce), one.root) for one in self._dirty())
        if dirty and dirty[0][0] <= at:
            return self._tended[dirty[0][1]], self._sync
        wanting = [one for one in self._tended.values() if one.embed and one.not_before <= at]
        return (wanting[0] if wanting else None), self._embed

    def _refolds(self, one: Tended) -> float:
        return max(one.refolded + GAP * self._debounce, one.not_before)

    def _dirty(self) -> list[Tended]:
        return [one for one in [*self._tended.values()] if one.last]

    def _until_next(self) -> float | None:
        """Seconds until there is something to do; None when nothing is."""
        times = [one.due(self._debounce) for one in self._dirty()]
        times += [self._refolds(one) for one in self._dirty() if one.refold]
        times += [one.not_before for one in self._tended.values() if one.embed]
        return max(0.0, min(times) - time.monotonic()) if times else None

    def _tried(self, one: Tended, work: Callable[[Tended], None]) -> None:
        """Do it; what goes wrong is said and tried again later."""
        try:
            work(one)
        except Halted:
            raise
        except Busy:
            one.state = "waiting"
            self._later(one, BUSY)
        except KinenError as error:
            self._failed(one, str(error))
        except OSError as error:
            self._failed(one, f"{error.filename or 'the system'}: {error.strerror or error}")
        except Exception as error:
            log.exception("%s", one.root)
            self._failed(one, f"unexpected {type(error).__name__}: {error}")
        else:
            if work == self._refold:
                return
            if one.error:
                self._tell(f"{one.name}: all is well again")
            one.error, one.tries, one.not_before = "", 0, 0.0

    def _failed(self, one: Tended, error: str) -> None:
        gone = not os.path.isdir(one.root)
        error = f"{one.root} is gone" if gone else error
        if error != one.error:
            self._tell(f"{one.name}: {error}")
            self._publish("trouble", {"space": one.name, "root": one.root, "error": error})
        one.error, one.tries = error, one.tries + 1
        one.state = "gone" if gone else "failed"
        if gone:  # whoever watches tells when it is back
            one.refold, one.embed = True, False
        else:
            self._later(one, min(AGAIN * 2 ** (one.tries - 1), LATEST))

    def _later(self, one: Tended, seconds: float) -> None:
        with self._wake:
            one.not_before = time.monotonic() + seconds
            if not one.embed:
                one.last = time.monotonic()
                one.first = one.first or one.last

    def _refold(self, one: Tended) -> None:
        """Watch folders as they come: what happens in them shows that a storm goes on."""
        one.refolded = time.monotonic()
        if os.path.isdir(one.root):
            with self._open(one.root) as memory:
                self._watch(one, memory)

    def _watch(self, one: Tended, memory: Memory) -> None:
        if one.refold:
            one.refold = False
            self.watch.watch(memory.index.watched())

    def _sync(self, one: Tended) -> None:
        one.state = "syncing"
        with self._open(one.root) as memory:
            self._watch(one, memory)  # before it is read: what changes in between is not missed
            report = memory.sync(embed=False, progress=self._step, wait=BUSY)
        one.synced, one.done, one.embed = iso(now()), _told(report), True
        one.state = "embedding"
        log.info("%s: %s (%.2f s)", one.name, one.done, report.seconds)
        if any(report[:4]):
            counts = dict(zip(report._fields[:4], report[:4], strict=True))
            self._publish("synced", {"space": one.name, "root": one.root, **counts})

    def _embed(self, one: Tended) -> None:
        one.state = "embedding"
        with self._open(one.root) as memory:
            done, left = memory.index.embed_new(self._called_away)
        one.embed = left > 0
        one.state = "embedding" if left else "idle"
        if done:
            log.info("%s: %d chunks embedded, %d left", one.name, done, left)
            said = {"space": one.name, "root": one.root, "embedded": done, "pending": left}
            self._publish("embedded", said)

    def _called_away(self) -> bool:
        at = time.monotonic()
        return self._halted or any(one.due(self._debounce) <= at for one in self._dirty())

    def _step(self, *_: object) -> None:
        if self._halted:
            raise Halted

    # For status

    def state(self) -> list[dict[str, Any]]:
        """Each space: how it is watched, what it waits for, what was done last."""
        found = []
        for one in sorted([*self._tended.values()], key=lambda one: (one.name, one.root)):
            mode, why = self.watch.mode(one.root)
            dirty = one.last and one.state in ("idle", "embedding")
            said = {"name": one.name, "root": one.root, "state": "waiting" if dirty else one.state}
            said |= {"watch": mode, "why": why, "synced": one.synced, "done": one.done}
            found.append({**said, "error": one.error})
        return found


def _told(report: Report) -> str:
    done = zip(report._fields[:4], report[:4], strict=True)
    return ", ".join(f"{count:,} {name}" for name, count in done if count) or "nothing changed"


def _go_easy() -> None:
    """Let whoever asks go first: where it can be, this thread alone is the nicer one."""
    if hasattr(os, "setpriority") and os.uname().sysname == "Linux":
        try:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
        except OSError:
            log.info("the priority of syncs stays as it is")
