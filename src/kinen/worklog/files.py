"""Files of a space that kinen writes: as a whole or not at all, and never a secret in them."""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING, Any

from kinen.errors import SpaceError, StoreError, Unreadable, UnsafeFile
from kinen.privacy.masking import mask_values
from kinen.space.route import user_folder
from kinen.storage import inside
from kinen.text import spelled

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
        with self._warned(folder):
            names = inside.files(self.root, folder)
            return [f"{folder}/{name}" for name in names if name.endswith(suffixes)]
        return []

    def _folders(self, folder: str) -> list[str]:
        """The names of the folders in a folder."""
        with self._warned(folder):
            return inside.folders(self.root, folder)
        return []

    @contextlib.contextmanager
    def _warned(self, path: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            return
        except UnsafeFile as error:
            self.warnings.append(error.message)
        except Unreadable as error:
            self.warnings.append(f"{spelled(path)}: {error.message}")
        except OSError as error:
            self.warnings.append(f"{spelled(path)}: {error.strerror}")

    def _bytes(self, path: str) -> bytes:
        return inside.read(self.root, path, LARGEST)

    def _writable(self) -> None:
        real = os.path.realpath(self.root)
        if real == os.path.realpath(user_folder(os.environ)) or os.path.dirname(real) == real:
            raise SpaceError(f"nothing is kept in {real} itself", "choose the folder of a project")

    def _create(self, path: str, text: str) -> bool:
        """Write a new file as a whole, never over another; whether its name was free."""
        with _written(path):
            return inside.create(self.root, path, text.encode())

    def _replace(self, path: str, text: str) -> None:
        with _written(path):
            inside.replace(self.root, path, text.encode())

    def _remove(self, path: str) -> None:
        with _written(path):
            inside.remove(self.root, path)


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
