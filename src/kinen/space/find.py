"""Which space is this, and where its data lives."""

from __future__ import annotations

import os

from kinen import config, paths
from kinen.config.file import settings as read_settings
from kinen.errors import KinenError, SpaceError, StoreError
from kinen.space import registry
from kinen.space.registry import Identity, Space
from kinen.space.repository import git_above, main_folder, parents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kinen.space.registry import Entry, Table
    from kinen.space.repository import Git

    Path = str | os.PathLike[str]

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
    anyway: bool = False,
) -> Space:
    """The space with a name, else the one that the folder `start` belongs to.

    A folder outside of every space is one itself if it has notes in it, or with `anyway`. If
    `start` is omitted, it is the working folder, and KINEN_SPACE may name the space.
    """
    home = _home(home)
    name = name or (os.environ.get("KINEN_SPACE") if start is None else None)
    if name:
        return _by_name(name, home)
    root, refusal = _locate(_folder(start), home)
    if root:
        return at(root, home=home)
    setting = read_settings(home, paths.user_file())[0].get("space.default", ("", 0))
    default = os.environ.get("KINEN_SPACE_DEFAULT") or str(setting[0])
    if default:
        return _by_name(default, home)
    here = _folder(start)
    if not refusal and (anyway or _holds_notes(here)):
        return at(here, home=home)
    fact = f"no space here: {refusal}" if refusal else "no space here"
    hint = "run `kinen init` in the project's folder, or name a space"
    from kinen.space import early  # a search is in a space

    waiting = 0 if unfit(here) else early.count(home, here)
    if waiting:
        fact += f"; {waiting:,} {'event waits' if waiting == 1 else 'events wait'} for one"
        hint += f"; without one they are deleted after {early.DAYS} days"
    raise SpaceError(fact, hint)


def early_places(home: str, root: str) -> list[str]:
    """Where the early events are that belong to the space with this root."""
    from kinen.space import early

    places = []
    for folder, place in early.folders(home):
        if not os.path.join(folder, "").startswith(os.path.join(root, "")):
            continue
        # If the folder was deleted, what is above it counts.
        start = next(filter(os.path.isdir, parents(folder)))
        try:
            places += [place] if find(start, home=home).root == root else []
        except KinenError:
            continue
    return places


def _holds_notes(folder: str) -> bool:
    """Whether a folder has markdown files directly in it."""
    with os.scandir(folder) as entries:
        return any(entry.name.lower().endswith((".md", ".markdown")) for entry in entries)


def _by_name(name: str, home: str) -> Space:
    """The space with a name, else the one that a path leads to."""
    table = registry.read(home)
    key = registry.find_id(table, name)
    if not key and os.path.isdir(os.path.expanduser(name)):
        root, refusal = _locate(_folder(os.path.expanduser(name)), home)
        if not root:
            raise SpaceError(refusal or f"{name} is not in a space", "run `kinen init` there")
        return at(root, home=home)
    if not key:
        raise SpaceError(f"no space called {name!r}", registry.names_hint(table, name))
    space = registry.space_of(home, key, table[key])
    if space.missing:
        hint = f"restore it, or remove the space with `kinen space remove {space.name}`"
        raise SpaceError(f"the folder of {space.name} is missing: {space.root}", hint)
    current = at(space.root, home=home)
    return current if key in (current.id, *current.aliases) else space


def _home(home: Path | None) -> str:
    return paths.default_home() if home is None else os.path.abspath(home)


def _folder(start: Path | None) -> str:
    try:
        folder = os.path.realpath(os.getcwd() if start is None else start)
    except FileNotFoundError:
        raise SpaceError("the working folder does not exist", "change to one that does") from None
    if os.path.isfile(folder):
        return os.path.dirname(folder)
    if not os.path.isdir(folder):
        raise SpaceError(f"no folder {folder}", "check the path")
    return folder


def locate(start: Path | None = None, *, home: Path | None = None) -> str:
    """The root of the space around a folder, empty if there is none; no config is read."""
    return _locate(_folder(start), _home(home))[0]


def _locate(start: str, home: str) -> tuple[str, str]:
    """The root that a folder belongs to, and if there is none, why its repository is not one."""
    for folder in parents(start):
        own = os.path.join(folder, ".kinen")
        if os.path.isdir(own) and own != os.path.realpath(home) and not unfit(folder):
            return folder, ""
    git = git_above(start)
    refusal = unfit(git.top) if git else ""
    if git and not refusal:
        return git.top, ""
    roots = {root for entry in registry.read(home).values() for root in entry["roots"]}
    return next((folder for folder in parents(start) if folder in roots), ""), refusal


def unfit(folder: str) -> str:
    """Why a folder cannot be a space, empty if it can."""
    here = os.path.normcase(folder)
    if os.path.dirname(folder) == folder:
        return f"{folder} is a whole disk"
    if here == os.path.normcase(os.path.realpath(os.path.expanduser("~"))):
        git = " and a git repository" if os.path.exists(os.path.join(folder, ".git")) else ""
        return f"{folder} is your home folder{git}, not one project"
    trees = SYSTEM
    shared = SHARED
    if os.name == "nt":
        names = ("SystemRoot", "ProgramFiles", "ProgramFiles(x86)", "ProgramData")
        trees = tuple(os.path.normcase(os.environ[name]) for name in names if os.environ.get(name))
        shared = (os.path.normcase(os.path.dirname(os.path.expanduser("~"))),)
    if here in shared or any(here == tree or here.startswith(tree + os.sep) for tree in trees):
        return f"{folder} is a system folder"
    return ""


def at(root: Path, *, home: Path | None = None) -> Space:
    """The space whose root is this very folder, registered or not.

    A linked worktree has the identity of its main working tree. If a better identity has appeared
    since the folder was registered (an origin was added, an id was set), the old id becomes an
    alias and the data moves; if both ids have data, both stay on disk and the new one is used. If
    the data cannot be moved now, the old id stays in use. A further clone is not registered.
    """
    home = _home(home)
    root = _folder(root)
    refusal = unfit(root)
    if refusal:
        raise SpaceError(refusal, "choose the folder of one project")
    table = registry.read(home)
    listed = next((key for key, entry in table.items() if root in entry["roots"]), "")
    git = git_above(root)
    main = main_folder(root)
    git = None if git and unfit(git.top) else git
    identity = _identity(root, main, git, home, table)
    key = registry.lookup(table, identity)
    roots = table[key]["roots"] if key else ()
    if root in roots:
        return registry.space_for(home, identity, key, table)
    if (
        key
        and identity.kind == "config"
        and main not in roots
        and not os.environ.get("KINEN_SPACE_ID")
    ):
        _check_claim(identity, home, table[key], git)
    same = listed if listed and _same(table[listed], root, git) else ""
    moved = bool(key) and not any(map(os.path.isdir, roots))
    if not same and not moved:
        return registry.space_for(home, identity, key, table)

    def change(table: Table) -> Space:
        key = registry.reconcile(table, home, identity, same)
        return registry.space_for(home, identity, key, table)

    try:
        return registry.update(home, change)
    except StoreError:
        key = key or registry.move_back(home, identity.id, listed)
        return registry.space_for(home, identity, key, table)


def _identity(root: str, main: str, git: Git | None, home: str, table: Table) -> Identity:
    """What a folder is known by; `main` is the same folder in the main working tree."""
    section = config.space_section(home, main)
    origin = git.origin if git else ""
    name = section.name or os.path.basename(main)
    if section.id:
        return Identity(root, name, "config", f"id:{section.id}", origin)
    inside = os.path.relpath(root, git.top).replace(os.sep, "/") if git else "."
    below = "" if inside == "." else f"#{inside}"
    if origin:
        return Identity(root, name, "origin", origin + below, origin)
    recorded = (
        entry["root_commits"][main]
        for entry in table.values()
        if main in entry["roots"] and main in entry["root_commits"]
    )
    commit = next(recorded, None)
    if commit is None:
        commit = _root_commit(git)
    if commit:
        return Identity(root, name, "commit", commit + below, "")
    return Identity(root, name, "path", root, "")


def _check_claim(identity: Identity, home: str, entry: Entry, git: Git | None) -> None:
    """Refuse a cloned file that claims the id, and so the memory, of another space."""
    alike = identity.origin and identity.origin == entry["origin"]
    if alike or not any(map(os.path.isdir, entry["roots"])):
        return
    from kinen.config.trust import is_trusted  # a clone that claims an id is rare

    file = config.space_file(identity.root)
    related = _root_commit(git) in filter(None, entry["root_commits"].values())
    if not related and not is_trusted(home, file):
        fact = f"{file} has the id of another space: {entry['name']} in {entry['roots'][0]}"
        raise SpaceError(fact, "run `kinen trust` if both are one space, or remove space.id")


def _same(entry: Entry, root: str, git: Git | None) -> bool:
    """Whether the folder still has the project that was registered there."""
    if entry["identity"] == "path" or git is None:
        return True
    commit = entry["root_commits"].get(root)
    return bool(commit) and commit == _root_commit(git)


def register(space: Space, name: str | None = None) -> Space:
    """Register a space by name; a second `notes` becomes `notes-2`."""
    identity = Identity(space.root, space.name, space.identity, space.key, space.origin)
    git = git_above(space.root)
    commits = registry.read(space.home).get(space.id, {}).get("root_commits", {})
    commit = None if space.root in commits or not git or not git.deep else _root_commit(git)

    def change(table: Table) -> Space:
        key = registry.enter(table, identity, name or "", commit)
        return registry.space_for(space.home, identity, key, table)

    return registry.update(space.home, change)


def is_several(names: Sequence[str]) -> bool:
    """Whether names of spaces mean more than one."""
    return len(names) > 1 or "all" in names


def resolve_names(home: Path, names: Iterable[str]) -> tuple[Space, ...]:
    """The spaces with these names, each once; `all` is every space whose folder exists."""
    home = os.path.abspath(home)
    by_id: dict[str, Space] = {}
    for name in names:
        if name == "all":
            spaces = [space for space in registry.registered(home) if not space.missing]
        else:
            spaces = [_by_name(name, home)]
        for space in spaces:
            by_id.setdefault(space.id, space)
    return tuple(by_id.values())


def _root_commit(git: Git | None) -> str:
    """The first commit of a repository; empty without one, or in a shallow clone."""
    if git is None or not git.deep:
        return ""
    from kinen.space.gitcommand import root_commit  # most searches do not start git

    return root_commit(git)
