"""Notices that a journal has new entries, whoever wrote them: hooks write to it directly."""

from __future__ import annotations

import os

from kinen.journal.mark import glance

NAME = "journal.db"
LOG = "journal.db-wal"


class JournalWatch:
    """The journal of a space, as far as it was seen."""

    def __init__(self, data: str, space: str) -> None:
        """`data` is the folder that the journal is in."""
        self.space = space
        self._path = os.path.join(data, NAME)
        self._stamps = self._stat()
        self._mark = glance(self._path)

    def grew(self) -> bool:
        """Whether there is something new since the last call.

        Reading a journal can create and remove an empty log beside it. Files are compared first, so
        that this reading is not taken for a change.
        """
        stamps = self._stat()
        if stamps == self._stamps:
            return False
        self._stamps = stamps
        mark = glance(self._path)
        grew = mark != self._mark
        self._mark = mark
        return grew

    def _stat(self) -> tuple[tuple[int, int], ...]:
        folder = os.path.dirname(self._path)
        return tuple(_stamp(os.path.join(folder, name)) for name in (NAME, LOG))


def counts(path: str, *_: object) -> bool:
    """Whether a path is a file that new entries change."""
    return os.path.basename(path) in (NAME, LOG)


def never(*_: object) -> bool:
    """No change of a file means other folders to watch."""
    return False


def _stamp(path: str) -> tuple[int, int]:
    """Size and time of a file; that of a missing file equals that of an empty one."""
    try:
        stat = os.stat(path)
    except OSError:
        return (0, 0)
    return (stat.st_size, stat.st_mtime_ns) if stat.st_size else (0, 0)
