"""Which worker indexes which repository: each one once, and by one worker at a time.

A worker that dies loses its locks with its connection; another one continues where it stopped.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from datetime import datetime

from kinen.errors import StoreError
from kinen.postgres.connection import Database, translated

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
            row = self._connection.execute("SELECT now()").fetchone()
            if row is None or not isinstance(row[0], datetime):
                raise StoreError(f"PostgreSQL at {self._place} does not tell the time")
            self._began = row[0]
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
                row = self._connection.execute(
                    "SELECT repository FROM kinen.work WHERE repository = ANY(%s)"
                    " AND (finished IS NULL OR finished < %s)"
                    " ORDER BY finished NULLS FIRST, repository LIMIT 1 FOR UPDATE SKIP LOCKED",
                    (self._open, self._began),
                ).fetchone()
                repository = str(row[0]) if row else ""
                if not repository:
                    break
                self._open.remove(repository)
                if not self._scalar("SELECT pg_try_advisory_lock(%s, hashtext(%s))", repository):
                    self.elsewhere.append(repository)
                    continue
                if self._is_done(repository):  # between the choice and the lock
                    self._unlock(repository)
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

    def _is_done(self, repository: str) -> bool:
        row = self._connection.execute(
            "SELECT finished >= %s FROM kinen.work WHERE repository = %s", (self._began, repository)
        ).fetchone()
        return bool(row and row[0])

    def _unlock(self, repository: str) -> None:
        self._scalar("SELECT pg_advisory_unlock(%s, hashtext(%s))", repository)

    def _scalar(self, query: str, repository: str) -> object:
        row = self._connection.execute(query, (CLASS, repository)).fetchone()
        return row[0] if row else None
