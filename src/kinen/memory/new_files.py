"""Files that are newer than the index, found by the times of their folders."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from kinen.errors import Busy
from kinen.sources.files import folders

if TYPE_CHECKING:
    from collections.abc import Callable

    from kinen.memory.core import Core

NEW_FILES = 100
"""Maximum number of new files that a search indexes itself."""
MOST_FILES = 10_000
"""Maximum number of files of a space for it, since a sync looks at all of them."""


def catch_up(core: Core, sync: Callable[[], object]) -> list[str]:
    """Have new files indexed if that is cheap; returns a note if it is not."""
    if core.frozen:
        return []
    root = core.space.root
    file = core.file("folders")
    stamps = folders.load(file)
    suspects = folders.changed(root, stamps)
    if not suspects:
        return []
    new, times = folders.new_files(root, suspects, stamps, lambda path: _is_new(core, path))
    if not new:
        folders.save(file, {**stamps, **times})
        return []
    if new <= NEW_FILES and core.reader.state_count() <= MOST_FILES:
        with contextlib.suppress(Busy):
            sync()
            return []
    count = f"{new:,} files are" if new != 1 else "1 file is"
    return [f"{count} newer than the index: run `kinen index`"]


def _is_new(core: Core, path: str) -> bool:
    """Whether a file should be indexed and is not."""
    from kinen.extract.languages import is_code
    from kinen.sources.files.layout import is_read
    from kinen.text import spelled

    name = spelled(path)
    if is_read(path):
        return not core.reader.stamp("files", name)
    return core.config.index.symbols and is_code(path) and not core.reader.stamp("symbols", name)
