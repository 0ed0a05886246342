"""What the tests of adapters share: a memory that fails, a secret, a look at the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "gh" + "p_" + "a1B2c3D4e5F6" * 3


class Broken:
    """A memory of which every use fails."""

    def __getattr__(self, name: str) -> Any:
        raise OSError("disk full")


def on_disk(folder: Path, text: str) -> bool:
    files = (file for file in folder.rglob("*") if file.is_file())
    return any(text.encode() in file.read_bytes() for file in files)
