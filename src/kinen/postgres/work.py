"""Which worker indexes which repository: each one once, and by one worker at a time.

A worker that dies loses its locks with its connection; another one continues where it stopped.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence

from kinen.postgres.connection import Database, scalar, translated

CLASS = 0x6B696E01
"""The class of the advisory locks of repositories that are being indexed."""


class Worker:
    """Takes repositories from a list that other workers may have as well. Close it."""

    def __init__(self, database: Database, repositories: Sequence[str]) -> None:
        self._place = database.place
        self._connection = database.connect(autocommit=True)
        self._name = f"{socket.gethostname()}:{os.getpid()}"
        self._open = list(dict.fromkeys(repositories))
        self.elsewhere: list[str] = []
        """Repositories that other workers index or have indexed meanwhile."""
        with translated(self._place):
            self._began = scalar(self._connection, "SELECT now()")
            self._connection.execute(
                "INSERT INTO kinen.work (repository) SELECT unnest(%s::text[])"
                " ON CONFLICT DO NOTHING",
                (self._open,),
            )

    def close(self) -> None:
        self._connection.close()

    def take(self) -> str:
        """The next repository, locked; empty when nothing is left to do."""
        with translated(self._place):
            while self._open:
                # One that nobody finished since this worker began; rows in use are skipped.
                repository: str = scalar(
                    self._connection,
                    "SELECT repository FROM kinen.work WHERE repository = ANY(%s)"
                    " AND (finished IS NULL OR finished < %s)"
                    " ORDER BY finished NULLS FIRST, repository LIMIT 1 FOR UPDATE SKIP LOCKED",
                    self._open,
                    self._began,
                )
                if not repository:
                    break
                self._open.remove(repository)
                lock = "SELECT pg_try_advisory_lock(%s, hashtext(%s))"
                if not scalar(self._connection, lock, CLASS, repository):
                    self.elsewhere.append(repository)
                    continue
                done = "SELECT finished >= %s FROM kinen.work WHERE repository = %s"
                if scalar(self._connection, done, self._began, repository):
                    self._unlock(repository)  # finished between the choice and the lock
                    self.elsewhere.append(repository)
                    continue
                self._connection.execute(
                    "UPDATE kinen.work SET started = now(), worker = %s, failure = ''"
                    " WHERE repository = %s",
                    (self._name, repository),
                )
                return repository
            self.elsewhere += self._open
            self._open = []
        return ""

    def finish(self, repository: str, failure: str = "") -> None:
        """Release a repository; with a failure it is taken again by the next worker."""
        finished = "finished" if failure else "now()"
        with translated(self._place):
            self._connection.execute(
                f"UPDATE kinen.work SET finished = {finished}, failure = %s WHERE repository = %s",
                (failure, repository),
            )
            self._unlock(repository)

    def _unlock(self, repository: str) -> None:
        self._connection.execute("SELECT pg_advisory_unlock(%s, hashtext(%s))", (CLASS, repository))
