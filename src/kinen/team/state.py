"""How far a machine is with its team, kept in its journal."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from dataclasses import dataclass, field

META = "team"
"""The key of the state in the journal's table `meta`."""
META_LATER = "team.later"
HOST = 20
"""Characters of a host name that colleagues see."""


@dataclass(slots=True)
class State:
    """How far a machine is."""

    machine: str
    peer: str = ""
    level: str = "none"
    seen: tuple[int, int, int] = (0, 0, 0)
    """The last observation, change and tag that were looked at."""
    cursor: int = 0
    erased_cursor: int = 0
    left: bool = False
    author: str = ""
    """The name of the person here: entries of others are shown with theirs."""
    epoch: str = ""
    """The history of the team's database that the cursors belong to."""
    unread: list[str] = field(default_factory=list)
    """Refs of the team's entries that this version of kinen could not take over."""
    reader: str = ""
    """The version of kinen that tried."""


LATER = ("epoch", "unread", "reader")
"""Fields of an entry of their own in `meta`: a kinen without them still reads the other one."""


def new_machine() -> str:
    """A name for a machine that no other has: its host name, and something random."""
    import platform

    host = re.sub(r"[^a-z0-9]+", "-", platform.node().partition(".")[0].lower())[:HOST].strip("-")
    return f"{host or 'machine'}-{os.urandom(4).hex()}"


def read_state(db: sqlite3.Connection) -> State:
    """How far a journal is; a new state for one that has never been shared."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (META,)).fetchone()
    if row is None:
        return State(new_machine())
    values = json.loads(row[0])
    more = db.execute("SELECT value FROM meta WHERE key = ?", (META_LATER,)).fetchone()
    values |= json.loads(more[0]) if more else {}
    values = {name: value for name, value in values.items() if name in State.__slots__}
    return State(**{**values, "seen": tuple(values["seen"])})


def write_state(db: sqlite3.Connection, state: State) -> None:
    values = {name: getattr(state, name) for name in State.__slots__}
    later = {name: values.pop(name) for name in LATER}
    for key, part in ((META, values), (META_LATER, later)):
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, json.dumps(part)))
