"""inotify of Linux, by ctypes: a reader sleeps until something happens in a watched folder."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import select
import struct
from collections.abc import Iterator
from threading import RLock

from kinen.model.tuples import NamedTuple

MODIFY = 0x2
ATTRIB = 0x4
CLOSE_WRITE = 0x8
MOVED_FROM = 0x40
MOVED_TO = 0x80
CREATE = 0x100
DELETE = 0x200
DELETE_SELF = 0x400
MOVE_SELF = 0x800
UNMOUNT = 0x2000
OVERFLOW = 0x4000
IGNORED = 0x8000
FOLDER = 0x4000_0000
ITSELF = DELETE_SELF | MOVE_SELF
"""Only the end of a folder, nothing that happens in it."""
COMING = ITSELF | CREATE | MOVED_TO | ATTRIB
EVERYTHING = COMING | MODIFY | CLOSE_WRITE | MOVED_FROM | DELETE
_ONLY_FOLDERS = 0x0100_0000
_ADD_TO_MASK = 0x2000_0000
_EVENT = struct.Struct("iIII")


class Event(NamedTuple):
    """An event of an entry of a folder, or without a name of the folder itself."""

    folder: str
    """Empty if events were lost."""
    name: str
    mask: int


class Watched(NamedTuple):
    """A watched folder: the number that inotify gave it, and its events."""

    number: int
    mask: int


_NOT_WATCHED = Watched(number=-1, mask=0)


class Inotify:
    """Watches folders by path; a folder that is moved or deleted is no longer watched."""

    def __init__(self, most: int = 0) -> None:
        self._most = most
        self._closed = False
        self._reading = RLock()
        self._lock = RLock()
        self._watched: dict[str, Watched] = {}
        self._folders: dict[int, set[str]] = {}
        """The paths of each number: several if a folder is mounted in two places."""
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._poll = select.poll()
        self._fd = self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._fd < 0:
            raise _error("inotify")
        self._wake = os.eventfd(0)
        self._fds = {self._fd: select.POLLIN, self._wake: select.POLLIN}
        with contextlib.suppress(OSError):  # nothing else reports mounts
            mounts = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
            self._fds[mounts] = select.POLLPRI
        for fd, events in self._fds.items():
            self._poll.register(fd, events)

    def add(self, folder: str, mask: int = EVERYTHING) -> bool:
        """Watch a folder for these events only; whether it was not watched before."""
        with self._lock:
            before = self._watched.get(folder, _NOT_WATCHED)
            if before is _NOT_WATCHED and 0 < self._most <= len(self._watched):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), folder)
            fewer = bool(before.mask & ~mask)
            if fewer:  # events can only be added to a watch
                self.remove(folder)
            flags = mask | _ONLY_FOLDERS | _ADD_TO_MASK
            number = self._libc.inotify_add_watch(self._fd, os.fsencode(folder), flags)
            error = _error(folder)
            if number != before.number:
                self.remove(folder)
            if number < 0:
                raise error
            self._watched[folder] = Watched(number, mask)
            self._folders.setdefault(number, set()).add(folder)
            return number != before.number and not fewer

    def remove(self, folder: str) -> None:
        with self._lock:
            number = self._watched.pop(folder, _NOT_WATCHED).number
            paths = self._folders.get(number, set())
            paths.discard(folder)
            if not paths and self._folders.pop(number, None) is not None:
                self._libc.inotify_rm_watch(self._fd, number)  # which may be gone already

    def read(self) -> list[Event]:
        """Wait for events; each is returned once. Empty after `close`."""
        with self._reading:
            events: dict[Event, None] = {}
            while not events and not self._closed:
                ready = {fd for fd, _ in self._poll.poll()}
                with self._lock:
                    if self._fd in ready:
                        events.update(dict.fromkeys(self._decode(os.read(self._fd, 1 << 18))))
                    if ready - {self._fd, self._wake}:
                        events.update(dict.fromkeys(self._replaced()))
            return [] if self._closed else list(events)

    def close(self) -> None:
        """End all watches and a waiting `read`."""
        if not self._closed:
            self._closed = True
            os.eventfd_write(self._wake, 1)
            with self._reading, self._lock:
                self._fd = -1
                for fd in self._fds:
                    os.close(fd)

    def _decode(self, data: bytes) -> Iterator[Event]:
        at = 0
        while at < len(data):
            number, mask, _, length = _EVENT.unpack_from(data, at)
            start = at + _EVENT.size
            at = start + length
            name = os.fsdecode(data[start:at].rstrip(b"\0"))
            for folder in [""] if mask & OVERFLOW else sorted(self._folders.get(number, ())):
                yield Event(folder, name, mask)
                if mask & (MOVE_SELF | IGNORED):
                    self.remove(folder)
                if mask & MOVE_SELF:  # folders below have moved, too, without an event
                    below = folder + os.sep
                    for path in [path for path in self._watched if path.startswith(below)]:
                        self.remove(path)

    def _replaced(self) -> Iterator[Event]:
        """Watch each path anew after a mount; an event for each that is another folder now."""
        for folder, (number, mask) in list(self._watched.items()):
            with contextlib.suppress(OSError):
                self.add(folder, mask)
            if self._watched.get(folder, _NOT_WATCHED).number != number:
                yield Event(folder, "", UNMOUNT)


def _error(path: str) -> OSError:
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code), path)
