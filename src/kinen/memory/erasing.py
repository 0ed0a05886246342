"""Removes the bytes of what was erased from everything that a space has on disk.

The journal is where something is erased: from then on no reader shows it (`index/fence.py`). The
rest waits until no process writes an index of the space. How far it has come is noted in the
journal, so that whoever indexes next continues after a crash.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Sequence

from kinen.errors import Busy, KinenError
from kinen.index.lock import sync_lock
from kinen.index.writer import Writer
from kinen.journal.spool import discard
from kinen.memory.core import Core
from kinen.memory.ledger import open_ledger
from kinen.memory.sources import Sources
from kinen.storage.database import scrub

SCRUBBED = "scrubbed"
"""The key in the journal's `meta` of the erasures whose bytes are gone."""
PATIENCE_MS = 500
"""How long an index that another process writes to is waited for, to remove rows from it."""
LATER = "nothing shows it from now on, and its last bytes are removed after that"
"""What to add to who is in the way."""


def pending(core: Core) -> list[str]:
    """The refs that were erased or hidden and still have bytes on disk."""
    if not core.store.exists:
        return []
    return core.erasures.since(core.store.noted(SCRUBBED))[0]


def hide(core: Core, refs: Sequence[str], text: str = "") -> None:
    """Take what the journal erased out of everything that is read; this waits for nobody."""
    discard(core.store.spools, [ref.partition(":")[2] for ref in refs])
    open_ledger(core).erase(refs, [text] if text else [])
    for folder in core.all_folders():
        index = os.path.join(folder, "index.db")
        with contextlib.suppress(KinenError):  # busy or damaged: readers are fenced
            if os.path.exists(index):
                with contextlib.closing(Writer(index, erasures=core.erasures)) as writer:
                    writer.remove_erased(PATIENCE_MS)


def clean(core: Core, *, held: str = "", wait: float = 0.0, anyway: bool = False) -> str:
    """Remove the bytes of everything that was erased; who is in the way, empty if nobody is.

    `held` is the folder of an index whose lock this process has; other locks are waited for. With
    `anyway` also those of other texts that are gone from the indexes.
    """
    if not (anyway or pending(core)):
        return ""
    store = core.store
    ledger = open_ledger(core)
    folders = [folder for folder in core.all_folders() if os.path.isdir(folder)]
    try:
        with contextlib.ExitStack() as locks:
            for folder in folders:
                if not (held and os.path.samefile(folder, held)):
                    locks.enter_context(sync_lock(os.path.join(folder, "sync.lock"), wait))
            refs, last = core.erasures.since(store.noted(SCRUBBED))
            if refs:
                discard(store.spools, [ref.partition(":")[2] for ref in refs])
                ledger.erase(refs, [])
                ledger.scrub()
            _scrub_indexes(core, folders)
            if refs:
                with store.translated():
                    scrub(store.db, store.path)
                store.note({SCRUBBED: last})
    except Busy as busy:
        return busy.message
    return ""


def _scrub_indexes(core: Core, folders: Sequence[str]) -> None:
    """Take what was erased out of index, vectors and cache, freed pages and logs included.

    What was said beside it goes too: earlier states of its segment, the summary made of it.
    """
    from kinen.distill.chain import expire
    from kinen.index import snapshots
    from kinen.index.cache import Cache

    digests: set[str] = set()
    contents: set[str] = set()
    indexed = [folder for folder in folders if os.path.exists(os.path.join(folder, "index.db"))]
    for folder in folders:
        snapshots.prune(os.path.join(folder, "snapshots"), 0)  # they can be made again
        shutil.rmtree(os.path.join(folder, "answers"), ignore_errors=True)  # of earlier versions
    for folder in indexed:
        with contextlib.closing(
            Writer(os.path.join(folder, "index.db"), erasures=core.erasures)
        ) as writer:
            if core.store.exists:
                writer.follow(Sources(core).journal())
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, "vectors.bin"))
            writer.scrub()
            digests |= writer.digests()
            contents |= writer.contents()
    for folder in folders:
        file = os.path.join(folder, "cache.db")
        if os.path.exists(file):
            with contextlib.closing(Cache(file)) as cache:
                expire(cache.texts, float("inf"))
                if indexed:
                    for key in [*cache.texts]:
                        if key.rpartition(":")[2] not in contents:
                            del cache.texts[key]
                    cache.prune(digests)
                    cache.forget(())
    core.loaded_vectors = ("", None)
