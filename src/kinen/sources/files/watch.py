"""What to watch of a space: the folders that a sync reads, and the changes that matter."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from kinen.extract.languages import is_code
from kinen.model.tuples import NamedTuple
from kinen.sources.files.ignore import Ignore
from kinen.sources.files.layout import MANIFEST, is_read
from kinen.sources.git.tagging import KISTE, VARP

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
