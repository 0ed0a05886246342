"""Files and folders of kinen's home: for their owner alone, and never behind a planted link.

Everything that kinen keeps below its home and in the temporary folder is opened through here. Modes
do not depend on the umask, and what an older kinen left readable for others is tightened when it is
opened. The home itself may be a link, as may folders in it; a file may not. Light on purpose: hooks
import it, and it loads nothing but `os`.
"""

from __future__ import annotations

import errno
import os
import stat

from kinen.errors import StoreError, Untrusted

FILE_MODE = 0o600
FOLDER_MODE = 0o700
OTHERS = 0o077
_SAFELY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_SAFELY |= getattr(os, "O_NONBLOCK", 0)  # a FIFO is not waited for
_DATABASE_FILES = ("-wal", "-shm")


def folder(path: str, *, tighten: bool = True) -> str:
    """Make a folder, and those missing above it, for its owner alone; the path itself.

    One that is there already is closed to others if `tighten`.
    """
    try:
        os.mkdir(path, FOLDER_MODE)
    except FileNotFoundError:
        above = os.path.dirname(path)
        if above == path:
            raise
        folder(above, tighten=False)
        return folder(path, tighten=tighten)
    except FileExistsError:
        info = os.stat(path)
        if not stat.S_ISDIR(info.st_mode):
            raise
        if tighten and _open_to_others(info):
            os.chmod(path, FOLDER_MODE)
    return path


def place(parent: str, name: str, hint: str = "") -> str:
    """The path of a file in a folder, which is made; the file need not exist.

    With a hint, StoreError if a folder, a pipe or a device has its name.
    """
    path = os.path.join(folder(parent), name)
    try:
        mode = os.stat(path).st_mode if hint else stat.S_IFREG
    except OSError:
        return path
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "no regular file"
        raise StoreError(f"{path} is {what}", hint)
    return path


def opener(path: str, flags: int) -> int:
    """A descriptor of a regular file, for `open(…, opener=…)`; created files have mode 0600.

    Links, devices and FIFOs raise `Untrusted`, which is an `OSError`, too.
    """
    try:
        file = os.open(path, flags | _SAFELY, FILE_MODE)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EMLINK):
            raise Untrusted(path) from None
        raise
    info = os.fstat(file)
    if stat.S_ISREG(info.st_mode):
        if _open_to_others(info):
            os.fchmod(file, FILE_MODE)
        return file
    os.close(file)
    if stat.S_ISDIR(info.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    raise Untrusted(path)


def read(path: str) -> bytes:
    with open(path, "rb", opener=opener) as file:
        return file.read()


def write(path: str, data: bytes | str) -> None:
    """Replace a file as a whole; a link is refused, since another user may have put it there."""
    from kinen.storage.atomic import replace

    if os.path.islink(path):
        raise Untrusted(path)
    folder(os.path.dirname(path))
    replace(path, data, FILE_MODE)


def database(path: str) -> str:
    """Have a database be a private file before SQLite opens it; the path itself.

    SQLite would create it by the umask, and gives its log the mode of the database. A file that is
    there is not opened: closing it would end the locks that this process has on it.
    """
    try:
        info = os.lstat(path)
    except FileNotFoundError:
        # Create a file without opening it where the system can.
        try:
            os.mknod(path, FILE_MODE | stat.S_IFREG)
        except FileExistsError:
            pass  # another process was first
        except (AttributeError, OSError):  # Windows, macOS
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFELY
            try:  # noqa: SIM105 (contextlib is not for hooks)
                os.close(os.open(path, flags, FILE_MODE))
            except OSError:
                pass  # SQLite meets the same obstacle and has words for it
        return path
    if _planted(info):
        raise Untrusted(path)
    wider = _open_to_others(info) and stat.S_ISREG(info.st_mode)
    if wider:
        os.chmod(path, FILE_MODE)
    for suffix in _DATABASE_FILES:
        try:
            info = os.lstat(path + suffix)
        except OSError:
            continue
        if _planted(info):
            raise Untrusted(path + suffix)
        if wider and _open_to_others(info):
            os.chmod(path + suffix, FILE_MODE)
    return path


def identity(path: str) -> tuple[int, int]:
    """Which file a path names now, to tell it from another that takes its place; zeros if none."""
    try:
        info = os.stat(path)
    except OSError:
        return (0, 0)
    return (info.st_dev, info.st_ino)


def _planted(info: os.stat_result) -> bool:
    return not (stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode))


def _open_to_others(info: os.stat_result) -> bool:
    """Whether a file of ours may be read or written by others."""
    return bool(info.st_mode & OTHERS) and os.name != "nt" and info.st_uid == os.getuid()


def audit(home: str) -> tuple[int, list[str]]:
    """Close everything below a home to others; how much was open, and the links to files."""
    tightened = 0
    links = []
    for parent, folders, files in os.walk(home):
        paths = [os.path.join(parent, name) for name in (*folders, *files)]
        for path in paths:
            try:
                info = os.lstat(path)
                if stat.S_ISLNK(info.st_mode):
                    links += [path] if not os.path.isdir(path) else []
                elif _open_to_others(info):
                    os.chmod(path, info.st_mode & 0o700)
                    tightened += 1
            except FileNotFoundError:
                continue  # a draft of another process
    return tightened, links
