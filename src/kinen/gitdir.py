"""What the files of a git repository tell, read without starting git."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from kinen.route import LONGEST_REF, PACKED_REFS
from kinen.storage import regular

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SETTINGS = 4 << 20
"""Bytes of a git config."""
SHARED = ("config", "packed-refs", "shallow", "info/exclude", "info/attributes", "info/grafts")
"""Files of a repository that git reads whenever it starts, as do its worktrees."""
PORTS = ("", "22", "80", "443", "9418")
"""The ports of ssh, http, https and git, which need not be said."""


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
        if self.folder == self.common or self.settings.get("core.bare") in (
            "true",
            "yes",
            "on",
            "1",
        ):
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
            or branch in _text(os.path.join(self.common, "packed-refs"), PACKED_REFS)
            or os.path.isdir(os.path.join(self.common, "reftable"))
        )


def _text(path: str, limit: int = LONGEST_REF) -> str:
    return regular.text(path, limit, "surrogateescape")


def git_above(start: str) -> Git | None:
    """The repository around a folder; one whose `.git` leads nowhere has no settings.

    One in which git would hang has no folder, so that git is not started there.
    """
    for top in parents(start):
        path = os.path.join(top, ".git")
        link = _text(path).partition("gitdir:")[2].strip() if os.path.isfile(path) else ""
        path = os.path.realpath(os.path.join(top, link)) if link else path
        if os.path.isfile(os.path.join(path, "HEAD")):
            shared = _text(os.path.join(path, "commondir")).strip()
            common = os.path.realpath(os.path.join(path, shared)) if shared else path
            settings = _git_settings(_text(os.path.join(common, "config"), SETTINGS))
            if _stalls(top, path, common):
                return Git(top, "", "", settings)
            return Git(top, path, common, settings)
        if link:
            return Git(top, "", "", {})
    return None


def _stalls(top: str, folder: str, common: str) -> bool:
    """Whether git would wait for one of its files without end: for a FIFO or a device."""
    names = [os.path.join(top, name) for name in (".gitattributes", ".gitignore", ".mailmap")]
    names += [os.path.join(folder, name) for name in ("HEAD", "index", "config.worktree")]
    names += [os.path.join(common, name) for name in SHARED]
    for name in names:
        try:
            mode = os.stat(name).st_mode
        except OSError:
            continue
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            return True
    return False


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


def environment() -> dict[str, str]:
    """The variables that git is run with: this repository's, in plain words, and no network."""
    # Inside a git hook, GIT_DIR and its kin name another repository.
    stray = {key for key in os.environ if key[:4] == "GIT_" and key[:11] != "GIT_CONFIG_"}
    env = {key: text for key, text in os.environ.items() if key not in stray}
    quiet = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_TERMINAL_PROMPT": "0"}
    return {**env, **quiet, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}


def root_commit(git: Git | None) -> str:
    """The first commit of the history, of several the smallest; empty where git cannot tell."""
    if git is None or not git.deep:
        return ""
    import subprocess

    command = ["git", "-C", git.top, "rev-list", "--max-parents=0", "HEAD", "--"]
    try:
        done = subprocess.run(
            command, capture_output=True, env=environment(), timeout=10, check=False
        )
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
    full = os.path.realpath(os.path.join(base, path))
    while full != (full := os.path.realpath(full.rstrip().removesuffix("/.git") or os.sep)):
        pass
    full = full.replace(os.sep, "/")
    return f"file:///{full.lstrip('/')}"


def parents(folder: str) -> Iterator[str]:
    above = os.path.dirname(folder)
    yield folder
    while above != folder:
        folder, above = above, os.path.dirname(above)
        yield folder
