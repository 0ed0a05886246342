"""What hooks do with a whole memory: in another process, or only where a setting asks for it."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
from typing import TYPE_CHECKING

from kinen import paths
from kinen.agents.client import load
from kinen.agents.transcripts.codex import rollouts
from kinen.agents.transcripts.find import codex_sessions, latest_session
from kinen.errors import NotFound, StoreError
from kinen.hooks.event import Session
from kinen.ipc import client
from kinen.journal import capsules
from kinen.journal.schema import complete
from kinen.memory import Memory
from kinen.space import early

if TYPE_CHECKING:
    import sqlite3

    from kinen.journal.ledger import Injection

PATIENCE_MS = 20_000
"""How long the work waits for a journal that is locked."""
TRANSCRIPT = 16 << 20
"""Bytes at the end of a transcript that are read."""


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


def run(agent: str, task: str, session_id: str, transcript: str = "") -> None:
    """Do one of the tasks that hooks leave to a process of their own."""
    if task == "--close":
        close(agent, session_id, transcript)
    elif task == "--sum-up":
        sum_up(agent, session_id)
    elif task == "--share":
        _session(agent, session_id)
        with Memory.open() as memory:
            memory.team.share()
    else:
        complete_turn(agent, session_id, transcript)


def close(agent: str, session_id: str, transcript: str = "") -> None:
    """Close the capsule of a session, summarize it and draw memories; then those left open.

    An existing index follows, so that nobody has to wait for it later.
    """
    session = _session(agent, session_id)
    early.expire(paths.default_home())
    with Memory.open() as memory:
        if session_id:
            db = session.journal(PATIENCE_MS)
            if db is not None:
                session.begin(db)  # all that happened in it may still wait in the spool
                _complete(session, db, transcript)
            with contextlib.suppress(NotFound):  # closed already
                memory.journal.close_capsule(session.capsule)
        memory.journal.close_ended()
        memory.journal.close_idle()
        with contextlib.suppress(StoreError):
            memory.ledger.learn_remedies()
        if os.path.exists(os.path.join(session.here.index, "index.db")):
            with contextlib.suppress(StoreError):
                memory.sync(embed=False, wait=0.0)
        memory.team.share()


def sum_up(agent: str, session_id: str) -> None:
    """Write down what a session came to so far, before its client compacts it."""
    session = _session(agent, session_id)
    with Memory.open() as memory:
        memory.core.store.sum_up(session.capsule, session.now)


def complete_turn(agent: str, session_id: str, transcript: str) -> None:
    """Take in what the transcript has of a turn and no event reported."""
    session = _session(agent, session_id)
    db = session.journal(PATIENCE_MS)
    if db is not None:
        session.begin(db)
        _complete(session, db, transcript)


def _session(agent: str, session_id: str) -> Session:
    """A session of the working folder, in a process that is in nobody's way."""
    gc.enable()
    if hasattr(os, "nice"):
        os.nice(10)
    caller = load(agent)
    assert caller is not None
    return Session({"session_id": session_id, "cwd": os.getcwd()}, caller)


def _complete(session: Session, db: sqlite3.Connection, transcript: str) -> None:
    """Take the uses of tools from a transcript of the session, as hooks would have stored them.

    Each has the id of the event that reports the same call: one that is in the journal gets the
    exit code that it lacks. Nothing of a session that was forgotten comes back.
    """
    if not session.client.late or capsules.is_forgotten(db, session.capsule):
        return
    files = [transcript] if transcript else rollouts(codex_sessions(os.environ), session.id)
    rows = []
    for path in files:
        for past in latest_session(path, TRANSCRIPT):
            if past.id == session.id:
                past.place = session.sieve().place
                rows += [row for event in past.events() if (row := session.late_row(event))]
    complete(db, rows)
