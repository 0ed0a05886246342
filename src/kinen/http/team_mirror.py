"""Copies of the spaces that people read on a team's server.

Each is a memory with a journal and an index of its own: search and pages are those of a local
space, and no word, count or score of another space shows in it. A copy is deleted with the worker
that made it.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable
from hashlib import sha256
from typing import TypeVar

from kinen.errors import Busy, KinenError
from kinen.memory import Memory
from kinen.postgres.connection import Database
from kinen.storage import private
from kinen.team.postgres import PostgresTeam
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
MOST_COPIES = 64
WAIT_SECONDS = 10.0
"""How long a request waits for others of the same space, such as one that makes the copy: threads
that wait longer would be missing for those who write."""


class Copy:
    """One space, used by one request at a time."""

    def __init__(self, folder: str, team: PostgresTeam) -> None:
        self.lock = threading.Lock()
        self._folder = folder
        self._team = team
        self._newest = -1
        self._erased = -1
        self._looked = float("-inf")
        self._due = 0.0
        root = private.folder(os.path.join(folder, "space"))
        name = os.path.basename(folder)
        config = os.path.join(private.folder(os.path.join(root, ".kinen")), "config.yml")
        private.write(config, json.dumps({"space": {"id": name, "name": name}}))
        self.memory = Memory.open(root, home=os.path.join(folder, "home"), settings=SETTINGS)

    def refresh(self) -> None:
        """Take over what the team got since the last time."""
        begin = time.monotonic()
        if begin - self._looked < FRESH_SECONDS:
            return
        self._looked = begin
        newest, erased = self._team.newest()
        due = begin >= self._due and newest != self._newest
        if not due and erased == self._erased:
            return
        self.memory.team.follow(self._team)
        self.memory.sync()
        self._newest = newest
        self._erased = erased
        end = time.monotonic()
        self._due = end + min(LONGEST_PAUSE, PAUSES * (end - begin))

    def remove(self) -> None:
        self.memory.close()
        shutil.rmtree(self._folder, ignore_errors=True)


class Mirrors:
    """The copies of one worker; the one that was not read for longest goes first."""

    def __init__(self, database: Database, folder: str) -> None:
        self._database = database
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
                copy = Copy(private.folder(os.path.join(self._folder, name)), team)
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
                self._catch_up(copy)

    def _catch_up(self, copy: Copy) -> None:
        with copy.lock:
            try:
                copy.refresh()
            except (KinenError, OSError):
                return  # the next request says why
