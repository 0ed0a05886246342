"""Events of the daemon, sent to listeners as server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import AsyncIterator, Mapping
from threading import Lock
from typing import Any

from kinen.model.tuples import NamedTuple

RECENT = 256
"""Events that a listener may be behind before it loses the oldest."""
HEARTBEAT = 30.0
"""Seconds without an event after which a comment shows that the connection is alive."""

LISTENERS = 32
"""Listeners at the same time: each holds a connection."""


class Event(NamedTuple):
    id: int
    kind: str
    data: str
    """JSON on one line."""

    def encode(self) -> str:
        return f"id: {self.id}\nevent: {self.kind}\ndata: {self.data}\n\n"


class Hub:
    """Recent events, which each listener reads at its own pace."""

    def __init__(self, recent: int = RECENT) -> None:
        self._recent: deque[Event] = deque(maxlen=recent)
        self._last = 0
        self._bells: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._closed = False
        self._lock = Lock()

    def publish(self, kind: str, data: Mapping[str, Any]) -> None:
        """Send an event to all listeners, from any thread, without waiting for them."""
        text = json.dumps(data, default=str)
        with self._lock:
            self._last += 1
            self._recent.append(Event(self._last, kind, text))
            self._ring()

    def close(self) -> None:
        """End every listener once it has read all events."""
        with self._lock:
            self._closed = True
            self._ring()

    @property
    def full(self) -> bool:
        """Whether the limit of listeners is reached."""
        with self._lock:
            return len(self._bells) >= LISTENERS

    def _ring(self) -> None:
        for loop, bell in self._bells:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(bell.set)

    async def subscribe(self, after: int = -1, heartbeat: float = HEARTBEAT) -> AsyncIterator[str]:
        """Encoded events from now on, or after the one with the id `after`."""
        bell = asyncio.Event()
        own = (asyncio.get_running_loop(), bell)
        with self._lock:
            if len(self._bells) >= LISTENERS:  # others came since `full` was read
                return
            last = after if 0 <= after <= self._last else self._last
            self._bells.add(own)
        try:
            yield ": listening\n\n"
            while True:
                bell.clear()
                with self._lock:
                    new = [event for event in self._recent if event.id > last]
                    closed = self._closed
                if new and new[0].id > last + 1:
                    lost = json.dumps({"count": new[0].id - last - 1})
                    yield Event(new[0].id - 1, "lost", lost).encode()
                for event in new:
                    yield event.encode()
                    last = event.id
                if not new and closed:
                    return
                if not new and not await _rings(bell, heartbeat):
                    yield ": still here\n\n"
        finally:
            with self._lock:
                self._bells.discard(own)


async def _rings(bell: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await bell.wait()
    except TimeoutError:
        return False
