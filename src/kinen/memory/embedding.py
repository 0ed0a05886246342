"""Vectors of the chunks of a space: how many are missing, and making them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from kinen.errors import Busy

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from kinen.memory.core import Core
    from kinen.ports import Embedder

SMALL = 20_000
"""Maximum chunks of an index for which a search embeds new chunks itself."""
FEW = 32
"""Maximum number of new chunks for it: all of them, within a second."""


def is_complete(core: Core, embedder: Embedder) -> bool:
    """Whether every chunk has a vector of this model."""
    done = f"{embedder.fingerprint}:{core.reader.meta('generation')}"
    return core.reader.meta("embedded") == done


def embeddable(core: Core, embedder: Embedder) -> int:
    """The number of chunks that should have a vector; 0 if all of them have one."""
    return 0 if is_complete(core, embedder) else core.unit_count()


def embed_few(core: Core, embedder: Embedder) -> None:
    """Embed new chunks within a search, if there are few enough to embed all of them."""
    if core.frozen or is_complete(core, embedder) or core.reader.chunk_count() > SMALL:
        return
    missing = {*core.reader.digests()} - core.cache.digests(embedder.fingerprint)
    if len(missing) <= FEW:
        with contextlib.suppress(Busy):
            embed_until(core, embedder, bool)


def embed_record(core: Core, ref: str) -> None:
    """Embed the chunks of one record that have no vector yet."""
    embedder = core.embedder
    if embedder is not None:
        embed_until(core, embedder, bool, frozenset(core.reader.digests(ref)), wait=1.0)


def embed_until(
    core: Core,
    embedder: Embedder,
    enough: Callable[[], bool],
    only: Container[str] | None = None,
    wait: float = 0.0,
) -> tuple[int, int]:
    """Embed chunks without vectors until `enough`; the numbers embedded and missing.

    `only` are the digests to embed, if not all.
    """
    from functools import partial

    from kinen.index.lock import sync_lock
    from kinen.index.sync import Job, sync_vectors
    from kinen.index.writer import Writer
    from kinen.memory import erasing

    with (
        sync_lock(core.file("sync.lock"), wait) as announce,
        contextlib.closing(Writer(core.file("index.db"))) as writer,
    ):
        clean = partial(erasing.clean, core, held=core.folder)
        counts = sync_vectors(Job(writer, announce, enough, clean), embedder, core.cache, only)
        clean()
        return counts
