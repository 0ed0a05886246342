"""Which files of a working tree are changed, found without git reading any of them.

`git status` compares files through the filters that the repository configures, and would run them.
Here git only lists its index; files are compared by their times and, where these differ, by their
content, with line ends as they are or as LF. A file that only a filter or another encoding would
make equal counts as changed.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from collections.abc import Iterator

from kinen.errors import GitError, UnsafeFile
from kinen.model.tuples import NamedTuple
from kinen.space import gitcommand, read_head
from kinen.space.repository import Git, git_above
from kinen.storage import regular
from kinen.text import spelled

LARGEST = 64 << 20
"""Bytes of a file that are compared; a larger one whose times differ counts as changed."""
SECONDS = 10.0
"""Maximum time to compare a working tree with its commit."""

_ENTRY = re.compile(
    rb"(?P<mode>\d{6}) (?P<id>[0-9a-f]+) (?P<stage>\d)\t(?P<path>[^\0]+)\0"
    rb"(?P<record>(?:  [^\n]*\n){5})"
)
_RECORD = re.compile(
    rb"  ctime: (?P<ctime>\d+):\d+\n"
    rb"  mtime: (?P<mtime>\d+):(?P<nanoseconds>\d+)\n"
    rb"  dev: \d+\tino: (?P<inode>\d+)\n"
    rb"  uid: \d+\tgid: \d+\n"
    rb"  size: (?P<size>\d+)\tflags: (?P<flags>[0-9a-f]+)\n"
)
_PRINTED = (
    b"  ctime: %d:%d\n  mtime: %d:%d\n  dev: %d\tino: %d\n  uid: %d\tgid: %d\n"
    b"  size: %d\tflags: 0\n"
)
_ASSUME_UNCHANGED = 1 << 15
_INTENT_TO_ADD = 1 << 29
_SKIP_WORKTREE = 1 << 30
_LINK = 0o120000
_SUBMODULE = 0o160000


class Entry(NamedTuple):
    """A file as the index has it."""

    path: bytes
    mode: int
    id: str
    stage: int
    flags: int
    ctime: int
    mtime: int
    nanoseconds: int
    inode: int
    size: int


def changed_files(git: Git, folder: str, until: float) -> set[bytes]:
    """The paths below a folder that are staged, changed, deleted or new, relative to it.

    Raises GitError if git fails, or if it is not done at `until`, a time of `time.monotonic`.
    """
    if git.bare and git.folder == git.common:
        return set()
    paths = set(_names(git, folder, until, "diff", "--name-only", "--relative", "-z", "-M"))
    paths |= set(_names(git, folder, until, "ls-files", "-z", "-o", "--exclude-standard"))
    comparison = _Comparison(git, folder)
    for match in _listing(git, folder, until):
        path = match["path"]
        if path in paths or comparison.is_as_printed(match):
            continue
        record = _RECORD.fullmatch(match["record"])
        if record is None:
            raise _unreadable()
        entry = Entry(
            path=match["path"],
            mode=int(match["mode"], 8),
            id=match["id"].decode(),
            stage=int(match["stage"]),
            flags=int(record["flags"], 16),
            ctime=int(record["ctime"]),
            mtime=int(record["mtime"]),
            nanoseconds=int(record["nanoseconds"]),
            inode=int(record["inode"]),
            size=int(record["size"]),
        )
        if comparison.differs(entry):
            paths.add(path)
        if time.monotonic() > until:
            raise GitError("the working tree takes too long to compare")
    return paths


def changed_paths(root: str) -> set[str] | None:
    """The paths of `changed_files` as text; None if git fails or takes too long."""
    git = git_above(os.path.realpath(root))
    if git is None:
        return None
    try:
        paths = changed_files(git, os.path.realpath(root), time.monotonic() + SECONDS)
    except GitError:
        return None
    return {spelled(os.fsdecode(path)) for path in paths}


def _names(git: Git, folder: str, until: float, *words: str) -> list[bytes]:
    return [name for name in _output(git, folder, until, *words).split(b"\0") if name]


def _output(git: Git, folder: str, until: float, *words: str) -> bytes:
    seconds = max(0.1, until - time.monotonic())
    return gitcommand.output(git, *words, folder=folder, timeout=seconds)


def _listing(git: Git, folder: str, until: float) -> Iterator[re.Match[bytes]]:
    """The entries of the index, as git prints them."""
    listing = _output(git, folder, until, "ls-files", "-z", "-s", "--debug")
    end = 0
    for match in _ENTRY.finditer(listing):
        if match.start() != end:
            break
        end = match.end()
        yield match
    if end != len(listing):
        raise _unreadable()


def _unreadable() -> GitError:
    return GitError("git lists its index in a way that kinen cannot read")


class _Comparison:
    """Compares the files below a folder with what the index has of them."""

    def __init__(self, git: Git, folder: str) -> None:
        self._root = os.fsencode(folder)
        self._modes_count = _enabled(git, "core.filemode") and os.name != "nt"
        self._links_count = _enabled(git, "core.symlinks") and os.name != "nt"
        try:
            self._written = os.stat(os.path.join(git.folder, "index")).st_mtime_ns
        except OSError:
            self._written = 0

    def is_as_printed(self, match: re.Match[bytes]) -> bool:
        """Does a plain file have exactly the times that git prints?

        True for nearly all files of a large repository, in a third of the time of `differs`.
        """
        try:
            status = os.lstat(os.path.join(self._root, match["path"]))
        except (OSError, ValueError):
            return False
        executable = status.st_mode & stat.S_IXUSR
        return (
            match["record"] == _PRINTED % _printed(status)
            and match["mode"] == (b"100755" if executable else b"100644")
            and match["stage"] == b"0"
            and stat.S_ISREG(status.st_mode)
            and status.st_size > 0
            and status.st_mtime_ns < self._written
        )

    def differs(self, entry: Entry) -> bool:
        if entry.stage or entry.flags & _INTENT_TO_ADD:
            return True
        if entry.flags & (_ASSUME_UNCHANGED | _SKIP_WORKTREE):
            return False
        path = os.path.join(self._root, entry.path)
        try:
            status = os.lstat(path)
        except (OSError, ValueError):
            return True
        if entry.mode == _SUBMODULE:
            return not stat.S_ISDIR(status.st_mode) or _has_other_commit(path, entry.id)
        if self._is_other_kind(entry, status):
            return True
        return not self._is_untouched(entry, status) and self._has_other_content(path, entry)

    def _is_other_kind(self, entry: Entry, status: os.stat_result) -> bool:
        if entry.mode == _LINK and self._links_count:
            return not stat.S_ISLNK(status.st_mode)
        if not stat.S_ISREG(status.st_mode):
            return True
        executable = bool(status.st_mode & stat.S_IXUSR)
        return self._modes_count and executable != bool(entry.mode & stat.S_IXUSR)

    def _is_untouched(self, entry: Entry, status: os.stat_result) -> bool:
        """Whether a file is as git last saw it, by its times and size."""
        seconds, nanoseconds = divmod(status.st_mtime_ns, 10**9)
        same = (
            entry.size == status.st_size & 0xFFFFFFFF
            and entry.mtime == seconds & 0xFFFFFFFF
            and entry.nanoseconds in (0, nanoseconds)
            and entry.ctime == int(status.st_ctime_ns // 10**9) & 0xFFFFFFFF
            and entry.inode in (0, status.st_ino & 0xFFFFFFFF)
        )
        # git writes a size of 0 where it is not sure. A file as young as the index may have been
        # changed after git looked at it.
        precise = status.st_mtime_ns if entry.nanoseconds else (seconds + 1) * 10**9
        return same and entry.size > 0 and precise < self._written

    def _has_other_content(self, path: bytes, entry: Entry) -> bool:
        if self._is_behind_link(entry.path):
            return True
        content = _content(path)
        if content is None:
            return True
        if _object_id(content, entry.id) == entry.id:
            return False
        lines = content.replace(b"\r\n", b"\n")
        return entry.mode == _LINK or _object_id(lines, entry.id) != entry.id

    def _is_behind_link(self, path: bytes) -> bool:
        """Whether a folder of the path is a link; git takes what is behind it for deleted."""
        folder = os.path.dirname(path)
        while folder:
            if os.path.islink(os.path.join(self._root, folder)):
                return True
            folder = os.path.dirname(folder)
        return False


def _printed(status: os.stat_result) -> tuple[int, ...]:
    """What git prints of a file's state, in its order; it keeps 32 bits of each number."""
    billion = 10**9
    return (
        status.st_ctime_ns // billion & 0xFFFFFFFF,
        status.st_ctime_ns % billion,
        status.st_mtime_ns // billion & 0xFFFFFFFF,
        status.st_mtime_ns % billion,
        status.st_dev & 0xFFFFFFFF,
        status.st_ino & 0xFFFFFFFF,
        status.st_uid,
        status.st_gid,
        status.st_size & 0xFFFFFFFF,
    )


def _enabled(git: Git, name: str) -> bool:
    return git.settings.get(name, "true").lower() not in ("false", "no", "off", "0", "")


def _has_other_commit(path: bytes, commit: str) -> bool:
    """Whether a submodule has another commit checked out; one that is not there has none."""
    folder = os.path.realpath(os.fsdecode(path))
    git = git_above(folder)
    if git is None or git.top != folder or not git.folder:
        return False
    head = read_head(git.folder, git.common)[1]
    return bool(head) and head != commit


def _content(path: bytes) -> bytes | None:
    """The bytes of a regular file or the target of a link; None if it cannot be read."""
    try:
        if os.path.islink(path):
            return os.readlink(path)
        return regular.read(os.fsdecode(path), LARGEST)
    except (OSError, UnsafeFile):
        return None


def _object_id(content: bytes, like: str) -> str:
    """The id that git gives to a content, by the algorithm that another id was made by."""
    algorithm = "sha256" if len(like) == 64 else "sha1"
    digest = hashlib.new(algorithm, b"blob %d\0" % len(content), usedforsecurity=False)
    digest.update(content)
    return digest.hexdigest()
