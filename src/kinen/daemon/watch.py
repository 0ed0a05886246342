"""Notices what changes in spaces: told by inotify, or by watchfiles, else by looking."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from itertools import islice
from threading import Event as Flag
from threading import RLock, Thread, current_thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from kinen.daemon.inotify import COMING, CREATE, EVERYTHING, FOLDER, ITSELF, Event, Inotify
from kinen.space.repository import parents

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

    Tell = Callable[[str, bool], None]
    Wanted = Callable[[str, bool], bool]
    # As `kinen.sources.files.watch` gives it: a root, its folders, what is wanted, what are rules.
    Watched = tuple[str, tuple[str, ...], Wanted, Callable[[str], bool]]
    Seen = dict[str, tuple[int, int]]

POLL, STEP, SHARE = 10.0, 0.5, 0.01
"""Seconds between two looks of ours, and of watchfiles; how much of the time ours may take."""
PAUSE = 0.2
"""Seconds between two reads of inotify: what comes meanwhile is told as one."""
FILES, FOLDERS, GROUND = 1, 2, 3
"""What may have changed; the last: what was watched is no longer in its place."""
_FULL = (errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM)


class Watch:
    """Tells which space changed, and whether its folders may have: then it is to be given anew."""

    def __init__(
        self, changed: Tell, *, backend: str = "", poll: float = POLL, most: int = 0
    ) -> None:
        self.changed, self.poll, self.most = changed, poll, most
        self.backend = (backend or ("inotify" if sys.platform == "linux" else "watchfiles"), "")
        self.lock, self.closing = RLock(), Flag()
        self.threads: dict[str, Thread] = {}
        self._ways: dict[str, _Listening | _Following | _Looking] = {}
        self._spaces: dict[str, tuple[Watched, str, str]] = {}

    def watch(self, what: Watched) -> None:
        """Watch a space from now on, in place of what was watched of it: then read it."""
        with self.lock:
            late = not self.closing.is_set() and self._begin(what)
        if late:
            self.changed(what[0], True)

    def forget(self, root: str) -> None:
        with self.lock:
            self._spaces.pop(root, None)
            if isinstance(way := self._ways.get("inotify"), _Listening):
                way.forget(root)

    def mode(self, root: str) -> tuple[str, str]:
        """How a space is watched, and why not in a better way."""
        return self._spaces.get(root, (None, "", ""))[1:]

    def close(self) -> None:
        """End all threads; nothing is told any more."""
        with self.lock:
            self.closing.set()
            if isinstance(way := self._ways.get("inotify"), _Listening):
                way.told.close()
            threads = {*self.threads.values()} - {current_thread()}
        for thread in threads:
            thread.join()

    def of(self, mode: str) -> list[Watched]:
        """The spaces that are watched in one way."""
        with self.lock:
            return [what for what, its, _ in self._spaces.values() if its == mode]

    def tell(self, found: dict[str, int]) -> None:
        for root, level in found.items():
            with self.lock:
                if self.closing.is_set() or root not in self._spaces:
                    continue
                if level == GROUND:  # of a root that is gone, nobody gives anything anew
                    self._begin(self._spaces[root][0])
            self.changed(root, level >= FOLDERS)

    def _begin(self, what: Watched) -> bool:
        mode, why = self.backend
        try:
            late = self._way(mode).watch(what)
        except OSError as error:
            mode, why = "polling", _reason(error, len(what[1]), self.most)
            late = self._way(mode).watch(what)
        self._spaces[what[0]] = what, mode, why
        if mode not in self.threads:
            self.threads[mode] = Thread(target=self._way(mode).run, name=mode, daemon=True)
            self.threads[mode].start()
        return late

    def _way(self, mode: str) -> _Listening | _Following | _Looking:
        if mode not in self._ways:
            self._ways[mode] = _WAYS[mode](self)
        return self._ways[mode]


class _Listening:
    """By inotify; all spaces share one instance."""

    def __init__(self, to: Watch) -> None:
        self.to, self.told = to, Inotify(to.most)
        self._spaces: dict[str, tuple[Watched, dict[str, int], set[str]]] = {}
        """What of each folder a space needs to hear, and the paths it waits for."""

    def watch(self, what: Watched) -> bool:
        old = self._spaces.pop(what[0], (what, {}, set()))[1]
        needs, awaited = _needs(what[1])
        self._spaces[what[0]] = what, needs, awaited
        try:
            late, fresh = self._apply({**needs, **old})
        except OSError:
            del self._spaces[what[0]]
            self._apply({**needs, **old})
            raise
        fresh = [folder for folder in fresh if needs.get(folder) == EVERYTHING]
        late |= any(os.access(f"{path}/", os.R_OK) for path in awaited)
        return late or _grown(fresh, needs, what[2])

    def forget(self, root: str) -> None:
        if root in self._spaces:
            self._apply(self._spaces.pop(root)[1])

    def run(self) -> None:
        while events := self.told.read():
            with self.to.lock:
                found = self._heard(events)
            self.to.tell(found)
            self.to.closing.wait(min(PAUSE, self.to.poll))

    def _apply(self, folders: Iterable[str]) -> tuple[bool, list[str]]:
        """Hear of folders what all spaces need; whether one vanished, and which are new."""
        late, fresh = False, []
        for folder in folders:
            mask = 0
            for _, needs, _ in self._spaces.values():
                mask |= needs.get(folder, 0)
            try:
                if not mask:
                    self.told.remove(folder)
                elif self.told.add(folder, mask):
                    fresh.append(folder)
            except OSError as error:
                late |= error.errno in (errno.ENOENT, errno.ENOTDIR)
                if error.errno in _FULL or (error.errno == errno.EACCES and mask & CREATE):
                    raise
        return late, fresh

    def _heard(self, events: list[Event]) -> dict[str, int]:
        found: dict[str, int] = {}
        for folder, name, mask in events:
            path = os.path.join(folder, name)
            for root, (what, needs, awaited) in self._spaces.items():
                if not folder or (folder in needs and (not name or path in awaited)):
                    found[root] = GROUND
                elif folder in needs and found.get(root, 0) < FOLDERS:
                    _weigh(found, what, path, bool(mask & FOLDER))
        return found


class _Looking:
    """By comparing what is there with what was there."""

    def __init__(self, to: Watch) -> None:
        self.to = to
        self._seen: dict[str, tuple[Watched, Seen]] = {}

    def watch(self, what: Watched) -> bool:
        seen = _look(what)
        self._seen[what[0]] = what, seen
        return _grown(what[1], seen, what[2])

    def run(self) -> None:
        pause = self.to.poll
        while not self.to.closing.wait(pause):
            began = monotonic()
            for what in self.to.of("polling"):
                self.to.tell(self._compared(what, _look(what)))
            with self.to.lock:
                if not self.to.of("polling"):
                    del self.to.threads["polling"]
                    self._seen.clear()
                    return
            pause = max(self.to.poll, (monotonic() - began) / SHARE)

    def _compared(self, what: Watched, now: Seen) -> dict[str, int]:
        with self.to.lock:
            its, before = self._seen[what[0]]
            if its is not what or before == now:
                return {}
            self._seen[what[0]] = what, now
        same = all(before[folder][0] == shape for folder, (shape, _) in now.items())
        return {what[0]: FILES if same else FOLDERS}


class _Following:
    """By watchfiles, which follows all that is below a folder."""

    def __init__(self, to: Watch) -> None:
        self.to = to

    def watch(self, _what: Watched) -> bool:
        return False  # it looks itself what there is

    def run(self) -> None:
        while not self.to.closing.is_set():
            try:
                self._follow(self._tops(), int(min(STEP, self.to.poll) * 1000))
            except FileNotFoundError:
                self.to.closing.wait(STEP)
            except (ImportError, OSError, RuntimeError) as error:
                self.to.backend = "polling", f"watchfiles: {error}"
                self.to.tell({what[0]: GROUND for what in self.to.of("watchfiles")})
                break

    def _follow(self, tops: dict[str, int], step: int) -> None:
        """Tell what happens below some folders until these are others."""
        from watchfiles import watch

        found = watch(
            *(top for top, there in tops.items() if there),
            watch_filter=None,
            step=step,
            rust_timeout=step,
            yield_on_timeout=True,
            stop_event=self.to.closing,
        )
        for n, changes in enumerate(found):
            if not n:  # before this, nobody listened
                self.to.tell({what[0]: FOLDERS for what in self.to.of("watchfiles")})
            self.to.tell(self._heard(changes))
            if self._tops() != tops:
                break

    def _tops(self) -> dict[str, int]:
        """The folders that hold all others, and which they are: another may take their place."""
        every = ((root + os.sep, folders) for root, folders, _, _ in self.to.of("watchfiles"))
        tops = [one for inside, some in every for one in some if not one.startswith(inside)]
        return {top: os.stat(top).st_ino if os.path.isdir(top) else 0 for top in tops}

    def _heard(self, changes: Iterable[tuple[int, str]]) -> dict[str, int]:
        found: dict[str, int] = {}
        known = [(what, frozenset(what[1])) for what in self.to.of("watchfiles") if changes]
        for change, path in changes:
            there = os.path.isdir(path) and not os.path.islink(path)
            if there and change == 2:  # a folder is modified by what happens in it, told too
                continue
            for what, folders in known:
                if path in folders or os.path.dirname(path) in folders:
                    _weigh(found, what, path, there or path in folders)
        return found


_WAYS: Any = {"inotify": _Listening, "watchfiles": _Following, "polling": _Looking}


def _weigh(found: dict[str, int], what: Watched, path: str, folder: bool) -> None:
    """Note what a change of a path means for a space."""
    root, _, wanted, rules = what
    if wanted(path, folder):
        level = FOLDERS if folder or rules(path) else FILES
        found[root] = max(found.get(root, 0), level)


def _needs(folders: Iterable[str]) -> tuple[dict[str, int], set[str]]:
    """What to hear of which folder, or of the nearest parent of one that cannot be read.

    And the paths that are waited for. Who moves with all that is above is not told of it.
    """
    needs: dict[str, int] = {}
    awaited = set()
    for folder in folders:
        if os.access(f"{folder}/", os.R_OK):
            needs[folder] = EVERYTHING
            continue
        child, above = folder, os.path.dirname(folder)
        while above != child and not os.path.isdir(above):
            child, above = above, os.path.dirname(above)
        needs[above] = needs.get(above, 0) | COMING
        awaited.add(child)
    for top in [folder for folder in needs if os.path.dirname(folder) not in needs]:
        for above in islice(parents(top), 1, None):
            needs.setdefault(above, ITSELF)
    return needs, awaited


def _grown(folders: Iterable[str], known: Container[str], wanted: Wanted) -> bool:
    """Whether there is a folder in these that is not known: it came before they were watched."""
    for folder in folders:
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            inside = [one.path for one in entries if one.is_dir(follow_symlinks=False)]
            if any(path not in known and wanted(path, True) for path in inside):
                return True
    return False


def _look(what: Watched) -> Seen:
    """Of each folder two numbers: one changes with its folders and rules, one with its files."""
    _, folders, wanted, rules = what
    seen = {}
    for folder in folders:
        shape: list[object] = []
        files: list[object] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not wanted(entry.path, below := entry.is_dir(follow_symlinks=False)):
                        continue
                    with contextlib.suppress(FileNotFoundError):  # deleted in this moment
                        stat = entry.stat(follow_symlinks=False)
                        stamp = stat.st_mode if below else (stat.st_size, stat.st_mtime_ns)
                        kept = shape if below or rules(entry.path) else files
                        kept.append((entry.name, stat.st_ino, stamp))
        except OSError as error:
            shape.append(error.errno)
        seen[folder] = hash(frozenset(shape)), hash(frozenset(files))
    return seen


def _reason(error: OSError, needed: int, most: int) -> str:
    """Why inotify does not serve, in words."""
    names = {errno.ENOSPC: "max_user_watches", errno.EMFILE: "max_user_instances"}
    allowed, name = most, names.get(error.errno or 0, "")
    if not name:
        return f"{error.strerror}: {error.filename}"
    with contextlib.suppress(OSError), open(f"/proc/sys/fs/inotify/{name}") as file:
        allowed = most or int(file.read())
    said = f"{allowed:,} {name.split('_')[2]} are allowed (fs.inotify.{name})"
    said += f", {needed:,} needed" if error.errno == errno.ENOSPC else ""
    return said if error.errno == errno.ENOSPC and needed > allowed else f"{said}; all are taken"
