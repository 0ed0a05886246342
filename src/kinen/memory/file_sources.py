"""The sources that read files of a space, as its configuration says."""

from __future__ import annotations

import os
from collections.abc import Container

from kinen.extract.child import Reader
from kinen.memory.core import Core
from kinen.sources.files.symbols import Symbols
from kinen.sources.files.walk import Files
from kinen.sources.issues import Issues

ISSUES = "issues"
"""The folder of a space's data that has imported issues."""


def files(core: Core, session: str, suppressed: Container[str]) -> Files:
    """Notes, rounds, resources and other documents; of one session if it is named."""
    settings = core.config.index
    return Files(
        core.space.root,
        size=settings.chunk_size,
        overlap=settings.chunk_overlap,
        max_bytes=settings.max_file_mb << 20,
        max_text=settings.max_text_mb << 20,
        reader=Reader(settings.file_seconds, settings.file_memory_mb),
        texts=core.cache.texts,
        only=session,
        suppressed=suppressed,
        masked=core.config.privacy.mask_index,
    )


def symbols(core: Core, walked: Files, suppressed: Container[str]) -> Symbols:
    """Functions and classes of the source files that a walk passes."""
    settings = core.config.index
    return Symbols(
        walked,
        Reader(settings.file_seconds, settings.file_memory_mb),
        enabled=settings.symbols,
        suppressed=suppressed,
        masked=core.config.privacy.mask_index,
    )


def issues(core: Core, suppressed: Container[str]) -> Issues:
    """The issues of the space's tracker, and imported ones."""
    settings = core.config.index
    return Issues(
        core.space.root,
        os.path.join(core.space.data, ISSUES),
        size=settings.chunk_size,
        overlap=settings.chunk_overlap,
        suppressed=suppressed,
        masked=core.config.privacy.mask_index,
    )
