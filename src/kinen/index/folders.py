"""New files of a space: a folder's time changes with each file that is added to it.

A search compares the times of the folders with those of the last sync, without reading any file.
"""

from __future__ import annotations

import os

from kinen.ids import milliseconds
from kinen.storage import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Ignored = Callable[[str, bool], bool]
    """Whether a path is ignored, and whether it is a folder."""

MOST_FOLDERS = 5000
"""Folders of a space, beyond which new files wait for the next sync."""
MOST_ENTRIES = 5000
"""Entries of changed folders that are looked at."""
RACY = 100_000_000
"""Nanoseconds within which a file can be added without a change of its folder's time."""


def stamp(folder: str) -> int:
    """The time of a folder; 0 if it is so recent that a further file might not change it."""
    try:
        changed = os.stat(folder).st_mtime_ns
    except OSError:
        return 0
    return changed if milliseconds() * 1_000_000 - changed > RACY else 0


def save(path: str, stamps: Mapping[str, int]) -> None:
    """Write the times of a space's folders, by their paths relative to it, if they changed."""
    if load(path) == stamps:
        return
    lines = [f"{at}\t{folder}" for folder, at in stamps.items() if "\n" not in folder]
    text = "\n".join(lines) if len(lines) <= MOST_FOLDERS else ""
    private.write(path, os.fsencode(text))


def load(path: str) -> dict[str, int]:
    """The times that were written; none if there is no such file, or it is not readable."""
    try:
        lines = os.fsdecode(private.read(path)).split("\n")
        rows = [line.partition("\t") for line in lines if line]
        return {folder: int(at) for at, _, folder in rows}
    except (OSError, ValueError):
        return {}


def changed(root: str, stamps: Mapping[str, int]) -> list[str]:
    """The folders whose time is another than it was."""
    return [folder for folder, at in stamps.items() if not at or stamp_of(root, folder) != at]


def stamp_of(root: str, folder: str) -> int:
    return stamp(os.path.join(root, folder) if folder else root)


def new_files(
    root: str,
    folders: list[str],
    stamps: Mapping[str, int],
    unindexed: Callable[[list[str]], list[str]],
    ignored: Ignored,
) -> tuple[list[str], dict[str, int]]:
    """The new files in some folders, and the folders' times; new folders are included.

    At most `MOST_ENTRIES` entries are looked at.
    """
    files: list[str] = []
    left = MOST_ENTRIES
    waiting = list(folders)
    times: dict[str, int] = {}
    while waiting and left > 0:
        folder = waiting.pop()
        times[folder] = stamp_of(root, folder)
        for path, is_folder in _entries(root, folder):
            left -= 1
            if is_folder:
                hidden = path.rpartition("/")[2].startswith(".") and path != ".memories"
                if path not in stamps and not hidden and not ignored(path, True):
                    waiting.append(path)
            else:
                files.append(path)
    new = [path for path in unindexed(files) if not ignored(path, False)]
    return new, times


def _entries(root: str, folder: str) -> list[tuple[str, bool]]:
    below = f"{folder}/" if folder else ""
    try:
        with os.scandir(os.path.join(root, folder) if folder else root) as entries:
            return [
                (below + entry.name, entry.is_dir(follow_symlinks=False))
                for entry in entries
                if entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False)
            ]
    except OSError:
        return []
