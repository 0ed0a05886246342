"""Checks of a space: journal, spool, index, files, model and trust, each with a way to fix it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kinen.errors import KinenError
from kinen.render.text import counted
from kinen.space import registry

if TYPE_CHECKING:
    from kinen.memory.memory import Memory


FEW = 64
"""Chunks without a vector that need no attention: what is new is embedded later."""
REMOVE = "kinen space remove "
"""What takes a space off the list, before its name."""


@dataclass(frozen=True, slots=True)
class Check:
    subject: str
    ok: bool
    detail: str
    fix: str = ""


def check_memory(memory: Memory) -> Iterator[Check]:
    """The checks of a space, in the order of what depends on what."""
    try:
        problem = memory.index.check()
        state = memory.index.status()
        yield from _check_journal(memory)
        yield from _check_team(memory)
    except KinenError as error:
        yield Check("index", False, error.message, error.hint)
        return
    if problem:
        yield Check("index", False, problem, "kinen index --rebuild")
    elif not state.synced:
        yield Check("index", False, "not built yet", "kinen index")
    else:
        documents = counted(state.counts.documents, "documents")
        yield Check("index", True, f"{documents}, {state.synced}")
    if state.counts.skipped:
        detail = f"{counted(state.counts.skipped, 'files')} could not be read"
        yield Check("files", False, detail, "kinen index status")
    yield _check_model(memory, state.pending, state.provider)
    for note in (*memory.config.warnings, *memory.index.sources.rules.notes):
        yield Check("config", True, note)
    for offer in memory.transfer.offers():
        yield Check("found", True, offer)
    if state.untrusted:
        detail = f"ignored or limited: {', '.join(state.untrusted)}"
        yield Check("trust", False, detail, "kinen trust")


def missing_spaces(home: str) -> Iterator[Check]:
    """Spaces whose folder is gone."""
    for space in registry.registered(home):
        if space.missing:
            detail = f"{space.name}: {space.root} does not exist"
            yield Check("space", False, detail, f"{REMOVE}{space.name}")


def _check_team(memory: Memory) -> Iterator[Check]:
    """Whether the last exchange with the team succeeded; nothing without a team."""
    if not memory.team.url or memory.team.state().left:
        return
    found = memory.team.health()
    since = f"last success {found['last_success'] or 'never'}"
    if found["last_error"]:
        fix = "kinen sync, after what the error names"
        yield Check("team", False, f"{found['last_error']} ({since})", fix)
    else:
        yield Check("team", True, f"{memory.team.space}, {since}")


def _check_journal(memory: Memory) -> Iterator[Check]:
    state = memory.journal.state()
    if not state.exists:
        return
    if state.problem:
        fix = f"make a copy of {state.path}, then run `kinen export` to save what can be read"
        yield Check("journal", False, state.problem, fix)
        return
    if state.lost:
        fix = (
            "restore journal.db together with journal.db-wal from a backup;"
            f" to continue without, remove {os.path.dirname(state.path)}/journal.seen"
        )
        yield Check("journal", False, state.lost, fix)
    else:
        observations = counted(state.observations, "observations")
        yield Check("journal", True, f"{observations} in {state.path}")
    if state.waiting:
        detail = f"{counted(state.waiting, 'observations')} still in the spool"
        yield Check("spool", False, detail, "kinen list observations")
    if state.unreadable:
        detail = f"{len(state.unreadable):,} spooled files cannot be read: {state.unreadable[0]}"
        yield Check("spool", False, detail, "inspect these files, then remove them")


def _check_model(memory: Memory, pending: int, provider: str) -> Check:
    if provider == "none":
        return Check("model", True, "none: full text only")
    try:
        name = memory.index.try_model()
    except KinenError as error:
        return Check("model", False, error.message, error.hint)
    if pending and memory.index.vectors_off:
        detail = f"{name}; off since `kinen index --no-embed`: {pending:,} chunks have no vector"
        return Check("model", True, detail)
    if pending > FEW:
        return Check("model", False, f"{name}; {pending:,} chunks have no vector", "kinen index")
    if pending:
        return Check("model", True, f"{name}; new chunks to embed: {pending:,}")
    return Check("model", True, name)
