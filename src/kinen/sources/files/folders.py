"""New files of a space: a folder's time changes with each file that is added to it.

A search compares the times of the folders with those of the last sync, without reading any file.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from kinen.extract.languages import is_code
from kinen.ids import milliseconds
from kinen.model.tuples import NamedTuple
from kinen.sources.files.ignore import Ignore
from kinen.sources.files.layout import MANIFEST, is_read
from kinen.sources.git.tagging import KISTE, VARP
from kinen.storage import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

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
) -> tuple[list[str], dict[str, int]]:
    """The new files in some folders, and the folders' times; new folders are included.

    At most `MOST_ENTRIES` entries are looked at.
    """
    from pathlib import Path

    from kinen.sources.files.ignore import Ignore

    ignore = Ignore(Path(root))
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
                if path not in stamps and _is_markdown_walked(path, ignore):
                    waiting.append(path)
            else:
                files.append(path)
    new = [path for path in unindexed(files) if not ignore.ignored(path, directory=False)]
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


def _is_markdown_walked(path: str, ignore: Ignore) -> bool:
    """Whether a sync reads a folder."""
    hidden = path.rpartition("/")[2].startswith(".") and path != ".memories"
    return not hidden and not ignore.ignored(path, directory=True)


IGNORES = (".gitignore", ".kinenignore")


class WatchList(NamedTuple):
    """What the index of a space depends on; all paths are absolute."""

    root: str
    folders: tuple[str, ...]
    """The root first; some may not exist yet."""
    matters: Callable[[str, bool], bool]
    """Can a change of this path change the index? The second argument: is it a folder?"""
    moves_folders: Callable[[str], bool]
    """Can a change of this file change the list of folders?"""


def watch_list(
    root: str, *, git: tuple[str, str] = ("", ""), spools: Sequence[str] = ()
) -> WatchList:
    """What to watch of a space, by its current ignore rules.

    `git` is the git folder of the repository around it, and the one that its worktrees share.
    """
    ignore = Ignore(Path(root))
    top = os.path.join(root, ".git")
    own, common = git if git[0] else (top, top)
    rules = _paths(root, ".kinen/config.yml") | _paths(top, "HEAD info/exclude")
    rules |= _paths(common, "config info/exclude")
    files = rules | _paths(root, f"{MANIFEST} {KISTE} {VARP} .mailmap")
    files |= _paths(own, "HEAD reftable/tables.list")
    files |= _paths(common, "packed-refs shallow reftable/tables.list")
    branches = os.path.join(common, "refs", "heads")
    fixed = {*map(os.path.dirname, files), *spools, branches}

    def matters(path: str, folder: bool) -> bool:
        above, name = os.path.split(path)
        if path in fixed or (path in files and not folder):
            return True
        if above in spools:  # a file that is gone was read
            return not folder and "." not in name and os.path.exists(path)
        if path.startswith(branches + os.sep):
            return folder or not name.endswith(".lock")
        inside = path.startswith(root + os.sep)
        return inside and _is_walked(path[len(root) + 1 :].replace(os.sep, "/"), folder, ignore)

    def moves_folders(path: str) -> bool:
        return path in rules or path == top or os.path.basename(path) in IGNORES

    below = (folder for folder, _, _ in os.walk(branches))
    folders = dict.fromkeys((*_folders(root, ignore), *sorted(fixed), *sorted(below)))
    return WatchList(root, tuple(folders), matters, moves_folders)


def _paths(folder: str, names: str) -> set[str]:
    return {os.path.join(folder, *name.split("/")) for name in names.split()}


def _is_walked(path: str, folder: bool, ignore: Ignore) -> bool:
    """Does `walk` enter this folder of the space, or read this file?"""
    parts = path.split("/")
    entered = parts if folder else parts[:-1]
    if any(part.startswith(".") for part in entered[parts[0] == ".memories" :]):
        return False
    if folder or parts[-1] not in IGNORES:
        read = folder or is_read(path) or is_code(path)
        return read and not ignore.ignored(path, directory=folder)
    return not ignore.ignored("/".join(entered), directory=True)


def _folders(root: str, ignore: Ignore) -> Iterator[str]:
    waiting = [("", root)]
    while waiting:
        below, folder = waiting.pop()
        yield folder
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            paths = [below + entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
            walked = [path for path in paths if _is_walked(path, True, ignore)]
            waiting += [(f"{path}/", os.path.join(root, path)) for path in sorted(walked)]
