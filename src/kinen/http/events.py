"""What happens in the daemon, told to whoever listens, as server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

KEPT = 256
"""Events that a listener may be behind before it loses the oldest."""
HEARTBEAT = 30.0
"""Seconds of silence after which a listener is shown that the line is alive."""


LISTENERS = 32
"""Listeners at a time: each holds a connection for as long as it likes."""


class Event(NamedTuple):
    id: int
    kind: str
    data: str
    """JSON on one line."""

    def shown(self) -> str:
        return f"id: {self.id}\nevent: {self.kind}\ndata: {self.data}\n\n"


class Hub:
    """The last events, from which each listener reads at its own pace."""

    def __init__(self, kept: int = KEPT, most: int = LISTENERS) -> None:
        self._most = most
        self._recent: deque[Event] = deque(maxlen=kept)
        self._last = 0
        self._bells: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._closed = False
        self._lock = Lock()

    def publish(self, kind: str, data: Mapping[str, Any]) -> None:
        """Tell all listeners, from any thread; it waits for none of them."""
        told = json.dumps(data, default=str)
        with self._lock:
            self._last += 1
            self._recent.append(Event(self._last, kind, told))
            self._ring()

    def close(self) -> None:
        """Have every listener end, once it has read what there is."""
        with self._lock:
            self._closed = True
            self._ring()

    @property
    def full(self) -> bool:
        """Whether there are as many listeners as there may be."""
        with self._lock:
            return len(self._bells) >= self._most

    def _ring(self) -> None:
        for loop, bell in self._bells:
            with contextlib.suppress(RuntimeError):  # its loop has ended
                loop.call_soon_threadsafe(bell.set)

    async def subscribe(self, after: int = -1, heartbeat: float = HEARTBEAT) -> AsyncIterator[str]:
        """Events from now on, or after one that was read before, as they go over the wire."""
        own = (asyncio.get_running_loop(), asyncio.Event())
        with self._lock:
            if len(self._bells) >= self._most:  # others were accepted since it was asked
                return
            last = after if 0 <= after <= self._last else self._last
            self._bells.add(own)
        try:
            yield ": listening\n\n"
            while True:
                own[1].clear()
                with self._lock:
                    new = [one for one in self._recent if one.id > last]
                    closed = self._closed
                if new and new[0].id > last + 1:
                    lost = json.dumps({"count": new[0].id - last - 1})
                    yield Event(new[0].id - 1, "lost", lost).shown()
                for one in new:
                    yield one.shown()
                    last = one.id
                if not new and closed:
                    return
                if not new and not await _rung(own[1], heartbeat):
                    yield ": still here\n\n"
        finally:
            with self._lock:
                self._bells.discard(own)


async def _rung(bell: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await bell.wait()
    except TimeoutError:
        return False
