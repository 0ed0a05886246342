"""Linux tells what happens in folders: inotify, by ctypes. Who waits for it does not wake up."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import select
import struct
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

MODIFY, ATTRIB, CLOSE_WRITE, MOVED_FROM, MOVED_TO = 0x2, 0x4, 0x8, 0x40, 0x80
CREATE, DELETE, DELETE_SELF, MOVE_SELF = 0x100, 0x200, 0x400, 0x800
UNMOUNT, OVERFLOW, IGNORED, FOLDER = 0x2000, 0x4000, 0x8000, 0x4000_0000
ITSELF = DELETE_SELF | MOVE_SELF
"""That a folder goes away, and nothing of what happens in it."""
COMING = ITSELF | CREATE | MOVED_TO | ATTRIB
EVERYTHING = COMING | MODIFY | CLOSE_WRITE | MOVED_FROM | DELETE
_ONLY_FOLDERS, _ADD_TO_MASK = 0x0100_0000, 0x2000_0000
_EVENT = struct.Struct("iIII")


class Event(NamedTuple):
    """What happened to an entry of a folder, or without a name to the folder itself."""

    folder: str
    """None if events were lost."""
    name: str
    mask: int


class Inotify:
    """Watches folders by their paths; one that is moved or deleted is no longer watched."""

    def __init__(self, most: int = 0) -> None:
        self._most, self._closed = most, False
        self._turn, self._guard = RLock(), RLock()
        self._watched: dict[str, tuple[int, int]] = {}
        """The number and the mask of each folder."""
        self._folders: dict[int, set[str]] = {}
        """The paths of each number: several if one folder is mounted in two places."""
        self._libc, self._poll = ctypes.CDLL(None, use_errno=True), select.poll()
        self._fd = self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._fd < 0:
            raise _error("inotify")
        self._wake = os.eventfd(0)
        self._fds = {self._fd: select.POLLIN, self._wake: select.POLLIN}
        with contextlib.suppress(OSError):  # nothing else tells of what is mounted
            mounts = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
            self._fds[mounts] = select.POLLPRI
        for fd, sign in self._fds.items():
            self._poll.register(fd, sign)

    def add(self, folder: str, mask: int = EVERYTHING) -> bool:
        """Watch the folder that is there now, for these events only; whether it is a new one."""
        with self._guard:
            wd, before = self._watched.get(folder, (-1, 0))
            if wd < 0 and 0 < self._most <= len(self._watched):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), folder)
            if before & ~mask:
                self.remove(folder)
            path, asked = os.fsencode(folder), mask | _ONLY_FOLDERS | _ADD_TO_MASK
            new = self._libc.inotify_add_watch(self._fd, path, asked)
            error = _error(folder)
            if new != wd:
                self.remove(folder)
            if new < 0:
                raise error
            self._watched[folder] = new, mask
            self._folders.setdefault(new, set()).add(folder)
            return new != wd and not before & ~mask

    def remove(self, folder: str) -> None:
        with self._guard:
            wd = self._watched.pop(folder, (-1, 0))[0]
            paths = self._folders.get(wd, set())
            paths.discard(folder)
            if not paths and self._folders.pop(wd, None) is not None:
                self._libc.inotify_rm_watch(self._fd, wd)  # which may be gone already

    def read(self) -> list[Event]:
        """What happened, each thing once; waits until something does. Nothing once it is closed."""
        with self._turn:
            found: dict[Event, None] = {}
            while not found and not self._closed:
                ready = {fd for fd, _ in self._poll.poll()}
                with self._guard:
                    if self._fd in ready:
                        found.update(dict.fromkeys(self._taken(os.read(self._fd, 1 << 18))))
                    if ready - {self._fd, self._wake}:
                        found.update(dict.fromkeys(self._replaced()))
            return [] if self._closed else list(found)

    def close(self) -> None:
        """End all watches, and whoever reads."""
        if not self._closed:
            self._closed = True
            os.eventfd_write(self._wake, 1)
            with self._turn, self._guard:
                self._fd = -1
                for fd in self._fds:
                    os.close(fd)

    def _taken(self, data: bytes) -> Iterator[Event]:
        at = 0
        while at < len(data):
            wd, mask, _, length = _EVENT.unpack_from(data, at)
            start, at = at + _EVENT.size, at + _EVENT.size + length
            name = os.fsdecode(data[start:at].rstrip(b"\0"))
            for folder in [""] if mask & OVERFLOW else sorted(self._folders.get(wd, ())):
                yield Event(folder, name, mask)
                gone = [folder] if mask & (MOVE_SELF | IGNORED) else []
                if mask & MOVE_SELF:  # what is below moved too, and does not say so
                    gone += [path for path in self._watched if path.startswith(folder + os.sep)]
                for path in gone:
                    self.remove(path)

    def _replaced(self) -> Iterator[Event]:
        """Watch each path anew; those where another folder is than before."""
        for folder, (wd, mask) in list(self._watched.items()):
            with contextlib.suppress(OSError):
                self.add(folder, mask)
            if self._watched.get(folder, (-1, 0))[0] != wd:
                yield Event(folder, "", UNMOUNT)


def _error(path: str) -> OSError:
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code), path)
