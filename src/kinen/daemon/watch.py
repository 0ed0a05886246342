"""Notices changes in spaces: by inotify on Linux, by watchfiles elsewhere, else by polling."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import select
import struct
import sys
from collections.abc import Callable, Container, Iterable, Iterator
from itertools import islice
from threading import Event as Flag
from threading import RLock, Thread, current_thread
from time import monotonic
from typing import Any

from kinen.model.tuples import NamedTuple
from kinen.space.repository import parents

Counts = Callable[[str, bool], bool]
Changes = dict[str, int]
Snapshot = dict[str, tuple[int, int]]
Description = tuple[str, tuple[str, ...], Counts, Callable[[str], bool]]
"""What `kinen.sources.files.folders` returns; the fields of `Target`."""


POLL_SECONDS = 10.0
"""Seconds between two polls."""
WATCHFILES_SECONDS = 0.5
POLL_SHARE = 0.01
"""How much of the time polling may take."""
READ_PAUSE = 0.2
"""Seconds between two reads of inotify: changes in between are reported together."""
FILES = 1
"""Files of a space may have changed."""
FOLDERS = 2
"""Folders may have come or gone, or other files count."""
PLACE = 3
"""A watched folder is no longer in its place."""
_LIMITS = (errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
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


class Target(NamedTuple):
    """A space to watch; all paths are absolute."""

    root: str
    folders: tuple[str, ...]
    counts: Counts
    """Whether a change of this path, a folder or not, may change the index."""
    reframes: Callable[[str], bool]
    """Whether a change of this file may change which folders are read."""


class Watch:
    """Reports which space changed, and whether its folders may have: then watch it anew."""

    def __init__(
        self,
        changed: Callable[[str, bool], None],
        *,
        backend: str = "",
        poll: float = POLL_SECONDS,
        most: int = 0,
    ) -> None:
        self.changed = changed
        self.poll = poll
        self.most = most
        """The most inotify watches; 0 for the limit of the system."""
        self.backend = (backend or ("inotify" if sys.platform == "linux" else "watchfiles"), "")
        self.lock = RLock()
        self.closing = Flag()
        self.threads: dict[str, Thread] = {}
        self._watchers: dict[str, _InotifyWatcher | _FilesWatcher | _Poller] = {}
        self._spaces: dict[str, tuple[Target, str, str]] = {}
        """The target of each root, how it is watched, and why not in a better way."""

    def watch(self, space: Description) -> None:
        """Watch a space from now on, in place of what was watched of it. Read it after this."""
        target = Target(*space)
        with self.lock:
            missed = not self.closing.is_set() and self._begin(target)
        if missed:
            self.changed(target.root, True)

    def forget(self, root: str) -> None:
        with self.lock:
            self._spaces.pop(root, None)
            if isinstance(watcher := self._watchers.get("inotify"), _InotifyWatcher):
                watcher.forget(root)

    def mode(self, root: str) -> tuple[str, str]:
        """How a space is watched, and why not in a better way."""
        return self._spaces.get(root, (None, "", ""))[1:]

    def close(self) -> None:
        """End all threads; no change is reported any more."""
        with self.lock:
            self.closing.set()
            if isinstance(watcher := self._watchers.get("inotify"), _InotifyWatcher):
                watcher.inotify.close()
            threads = {*self.threads.values()} - {current_thread()}
        for thread in threads:
            thread.join()

    def targets(self, mode: str) -> list[Target]:
        """The spaces that are watched in one way."""
        with self.lock:
            return [target for target, used, _ in self._spaces.values() if used == mode]

    def report(self, changes: Changes) -> None:
        """Report what changed: a level by the root of each space."""
        for root, level in changes.items():
            with self.lock:
                if self.closing.is_set() or root not in self._spaces:
                    continue
                if level == PLACE:  # a root that is gone is not watched anew by the caller
                    self._begin(self._spaces[root][0])
            self.changed(root, level >= FOLDERS)

    def _begin(self, target: Target) -> bool:
        """Watch a target; whether something may have been missed."""
        mode, why = self.backend
        try:
            missed = self._watcher(mode).watch(target)
        except OSError as error:
            mode = "polling"
            why = _reason(error, len(target.folders), self.most)
            missed = self._watcher(mode).watch(target)
        self._spaces[target.root] = target, mode, why
        if mode not in self.threads:
            self.threads[mode] = Thread(target=self._watcher(mode).run, name=mode, daemon=True)
            self.threads[mode].start()
        return missed

    def _watcher(self, mode: str) -> _InotifyWatcher | _FilesWatcher | _Poller:
        if mode not in self._watchers:
            self._watchers[mode] = _WATCHERS[mode](self)
        return self._watchers[mode]


class _Needs(NamedTuple):
    """What a space needs of inotify."""

    target: Target
    masks: dict[str, int]
    """Which events of each folder."""
    awaited: set[str]
    """Paths that do not exist yet."""


class _InotifyWatcher:
    """Watches by inotify; all spaces share one instance."""

    def __init__(self, owner: Watch) -> None:
        self.owner = owner
        self.inotify = Inotify(owner.most)
        self._spaces: dict[str, _Needs] = {}

    def watch(self, target: Target) -> bool:
        old = self._spaces.pop(target.root, None)
        masks: dict[str, int] = {}
        awaited = set()
        for folder in target.folders:
            if os.access(f"{folder}/", os.R_OK):
                masks[folder] = EVERYTHING
                continue
            # For a folder that cannot be read the nearest parent is watched.
            child = folder
            above = os.path.dirname(folder)
            while above != child and not os.path.isdir(above):
                child = above
                above = os.path.dirname(above)
            masks[above] = masks.get(above, 0) | COMING
            awaited.add(child)
        # Parents of the top folders, too: inotify does not report that a folder moves with one.
        for top in [folder for folder in masks if os.path.dirname(folder) not in masks]:
            for above in islice(parents(top), 1, None):
                masks.setdefault(above, ITSELF)
        folders = {**masks, **(old.masks if old else {})}
        self._spaces[target.root] = _Needs(target, masks, awaited)
        try:
            missed, fresh = self._apply(folders)
        except OSError:
            del self._spaces[target.root]
            self._apply(folders)
            raise
        fresh = [folder for folder in fresh if masks.get(folder) == EVERYTHING]
        missed |= any(os.access(f"{path}/", os.R_OK) for path in awaited)
        return missed or _has_new_folder(fresh, masks, target.counts)

    def forget(self, root: str) -> None:
        if root in self._spaces:
            self._apply(self._spaces.pop(root).masks)

    def run(self) -> None:
        while events := self.inotify.read():
            with self.owner.lock:
                changes = self._changes(events)
            self.owner.report(changes)
            self.owner.closing.wait(min(READ_PAUSE, self.owner.poll))

    def _apply(self, folders: Iterable[str]) -> tuple[bool, list[str]]:
        """Watch folders for all spaces; whether one has vanished, and which are new."""
        vanished = False
        fresh = []
        for folder in folders:
            mask = 0
            for needs in self._spaces.values():
                mask |= needs.masks.get(folder, 0)
            try:
                if not mask:
                    self.inotify.remove(folder)
                elif self.inotify.add(folder, mask):
                    fresh.append(folder)
            except OSError as error:
                vanished |= error.errno in (errno.ENOENT, errno.ENOTDIR)
                if error.errno in _LIMITS or (error.errno == errno.EACCES and mask & CREATE):
                    raise
        return vanished, fresh

    def _changes(self, events: list[Event]) -> Changes:
        changes: Changes = {}
        for folder, name, mask in events:
            path = os.path.join(folder, name)
            for root, (target, masks, awaited) in self._spaces.items():
                if not folder or (folder in masks and (not name or path in awaited)):
                    changes[root] = PLACE
                elif folder in masks and changes.get(root, 0) < FOLDERS:
                    _add_change(changes, target, path, bool(mask & FOLDER))
        return changes


class _Poller:
    """Compares folders with what they were before."""

    def __init__(self, owner: Watch) -> None:
        self.owner = owner
        self._snapshots: dict[str, tuple[Target, Snapshot]] = {}

    def watch(self, target: Target) -> bool:
        snapshot = _snapshot(target)
        self._snapshots[target.root] = target, snapshot
        return _has_new_folder(target.folders, snapshot, target.counts)

    def run(self) -> None:
        pause = self.owner.poll
        while not self.owner.closing.wait(pause):
            began = monotonic()
            for target in self.owner.targets("polling"):
                self.owner.report(self._compare(target, _snapshot(target)))
            with self.owner.lock:
                if not self.owner.targets("polling"):
                    del self.owner.threads["polling"]
                    self._snapshots.clear()
                    return
            pause = max(self.owner.poll, (monotonic() - began) / POLL_SHARE)

    def _compare(self, target: Target, now: Snapshot) -> Changes:
        with self.owner.lock:
            current, before = self._snapshots[target.root]
            if current is not target or before == now:
                return {}
            self._snapshots[target.root] = target, now
        same = all(before[folder][0] == shape for folder, (shape, _) in now.items())
        return {target.root: FILES if same else FOLDERS}


class _FilesWatcher:
    """Watches by watchfiles, which follows everything below a folder."""

    def __init__(self, owner: Watch) -> None:
        self.owner = owner
        self._outer: dict[str, list[str]] = {}
        """Of each space the folders that are not inside its root: listed once, not every step."""

    def watch(self, target: Target) -> bool:
        inside = target.root + os.sep
        self._outer[target.root] = [
            folder for folder in target.folders if not folder.startswith(inside)
        ]
        return False  # watchfiles lists the folders itself

    def run(self) -> None:
        while not self.owner.closing.is_set():
            try:
                step = min(WATCHFILES_SECONDS, self.owner.poll)
                self._follow(self._tops(), int(step * 1000))
            except FileNotFoundError:
                self.owner.closing.wait(WATCHFILES_SECONDS)
            except (ImportError, OSError, RuntimeError) as error:
                self.owner.backend = "polling", f"watchfiles: {error}"
                self.owner.report(dict.fromkeys(self._roots(), PLACE))
                break

    def _roots(self) -> list[str]:
        return [target.root for target in self.owner.targets("watchfiles")]

    def _follow(self, tops: dict[str, int], step: int) -> None:
        """Report what happens below some folders until other folders are to be watched."""
        from watchfiles import watch

        batches = watch(
            *(top for top, inode in tops.items() if inode),
            watch_filter=None,
            step=step,
            rust_timeout=step,
            yield_on_timeout=True,
            stop_event=self.owner.closing,
        )
        for number, batch in enumerate(batches):
            if not number:  # nothing was watched before
                self.owner.report(dict.fromkeys(self._roots(), FOLDERS))
            self.owner.report(self._changes(batch))
            if self._tops() != tops:
                break

    def _tops(self) -> dict[str, int]:
        """The folders that contain all others, with their inodes, which show a replacement."""
        tops = [top for root in self._roots() for top in self._outer[root]]
        return {top: os.stat(top).st_ino if os.path.isdir(top) else 0 for top in tops}

    def _changes(self, batch: Iterable[tuple[int, str]]) -> Changes:
        changes: Changes = {}
        if not batch:
            return changes
        targets = [
            (target, frozenset(target.folders)) for target in self.owner.targets("watchfiles")
        ]
        for change, path in batch:
            is_folder = os.path.isdir(path) and not os.path.islink(path)
            if is_folder and change == 2:  # modified by a change in it, which is reported, too
                continue
            for target, folders in targets:
                if path in folders or os.path.dirname(path) in folders:
                    _add_change(changes, target, path, is_folder or path in folders)
        return changes


_WATCHERS: Any = {"inotify": _InotifyWatcher, "watchfiles": _FilesWatcher, "polling": _Poller}


def _add_change(changes: Changes, target: Target, path: str, folder: bool) -> None:
    """Note what a change of a path means for a space."""
    if target.counts(path, folder):
        level = FOLDERS if folder or target.reframes(path) else FILES
        changes[target.root] = max(changes.get(target.root, 0), level)


def _has_new_folder(folders: Iterable[str], watched: Container[str], counts: Counts) -> bool:
    """Whether a folder in these came before they were watched, and is not watched itself."""
    for folder in folders:
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            inside = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
            if any(path not in watched and counts(path, True) for path in inside):
                return True
    return False


def _snapshot(target: Target) -> Snapshot:
    """Two numbers of each folder: one changes with its folders and rules, one with its files."""
    snapshot = {}
    for folder in target.folders:
        shape: list[object] = []
        files: list[object] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if not target.counts(entry.path, is_folder):
                        continue
                    with contextlib.suppress(FileNotFoundError):  # deleted in this moment
                        stat = entry.stat(follow_symlinks=False)
                        stamp = stat.st_mode if is_folder else (stat.st_size, stat.st_mtime_ns)
                        group = shape if is_folder or target.reframes(entry.path) else files
                        group.append((entry.name, stat.st_ino, stamp))
        except OSError as error:
            shape.append(error.errno)
        snapshot[folder] = hash(frozenset(shape)), hash(frozenset(files))
    return snapshot


def _reason(error: OSError, needed: int, most: int) -> str:
    """Why inotify cannot be used."""
    names = {errno.ENOSPC: "max_user_watches", errno.EMFILE: "max_user_instances"}
    name = names.get(error.errno or 0, "")
    if not name:
        return f"{error.strerror}: {error.filename}"
    allowed = most
    with contextlib.suppress(OSError), open(f"/proc/sys/fs/inotify/{name}") as file:
        allowed = most or int(file.read())
    reason = f"{allowed:,} {name.split('_')[2]} are allowed (fs.inotify.{name})"
    if error.errno == errno.ENOSPC:
        reason += f", {needed:,} needed"
        if needed > allowed:
            return reason
    return f"{reason}; all are in use"


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
