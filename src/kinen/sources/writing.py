"""Files of a space that kinen writes: as a whole or not at all, and never a secret in them."""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING, Any

from kinen.errors import SpaceError, StoreError, Unreadable
from kinen.masking import mask_values
from kinen.registry import write_atomic
from kinen.route import user_folder
from kinen.text import digest, spelled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LARGEST = 4 << 20
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_BREAKS = re.compile(r"\r\n?|[\x85\u2028\u2029]")
_UNREADABLE = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What YAML cannot have, or what makes a file look binary."""


class Folder:
    """Files below a root, by their paths from there."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.warnings: list[str] = []
        """What the last look could not read: `path: reason`."""

    def _names(self, folder: str, suffixes: tuple[str, ...]) -> list[str]:
        """The files of a folder, as paths in the space."""
        try:
            entries = list(os.scandir(os.path.join(self.root, folder)))
        except OSError:
            return []
        names = [one.name for one in entries if one.is_file(follow_symlinks=False)]
        return [f"{folder}/{one}" for one in sorted(names) if one.endswith(suffixes)]

    @contextlib.contextmanager
    def _warned(self, path: str) -> Iterator[None]:
        try:
            yield
        except Unreadable as error:
            self.warnings.append(f"{spelled(path)}: {error.message}")
        except OSError as error:
            self.warnings.append(f"{spelled(path)}: {error.strerror}")

    def _bytes(self, path: str) -> bytes:
        with open(os.path.join(self.root, path), "rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise Unreadable("too large")
        return data

    def _writable(self) -> None:
        real = os.path.realpath(self.root)
        if real == os.path.realpath(user_folder(os.environ)) or os.path.dirname(real) == real:
            raise SpaceError(f"nothing is kept in {real} itself", "choose the folder of a project")

    def _create(self, path: str, text: str) -> bool:
        """Write a new file as a whole, never over another; whether its name was free."""
        full = os.path.join(self.root, path)
        folder = os.path.dirname(full)
        draft = os.path.join(folder, f".{digest(os.urandom(16))}.tmp")
        with _written(path):
            os.makedirs(folder, exist_ok=True)
            try:
                with open(draft, "xb") as file:
                    file.write(text.encode())
                    file.flush()
                    os.fsync(file.fileno())
                _name(draft, full)
            except FileExistsError:
                return False
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(draft)
            _settle(folder, os.path.dirname(folder))
        return True

    def _replace(self, path: str, text: str) -> None:
        full = os.path.join(self.root, path)
        with _written(path):
            if os.path.islink(full):  # it could lead anywhere, and came with a clone
                os.unlink(full)
            write_atomic(full, text)

    def _remove(self, path: str) -> None:
        with _written(path), contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.root, path))


def tidied(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields without secrets, and without what could not be read again."""
    masked: Any = mask_values({key: _clean(value) for key, value in fields.items()})[0]
    made: dict[str, Any] = {}
    for key, value in masked.items():
        if isinstance(value, list):
            made[key] = tuple(one.strip() for one in value if one.strip())
        else:
            made[key] = value.strip() if isinstance(value, str) else value
    return made


def _clean(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_clean(one) for one in value]
    if not isinstance(value, str):
        return value
    return _UNREADABLE.sub("", _BREAKS.sub("\n", _COLOURS.sub("", value)))


@contextlib.contextmanager
def _written(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        remedy = "check the disk, and who owns the folder"
        raise StoreError(f"cannot write {path}: {error.strerror}", remedy) from None


def _name(draft: str, full: str) -> None:
    """Give a finished file its name, unless that is taken."""
    try:
        os.link(draft, full)
    except FileExistsError:
        raise
    except OSError:  # a disk without links: the name is taken first, then filled
        os.close(os.open(full, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        os.replace(draft, full)


def _settle(*folders: str) -> None:
    """Have the names of new files survive a power cut; Windows does so by itself."""
    for folder in folders:
        with contextlib.suppress(OSError):
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
