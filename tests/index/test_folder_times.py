from __future__ import annotations

from typing import TYPE_CHECKING

from kinen.index import folders

if TYPE_CHECKING:
    from pathlib import Path


def test_times_are_written_only_if_they_changed(tmp_path: Path) -> None:
    file = tmp_path / "home" / "folders"
    folders.save(str(file), {"": 1, "notes": 2})
    first = file.stat().st_ino
    folders.save(str(file), {"": 1, "notes": 2})
    assert file.stat().st_ino == first
    folders.save(str(file), {"": 1, "notes": 3})
    assert file.stat().st_ino != first
    assert folders.load(str(file)) == {"": 1, "notes": 3}
