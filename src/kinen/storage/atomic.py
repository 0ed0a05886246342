"""Replacing a file as a whole, so that a reader or a crash never meets half of it."""

from __future__ import annotations

import os
import time

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_CREATE |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def replace(target: str, data: bytes | str, mode: int, *, keep: int | None = None) -> None:
    """Write a file beside the target and put it in its place.

    `mode` is subject to the umask; `keep` is the exact mode of the file that was there.
    """
    folder, name = os.path.split(target)
    draft = os.path.join(folder, f".{name}.{os.getpid()}.{time.monotonic_ns()}.tmp")
    try:
        with open(os.open(draft, _CREATE, mode), "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
            file.flush()
            os.fsync(file.fileno())
        if keep is not None:
            os.chmod(draft, keep)
        rename(draft, target)
    except BaseException:
        if os.path.lexists(draft):
            os.unlink(draft)
        raise


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
