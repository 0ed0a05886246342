"""Removes what was derived from files and history before `privacy.mask_index` was switched on."""

from __future__ import annotations

import contextlib
import os
import shutil

from kinen.storage import private
from kinen.storage.database import remove_database

MARK = "index.masked"
"""The file that marks that everything derived is masked."""


def remove_unmasked(data: str, *, masked: bool) -> bool:
    """Remove index, cache, vectors, snapshots and answers if they may hold unmasked text.

    True if so. They are removed as files: an index that is updated keeps old text in freed pages.
    To be called by who holds the lock of a sync.
    """
    mark = os.path.join(data, MARK)
    if not masked:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(mark)
        return False
    if os.path.exists(mark):
        return False
    for name in ("index.db", "cache.db"):
        remove_database(os.path.join(data, name))
    for name in ("vectors.bin", "meta.json"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(data, name))
    for name in ("snapshots", "answers"):
        shutil.rmtree(os.path.join(data, name), ignore_errors=True)
    os.close(private.opener(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    return True
