"""What hooks do with a whole memory: in another process, or only where a setting asks for it."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
from typing import TYPE_CHECKING

from kinen.agents.client import load
from kinen.errors import NotFound, StoreError
from kinen.hooks.event import Session
from kinen.ipc import client
from kinen.memory import Memory

if TYPE_CHECKING:
    from kinen.journal.ledger import Injection


def search_related(
    prompt: str, session: Session, refs: list[str], injection: Injection, seconds: float
) -> None:
    """Put into an injection what full text finds for a prompt; TimeoutError after some seconds."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _time_out)
        signal.setitimer(signal.ITIMER_REAL, seconds)
    with Memory.open() as memory:
        if memory.config.daemon.auto_start:
            client.start(memory.space.home)
        related = memory.searcher.related(prompt, session.id, session.budget, refs)
        injection.text = related.text
        injection.entries = list(related.entries)
        injection.dropped = list(related.dropped)


def _time_out(*_: object) -> None:
    raise TimeoutError


def close(agent: str, session_id: str) -> None:
    """Close the capsule of a session, summarize it and draw memories; then those left open.

    An existing index follows, so that nobody has to wait for it later.
    """
    gc.enable()
    if hasattr(os, "nice"):
        os.nice(10)
    caller = load(agent)
    assert caller is not None
    session = Session({"session_id": session_id, "cwd": os.getcwd()}, caller)
    with Memory.open() as memory:
        if session_id:
            db = session.journal(20_000)
            if db is not None:
                session.begin(db)  # all that happened in it may still wait in the spool
            with contextlib.suppress(NotFound):  # closed already
                memory.journal.close_capsule(session.capsule)
        memory.journal.close_idle()
        with contextlib.suppress(StoreError):
            memory.ledger.learn_remedies()
        if os.path.exists(os.path.join(session.here.index, "index.db")):
            with contextlib.suppress(StoreError):
                memory.sync(embed=False, wait=0.0)
