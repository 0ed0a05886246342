"""Reads the ledger: injections by filter and by id, and totals for each session."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from kinen.characters import storable
from kinen.errors import Ambiguous, NotFound
from kinen.journal import events, ledger, queries
from kinen.journal.queries import beginnings
from kinen.journal.schema import OF_CAPSULE
from kinen.model.journal import Observation
from kinen.model.kinds import REDACTED
from kinen.model.tuples import NamedTuple
from kinen.privacy import entrance
from kinen.storage.database import begins, scrub, translated, writing

PATIENCE_MS = 5_000
HINT = "move it away: kinen begins a new ledger"
_COLUMNS = "seq, id, at, event, subject, agent, session, tokens, text, entries, dropped, masked"
_SHORTEST = 12
"""A text of fewer characters is in too many places by chance."""


class Injection(NamedTuple):
    """One text that an agent was told."""

    seq: int
    id: str
    at: int
    """Epoch milliseconds."""
    event: str
    subject: str
    agent: str
    session: str
    tokens: int
    text: str
    entries: tuple[str, ...]
    dropped: tuple[tuple[str, str], ...]
    """Refs and reasons."""
    masked: dict[str, Any]

    @property
    def occasion(self) -> str:
        """What it was sent for: the event of a hook, or the tool of MCP."""
        return self.subject if self.event == "mcp" else self.event

    @property
    def first_line(self) -> str:
        """The first line that says something of its own."""
        lines = [line.strip() for line in self.text.splitlines()]
        items = (line for line in lines if line.startswith("- "))
        others = (line for line in lines if line and not line.startswith("<"))
        return next(items, "") or next(others, "")


class Total(NamedTuple):
    """What a session was told in all."""

    agent: str
    session: str
    injections: int
    tokens: int


class Filter(NamedTuple):
    """Which injections; an empty field matches anything, a name matches by its beginning."""

    session: str = ""
    agent: str = ""
    event: str = ""
    since: int = 0


class Reader:
    """The ledger of one space; one that does not exist is empty."""

    def __init__(self, data: str) -> None:
        self._data = data
        self.path = os.path.join(data, ledger.FILE)

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with (
            translated(self.path, HINT),
            contextlib.closing(ledger.connect(self._data, PATIENCE_MS)) as db,
        ):
            yield db

    def injections(self, chosen: Filter, limit: int = 0) -> tuple[list[Injection], int]:
        """The newest that match, newest first, and how many match in all."""
        if not os.path.exists(self.path):
            return [], 0
        where, values = _where(chosen)
        with self._open() as db:
            count = db.execute(f"SELECT COUNT(*) FROM injections{where}", values).fetchone()[0]
            rows = db.execute(
                f"SELECT {_COLUMNS} FROM injections{where} ORDER BY seq DESC LIMIT ?",
                (*values, limit or -1),
            ).fetchall()
        return [_injection(row) for row in rows], count

    def injection(self, name: str) -> Injection:
        """One by its id, or by the beginning of it."""
        written = storable(name)
        name = written.upper()
        rows: list[Any] = []
        if name and os.path.exists(self.path):
            with self._open() as db:
                rows = db.execute(
                    f"SELECT {_COLUMNS} FROM injections WHERE substr(id, 1, length(?)) = ?"
                    " ORDER BY id = ? DESC LIMIT 6",
                    (name, name, name),
                ).fetchall()
        if not rows:
            raise NotFound(f"no entry of the ledger {written!r}", "`kinen ledger` lists them")
        if len(rows) > 1 and rows[0][1] != name:
            raise Ambiguous(written, [row[1] for row in rows])
        return _injection(rows[0])

    def short_ids(self) -> dict[str, str]:
        """The id of each → the beginning of it that is unique."""
        if not os.path.exists(self.path):
            return {}
        with self._open() as db:
            rows = db.execute("SELECT id FROM injections").fetchall()
        return beginnings(row[0] for row in rows)

    def totals(self, chosen: Filter, limit: int = 0) -> list[Total]:
        """Tokens for each session, the last told first."""
        if not os.path.exists(self.path):
            return []
        where, values = _where(chosen)
        with self._open() as db:
            rows = db.execute(
                "SELECT agent, session, COUNT(*), SUM(tokens) FROM injections"
                f"{where} GROUP BY agent, session ORDER BY MAX(seq) DESC LIMIT ?",
                (*values, limit or -1),
            ).fetchall()
        return [Total(*row) for row in rows]

    def compactions(self) -> dict[tuple[str, str], int]:
        """Each session (agent, id) that lost its context → the last injection before that."""
        if not os.path.exists(self.path):
            return {}
        with self._open() as db:
            rows = db.execute("SELECT agent, session, after FROM compactions")
            return {(agent, session): after for agent, session, after in rows}

    def write(self, injection: ledger.Injection, tokens: int) -> None:
        """Record an injection, if that can be done at once."""
        with contextlib.suppress(sqlite3.Error, OSError):
            db = ledger.connect(self._data)
            with contextlib.closing(db):
                ledger.write(db, injection, tokens)

    def erase(self, refs: Sequence[str], texts: Sequence[str]) -> int:
        """Empty what cites any of these refs or contains any of these texts; how much that was."""
        if not os.path.exists(self.path):
            return 0
        gone = set(refs)
        parts = [part for text in texts if len(part := text.strip()) >= _SHORTEST]
        with self._open() as db, writing(db):
            rows = db.execute("SELECT seq, text, entries FROM injections").fetchall()
            doomed = [
                (REDACTED, seq)
                for seq, text, entries in rows
                if gone & set(entries.split("\n")) or any(part in text for part in parts)
            ]
            db.executemany("UPDATE injections SET text = ? WHERE seq = ?", doomed)
            # Made again from what is left, by the next session that ends.
            db.execute("DELETE FROM remedies")
            db.execute("DELETE FROM remedied")
        return len(doomed)

    def scrub(self) -> None:
        """Overwrite what was emptied in freed pages and the log."""
        if os.path.exists(self.path):
            with self._open() as db:
                scrub(db, self.path)

    def learn_remedies(
        self,
        capsules: Iterable[tuple[str, int]],
        read: Callable[[str], list[tuple[str, str, str]]],
    ) -> int:
        """Draw remedies from capsules (id, when closed) that were not looked at; how many.

        `read` gives the remedies of a capsule: command, text, ref.
        """
        count = 0
        with self._open() as db:
            seen = dict(db.execute("SELECT capsule, closed_at FROM remedied"))
            for capsule, closed_at in capsules:
                if seen.get(capsule) == closed_at:
                    continue
                rows = [(entrance.name(cell) for cell in row) for row in read(capsule)]
                with writing(db):
                    db.executemany(
                        "INSERT OR REPLACE INTO remedies(command, text, ref) VALUES (?, ?, ?)",
                        [tuple(row) for row in rows],
                    )
                    mark = (capsule, closed_at)
                    db.execute("INSERT OR REPLACE INTO remedied VALUES (?, ?)", mark)
                count += len(rows)
        return count


def summaries_around(db: sqlite3.Connection, refs: Sequence[str]) -> list[str]:
    """Summaries of the capsules that some observations are part of: they may quote them."""
    found: list[str] = []
    for ref in refs:
        kind, _, id_ = ref.partition(":")
        if kind == "observation":
            rows = db.execute(
                "SELECT 'summary:' || s.id FROM summaries s JOIN observations o"
                " ON s.capsule = o.capsule WHERE o.id = ? AND o.capsule != ''",
                (id_,),
            )
            found += [row[0] for row in rows]
    return found


def last_closed(db: sqlite3.Connection, most: int) -> list[tuple[str, int]]:
    """The capsules that were closed last, with the time of it, the last first."""
    return db.execute(
        "SELECT id, closed_at FROM capsules WHERE status = 'closed' AND forgotten_at = 0"
        " ORDER BY closed_at DESC LIMIT ?",
        (most,),
    ).fetchall()


def actions(
    db: sqlite3.Connection, capsule: str, at: int, most: int, *, later: bool
) -> Iterator[Observation]:
    """What was done and said in a session before or after a moment, nearest first."""
    columns = queries.NOUNS["observations"].columns
    kinds = ", ".join(f"'{kind}'" for kind in (*events.ACTIONS, "error", "message"))
    sign, order = (">=", "ASC") if later else ("<", "DESC")
    rows = db.execute(
        f"SELECT {columns} FROM observations WHERE {OF_CAPSULE} AND ts {sign} ?"
        f" AND kind IN ({kinds}) ORDER BY ts {order} LIMIT ?",
        (capsule, at, most),
    )
    return (queries.decode("observation", row) for row in rows)


def _where(chosen: Filter) -> tuple[str, list[Any]]:
    clauses: list[str] = []
    values: list[Any] = []
    for column in ("session", "agent", "event"):
        value = getattr(chosen, column)
        if value:
            clauses.append(begins(column))
            values.append(entrance.name(value))
    if chosen.since:
        clauses.append("at >= ?")
        values.append(chosen.since)
    return (" WHERE " + " AND ".join(clauses) if clauses else ""), values


def _injection(row: Sequence[Any]) -> Injection:
    cells = dict(zip(_COLUMNS.split(", "), row, strict=True))
    pairs = (line.partition("\t") for line in cells["dropped"].split("\n") if line)
    cells["entries"] = tuple(ref for ref in cells["entries"].split("\n") if ref)
    cells["dropped"] = tuple((ref, reason) for reason, _, ref in pairs)
    cells["masked"] = json.loads(cells["masked"])
    return Injection(**cells)
