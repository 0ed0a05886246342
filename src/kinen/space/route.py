"""The space of a folder, cached in `routes/` for hooks.

Finding a space reads the registry, configs and git's files, and takes longer than the write that a
hook is for. The cached answer has the times of every file that it depends on; when one of them
changes, the space is found again. No `typing`, `re` or `json` at import.
"""

from __future__ import annotations

import os

from kinen import paths
from kinen.storage import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_FIELDS = (
    *("env", "root", "data", "spools", "repo", "git", "common", "tree", "exclude", "index"),
    *("trusted", "team", "budget", "on_prompt", "before_tools", "asks"),
)
_VERSION = "route 11"
_END = "end"


class Route:
    """Where observations of a folder are stored."""

    __slots__ = (*_FIELDS, "early", "fault")

    def __init__(
        self, values: Iterable[str], early: Iterable[str] = (), fault: Exception | None = None
    ) -> None:
        for name, value in zip(_FIELDS, values, strict=True):
            setattr(self, name, value)
        self.early = early
        self.fault = fault

    env: str
    root: str
    data: str
    """The folder of the journal; empty if the folder is in no space now."""
    spools: str
    """The spool folders, the first for new files; tab-separated."""
    repo: str
    git: str
    common: str
    tree: str
    """The space's root in the folder's own working tree; differs from `root` in a worktree."""
    exclude: str
    """Globs of paths that are never captured; tab-separated."""
    index: str
    """The folder of the index of this clone or worktree."""
    trusted: str
    """`1` if the user trusts what the files of the space say, else `0`."""
    team: str
    """`1` if the space has a team, else empty."""
    budget: str
    """`hooks.budget`."""
    on_prompt: str
    """`1` if `hooks.inject_on_prompt` is set, else `0`."""
    before_tools: str
    """`1` if `hooks.before_tools` is set, else `0`."""
    asks: str
    """`memories.ask`."""
    early: Iterable[str]
    """Where early events of the space are; empty in a cached route."""
    fault: Exception | None
    """Why no space can be found."""

    @property
    def spool_folders(self) -> list[str]:
        return self.spools.split("\t")

    @property
    def excluded(self) -> list[str]:
        return [glob for glob in self.exclude.split("\t") if glob]


def find(home: str, folder: str, start: str | None = None, *, register: bool = True) -> Route:
    """The route of a folder, from the cache if nothing changed.

    With `start`, the space is searched from there and KINEN_SPACE is ignored. Without `register`,
    a space that is not registered stays so, and its route is not cached.
    """
    folder = os.path.realpath(folder)
    env = environment(start)
    return _cached(home, folder, env) or _find(home, folder, start, env, register=register)


def here() -> Route | None:
    """The route of the working folder, for commands that read; None if it is not in a space."""
    from kinen.errors import KinenError

    try:
        return find(paths.default_home(os.environ), os.getcwd(), register=False)
    except (OSError, KinenError):
        return None


def last_known(home: str, folder: str) -> Route | None:
    """The cached route of a folder, even if it is out of date."""
    return _cached(home, os.path.realpath(folder), environment(), stale=True)


def _cached(home: str, folder: str, env: str, *, stale: bool = False) -> Route | None:
    try:
        text = private.read(_file(home, folder))
    except OSError:
        return None
    lines = text.decode("utf-8", "surrogateescape").split("\n")
    end = 2 + len(_FIELDS)
    if lines[:3] != [_VERSION, folder, env] or len(lines) <= end or lines[-1] != _END:
        return None
    if not stale and not unchanged(lines[end:-1]):
        return None
    return Route(lines[2:end])


def _find(home: str, folder: str, start: str | None, env: str, *, register: bool) -> Route:
    from contextlib import suppress

    from kinen import config
    from kinen.config.trust import trusts_memory
    from kinen.errors import StoreError
    from kinen.space import find as spaces
    from kinen.space.repository import git_above

    space = spaces.find(start, home=home)
    if register and not space.registered:
        with suppress(StoreError):  # on a full disk observations can still be spooled
            space = spaces.register(space)
    settings = config.load(home, space.root)
    git = git_above(folder)
    ids = (space.id, *(alias for alias in space.aliases if len(alias) == 64))
    early = spaces.early_places(home, space.root)
    values = {
        "env": env,
        "root": space.root,
        "data": space.data,
        "spools": "\t".join(os.path.join(home, "spool", id_[:16]) for id_ in ids),
        "repo": space.origin or space.name,
        "git": git.folder if git else "",
        "common": git.common if git else "",
        "tree": git.in_tree(space.root) if git else space.root,
        "exclude": "\t".join(settings.privacy.exclude),
        "index": space.index_folder(settings.index.path),
        "trusted": f"{trusts_memory(home, space.root, (space.id, *space.aliases)):d}",
        "team": "1" if settings.team.url else "",
        "budget": str(settings.hooks.budget),
        "on_prompt": f"{settings.hooks.inject_on_prompt:d}",
        "before_tools": f"{settings.hooks.before_tools:d}",
        "asks": settings.memories.ask,
    }
    route = Route((values[name] for name in _FIELDS), early)
    if not space.registered or early:
        return route  # early events are looked for until all are taken in
    lines = [_VERSION, folder, *(getattr(route, name) for name in _FIELDS)]
    lines += [*stamps(home, folder, space.root), _END]
    if not any("\n" in line for line in lines):
        # Without the cache, say on a full disk, the space is found each time.
        with suppress(OSError):
            private.write(_file(home, folder), os.fsencode("\n".join(lines)))
    return route


def without_space(home: str, folder: str, fault: Exception) -> Route | None:
    """The route of a folder in which no space can be found now; None where none can ever be.

    Its root is the folder itself, and what the user excludes everywhere is excluded.
    """
    from kinen import config
    from kinen.config.keys import Config
    from kinen.errors import KinenError
    from kinen.space.find import unfit

    folder = os.path.realpath(folder)
    if unfit(folder):
        return None
    try:
        settings = config.load(home, None)
    except KinenError:
        settings = Config()
    values = {
        "root": folder,
        "tree": folder,
        "exclude": "\t".join(settings.privacy.exclude),
        "budget": str(settings.hooks.budget),
        "asks": "off",
    }
    return Route((values.get(name, "") for name in _FIELDS), fault=fault)


def _file(home: str, folder: str) -> str:
    return os.path.join(home, "routes", digest(folder)[:16])


def stamps(home: str, folder: str, root: str) -> list[str]:
    """Stamps of all files that say in which space a folder is, and how that is set up."""
    from kinen import config
    from kinen.space.repository import git_above, parents
    from kinen.storage.tables import table_file

    watched = [
        os.path.join(above, name) for above in parents(folder) for name in (".kinen", ".git")
    ]
    watched += [
        root,
        paths.user_file(),
        os.path.join(root, ".kinen", "config.yml"),
        config.space_file(root),
        table_file(home, "spaces"),
        table_file(home, "trust"),
    ]
    git = git_above(folder)
    if git and git.common:
        watched.append(os.path.join(git.common, "config"))
    return [stamp(path) for path in dict.fromkeys(watched)]


def unchanged(lines: Iterable[str]) -> bool:
    """Whether the files of all stamps are as they were."""
    return all(stamp(line) == line for line in lines)


def stamp(line: str) -> str:
    """A path with the time and size of its file, after a tab; a former stamp is replaced."""
    path = line.split("\t", 1)[0]
    try:
        stat = os.stat(path)
    except OSError:
        return f"{path}\t-"
    # The time of a folder changes with any file in it.
    folder = stat.st_mode & 0o040000
    return f"{path}\t{'folder' if folder else f'{stat.st_mtime_ns} {stat.st_size}'}"


def environment(start: str | None = None) -> str:
    """A digest of the variables that settings come from; with `start` without KINEN_SPACE."""
    idle = ["KINEN_DEBUG", "KINEN_LOG_LEVEL", "KINEN_PROGRESS"]
    if start is not None:
        idle.append("KINEN_SPACE")
    names = sorted(name for name in os.environ if name.startswith("KINEN_") and name not in idle)
    return digest("\x1f".join(f"{name}={os.environ[name]}" for name in names))


def digest(text: str) -> str:
    """A short digest, for texts that may contain secrets and must not be written."""
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    return blake2b(os.fsencode(text), digest_size=16).hexdigest()
