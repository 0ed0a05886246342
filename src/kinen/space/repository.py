"""What the files of a git repository say, read without starting git."""

from __future__ import annotations

import os
import stat

from kinen.model.tuples import NamedTuple
from kinen.space import LONGEST_REF, PACKED_REFS
from kinen.storage import regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SETTINGS = 4 << 20
"""Bytes of a git config."""
SHARED = ("config", "packed-refs", "shallow", "info/exclude", "info/attributes", "info/grafts")
"""Files of a repository that git reads whenever it starts, as do its worktrees."""
PORTS = ("", "22", "80", "443", "9418")
"""The default ports of ssh, http, https and git."""


class Git(NamedTuple):
    """A git repository, as its files describe it."""

    top: str
    """The top of the working tree."""
    folder: str
    """The repository itself; empty if git must not be started in it."""
    common: str
    """The folder that it shares with its worktrees."""
    settings: Mapping[str, str]
    """Its config, keys as `remote.origin.url`."""

    @property
    def origin(self) -> str:
        return normalise_origin(self.settings.get("remote.origin.url", ""), self.top)

    @property
    def bare(self) -> bool:
        """Whether the repository says that it has no working tree of its own."""
        return self.settings.get("core.bare", "").lower() in ("true", "yes", "on", "1")

    @property
    def partial(self) -> bool:
        """Whether contents may be missing that a remote has."""
        return any(name.endswith(".promisor") for name in self.settings)

    @property
    def main(self) -> str:
        """The working tree of the main repository, if there is one."""
        if self.folder == self.common or self.bare:
            return self.top
        tree = self.settings.get("core.worktree")
        if tree is None and os.path.basename(self.common) != ".git":
            return self.top
        main = os.path.realpath(os.path.join(self.common, ".." if tree is None else tree))
        return main if os.path.isdir(main) else self.top

    def in_main_tree(self, folder: str) -> str:
        """A folder of this working tree in the main one; itself if the main one has no such."""
        if self.main == self.top:
            return folder
        other = os.path.normpath(os.path.join(self.main, os.path.relpath(folder, self.top)))
        return other if os.path.isdir(other) else folder

    def in_tree(self, folder: str) -> str:
        """A folder of the main working tree in this one; itself if it is not in the main one."""
        if folder != self.main and not folder.startswith(self.main + os.sep):
            return folder
        return os.path.normpath(os.path.join(self.top, os.path.relpath(folder, self.main)))

    def prefix(self, folder: str) -> str:
        """A folder in the working tree as its paths begin: empty, or ending in a slash."""
        inside = os.path.relpath(os.path.realpath(folder), os.path.realpath(self.top))
        return "" if inside == "." else f"{inside.replace(os.sep, '/')}/"

    @property
    def deep(self) -> bool:
        """Whether there is a commit, and the history is complete."""
        if not self.folder:
            return False
        head = regular.text(os.path.join(self.folder, "HEAD"), LONGEST_REF).strip()
        if not head or os.path.exists(os.path.join(self.common, "shallow")):
            return False
        branch = head.removeprefix("ref: ")
        return (
            branch == head
            or os.path.exists(os.path.join(self.common, branch))
            or branch in regular.text(os.path.join(self.common, "packed-refs"), PACKED_REFS)
            or os.path.isdir(os.path.join(self.common, "reftable"))
        )


def git_above(start: str) -> Git | None:
    """The repository around a folder, None if there is none.

    It needs a `.git`: the files of a bare repository do not count. If that leads nowhere, or into
    the repository of another working tree, `folder` and `settings` are empty. If git would hang in
    it, `folder` is empty, so that git is not started there.
    """
    for top in parents(start):
        path = os.path.join(top, ".git")
        link = ""
        if os.path.isfile(path):
            link = regular.text(path, LONGEST_REF).partition("gitdir:")[2].strip()
        folder = os.path.realpath(os.path.join(top, link)) if link else path
        if os.path.isfile(os.path.join(folder, "HEAD")):
            shared = regular.text(os.path.join(folder, "commondir"), LONGEST_REF).strip()
            common = os.path.realpath(os.path.join(folder, shared)) if shared else folder
            # The first value of each key of a git config, keys as `remote.origin.url`. Included
            # files are not read.
            settings: dict[str, str] = {}
            section = ""
            for line in (
                regular.text(os.path.join(common, "config"), SETTINGS)
                .replace("\\\r\n", "")
                .replace("\\\n", "")
                .splitlines()
            ):
                setting = line.strip()
                if setting.startswith("["):
                    head, _, setting = setting[1:].partition("]")
                    name, _, sub = head.partition(" ")
                    section = ".".join(filter(None, (name.lower(), sub.strip().strip('"')))) + "."
                key, equals, value = setting.strip().partition("=")
                if key and key[0] not in "#;":
                    name = section + key.strip().lower()
                    settings.setdefault(name, _unquoted(value) if equals else "true")
            git = Git(top, folder, common, settings)
            if not _belongs(git):
                return Git(top, "", "", {})
            return git._replace(folder="", common="") if _stalls(git) else git
        if link:
            return Git(top, "", "", {})
    return None


def find(root: str) -> Git | None:
    """The repository around a folder; None if there is none, or only an empty `.git`."""
    git = git_above(root)
    return git if git is not None and git.folder else None


def _stalls(git: Git) -> bool:
    """Whether git would hang because one of its files is a FIFO or a device."""
    names = [os.path.join(git.top, name) for name in (".gitattributes", ".gitignore", ".mailmap")]
    names += [os.path.join(git.folder, name) for name in ("HEAD", "index", "config.worktree")]
    names += [os.path.join(git.common, name) for name in SHARED]
    for name in names:
        try:
            mode = os.stat(name).st_mode
        except OSError:
            continue
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            return True
    return False


def _belongs(git: Git) -> bool:
    """Whether a repository belongs to the working tree whose `.git` leads to it.

    An archive can contain a `.git` that leads into any repository of the user. The repository of a
    linked worktree or a submodule names its working tree: it has to be this one.
    """
    top, folder, common = (os.path.realpath(path) for path in (git.top, git.folder, git.common))
    inner = os.path.join(top, "")
    listed = folder.startswith(os.path.join(common, "worktrees", ""))
    if common != folder and not listed and not common.startswith(inner):
        return False  # the shared repository does not list it
    if folder.startswith(inner):
        return True
    backlink = regular.text(os.path.join(folder, "gitdir"), LONGEST_REF).strip()
    tree = git.settings.get("core.worktree")
    if backlink:
        other = os.path.dirname(os.path.join(folder, backlink))
    elif tree is not None:
        other = os.path.join(folder, tree)
    elif os.path.basename(folder) == ".git":
        other = os.path.dirname(folder)
    else:
        return not git.bare  # `git init --separate-git-dir` does not record the working tree
    moved = not os.path.exists(os.path.join(other, ".git"))
    return moved or os.path.realpath(other) == top


def _unquoted(value: str) -> str:
    """A value of a git config without quotes, escapes and a comment after it."""
    text = ""
    quoted = False
    escaped = False
    for letter in value.strip():
        if escaped:
            text += {"n": "\n", "t": "\t", "b": ""}.get(letter, letter)
            escaped = False
        elif letter == "\\":
            escaped = True
        elif letter == '"':
            quoted = not quoted
        elif letter in "#;" and not quoted:
            break
        else:
            text += letter
    return text.strip()


def main_folder(folder: str) -> str:
    """A folder of a linked worktree as it is in the main working tree; any other one itself."""
    for above in parents(folder):
        place = os.path.join(above, ".git")
        if os.path.isfile(place):
            git = git_above(folder)
            return git.in_main_tree(folder) if git else folder
        if os.path.isdir(place):
            break
    return folder


def normalise_origin(url: str, base: str = "") -> str:
    """A remote in one spelling, however it was written, and without credentials."""
    url = url.replace("\0", "").strip()
    scheme, separator, rest = url.partition("://")
    if not url:
        return ""
    if separator and scheme.lower() == "file":
        return _local(f"/{rest.lstrip('/')}", "")
    host, _, path = rest.partition("/") if separator else _scp(url)
    if not host and not separator:
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
    """Host, colon and path of `user@host:path`; empty if the text is a path on this machine."""
    bracket = (url.partition("@")[2] or url).startswith("[")
    cut = url.find("]:") + 1 if bracket else url.find(":")
    host = url[: max(cut, 0)]
    path = url[cut + 1 :]
    drive = len(host) == 1 and path[:1] in ("/", "\\")
    return ("", "", "") if drive or "/" in host or "\\" in host else (host, ":", path)


def _local(path: str, base: str) -> str:
    path = path[1:] if path[2:3] == ":" and os.name == "nt" else path
    full = os.path.realpath(os.path.join(base, path))
    while full != (full := os.path.realpath(full.rstrip().removesuffix("/.git") or os.sep)):
        pass
    full = full.replace(os.sep, "/")
    return f"file:///{full.lstrip('/')}"


def parents(folder: str) -> list[str]:
    """A folder and all folders above it."""
    folders = [folder]
    while folder != (folder := os.path.dirname(folder)):
        folders.append(folder)
    return folders
