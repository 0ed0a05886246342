"""Which space is this, and where its data lives."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from kinen import config, registry
from kinen.errors import SpaceError, StoreError
from kinen.registry import Face

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    Path = str | os.PathLike[str]
    Env = Mapping[str, str]
    Entry = dict[str, Any]

Space = registry.Space
new_identity, write_atomic = registry.new_identity, registry.write_atomic
registered, unregister, alias = registry.registered, registry.unregister, registry.alias

SYSTEM = tuple("/bin /boot /etc /lib /lib64 /proc /sbin /sys /usr/bin /usr/lib /System".split())
SHARED = tuple(
    "/dev /home /media /mnt /opt /private /private/tmp /private/var /root /run /srv /tmp /usr "
    "/usr/local /usr/share /var /var/lib /var/tmp /Applications /Library /Users /Volumes".split()
)
PORTS = ("", "22", "80", "443", "9418")
"""The ports of ssh, http, https and git, which need not be said."""


def find(
    start: Path | None = None,
    *,
    name: str | None = None,
    home: Path | None = None,
    env: Env | None = None,
) -> Space:
    """The space that is meant: the named one, else the one that this folder belongs to."""
    env = os.environ if env is None else env
    home = _home(home, env)
    name = name or (env.get("KINEN_SPACE") if start is None else None)
    if name:
        return _named(name, home, env)
    root, refusal = _locate(_folder(start), home, env)
    if root:
        return at(root, home=home, env=env)
    written = config.settings(home, config.user_file(env))[0].get("space.default", ("", 0))
    default = env.get("KINEN_SPACE_DEFAULT") or str(written[0])
    if default:
        return _named(default, home, env)
    fact = f"no space here: {refusal}" if refusal else "no space here"
    raise SpaceError(fact, "run `kinen init` in the project's folder, or pass --space")


def _named(name: str, home: str, env: Env) -> Space:
    """The space that a name or a path stands for; names win."""
    book = registry.read(home, "spaces")
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
    return config.default_home(env) if home is None else os.path.abspath(home)


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
    for folder in _parents(start):
        own = os.path.join(folder, ".kinen")
        if os.path.isdir(own) and own != os.path.realpath(home) and not _refusal(folder, env):
            return _in_main_tree(folder, git_above(folder)), ""
    git = git_above(start)
    refusal = _refusal(git.top, env) if git else ""
    if git and not refusal:
        return _in_main_tree(git.top, git), ""
    known = {root for entry in registry.read(home, "spaces").values() for root in entry["roots"]}
    return next((folder for folder in _parents(start) if folder in known), ""), refusal


def _in_main_tree(folder: str, git: Git | None) -> str:
    """The same folder in the main repository, if this one is in a worktree of it."""
    if git is None or git.main == git.top:
        return folder
    there = os.path.normpath(os.path.join(git.main, os.path.relpath(folder, git.top)))
    return there if os.path.isdir(there) else folder


def _parents(folder: str) -> Iterator[str]:
    above = os.path.dirname(folder)
    yield folder
    while above != folder:
        folder, above = above, os.path.dirname(above)
        yield folder


def _refusal(folder: str, env: Env) -> str:
    """Why a folder cannot be a space, or nothing."""
    here = os.path.normcase(folder)
    if os.path.dirname(folder) == folder:
        return f"{folder} is a whole disk"
    if here == os.path.normcase(os.path.realpath(config.user_folder(env))):
        git = " and a git repository" if os.path.exists(os.path.join(folder, ".git")) else ""
        return f"{folder} is your home folder{git}, not one project"
    trees, shared = SYSTEM, SHARED
    if os.name == "nt":
        names = ("SystemRoot", "ProgramFiles", "ProgramFiles(x86)", "ProgramData")
        trees = tuple(os.path.normcase(env[name]) for name in names if env.get(name))
        shared = (os.path.normcase(os.path.dirname(config.user_folder(env))),)
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
    book = registry.read(home, "spaces")
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
        return registry.update(home, "spaces", change)
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
    commit = commits[root] if root in commits else root_commit(git)
    if commit:
        return Face(root, name, "commit", commit + below, "")
    return Face(root, name, "path", root, "")


def _claim(face: Face, home: str, entry: Entry, git: Git | None) -> None:
    """Refuse a cloned file that takes the id, and so the memory, of another space."""
    alike = face.origin and face.origin == entry["origin"]
    if alike or not any(map(os.path.isdir, entry["roots"])):
        return
    file = config.space_file(face.root)
    related = root_commit(git) in filter(None, entry["root_commits"].values())
    if not related and not config.trusted(home, file):
        fact = f"{file} has the id of another space: {entry['name']} in {entry['roots'][0]}"
        raise SpaceError(fact, "run `kinen trust` if they are one, or remove space.id")


def _same(entry: Entry, root: str, git: Git | None) -> bool:
    """Is what stands at this root still what was registered there, and no other project?"""
    if entry["identity"] == "path" or git is None:
        return True
    commit = entry["root_commits"].get(root)
    return bool(commit) and commit == root_commit(git)


def register(space: Space, name: str | None = None) -> Space:
    """Remember a space by name; a second one called notes becomes notes-2."""
    face = Face(space.root, space.name, space.identity, space.key, space.origin)
    git = git_above(space.root)
    known = registry.read(space.home, "spaces").get(space.id, {}).get("root_commits", {})
    commit = None if space.root in known or not git or not git.deep else root_commit(git)

    def change(book: dict[str, Entry]) -> Space:
        return _known(face, space.home, registry.enter(book, face, name or "", commit), book)

    return registry.update(space.home, "spaces", change)


def resolve_names(home: Path, names: Iterable[str], env: Env | None = None) -> tuple[Space, ...]:
    """The spaces that the names stand for, each once; `all` is every one whose folder is there."""
    env = os.environ if env is None else env
    home = os.path.abspath(home)
    found: dict[str, Space] = {}
    for name in names:
        every = (one for one in registered(home) if not one.missing)
        for one in every if name == "all" else (_named(name, home, env),):
            found.setdefault(one.id, one)
    return tuple(found.values())


class Git(NamedTuple):
    """What plain files tell of a git repository; no process is started."""

    top: str
    folder: str
    common: str
    settings: Mapping[str, str]

    @property
    def origin(self) -> str:
        return normalise_origin(self.settings.get("remote.origin.url", ""), self.top)

    @property
    def main(self) -> str:
        """The working tree of the main repository, if there is one."""
        if self.folder == self.common or self.settings.get("core.bare") in config.TRUE:
            return self.top
        tree = self.settings.get("core.worktree")
        if tree is None and os.path.basename(self.common) != ".git":
            return self.top
        main = os.path.realpath(os.path.join(self.common, ".." if tree is None else tree))
        return main if os.path.isdir(main) else self.top

    @property
    def deep(self) -> bool:
        """Whether there is a commit, and its history down to the first."""
        head = _text(os.path.join(self.folder, "HEAD")).strip() if self.folder else ""
        if not head or os.path.exists(os.path.join(self.common, "shallow")):
            return False
        branch = head.removeprefix("ref: ")
        return (
            branch == head
            or os.path.exists(os.path.join(self.common, branch))
            or branch in _text(os.path.join(self.common, "packed-refs"))
            or os.path.isdir(os.path.join(self.common, "reftable"))
        )


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


def git_above(start: str) -> Git | None:
    """The repository around a folder; one whose `.git` leads nowhere has no settings."""
    for top in _parents(start):
        path = os.path.join(top, ".git")
        link = _text(path).partition("gitdir:")[2].strip() if os.path.isfile(path) else ""
        path = os.path.realpath(os.path.join(top, link)) if link else path
        if os.path.isfile(os.path.join(path, "HEAD")):
            shared = _text(os.path.join(path, "commondir")).strip()
            common = os.path.realpath(os.path.join(path, shared)) if shared else path
            return Git(top, path, common, _git_settings(_text(os.path.join(common, "config"))))
        if link:
            return Git(top, "", "", {})
    return None


def _git_settings(text: str) -> dict[str, str]:
    """The first value of each key of a git config, keys as `remote.origin.url`."""
    found: dict[str, str] = {}
    section = ""
    for line in text.replace("\\\r\n", "").replace("\\\n", "").splitlines():
        setting = line.strip()
        if setting.startswith("["):
            head, _, setting = setting[1:].partition("]")
            name, _, sub = head.partition(" ")
            section = ".".join(filter(None, (name.lower(), sub.strip().strip('"')))) + "."
        key, equals, value = setting.strip().partition("=")
        if key and key[0] not in "#;":
            found.setdefault(section + key.strip().lower(), _unquoted(value) if equals else "true")
    return found


def _unquoted(value: str) -> str:
    out, quoted, escaped = "", False, False
    for sign in value.strip():
        if escaped:
            out, escaped = out + {"n": "\n", "t": "\t", "b": ""}.get(sign, sign), False
        elif sign == "\\":
            escaped = True
        elif sign == '"':
            quoted = not quoted
        elif sign in "#;" and not quoted:
            break
        else:
            out += sign
    return out.strip()


def root_commit(git: Git | None) -> str:
    """The first commit of the history, of several the smallest; empty where git cannot tell."""
    if git is None or not git.deep:
        return ""
    import subprocess

    # Inside a git hook, GIT_DIR and its kin name another repository.
    stray = {key for key in os.environ if key[:4] == "GIT_" and key[:11] != "GIT_CONFIG_"}
    env = {key: text for key, text in os.environ.items() if key not in stray}
    env["GIT_NO_LAZY_FETCH"] = "1"
    command = ["git", "-C", git.top, "rev-list", "--max-parents=0", "HEAD", "--"]
    try:
        done = subprocess.run(command, capture_output=True, env=env, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    roots = done.stdout.decode("ascii", "replace").split()
    return min(roots, default="") if done.returncode == 0 else ""


def normalise_origin(url: str, base: str = "") -> str:
    """One spelling for every way to write the same remote; credentials do not survive."""
    url = url.replace("\0", "").strip()
    scheme, mark, rest = url.partition("://")
    if not url:
        return ""
    if mark and scheme.lower() == "file":
        return _local(f"/{rest.lstrip('/')}", "")
    host, _, path = rest.partition("/") if mark else _scp(url)
    if not host and not mark:
        return _local(url, base)
    path = path.partition("?")[0].partition("#")[0]
    host = host.rpartition("@")[2].partition("?")[0].partition("#")[0].strip().lower()
    name, colon, port = host.rpartition(":")
    if colon and port in PORTS and (":" not in name or name.endswith("]")):
        host = name.strip()
    path = "/".join(filter(None, path.split("/")))
    while path != (path := path.rstrip().rstrip("/").removesuffix(".git")):
        pass
    return f"https://{host}/{path}" if path else f"https://{host}"


def _scp(url: str) -> tuple[str, str, str]:
    """Host and path of `user@host:path`, or nothing when the text is a path on this machine."""
    bracket = (url.partition("@")[2] or url).startswith("[")
    cut = url.find("]:") + 1 if bracket else url.find(":")
    host, path = url[: max(cut, 0)], url[cut + 1 :]
    drive = len(host) == 1 and path[:1] in ("/", "\\")
    return ("", "", "") if drive or "/" in host or "\\" in host else (host, ":", path)


def _local(path: str, base: str) -> str:
    path = path[1:] if path[2:3] == ":" and os.name == "nt" else path
    full = os.path.realpath(os.path.join(base, path)).replace(os.sep, "/")
    while full != (full := full.rstrip().removesuffix("/.git")):
        pass
    return f"file:///{full.lstrip('/')}"
