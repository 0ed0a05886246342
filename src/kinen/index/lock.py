"""One sync at a time per index, and what the process that has its turn is doing.

The lock is SQLite's own: portable, and gone with its process. What its holder does is written to a
file beside it, so that whoever waits can say whom it waits for.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import TYPE_CHECKING

from kinen.errors import Busy
from kinen.ids import milliseconds
from kinen.model.tuples import NamedTuple
from kinen.storage import private
from kinen.storage.database import translated
from kinen.storage.sqlite import sqlite3

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Progress = Callable[[str, int, int], None]

STEP = 0.05
"""Seconds between two tries; Ctrl-C ends the wait in between."""
INTERVAL = 0.5
"""Seconds between two writes of the progress."""
PHASES = {
    "read": "reading",
    "history": "reading the history",
    "embed": "making vectors",
    "import": "importing sessions",
}


class Work(NamedTuple):
    """Which process indexes a space, and how far it is."""

    pid: int
    command: str
    """Its subcommand, such as `index` or `daemon`."""
    phase: str
    done: int
    total: int
    began: float = 0.0
    """When the phase began, in seconds since the epoch."""

    @property
    def text(self) -> str:
        """For people: `kinen daemon (pid 1452) is indexing this space: making vectors, 54 %`."""
        return f"kinen {self.command} (pid {self.pid}) is indexing this space: {self.progress}"

    @property
    def progress(self) -> str:
        """What it does and how far it is: `making vectors, 54 %`."""
        amount = f"{100 * self.done // self.total} %" if self.total else f"{self.done:,}"
        return ", ".join([PHASES.get(self.phase, "indexing"), *[amount] * bool(self.done)])


def work_at(lock: str) -> Work | None:
    """What the holder of a lock does; None if it wrote nothing, or has ended."""
    try:
        state = private.read(_state_file(lock)).decode()
        pid, command, phase, done, total, began = state.split("\t")
        work = Work(int(pid), command, phase, int(done), int(total), float(began))
        if os.name != "nt":
            os.kill(work.pid, 0)
    except (OSError, ValueError, OverflowError):
        return None
    return work


@contextlib.contextmanager
def sync_lock(
    path: str, wait: float, on_wait: Callable[[str], None] = lambda _: None
) -> Iterator[Progress]:
    """Hold the lock of an index; yields a function that notes the progress for others.

    Waits at most `wait` seconds, then raises Busy. `on_wait` is called once, with who has it.
    """
    db = sqlite3.connect(private.database(path), isolation_level=None, timeout=0)
    try:
        _take(db, path, wait, on_wait)
        with announced(path) as progress:
            yield progress
    finally:
        db.close()


@contextlib.contextmanager
def announced(path: str) -> Iterator[Progress]:
    """A function that notes the progress of work for others, who ask `work_at`, until it ends."""
    try:
        yield _notes(_state_file(path))
    finally:
        with contextlib.suppress(OSError):
            os.unlink(_state_file(path))


def _take(db: sqlite3.Connection, path: str, wait: float, on_wait: Callable[[str], None]) -> None:
    end = time.monotonic() + wait
    waited = False
    while True:
        try:
            db.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                with translated(path):
                    raise
        else:
            return
        left = end - time.monotonic()
        work = work_at(path)
        fact = work.text if work else "another kinen is indexing this space"
        if left <= 0:
            raise Busy(fact, "wait for it, then run it again")
        if not waited:
            on_wait(fact)
        waited = True
        time.sleep(min(STEP, left))


def _state_file(lock: str) -> str:
    return f"{lock}.state"


def _notes(file: str) -> Progress:
    """A function that writes the progress to a file, at most once per `INTERVAL` and phase."""
    command = next((word for word in sys.argv[1:] if word.isalpha()), "process")
    last_phase = ""
    last_time = 0.0
    began = 0.0

    def note(phase: str, done: int, total: int) -> None:
        nonlocal last_phase, last_time, began
        now = time.monotonic()
        if phase == last_phase and now - last_time < INTERVAL:
            return
        if phase != last_phase:
            began = milliseconds() / 1000
        last_phase = phase
        last_time = now
        text = f"{os.getpid()}\t{command}\t{phase}\t{done}\t{total}\t{began:.3f}"
        with (
            contextlib.suppress(OSError),  # the progress is only for display
            open(file, "wb", opener=private.opener) as state,
        ):
            state.write(text.encode())

    return note
