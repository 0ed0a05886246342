"""What is new in a team's spaces, for machines that wait for it with one request for all."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress

from anyio import to_thread

from kinen.postgres.connection import Database
from kinen.team.postgres import states

EVERY_SECONDS = 1.0
"""How often the database is asked while somebody waits, once for everybody who does."""
LONGEST_WAIT = 25.0
"""Proxies end a connection that is silent for a minute, some after half of one."""


class News:
    """The states of all spaces. LISTEN would need a connection that PgBouncer does not give."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._states: dict[str, str] = {}
        self._read_at = float("-inf")
        self._reading = asyncio.Lock()
        self._closed = asyncio.Event()

    async def wait(self, seen: Mapping[str, str], seconds: float) -> dict[str, str]:
        """The states of spaces that are not as a machine saw them, once there is one."""
        end = time.monotonic() + min(seconds, LONGEST_WAIT)
        while True:
            now = await self._newest()
            news = {name: now.get(name, now[""]) for name in seen}
            news = {name: state for name, state in news.items() if state != seen[name]}
            if news or time.monotonic() >= end or self._closed.is_set():
                return news
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), EVERY_SECONDS)

    def close(self) -> None:
        """Answer everybody who waits: this worker ends."""
        self._closed.set()

    async def _newest(self) -> dict[str, str]:
        async with self._reading:
            if time.monotonic() - self._read_at >= EVERY_SECONDS:
                self._states = await to_thread.run_sync(states, self._database)
                self._read_at = time.monotonic()
        return self._states
