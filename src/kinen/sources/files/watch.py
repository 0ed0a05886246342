"""What of a space is worth watching: the folders that a sync reads, and which changes count."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kinen.sources.files.ignore import Ignore
from kinen.sources.files.layout import MANIFEST, wanted
from kinen.sources.git.tagging import KISTE, VARP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

IGNORES = (".gitignore", ".kinenignore")


class Watched(NamedTuple):
    """What the index of a space depends on; all paths are absolute."""

    root: str
    folders: tuple[str, ...]
    """The root first; some may not exist yet."""
    wanted: Callable[[str, bool], bool]
    """May a change of this path, a folder or not, change the index?"""
    rules: Callable[[str], bool]
    """May a change of this file change which folders are read?"""


def watched(root: str, *, git: tuple[str, str] = ("", ""), spools: Sequence[str] = ()) -> Watched:
    """What to watch of a space, by the ignore rules as they are now.

    `git` is the folder of the repository around it, and the one that its worktrees share.
    """
    ignore, top = Ignore(Path(root)), os.path.join(root, ".git")
    own, common = git if git[0] else (top, top)
    framing = _paths(root, ".kinen/config.yml") | _paths(top, "HEAD info/exclude")
    framing |= _paths(common, "config info/exclude")
    exact = framing | _paths(root, f"{MANIFEST} {KISTE} {VARP} .mailmap")
    exact |= _paths(own, "HEAD reftable/tables.list")
    exact |= _paths(common, "packed-refs shallow reftable/tables.list")
    branches = os.path.join(common, "refs", "heads")
    fixed = {*map(os.path.dirname, exact), *spools, branches}

    def counts(path: str, folder: bool) -> bool:
        above, name = os.path.split(path)
        if path in fixed or (path in exact and not folder):
            return True
        if above in spools:  # what is taken out of them was read
            return not folder and "." not in name and os.path.exists(path)
        if path.startswith(branches + os.sep):
            return folder or not name.endswith(".lock")
        inside = path.startswith(root + os.sep)
        return inside and _read(path[len(root) + 1 :].replace(os.sep, "/"), folder, ignore)

    def reframes(path: str) -> bool:
        return path in framing or path == top or os.path.basename(path) in IGNORES

    below = (folder for folder, _, _ in os.walk(branches))
    folders = dict.fromkeys((*_folders(root, ignore), *sorted(fixed), *sorted(below)))
    return Watched(root, tuple(folders), counts, reframes)


def _paths(folder: str, names: str) -> set[str]:
    return {os.path.join(folder, *name.split("/")) for name in names.split()}


def _read(path: str, folder: bool, ignore: Ignore) -> bool:
    """Whether `files.walk` comes by this path of the space, and reads it."""
    parts = path.split("/")
    entered = parts if folder else parts[:-1]
    if any(part.startswith(".") for part in entered[parts[0] == ".memories" :]):
        return False
    if folder or parts[-1] not in IGNORES:
        return (folder or wanted(path)) and not ignore.ignored(path, directory=folder)
    return not ignore.ignored("/".join(entered), directory=True)


def _folders(root: str, ignore: Ignore) -> Iterator[str]:
    waiting = [("", root)]
    while waiting:
        below, folder = waiting.pop()
        yield folder
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            names = [one.name for one in entries if one.is_dir(follow_symlinks=False)]
            read = [below + name for name in names if _read(below + name, True, ignore)]
            waiting += [(f"{path}/", os.path.join(root, path)) for path in sorted(read)]
