"""Vectors of the chunks of a space: how many are missing, and making them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from kinen.errors import Busy

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from kinen.index.writer import Writer
    from kinen.memory.core import Core
    from kinen.ports import Embedder

SMALL = 20_000
"""Maximum chunks of an index for which a search embeds new chunks itself."""
FEW = 32
"""Maximum number of new chunks for it: all of them, within a second."""


def is_complete(core: Core, embedder: Embedder) -> bool:
    """Whether every chunk has a vector of this model."""
    done = f"{embedder.fingerprint}:{core.opened_reader.meta('generation')}"
    return core.opened_reader.meta("embedded") == done


def embeddable(core: Core, embedder: Embedder) -> int:
    """The number of chunks that should have a vector; 0 if all of them have one."""
    return 0 if is_complete(core, embedder) else core.unit_count()


def choose_model(core: Core, writer: Writer) -> Embedder:
    """The embedding model for what an index has: of the built-in ones, by the language."""
    name = ""
    if core.chooses_model:
        from kinen.embed.language import SAMPLE, best_model

        name = best_model(writer.sample(SAMPLE))
        if writer.get("model") != name:
            writer.set("model", name)
    embedder = core.load_model(name)
    assert embedder is not None, "asked only where there is one"
    return embedder


def embed_few(core: Core) -> None:
    """Embed new chunks within a search, if there are few enough to embed all of them."""
    embedder = core.next_embedder
    if embedder is None or core.frozen or core.reader.chunk_count() > SMALL:
        return
    if is_complete(core, embedder):
        return
    missing = {*core.reader.digests()} - core.cache.digests(embedder.fingerprint)
    if len(missing) <= FEW:
        with contextlib.suppress(Busy):
            embed_until(core, bool, only=missing)
            if core.next_embedder is not embedder:  # by these chunks the space gets another
                embed_few(core)


def embed_record(core: Core, ref: str) -> None:
    """Embed the chunks of one record that have no vector yet."""
    if core.next_embedder is not None:
        embed_until(core, bool, frozenset(core.reader.digests(ref)), wait=1.0)


def embed_until(
    core: Core,
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
        job = Job(writer, announce, enough, clean)
        counts = sync_vectors(job, partial(choose_model, core), core.cache, only)
        clean()
        return counts
