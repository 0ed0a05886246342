"""Copies of the spaces that people read on a team's server.

Each is a memory with a journal and an index of its own: search and pages are those of a local
space, and no word, count or score of another space shows in it. The workers of a server share one
copy of a space; whichever comes first brings it up to date. Copies are deleted with the server.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import TypeVar

from kinen.errors import Busy, KinenError
from kinen.memory import Memory
from kinen.postgres.connection import Database
from kinen.storage import private
from kinen.team.postgres import PostgresTeam, StandbyTeam
from kinen.team.schema import SERVER_ROLE

T = TypeVar("T")
READER = "\t"
"""The person whose memory a copy is: nobody, since a name has only printable characters."""
SETTINGS = {"index.embedding_provider": "none", "team.share": "none", "daemon.auto_start": False}
"""A copy searches by words: vectors of a whole space would take longer than an answer is worth."""
FRESH_SECONDS = 1.0
"""How long a copy is used before the database is asked for changes."""
PAUSES = 8
"""Pauses between two updates are this many times as long as the last one took, so that a busy team
leaves most of the time to searches. Erasures do not wait."""
LONGEST_PAUSE = 10.0
FOLLOW_SECONDS = 10.0
"""How often copies that nobody reads are brought up to date: erased text goes there, too."""
STANDBY_PAUSE = 30.0
"""How long one that failed is left alone."""
MOST_COPIES = 64
STEP_SECONDS = 0.02
WAIT_SECONDS = 10.0
"""How long a request waits for others of the same space, such as one that makes the copy: threads
that wait longer would be missing for those who write."""
log = logging.getLogger("kinen.team")


class Standby:
    """A copy of the database that PostgreSQL keeps, to take the load of reading from it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._due = 0.0

    def team(self, space: str) -> StandbyTeam:
        """A space as the standby has it."""
        return StandbyTeam(self._database, space, READER, SERVER_ROLE, reads=True)

    def follows(self, team: StandbyTeam, newest: int, erased: int) -> bool:
        """Whether it answers, and has what the database has. One that is down is left alone."""
        if time.monotonic() < self._due:
            return False
        try:
            has, has_erased, _ = team.newest()
        except KinenError as error:
            self.failed(error)
            return False
        return has >= newest and has_erased >= erased

    def failed(self, error: KinenError) -> None:
        """Leave it alone for a while."""
        self._due = time.monotonic() + STANDBY_PAUSE
        log.warning("the standby is not read: %s", error)


class Copy:
    """One space, used by one request of this worker at a time, and by other workers."""

    def __init__(self, folder: str, team: PostgresTeam, standby: Standby | None, space: str):
        self.lock = threading.Lock()
        self._folder = folder
        self._held = _hold(folder)
        self._team = team
        self._standby = standby
        self._copied = standby.team(space) if standby else None
        root = private.folder(os.path.join(folder, "space"))
        name = os.path.basename(folder)
        config = os.path.join(private.folder(os.path.join(root, ".kinen")), "config.yml")
        private.write(config, json.dumps({"space": {"id": name, "name": name}}))
        self.memory = Memory.open(root, home=os.path.join(folder, "home"), settings=SETTINGS)

    def refresh(self) -> None:
        """Take over what the team got since the last time, unless another worker did."""
        if time.monotonic() - self._state()["looked"] < FRESH_SECONDS:
            return
        with self._turn():
            begin = time.monotonic()
            state = self._state()
            if begin - state["looked"] < FRESH_SECONDS:
                return
            newest, erased, epoch = self._team.newest()
            state["looked"] = begin
            due = begin >= state["due"] and newest != state["newest"]
            if due or erased != state["erased"]:
                self._follow(newest, erased, epoch)
                self.memory.sync()
                end = time.monotonic()
                pause = min(LONGEST_PAUSE, PAUSES * (end - begin))
                state.update(newest=newest, erased=erased, due=end + pause)
            private.write(self._state_file, json.dumps(state))

    def _follow(self, newest: int, erased: int, epoch: str) -> None:
        """Read the standby where it has all of it, else the database itself."""
        if self._standby and self._copied and self._standby.follows(self._copied, newest, erased):
            self._copied.epoch = epoch
            try:
                self.memory.team.follow(self._copied)
                return
            except KinenError as error:  # such as a query that recovery cancelled
                self._standby.failed(error)
        self.memory.team.follow(self._team)

    @property
    def _state_file(self) -> str:
        return os.path.join(self._folder, "state")

    def _state(self) -> dict[str, float]:
        """How far the copy is. Its times are of a clock that all processes have in common."""
        try:
            state: dict[str, float] = json.loads(private.read(self._state_file))
        except OSError:
            return {"looked": float("-inf"), "due": 0.0, "newest": -1, "erased": -1}
        return state

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Only one worker writes; a lock ends with its process."""
        path = os.path.join(self._folder, "turn")
        with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o600)) as file:
            end = time.monotonic() + WAIT_SECONDS
            while not _locked(file.fileno(), fcntl.LOCK_EX):
                if time.monotonic() > end:
                    raise Busy("this space is being read", "try again in some seconds")
                time.sleep(STEP_SECONDS)
            yield

    def remove(self) -> None:
        """Close the copy, and delete it unless another worker has it open."""
        self.memory.close()
        if _locked(self._held, fcntl.LOCK_EX):
            shutil.rmtree(self._folder, ignore_errors=True)
        os.close(self._held)


def _hold(folder: str) -> int:
    """A lock that says that a copy is in use; waits while another worker deletes it."""
    while True:
        path = os.path.join(private.folder(folder), "used")
        held = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(held, fcntl.LOCK_SH)
        if os.path.exists(path) and os.path.samestat(os.stat(path), os.fstat(held)):
            return held
        os.close(held)


def _locked(file: int, kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class Mirrors:
    """The copies that a worker has open; the one that was not read for longest goes first."""

    def __init__(self, database: Database, folder: str, standby: Database | None = None) -> None:
        self._database = database
        self._standby = Standby(standby) if standby else None
        self._folder = private.folder(folder)
        self._copies: dict[str, Copy] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def call(self, space: str, work: Callable[[Memory], T]) -> T:
        """Call with the memory of a space: a second old, some seconds if the team is busy."""
        copy = self._copy(space)
        if not copy.lock.acquire(timeout=WAIT_SECONDS):
            raise Busy("this space is being read", "try again in some seconds")
        try:
            copy.refresh()
            return work(copy.memory)
        finally:
            copy.lock.release()

    def _copy(self, space: str) -> Copy:
        with self._lock:
            copy = self._copies.pop(space, None)
            if copy is None:
                name = sha256(space.encode()).hexdigest()[:16]
                team = PostgresTeam(self._database, space, READER, SERVER_ROLE)
                folder = private.folder(os.path.join(self._folder, name))
                copy = Copy(folder, team, self._standby, space)
            self._copies[space] = copy
            while len(self._copies) > MOST_COPIES:
                oldest = self._copies.pop(next(iter(self._copies)))
                with oldest.lock:
                    oldest.remove()
            if self._thread is None:
                self._thread = threading.Thread(target=self._follow, name="copies", daemon=True)
                self._thread.start()
            return copy

    def _follow(self) -> None:
        while True:
            time.sleep(FOLLOW_SECONDS)
            with self._lock:
                copies = list(self._copies.values())
            for copy in copies:
                with copy.lock, suppress(KinenError, OSError):  # the next request says why
                    copy.refresh()
