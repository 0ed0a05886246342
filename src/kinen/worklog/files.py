"""Files of a space that kinen writes: whole or not at all, and without secrets."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from kinen.errors import SpaceError, StoreError, Unreadable, UnsafeFile
from kinen.paths import user_folder
from kinen.storage import inside
from kinen.text import spelled

LARGEST = 4 << 20
"""Bytes of a file that are read."""
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_BREAKS = re.compile(r"\r\n?|[\x85\u2028\u2029]")
_UNREADABLE = "[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
"""Characters that YAML forbids, or that make a file look binary; compiled when it is used."""


class Folder:
    """Reads and writes files below a root, by their paths relative to it."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.warnings: list[str] = []
        """What the last listing could not read: `path: reason`."""

    def names(self, folder: str, suffixes: tuple[str, ...]) -> list[str]:
        """The paths of the files in a folder that end in one of the suffixes."""
        with self.warn(folder):
            names = inside.files(self.root, folder)
            return [f"{folder}/{name}" for name in names if name.endswith(suffixes)]
        return []

    def folders(self, folder: str) -> list[str]:
        with self.warn(folder):
            return inside.folders(self.root, folder)
        return []

    @contextlib.contextmanager
    def warn(self, path: str) -> Iterator[None]:
        """Turn a failure to read a path into a warning; a missing file is none."""
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

    def read(self, path: str) -> bytes:
        return inside.read(self.root, path, LARGEST)

    def check_writable(self) -> None:
        """Refuse the home folder and the root of a disk: they are not projects."""
        real = os.path.realpath(self.root)
        if real == os.path.realpath(user_folder(os.environ)) or os.path.dirname(real) == real:
            raise SpaceError(f"kinen writes no files to {real}", "choose the folder of a project")

    def create(self, path: str, text: str) -> bool:
        """Write a new file; False if there already is one of this name, which stays."""
        with _write_errors(path):
            return inside.create(self.root, path, text.encode())

    def replace(self, path: str, text: str) -> None:
        with _write_errors(path):
            inside.replace(self.root, path, text.encode())

    def remove(self, path: str) -> None:
        with _write_errors(path):
            inside.remove(self.root, path)


def clean_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields with secrets masked, and without characters that could not be read back."""
    from kinen.privacy.masking import mask_values  # only what writes needs the patterns

    masked: Any = mask_values({key: _readable(value) for key, value in fields.items()})[0]
    clean: dict[str, Any] = {}
    for key, value in masked.items():
        if isinstance(value, list):
            clean[key] = tuple(item.strip() for item in value if item.strip())
        elif isinstance(value, str):
            clean[key] = value.strip()
        else:
            clean[key] = value
    return clean


def _readable(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_readable(item) for item in value]
    if not isinstance(value, str):
        return value
    return re.sub(_UNREADABLE, "", _BREAKS.sub("\n", _COLOURS.sub("", value)))


@contextlib.contextmanager
def _write_errors(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        hint = "check the disk and the owner of the folder"
        raise StoreError(f"cannot write {path}: {error.strerror}", hint) from None
