"""Which space a folder belongs to, remembered: a hook has no time to find out.

Finding a space reads registries, configs and git, and costs more than the whole write that a hook
is there for. Its answer is kept in `routes/`, with the times of every file that it depends on; when
one of them moves, it is found anew. Light on purpose: no `typing`, `re` or `json` at import.
"""

from __future__ import annotations

import os
import sys

from kinen.storage import private, regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_FIELDS = ("env", "root", "data", "spools", "repo", "git", "common", "tree", "exclude", "hooks")
_VERSION, _END = "route 6", "end"
LONGEST_REF = 65_536
"""Bytes of HEAD, of a ref, or of a file that only names a folder."""
PACKED_REFS = 64 << 20
"""Bytes of packed-refs; a million refs fit."""


def user_folder(env: Mapping[str, str]) -> str:
    return env.get("USERPROFILE" if os.name == "nt" else "HOME") or os.path.expanduser("~")


def _platform_folder(env: Mapping[str, str], variable: str, *otherwise: str) -> str:
    chosen = env.get(variable, "")
    return chosen if os.path.isabs(chosen) else os.path.join(user_folder(env), *otherwise)


def user_file(env: Mapping[str, str] | None = None) -> str:
    """The user's own config file, whether it exists or not."""
    env = os.environ if env is None else env
    if env.get("KINEN_CONFIG"):
        return os.path.abspath(env["KINEN_CONFIG"])
    if os.name == "nt":
        folder = _platform_folder(env, "APPDATA", "AppData", "Roaming")
    else:
        folder = _platform_folder(env, "XDG_CONFIG_HOME", ".config")
    return os.path.join(folder, "kinen", "config.yml")


def default_home(env: Mapping[str, str] | None = None) -> str:
    """Where kinen keeps its data: KINEN_HOME, else the platform's data folder."""
    env = os.environ if env is None else env
    if env.get("KINEN_HOME"):
        return os.path.abspath(env["KINEN_HOME"])
    if os.name == "nt":
        folder = _platform_folder(env, "LOCALAPPDATA", "AppData", "Local")
    elif sys.platform == "darwin":
        folder = os.path.join(user_folder(env), "Library", "Application Support")
    else:
        folder = _platform_folder(env, "XDG_DATA_HOME", ".local", "share")
    return os.path.join(folder, "kinen")


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
        return find(default_home(os.environ), os.getcwd())
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
    from kinen.space import registry
    from kinen.space.repository import git_above, parents

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
        config.user_file(),
        config.space_file(space.root),
        registry.table_file(home, "spaces"),
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


def head(git: str, common: str) -> tuple[str, str]:
    """The branch and commit that are checked out, read without git; empty where it cannot be."""
    content = regular.text(os.path.join(git, "HEAD"), LONGEST_REF).strip() if git else ""
    if not content.startswith("ref: "):
        return "", _commit(content)
    ref = content[5:]
    # Refs that are kept in a table have `.invalid`; no other name leads out of the folder.
    if ref == "refs/heads/.invalid" or not ref.startswith("refs/") or ".." in ref or "\0" in ref:
        return "", ""
    commit = regular.text(os.path.join(common, ref), LONGEST_REF).strip()
    if not commit:
        packed = regular.text(os.path.join(common, "packed-refs"), PACKED_REFS)
        for line in packed.splitlines():
            if line.endswith(" " + ref):
                commit = line.split(" ", 1)[0]
    return ref.removeprefix("refs/heads/"), _commit(commit)


def _commit(text: str) -> str:
    """The text if it is the id of a commit: another file may stand in a ref's place."""
    hexadecimal = not text.strip("0123456789abcdef")
    return text if hexadecimal and len(text) in (40, 64) else ""


def inside(path: str, *roots: str) -> str:
    """A path as the space knows it: relative and with slashes if it is inside, else absolute."""
    full = os.path.abspath(path)
    folder, name = os.path.split(full)
    for root in roots:
        for one in (full, os.path.join(os.path.realpath(folder), name)):
            for top in (root, os.path.realpath(root)):
                if one.startswith(top + os.sep):
                    return one[len(top) + 1 :].replace(os.sep, "/")
    return full.replace(os.sep, "/")


def excluded(path: str, globs: Iterable[str]) -> str:
    """The glob that a path, or a folder above it, matches; nothing if it may be captured.

    A glob without a slash matches a name at any depth, one with a slash a path from the root.
    """
    parts = path.strip("/").split("/")
    heads = ["/".join(parts[: n + 1]) for n in range(len(parts))]
    for glob in globs:
        wanted = glob.removesuffix("/**").rstrip("/")
        names = heads if "/" in wanted else parts
        if any(_matches(name, wanted.removeprefix("**/").lstrip("/")) for name in names):
            return glob
        if wanted.startswith("**/") and any(_matches(name, "*/" + wanted[3:]) for name in heads):
            return glob
    return ""


def _matches(name: str, glob: str) -> bool:
    if "/**/" in glob:
        # It stands for one slash too. With all slashes doubled, a plain star stands for both.
        name = name.replace("/", "//")
        glob = "/*/".join(piece.replace("/", "//") for piece in glob.split("/**/"))
    if "?" in glob or "[" in glob:
        from fnmatch import fnmatchcase

        return fnmatchcase(name, glob)
    first, *rest = glob.split("*")
    if not rest:
        return name == glob
    if not name.startswith(first) or not name.endswith(rest[-1]):
        return False
    at, end = len(first), len(name) - len(rest[-1])
    for piece in rest[:-1]:
        found = name.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return at <= end
