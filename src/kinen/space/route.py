"""Which space a folder belongs to, remembered: a hook has no time to find out.

Finding a space reads registries, configs and git, and costs more than the whole write that a hook
is there for. Its answer is kept in `routes/`, with the times of every file that it depends on; when
one of them moves, it is found anew. Light on purpose: no `typing`, `re` or `json` at import.
"""

from __future__ import annotations

import os

from kinen import paths
from kinen.storage import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_FIELDS = ("env", "root", "data", "spools", "repo", "git", "common", "tree", "exclude", "hooks")
_VERSION = "route 6"
_END = "end"


class Route:
    """Where what happens in a folder is kept."""

    __slots__ = _FIELDS

    def __init__(self, values: Iterable[str]) -> None:
        for name, value in zip(_FIELDS, values, strict=True):
            setattr(self, name, value)

    env: str
    root: str
    data: str
    spools: str
    """Folders with what could not be written at once, the first for new ones; tab-separated."""
    repo: str
    git: str
    common: str
    tree: str
    """The space's root in the working tree that the folder is in; another one in a worktree."""
    exclude: str
    """Globs of paths that are never captured; tab-separated."""
    hooks: str
    """The section `hooks` of the configuration: its budget, and 1 for each of `inject_on_prompt`
    and `before_tools`."""

    @property
    def spool_folders(self) -> list[str]:
        return self.spools.split("\t")

    @property
    def excluded(self) -> list[str]:
        return [glob for glob in self.exclude.split("\t") if glob]


def find(home: str, folder: str, start: str | None = None) -> Route:
    """The route of a folder: as remembered if nothing moved, else found and remembered.

    `start` is given where the folder is, and KINEN_SPACE then has no say.
    """
    folder = os.path.realpath(folder)
    env = _env(start)
    return _recall(home, folder, env) or _find(home, folder, start, env)


def here() -> Route | None:
    """The route of the working folder; none if it is in no space."""
    from kinen.errors import KinenError

    try:
        return find(paths.default_home(os.environ), os.getcwd())
    except (OSError, KinenError):
        return None


def last_known(home: str, folder: str) -> Route | None:
    """The route that a folder had, whatever moved since."""
    return _recall(home, os.path.realpath(folder), _env(None), moved=True)


def _recall(home: str, folder: str, env: str, *, moved: bool = False) -> Route | None:
    try:
        text = private.read(_file(home, folder))
    except OSError:
        return None
    lines = text.decode("utf-8", "surrogateescape").split("\n")
    end = 2 + len(_FIELDS)
    if lines[:3] != [_VERSION, folder, env] or len(lines) <= end or lines[-1] != _END:
        return None
    if not moved and any(stamp(line) != line for line in lines[end:-1]):
        return None
    return Route(lines[2:end])


def _find(home: str, folder: str, start: str | None, env: str) -> Route:
    from contextlib import suppress

    from kinen import config
    from kinen.errors import StoreError
    from kinen.space import find as spaces
    from kinen.space.repository import git_above, parents
    from kinen.storage.tables import table_file

    space = spaces.find(start, home=home)
    if not space.roots:
        with suppress(StoreError):  # on a full disk: what happens is kept all the same
            space = spaces.register(space)
    settings = config.load(home, space.root)
    git = git_above(folder)
    ids = (space.id, *(one for one in space.aliases if len(one) == 64))
    spools = "\t".join(os.path.join(home, "spool", one[:16]) for one in ids)
    repo = space.origin or space.name
    values = [env, space.root, space.data, spools, repo]
    values += [git.folder, git.common] if git else ["", ""]
    values.append(_tree(space.root, git.main, git.top) if git else space.root)
    section = settings.hooks
    hooks = f"{section.budget} {section.inject_on_prompt:d} {section.before_tools:d}"
    found = Route([*values, "\t".join(settings.privacy.exclude), hooks])
    watched = [
        os.path.join(above, name) for above in parents(folder) for name in (".kinen", ".git")
    ]
    watched += [
        paths.user_file(),
        config.space_file(space.root),
        table_file(home, "spaces"),
    ]
    if git and git.common:
        watched.append(os.path.join(git.common, "config"))
    lines = [_VERSION, folder, *(getattr(found, name) for name in _FIELDS)]
    lines += [*(stamp(path) for path in dict.fromkeys(watched)), _END]
    if not any("\n" in line for line in lines):
        # What cannot be remembered, say on a full disk, is found anew each time.
        with suppress(OSError):
            private.write(_file(home, folder), os.fsencode("\n".join(lines)))
    return found


def _tree(root: str, main: str, top: str) -> str:
    inside = root == main or root.startswith(main + os.sep)
    return os.path.normpath(os.path.join(top, os.path.relpath(root, main))) if inside else root


def _file(home: str, folder: str) -> str:
    from binascii import crc32

    return os.path.join(home, "routes", f"{crc32(os.fsencode(folder)):08x}")


def stamp(line: str) -> str:
    """A path with the time of its file; what comes after a tab is the time it had before."""
    path = line.split("\t", 1)[0]
    try:
        stat = os.stat(path)
    except OSError:
        return f"{path}\t-"
    # A folder's time moves with whatever happens in it; only a file's tells of its content.
    folder = stat.st_mode & 0o040000
    return f"{path}\t{'folder' if folder else f'{stat.st_mtime_ns} {stat.st_size}'}"


def _env(start: str | None) -> str:
    idle = ("KINEN_DEBUG",) if start is None else ("KINEN_DEBUG", "KINEN_SPACE")
    names = sorted(name for name in os.environ if name.startswith("KINEN_") and name not in idle)
    return digest("\x1f".join(f"{name}={os.environ[name]}" for name in names))


def digest(text: str) -> str:
    """A short digest: what a setting or a question says may be a secret, and is not written."""
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    return blake2b(os.fsencode(text), digest_size=16).hexdigest()
