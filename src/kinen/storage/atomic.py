"""Replacing a file as a whole, so that a reader or a crash never meets half of it."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from io import BufferedWriter

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_CREATE |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class Draft:
    """A new file beside the target; it takes the target's place unless the block raises.

    `mode` is subject to the umask; `keep` is the exact mode of the file that was there. Without
    `durable` the file may be lost in a power cut.
    """

    def __init__(
        self, target: str, mode: int, *, keep: int | None = None, durable: bool = True
    ) -> None:
        folder, name = os.path.split(target)
        self._target = target
        self._keep = keep
        self._durable = durable
        self._path = os.path.join(folder, f".{name}.{os.getpid()}.{time.monotonic_ns()}.tmp")
        self._file = os.fdopen(os.open(self._path, _CREATE, mode), "wb")

    def __enter__(self) -> BufferedWriter:
        return self._file

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        try:
            if error is None and self._durable:
                self._file.flush()
                os.fsync(self._file.fileno())
            self._file.close()
            if self._keep is not None:
                os.chmod(self._path, self._keep)
            if error is None:
                rename(self._path, self._target)
        finally:
            self._file.close()
            if os.path.lexists(self._path):
                os.unlink(self._path)


def replace(target: str, data: bytes | str, mode: int, *, keep: int | None = None) -> None:
    """Replace the target as a whole; see `Draft`."""
    with Draft(target, mode, keep=keep) as file:
        file.write(data.encode() if isinstance(data, str) else data)


def write(path: str | os.PathLike[str], data: bytes | str, mode: int = 0o666) -> None:
    """Replace a file of the user as a whole; its mode and a link to it stay.

    A new file has `mode`, less the umask. Files of kinen's home are written by `storage.private`.
    """
    target = os.path.realpath(path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    try:
        keep = os.stat(target).st_mode & 0o7777
    except FileNotFoundError:
        keep = None
    replace(target, data, mode, keep=keep)


def rename(draft: str, target: str) -> None:
    """Put a finished file in the place of another; on Windows, which may refuse, patiently."""
    for patience in (0.01, 0.05, 0.2, 0.5):
        try:
            return os.replace(draft, target)
        except PermissionError:
            if os.name != "nt":
                raise
            time.sleep(patience)  # Windows refuses while another process reads the target
    return os.replace(draft, target)
