"""An open folder and operations on the names in it; links are never followed.

Names are looked up relative to the open folder, so that nobody can swap what is above. Hooks
import this module, so it needs nothing but `os` and `stat`.
"""

from __future__ import annotations

import os
import stat

from kinen.storage import regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

RELATIVE = {os.open, os.stat, os.mkdir, os.unlink, os.rmdir, os.rename} <= os.supports_dir_fd
"""Whether names can be opened relative to an open folder."""
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_PATH = getattr(os, "O_PATH", 0)  # needs no permission to list the folder
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0) | _NOFOLLOW
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW
_WRITE |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_JUNCTION = 0xA0000003
"""The tag of a junction on Windows, which is a link that its mode does not show."""


class Link(Exception):
    """There is a link on the way."""


def open_root(root: str, readable: bool) -> Folder:
    """The root of a space, which may be a link; only a readable one can be listed or flushed."""
    if not RELATIVE:
        return Folder(os.path.realpath(root), None)
    flags = _FOLDER & ~_NOFOLLOW
    return Folder(root, os.open(root, flags if readable else flags | _PATH))


class Folder:
    """An open folder of a space."""

    __slots__ = ("_file", "_path")

    def __init__(self, path: str, file: int | None) -> None:
        self._path = path
        self._file = file

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _full(self, name: str) -> str:
        return name if RELATIVE else os.path.join(self._path, name)

    def about(self, name: str) -> os.stat_result | None:
        """The stat of a name without following a link; None if there is nothing."""
        try:
            return os.stat(self._full(name), dir_fd=self._file, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def is_link(self, name: str) -> bool:
        about = self.about(name)
        if about is None:
            return False
        return stat.S_ISLNK(about.st_mode) or getattr(about, "st_reparse_tag", 0) == _JUNCTION

    def enter(self, name: str, readable: bool) -> Folder:
        """The folder of that name; raises Link if it is a link."""
        path = os.path.join(self._path, name)
        if not RELATIVE:
            if self.is_link(name):
                raise Link
            if not stat.S_ISDIR(os.stat(path).st_mode):
                raise NotADirectoryError(20, "Not a directory", path)
            return Folder(path, None)
        flags = _FOLDER if readable else _FOLDER | _PATH
        try:
            return Folder(path, os.open(name, flags, dir_fd=self._file))
        except OSError:
            if self.is_link(name):
                raise Link from None
            raise

    def open_regular(self, name: str, path: str) -> int:
        """A descriptor of a regular file for reading; raises Link if it is a link."""
        about = os.stat(self._full(name), dir_fd=self._file, follow_symlinks=False)
        if stat.S_ISLNK(about.st_mode):
            raise Link
        if not stat.S_ISREG(about.st_mode):
            raise regular.irregular(path, about.st_mode)
        try:
            file = os.open(self._full(name), regular.READ | _NOFOLLOW, dir_fd=self._file)
        except OSError:
            if self.is_link(name):
                raise Link from None
            raise
        mode = os.fstat(file).st_mode
        if not stat.S_ISREG(mode):
            os.close(file)
            raise regular.irregular(path, mode)
        return file

    def scan(self) -> os._ScandirIterator[str]:
        """The entries; valid while the folder is open."""
        return os.scandir(self._path if self._file is None else self._file)

    def make(self, name: str) -> None:
        os.mkdir(self._full(name), dir_fd=self._file)

    def make_shared(self, name: str) -> None:
        """Make a folder that another process may make at the same time."""
        try:
            self.make(name)
        except FileExistsError:
            return
        self.settle()

    def remove_folder(self, name: str) -> None:
        os.rmdir(self._full(name), dir_fd=self._file)

    def discard(self, name: str) -> None:
        try:
            os.unlink(self._full(name), dir_fd=self._file)
        except FileNotFoundError:
            return

    def draft(self, data: bytes | Iterable[bytes], mode: int | None = None) -> str:
        """Write a file under a unique name and flush it to the disk; returns the name."""
        name = f".kinen-{os.urandom(8).hex()}.tmp"
        file = os.open(self._full(name), _WRITE, 0o666, dir_fd=self._file)
        try:
            with os.fdopen(file, "wb") as opened:
                for piece in (data,) if isinstance(data, bytes) else data:
                    opened.write(piece)
                opened.flush()
                os.fsync(file)
                if mode is not None and hasattr(os, "fchmod"):
                    os.fchmod(file, stat.S_IMODE(mode))
        except BaseException:
            self.discard(name)
            raise
        return name

    def date(self, name: str, like: os.stat_result) -> None:
        times = (like.st_atime_ns, like.st_mtime_ns)
        os.utime(self._full(name), ns=times, dir_fd=self._file, follow_symlinks=not RELATIVE)

    def name(self, draft: str, name: str) -> None:
        """Give a finished file its name, unless that is taken."""
        try:
            os.link(
                self._full(draft),
                self._full(name),
                src_dir_fd=self._file,
                dst_dir_fd=self._file,
                follow_symlinks=False,
            )
        except FileExistsError:
            raise
        except (OSError, NotImplementedError):
            # A disk without hard links: the name is taken first, then filled.
            os.close(os.open(self._full(name), _WRITE, 0o666, dir_fd=self._file))
            self.rename(draft, name)

    def rename(self, draft: str, name: str) -> None:
        source = self._full(draft)
        target = self._full(name)
        if self._file is None:
            from kinen.storage.atomic import rename

            rename(source, target)
        else:
            os.rename(source, target, src_dir_fd=self._file, dst_dir_fd=self._file)

    def settle(self) -> None:
        """Flush the folder, so that new names survive a power cut; not possible everywhere."""
        if self._file is not None:
            try:
                os.fsync(self._file)
            except OSError:
                return
