"""Where a memory comes from: its session, and the files and symbols that it is about."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from kinen.journal import events, queries
from kinen.journal.mentions import MOST, files_in, symbols_in
from kinen.model.journal import Learned, Observation, Summary

LOOKED_AT = 20
"""Sources of a memory that are looked at."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The session and capsule in which something was first said, and what it is about."""

    session: str = ""
    capsule: str = ""
    files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()


def origin(db: sqlite3.Connection, memory: Learned) -> Origin:
    """What the text of a memory names, and which files were edited in the events it rests on."""
    session = ""
    capsule = ""
    edited: list[str] = []
    for ref in memory.derived_from[:LOOKED_AT]:
        kind, _, id_ = ref.partition(":")
        if kind not in ("observation", "summary"):
            continue
        source: Observation | Summary | None = queries.entry(db, kind, id_)
        if source is None:
            continue
        capsule = capsule or source.capsule
        if kind == "observation":
            event: Observation = source  # type: ignore[assignment]
            session = session or event.scope.session
            saved = event.provenance.get("event") == "remember"  # with the files it is about
            edited += events.files(event) if saved or event.kind == "file_diff" else []
    if capsule and not session:  # a summary has the session of its capsule
        parent = queries.entry(db, "capsule", capsule)
        session = parent.scope.session if parent else ""
    files = dict.fromkeys((*files_in(memory.content), *edited))
    return Origin(session, capsule, tuple(files)[:MOST], symbols_in(memory.content))
