"""Early events: what agents did in a folder before it was a space, or while no space can be found.

Each is a file below `early/` of the home, in a place for each folder of the user: a line with the
path of that folder, and a line with the event. When the folder becomes part of a space, its journal
takes them in; without one they go after 30 days. Hooks import this module for such folders only.
"""

from __future__ import annotations

import os
import time

from kinen.errors import Untrusted
from kinen.model.late import json
from kinen.storage import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DAYS = 30
"""How long an event waits for a space."""
EVENTS = 2_000
"""Events of one folder; the oldest give way."""
BYTES = 8 << 20
"""Bytes of the events of one folder, likewise."""
FOLDERS = 32
"""Folders that have events; the one without a new event for longest gives way."""
ATTEMPTS = 5
END = ".end"
"""What the name of a file ends in that says when a session ended; the rest is its capsule."""


def put(home: str, folder: str, name: str, event: dict[str, Any]) -> None:
    """Store an event of a folder; one of the same name is replaced."""
    there = place(home, folder)
    if not os.path.isdir(there):
        others = sorted((_last_change(path), path) for path in _files(os.path.dirname(there)))
        for _, old in others[: max(0, len(others) - FOLDERS + 1)]:
            remove(old)
    data = f"{json.dumps(folder)}\n{json.dumps(event)}\n"
    entries = sorted(_entries(there))
    excess = len(entries) + 1 - EVENTS
    total = sum(size for _, size, _ in entries) + len(data)
    for position, (_, size, path) in enumerate(entries):
        if position >= excess and total <= BYTES:
            break
        discard(path)
        total -= size
    for attempt in range(ATTEMPTS):
        try:
            private.write(os.path.join(there, name), data)
            break
        except OSError:  # another process removed the empty place, or the disk is full
            if attempt == ATTEMPTS - 1:
                raise
            discard(os.path.join(home, "spool", ".reserve"))


def _last_change(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def place(home: str, folder: str) -> str:
    """Where the events of a folder are."""
    from hashlib import sha256

    return os.path.join(home, "early", sha256(os.fsencode(folder)).hexdigest()[:32])


def read(path: str) -> tuple[str, dict[str, Any]]:
    """The folder of an event, and the event.

    ValueError if the file is not one of ours, OSError if it cannot be read now.
    """
    try:
        folder, event = map(json.loads, private.read(path).splitlines())
        return str(folder), dict(event)
    except (Untrusted, TypeError, RecursionError) as error:
        raise ValueError(path) from error


def folders(home: str) -> list[tuple[str, str]]:
    """Every folder that has events or ends of sessions, and the place where they are."""
    pairs = []
    for there in _files(os.path.join(home, "early")):
        for path in (*events(there), *ends(there)):
            try:
                pairs.append((read(path)[0], there))
                break
            except OSError:
                continue  # another process took it in
            except ValueError:
                set_aside(path)
    return sorted(pairs)


def count(home: str, folder: str) -> int:
    """How many events of a folder, and of those in it, wait for a space."""
    return sum(len(events(there)) for there in _places(home, folder))


def drop(home: str, folder: str) -> None:
    """Delete what waits for a folder, and for those in it, to become a space."""
    for there in _places(home, folder):
        remove(there)


def _places(home: str, folder: str) -> list[str]:
    inner = os.path.join(folder, "")
    return [there for path, there in folders(home) if os.path.join(path, "").startswith(inner)]


def events(there: str) -> list[str]:
    """The files of the events in a place, in the order in which they were written."""
    return [path for _, _, path in sorted(_entries(there))]


def ends(there: str) -> list[str]:
    """The files in a place that say when a session ended."""
    return [path for path in _files(there) if path.endswith(END)]


def _entries(there: str) -> list[tuple[int, int, str]]:
    """When each event was written, its size and its file."""
    entries = []
    for path in _files(there):
        if "." not in os.path.basename(path):
            try:
                info = os.lstat(path)
            except OSError:
                continue  # another process took it in
            entries.append((info.st_mtime_ns, info.st_size, path))
    return entries


def _files(folder: str) -> list[str]:
    try:
        return [os.path.join(folder, name) for name in os.listdir(folder)]
    except OSError:
        return []


def set_aside(path: str) -> None:
    """Take a file that cannot be read out of the way; it goes with the others."""
    try:
        os.rename(path, path + ".bad")
    except OSError:
        return


def discard(path: str) -> None:
    """Delete a file, and its place if nothing is left in it."""
    try:
        os.unlink(path)
        os.rmdir(os.path.dirname(path))
    except OSError:
        return


def remove(there: str) -> None:
    """Delete everything in a place, and the place."""
    for path in _files(there):
        discard(path)


def expire(home: str) -> None:
    """Delete what has waited for too long."""
    oldest = time.time() - DAYS * 86_400
    for there in _files(os.path.join(home, "early")):
        for path in _files(there):
            try:
                if os.lstat(path).st_mtime < oldest:
                    discard(path)
            except OSError:
                continue
