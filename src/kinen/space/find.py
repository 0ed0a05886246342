"""Which space is this, and where its data lives."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from kinen import config, paths
from kinen.config.trust import is_trusted
from kinen.errors import SpaceError, StoreError
from kinen.space import registry
from kinen.space.registry import Face, Space
from kinen.space.repository import git_above, parents

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kinen.space.repository import Git

    Path = str | os.PathLike[str]
    Env = Mapping[str, str]
    Entry = dict[str, Any]

SYSTEM = tuple("/bin /boot /etc /lib /lib64 /proc /sbin /sys /usr/bin /usr/lib /System".split())
SHARED = tuple(
    "/dev /home /media /mnt /opt /private /private/tmp /private/var /root /run /srv /tmp /usr "
    "/usr/local /usr/share /var /var/lib /var/tmp /Applications /Library /Users /Volumes".split()
)


def find(
    start: Path | None = None,
    *,
    name: str | None = None,
    home: Path | None = None,
    env: Env | None = None,
    anyway: bool = False,
) -> Space:
    """The space that is meant: the named one, else the one that this folder belongs to.

    A folder that belongs to none is one itself if it has notes in it, or `anyway`.
    """
    env = os.environ if env is None else env
    home = _home(home, env)
    name = name or (env.get("KINEN_SPACE") if start is None else None)
    if name:
        return _named(name, home, env)
    root, refusal = _locate(_folder(start), home, env)
    if root:
        return at(root, home=home, env=env)
    written = config.settings(home, paths.user_file(env))[0].get("space.default", ("", 0))
    default = env.get("KINEN_SPACE_DEFAULT") or str(written[0])
    if default:
        return _named(default, home, env)
    here = _folder(start)
    if not refusal and (anyway or _holds_notes(here)):
        return at(here, home=home, env=env)
    fact = f"no space here: {refusal}" if refusal else "no space here"
    raise SpaceError(fact, "run `kinen init` in the project's folder, or pass --space")


def _holds_notes(folder: str) -> bool:
    """Are there markdown files right in it?"""
    with os.scandir(folder) as entries:
        return any(entry.name.lower().endswith((".md", ".markdown")) for entry in entries)


def _named(name: str, home: str, env: Env) -> Space:
    """The space that a name or a path stands for; names win."""
    book = registry.read(home)
    key = registry.named(book, name)
    if not key and os.path.isdir(os.path.expanduser(name)):
        found, refusal = _locate(_folder(os.path.expanduser(name)), home, env)
        if not found:
            raise SpaceError(refusal or f"{name} is in no space", "run `kinen init` there")
        return at(found, home=home, env=env)
    if not key:
        raise SpaceError(f"no space called {name!r}", registry.names_hint(book, name))
    space = registry.space(home, key, book[key])
    if space.missing:
        hint = f"bring it back, or forget it by `kinen space remove {space.name}`"
        raise SpaceError(f"the folder of {space.name} is gone: {space.root}", hint)
    now = at(space.root, home=home, env=env)
    return now if key in (now.id, *now.aliases) else space


def _home(home: Path | None, env: Env) -> str:
    return paths.default_home(env) if home is None else os.path.abspath(home)


def _folder(start: Path | None) -> str:
    try:
        folder = os.path.realpath(os.getcwd() if start is None else start)
    except FileNotFoundError:
        raise SpaceError("the current folder is gone", "change to one that exists") from None
    if os.path.isfile(folder):
        return os.path.dirname(folder)
    if not os.path.isdir(folder):
        raise SpaceError(f"no folder {folder}", "check the path")
    return folder


def locate(start: Path | None = None, *, home: Path | None = None, env: Env | None = None) -> str:
    """The root of the space around a folder, or nothing; its config is not read."""
    env = os.environ if env is None else env
    return _locate(_folder(start), _home(home, env), env)[0]


def _locate(start: str, home: str, env: Env) -> tuple[str, str]:
    """The root that a folder belongs to, or else why its git repository cannot be one."""
    for folder in parents(start):
        own = os.path.join(folder, ".kinen")
        if os.path.isdir(own) and own != os.path.realpath(home) and not _refusal(folder, env):
            return _in_main_tree(folder, git_above(folder)), ""
    git = git_above(start)
    refusal = _refusal(git.top, env) if git else ""
    if git and not refusal:
        return _in_main_tree(git.top, git), ""
    known = {root for entry in registry.read(home).values() for root in entry["roots"]}
    return next((folder for folder in parents(start) if folder in known), ""), refusal


def _in_main_tree(folder: str, git: Git | None) -> str:
    """The same folder in the main repository, if this one is in a worktree of it."""
    if git is None or git.main == git.top:
        return folder
    there = os.path.normpath(os.path.join(git.main, os.path.relpath(folder, git.top)))
    return there if os.path.isdir(there) else folder


def _refusal(folder: str, env: Env) -> str:
    """Why a folder cannot be a space, or nothing."""
    here = os.path.normcase(folder)
    if os.path.dirname(folder) == folder:
        return f"{folder} is a whole disk"
    if here == os.path.normcase(os.path.realpath(paths.user_folder(env))):
        git = " and a git repository" if os.path.exists(os.path.join(folder, ".git")) else ""
        return f"{folder} is your home folder{git}, not one project"
    trees, shared = SYSTEM, SHARED
    if os.name == "nt":
        names = ("SystemRoot", "ProgramFiles", "ProgramFiles(x86)", "ProgramData")
        trees = tuple(os.path.normcase(env[name]) for name in names if env.get(name))
        shared = (os.path.normcase(os.path.dirname(paths.user_folder(env))),)
    if here in shared or any(here == tree or here.startswith(tree + os.sep) for tree in trees):
        return f"{folder} is a system folder"
    return ""


def at(root: Path, *, home: Path | None = None, env: Env | None = None) -> Space:
    """The space whose root is this very folder, registered or not.

    When a better identity has appeared since it was registered (an origin was added, an id was
    set), the old id becomes an alias and the data moves along; if both ids have data, both stay
    on disk and the new one is used. If the data cannot move now, the old id stays in use.
    """
    env = os.environ if env is None else env
    home, root = _home(home, env), _folder(root)
    refusal = _refusal(root, env)
    if refusal:
        raise SpaceError(refusal, "choose the folder of one project")
    book = registry.read(home)
    listed = next((key for key, entry in book.items() if root in entry["roots"]), "")
    git = git_above(root)
    git = None if git and _refusal(git.top, env) else git
    face = _face(root, git, home, env, book.get(listed))
    key = registry.lookup(book, face)
    if key and root in book[key]["roots"]:
        return _known(face, home, key, book)
    if key and face.kind == "config" and not env.get("KINEN_SPACE_ID"):
        _claim(face, home, book[key], git)
    same = listed if listed and _same(book[listed], root, git) else ""
    if not key and not same:
        return _known(face, home, "", book)

    def change(book: dict[str, Entry]) -> Space:
        return _known(face, home, registry.settle(book, home, face, same), book)

    try:
        return registry.update(home, change)
    except StoreError:
        return _known(face, home, key or registry.move_back(home, face.id, listed), book)


def _known(face: Face, home: str, key: str, book: dict[str, Entry]) -> Space:
    if key:
        return registry.space(home, key, book[key], face.root)._replace(origin=face.origin)
    return Space(face.root, face.id, face.name, face.origin, face.kind, home, key=face.key)


def _face(root: str, git: Git | None, home: str, env: Env, entry: Entry | None) -> Face:
    given = config.space_section(home, root, env)
    origin = git.origin if git else ""
    name = given.name or os.path.basename(root)
    if given.id:
        return Face(root, name, "config", f"id:{given.id}", origin)
    inside = os.path.relpath(root, git.top).replace(os.sep, "/") if git else "."
    below = "" if inside == "." else f"#{inside}"
    if origin:
        return Face(root, name, "origin", origin + below, origin)
    commits = entry["root_commits"] if entry else {}
    commit = commits[root] if root in commits else _root_commit(git)
    if commit:
        return Face(root, name, "commit", commit + below, "")
    return Face(root, name, "path", root, "")


def _claim(face: Face, home: str, entry: Entry, git: Git | None) -> None:
    """Refuse a cloned file that takes the id, and so the memory, of another space."""
    alike = face.origin and face.origin == entry["origin"]
    if alike or not any(map(os.path.isdir, entry["roots"])):
        return
    file = config.space_file(face.root)
    related = _root_commit(git) in filter(None, entry["root_commits"].values())
    if not related and not is_trusted(home, file):
        fact = f"{file} has the id of another space: {entry['name']} in {entry['roots'][0]}"
        raise SpaceError(fact, "run `kinen trust` if they are one, or remove space.id")


def _same(entry: Entry, root: str, git: Git | None) -> bool:
    """Is what stands at this root still what was registered there, and no other project?"""
    if entry["identity"] == "path" or git is None:
        return True
    commit = entry["root_commits"].get(root)
    return bool(commit) and commit == _root_commit(git)


def register(space: Space, name: str | None = None) -> Space:
    """Remember a space by name; a second one called notes becomes notes-2."""
    face = Face(space.root, space.name, space.identity, space.key, space.origin)
    git = git_above(space.root)
    known = registry.read(space.home).get(space.id, {}).get("root_commits", {})
    commit = None if space.root in known or not git or not git.deep else _root_commit(git)

    def change(book: dict[str, Entry]) -> Space:
        return _known(face, space.home, registry.enter(book, face, name or "", commit), book)

    return registry.update(space.home, change)


def resolve_names(home: Path, names: Iterable[str], env: Env | None = None) -> tuple[Space, ...]:
    """The spaces that the names stand for, each once; `all` is every one whose folder is there."""
    env = os.environ if env is None else env
    home = os.path.abspath(home)
    found: dict[str, Space] = {}
    for name in names:
        every = (one for one in registry.registered(home) if not one.missing)
        for one in every if name == "all" else (_named(name, home, env),):
            found.setdefault(one.id, one)
    return tuple(found.values())


def _root_commit(git: Git | None) -> str:
    """The first commit of a repository; most searches need no git to know their space."""
    if git is None or not git.deep:
        return ""
    from kinen.space.gitcommand import root_commit

    return root_commit(git)
