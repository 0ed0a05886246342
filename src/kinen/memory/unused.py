"""Vectors that no text of a space uses: of earlier texts, and of models that were replaced."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, NamedTuple

from kinen import config as configuration
from kinen.errors import KinenError
from kinen.index.cache import Cache
from kinen.index.lock import sync_lock
from kinen.index.reader import Reader
from kinen.memory.core import Core
from kinen.space import registry
from kinen.storage.sqlite import sqlite3

if TYPE_CHECKING:
    from kinen.space.registry import Space

WAIT = 1.0
"""Seconds to wait for a process that indexes a space; its vectors are left to the next run."""


class Unused(NamedTuple):
    """Vectors in a cache that can be deleted."""

    path: str
    number: int
    bytes: int


def unused_vectors(home: str, *, delete: bool = False) -> list[Unused]:
    """The unused vectors of every space whose folder is there; with `delete` they are gone then."""
    found = []
    for space in registry.registered(home):
        with contextlib.suppress(KinenError, sqlite3.Error):  # indexed just now, or damaged
            if not space.missing:
                found += _of_space(space, delete=delete)
    return found


def _of_space(space: Space, *, delete: bool) -> list[Unused]:
    core = Core(space, configuration.load(space.home, space.root))
    folders = [folder for folder in core.all_folders() if os.path.isdir(folder)]
    with contextlib.ExitStack() as locks:
        for folder in folders:
            locks.enter_context(sync_lock(os.path.join(folder, "sync.lock"), WAIT))
        digests, models = _in_use(folders)
        files = [os.path.join(folder, "cache.db") for folder in folders] if digests else []
        caches = [_unused(file, digests, models, delete=delete) for file in files]
    return [cache for cache in caches if cache.number]


def _in_use(folders: list[str]) -> tuple[set[str], set[str]]:
    """The digests of all texts in some indexes, and the models; none of either if any is empty.

    An index without texts is about to be built again, and one without a model is not complete.
    """
    digests: set[str] = set()
    models: set[str] = set()
    for folder in folders:
        file = os.path.join(folder, "index.db")
        if not os.path.exists(file):
            continue
        with contextlib.closing(Reader(file)) as reader:
            texts = reader.digests()
            if not texts:
                return set(), set()
            digests.update(texts)
            models.add(reader.meta("embedded").rpartition(":")[0])
    return digests, set() if "" in models else models


def _unused(file: str, digests: set[str], models: set[str], *, delete: bool) -> Unused:
    if not os.path.exists(file):
        return Unused(file, 0, 0)
    with contextlib.closing(Cache(file)) as cache:
        rows = [
            (model, digest, size)
            for model, digest, size in cache.sizes()
            if digest not in digests or (models and model not in models)
        ]
        if rows and delete:
            cache.remove((model, digest) for model, digest, _ in rows)
    return Unused(file, len(rows), sum(size for _, _, size in rows))
