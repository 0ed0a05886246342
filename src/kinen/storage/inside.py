"""Read and write files inside a folder, and never outside of it.

Paths are relative to the root, with `/`. The root itself may be reached through a link, and a
link below it is followed as long as it stays inside. What leads outside raises UnsafeFile.

Each folder on the way is opened relative to the one before without following links, so that a
path that is swapped between a check and its use ends in an error and not somewhere else. Where the
system cannot do that (Windows), real paths are compared instead.

Hooks import this module, so it needs nothing but `os` and `stat`.
"""

from __future__ import annotations

import os
import stat

from kinen.storage import regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    T = TypeVar("T")

RELATIVE = {os.open, os.stat, os.mkdir, os.unlink, os.rmdir, os.rename} <= os.supports_dir_fd
"""Whether names can be opened relative to an open folder."""
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_PATH = getattr(os, "O_PATH", 0)  # needs no permission to list the folder
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0) | _NOFOLLOW
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW
_WRITE |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_JUNCTION = 0xA0000003
"""The tag of a junction on Windows, which is a link that its mode does not show."""


def read(root: str, path: str, limit: int, *, cut: bool = False) -> bytes:
    """The content of a regular file of at most `limit` bytes; with `cut` the beginning of it.

    Raises OSError as `open` does, and UnsafeFile for what leads outside, is not a regular file
    or is larger.
    """
    file = open_file(root, path)
    try:
        return regular.read_open(file, path, limit, cut=cut)
    finally:
        os.close(file)


def text(root: str, path: str, limit: int) -> str:
    """The first `limit` bytes as text; empty if the file cannot or may not be read."""
    from kinen.errors import UnsafeFile

    try:
        return read(root, path, limit, cut=True).decode("utf-8", "replace")
    except (OSError, UnsafeFile):
        return ""


def open_file(root: str, path: str) -> int:
    """A descriptor of a regular file for reading; the caller closes it."""

    def work(parts: list[str]) -> int:
        with _walk(root, parts[:-1]) as folder:
            return folder.open_regular(parts[-1], path)

    return _contained(root, path, work)


def files(root: str, folder: str) -> list[str]:
    """The names of the regular files in a folder, sorted; links are left out."""

    def work(parts: list[str]) -> list[str]:
        with _walk(root, parts, readable=True) as opened, opened.scan() as entries:
            return sorted(entry.name for entry in entries if entry.is_file(follow_symlinks=False))

    return _following(root, folder, _parts(folder), work)


def folders(root: str, folder: str) -> list[str]:
    """The names of the folders in a folder, sorted; links among them only if they stay inside."""

    def work(parts: list[str]) -> list[tuple[str, bool]]:
        with _walk(root, parts, readable=True) as opened, opened.scan() as entries:
            return [
                (entry.name, entry.is_symlink())
                for entry in entries
                if entry.is_symlink() or entry.is_dir(follow_symlinks=False)
            ]

    names = _following(root, folder, _parts(folder), work)
    return sorted(name for name, link in names if not link or is_folder(root, f"{folder}/{name}"))


def files_below(root: str, folder: str, deepest: int = 100) -> list[str]:
    """The paths of all regular files below a folder, from the root; links are left out."""
    paths = [f"{folder}/{name}" for name in files(root, folder)]
    if deepest:
        for name in folders(root, folder):
            inner = f"{folder}/{name}"
            if not os.path.islink(os.path.join(root, inner)):
                paths += files_below(root, inner, deepest - 1)
    return paths


def is_folder(root: str, path: str) -> bool:
    """Whether there is a folder by this path, and inside."""
    from kinen.errors import UnsafeFile

    def work(parts: list[str]) -> bool:
        with _walk(root, parts):
            return True

    try:
        return _following(root, path, _parts(path), work)
    except (OSError, UnsafeFile):
        return False


def is_file(root: str, path: str) -> bool:
    """Whether there is a regular file by this path, and inside."""
    from kinen.errors import UnsafeFile

    try:
        os.close(open_file(root, path))
    except (OSError, UnsafeFile):
        return False
    return True


def create(
    root: str, path: str, data: bytes | Iterable[bytes], like: os.stat_result | None = None
) -> bool:
    """Write a new file as a whole, never over another one; False if the name is taken.

    Folders that are missing are made. A link by that name counts as taken, wherever it leads.
    With `like`, it gets the mode and the times of another file.
    """

    def work(parts: list[str]) -> bool:
        with _walk(root, parts[:-1], make=True, readable=True) as folder:
            if folder.about(parts[-1]) is not None:
                return False  # before a large file is copied for nothing
            draft = folder.draft(data, like and like.st_mode)
            try:
                folder.name(draft, parts[-1])
            except FileExistsError:
                return False
            finally:
                folder.discard(draft)
            if like is not None:
                folder.date(parts[-1], like)
            folder.settle()
        return True

    return _contained(root, path, work)


def replace(root: str, path: str, data: bytes | Iterable[bytes]) -> None:
    """Replace a file as a whole; its mode stays.

    A link that stays inside is kept and its target written. One that leads outside is replaced
    by the file.
    """

    def work(parts: list[str]) -> None:
        with _walk(root, parts[:-1], make=True, readable=True) as folder:
            about = folder.about(parts[-1])
            if about is not None and stat.S_ISLNK(about.st_mode):
                if _is_inside(root, parts):
                    raise Link
                about = None
            elif about is not None and not stat.S_ISREG(about.st_mode):
                raise regular.irregular(path, about.st_mode)
            draft = folder.draft(data, None if about is None else about.st_mode)
            try:
                folder.rename(draft, parts[-1])
            finally:
                folder.discard(draft)
            folder.settle()

    _contained(root, path, work)


def remove(root: str, path: str) -> None:
    """Remove a file or a link, not what it leads to; nothing happens if there is none."""

    def work(parts: list[str]) -> None:
        with _walk(root, parts[:-1]) as folder:
            folder.discard(parts[-1])

    try:
        _contained(root, path, work)
    except FileNotFoundError:
        return


def make_folder(root: str, path: str, *, new: bool = False) -> None:
    """Make a folder and those above it; with `new`, FileExistsError if it is there already."""

    def work(parts: list[str]) -> None:
        above = parts[:-1] if new else parts
        with _walk(root, above, make=True) as folder:
            if new:
                folder.make(parts[-1])

    _contained(root, path, work)


def remove_folder(root: str, path: str) -> None:
    """Remove an empty folder."""

    def work(parts: list[str]) -> None:
        with _walk(root, parts[:-1]) as folder:
            folder.remove_folder(parts[-1])

    _contained(root, path, work)


def _contained(root: str, path: str, work: Callable[[list[str]], T]) -> T:
    """Do the work on a path that has no links; for one with links, on what they lead to."""

    def below(parts: list[str]) -> T:
        if not parts:  # the root itself, perhaps by a link
            raise regular.irregular(path, stat.S_IFDIR)
        return work(parts)

    return _following(root, path, _parts(path), below)


def _following(root: str, path: str, parts: list[str], work: Callable[[list[str]], T]) -> T:
    try:
        return work(parts)
    except Link:
        real = _resolved(root, path, parts)
    try:
        return work(real)
    except Link:
        from kinen.characters import visible_line
        from kinen.errors import UnsafeFile

        fact = (
            f"{visible_line(path)} is a link that leads nowhere, or that changes while it is read"
        )
        raise UnsafeFile(fact, "remove the link, or run it again") from None


def _parts(path: str) -> list[str]:
    from kinen.errors import UnsafeFile

    parts = [part for part in path.replace(os.sep, "/").split("/") if part not in ("", ".")]
    odd = ".." in parts or "\0" in path or os.path.isabs(path) or os.path.splitdrive(path)[0]
    if odd:
        raise UnsafeFile(
            f"{path!r} is not a path inside the space", "give it from the space's root"
        )
    return parts


def relative(root: str, path: str) -> str:
    """The real path of something, from the real root and with `/`; empty if it is outside.

    The root itself is `.`. Nothing is opened: to read or write, use the functions above.
    """
    top = os.path.realpath(root)
    full = os.path.realpath(path)
    if full == top:
        return "."
    top = os.path.join(top, "")
    return full[len(top) :].replace(os.sep, "/") if full.startswith(top) else ""


def _is_inside(root: str, parts: list[str]) -> bool:
    return bool(relative(root, os.path.join(root, *parts)))


def _resolved(root: str, path: str, parts: list[str]) -> list[str]:
    """The parts of the real path; UnsafeFile if it is not inside the root."""
    real = relative(root, os.path.join(root, *parts))
    if not real:
        from kinen.characters import visible_line
        from kinen.errors import UnsafeFile

        heads = (parts[: n + 1] for n in range(len(parts)))
        link = next((head for head in heads if not _is_inside(root, head)), parts)
        target = os.path.realpath(os.path.join(root, *link))
        fact = f"{visible_line('/'.join(link))} is a link that leads out of the space, to"
        if len(link) < len(parts):
            fact = f"cannot use {visible_line(path)}: {fact}"
        hint = (
            "put the files themselves into the space in its place: links out of it are not followed"
        )
        raise UnsafeFile(f"{fact} {visible_line(target)}", hint)
    return [part for part in real.split("/") if part != "."]


def _walk(root: str, parts: list[str], *, make: bool = False, readable: bool = False) -> Folder:
    """The open folder at the end of these parts; `make` makes those that are missing.

    Raises Link where a part is one. Only a readable folder can be listed or flushed.
    """
    if make:
        os.makedirs(root, exist_ok=True)
    folder = open_root(root, readable or make)
    for part in parts:
        try:
            inner = folder.enter(part, readable or make)
        except FileNotFoundError:
            if not make:
                raise
            folder.make_shared(part)
            inner = folder.enter(part, True)
        finally:
            folder.close()
        folder = inner
    return folder


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
