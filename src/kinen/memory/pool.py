"""The memories that a server keeps open: two per space, one for questions and one for writing.

Each is used by one request at a time. Writing to the journal has a memory, a lock and threads of
its own, so that it never waits for a search, and a search never waits for it. The methods of
`MemoryPool` run on the server's event loop; memories are synchronous and are called in threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from kinen import config
from kinen.config.keys import Config
from kinen.errors import SpaceError
from kinen.memory.index import NO_WAIT
from kinen.memory.memory import ASK, Memory
from kinen.model.tuples import NamedTuple
from kinen.space import route
from kinen.space.registry import Space

T = TypeVar("T")
Open = Callable[[str], Memory]

CLOSE_SECONDS = 2.0
"""Seconds that a running call gets when the server ends."""
KEPT = 32
"""Memories that stay open for questions to several spaces, and folders that are remembered."""
THREADS = 16
"""Calls of one lane that run at the same time."""


class Slot(NamedTuple):
    """An open memory, and the lock that whoever calls it holds."""

    memory: Memory
    lock: asyncio.Lock


class MemoryPool:
    """Open memories by space and lane.

    It serves one memory, or those that a function opens by folder. The function gets an empty
    folder for the default space, and raises SpaceError for a folder that is in no space.
    """

    def __init__(self, memory: Memory | Open) -> None:
        self.fixed = isinstance(memory, Memory)
        self._open: Open = memory if not isinstance(memory, Memory) else lambda _: memory
        self._slots: dict[tuple[str, str], Slot] = {}
        self._opened: dict[tuple[str, ...], tuple[list[str], Memory]] = {}
        self._idle: dict[str, Memory] = {}
        self._threads: dict[str, ThreadPoolExecutor] = {}

    async def call(
        self, folders: Iterable[str], call: Callable[[Memory], T], *, lane: str = ASK
    ) -> T:
        """Call with the memory of the first folder that is in a space, when its turn comes.

        Waiting takes no thread, so a busy space holds up no other. A cancelled call leaves the
        queue; once it runs, it runs to its end, and only its result is dropped.
        """
        memory = await self.thread(self._first, folders, partial(self._remembered, lane), lane=lane)
        slot = await self._slot(memory, lane)
        await slot.lock.acquire()
        work = asyncio.ensure_future(self.thread(_renewed, slot.memory, call, lane=lane))
        work.add_done_callback(lambda done: done.cancelled() or done.exception())
        work.add_done_callback(lambda _: slot.lock.release())
        return await asyncio.shield(work)

    @contextlib.contextmanager
    def open_space(self, space: Space) -> Iterator[Memory]:
        """A memory for a question to several spaces, kept open for the next such question."""
        settings = config.load(space.home, space.root)
        spare = self._idle.pop(space.root, None)
        if spare and _serves(spare, space.index_folder(settings.index.path), settings):
            spare.renew()
            memory = spare
        else:
            if spare:
                spare.close()
            memory = Memory(space, settings) if self.fixed else self._open(space.root)
        try:
            yield memory
        except BaseException:
            memory.close()
            raise
        if len(self._idle) >= KEPT or self._idle.setdefault(space.root, memory) is not memory:
            memory.close()

    async def call_apart(self, folders: Iterable[str], call: Callable[[Memory], T]) -> T:
        """Call something long with a memory of its own, so that others need not wait for it."""
        return await self.thread(self._call_own, folders, call)

    async def thread(self, call: Callable[..., T], *arguments: Any, lane: str = ASK) -> T:
        """Run a function in a thread of a lane; a cancelled caller does not wait for it."""
        if lane not in self._threads:
            self._threads[lane] = ThreadPoolExecutor(THREADS, thread_name_prefix=lane)
        context = contextvars.copy_context()
        work = partial(context.run, call, *arguments)
        return await asyncio.get_running_loop().run_in_executor(self._threads[lane], work)

    async def release(self) -> None:
        """Free the vectors that memories hold; the next question loads them again."""
        for slot in [*self._slots.values()]:
            async with slot.lock:
                slot.memory.core.loaded_vectors = ("", None)
        for memory in [*self._idle.values()]:
            memory.core.loaded_vectors = ("", None)

    async def close(self) -> None:
        """Close the memories that were opened here, unless one is busy for too long."""
        for (_, lane), slot in self._slots.items():
            if self.fixed and lane == ASK:
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await slot.lock.acquire()
                slot.memory.close()
                slot.lock.release()
        while self._idle:
            self._idle.popitem()[1].close()
        while self._threads:
            self._threads.popitem()[1].shutdown(wait=False, cancel_futures=True)

    def _call_own(self, folders: Iterable[str], call: Callable[[Memory], T]) -> T:
        memory = self._first(folders, self._open)
        if self.fixed:
            memory = Memory(memory.space, memory.config)
        with memory:
            return call(memory)

    def _first(self, folders: Iterable[str], open_: Open) -> Memory:
        """The memory of the first folder in a space, else of the default space."""
        first_error: SpaceError | None = None
        for folder in folders:
            try:
                return open_(folder)
            except SpaceError as error:
                first_error = first_error or error
        try:
            return open_("")
        except SpaceError as error:
            raise first_error or error from None

    def _remembered(self, lane: str, folder: str) -> Memory:
        """The memory of a folder, opened again only if files that it depends on have changed."""
        if self.fixed:
            return self._open(folder)
        place = os.path.realpath(folder)
        key = (lane, folder, place, route.environment())
        stamps, memory = self._opened.get(key, ([], None))
        if memory and route.unchanged(stamps):
            return memory
        memory = self._open(folder)
        if memory.space.registered and os.path.exists(memory.core.index_file):
            stamps = route.stamps(memory.space.home, place, memory.space.root)
            memory = self._open(folder)  # again: it may not be older than its stamps
            if len(self._opened) >= KEPT:
                self._opened.clear()
            self._opened[key] = (stamps, memory)
        return memory

    async def _slot(self, memory: Memory, lane: str) -> Slot:
        """The slot of a memory's space; a new one if settings or data have changed since."""
        key = (memory.space.root, lane)
        slot = self._slots.get(key)
        if slot and _serves(slot.memory, memory.core.folder, memory.config):
            return slot
        if self.fixed and lane != ASK:
            memory = Memory(memory.space, memory.config)
        memory.index.patience = NO_WAIT  # others wait behind whoever asks
        self._slots[key] = Slot(memory, asyncio.Lock())
        if slot:
            async with slot.lock:
                await self.thread(slot.memory.close, lane=lane)
        return self._slots[key]


def _renewed(memory: Memory, call: Callable[[Memory], T]) -> T:
    memory.renew()
    return call(memory)


def _serves(memory: Memory, folder: str, settings: Config) -> bool:
    """Whether an open memory still is the right one for a folder of data and settings."""
    return memory.core.folder == folder and memory.config == settings
