"""Edits of a memory are versions of one memory, and the latest is the one that is shown.

A version names the one that it replaced (`edits`). Two people who edit at the same time leave two
that nothing replaced: the latest is shown, with who else edited. One that was forgotten while
somebody edited it is a question that a person answers. Hooks import this module: it is light.
"""

from __future__ import annotations

import json

from kinen.journal.authors import arrival, team_author, team_person
from kinen.model.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable
    from typing import Any

META = "edits"
"""The key in the table `meta` of what is to be settled, by the ref of the version that is shown."""
SOMEBODY = "somebody"
_ROWS = (
    "SELECT m.id, m.edits, m.created_at, m.redacted, m.forgotten_at OR ifnull(NOT s.replaced, 0)"
    " FROM memories m LEFT JOIN suppressed s ON s.ref = 'memory:' || m.id"
    " WHERE m.edits != '' OR m.id IN (SELECT edits FROM memories WHERE edits != '')"
)


class Version(NamedTuple):
    """A version of a memory."""

    id: str
    edits: str
    at: int
    redacted: int
    forgotten: int


class Family:
    """All versions of one memory, by id."""

    def __init__(self) -> None:
        self.versions: dict[str, Version] = {}

    def before(self, id_: str) -> list[str]:
        """The versions that one replaced, directly or not."""
        earlier: list[str] = []
        edits = self.versions[id_].edits
        while edits in self.versions and edits not in earlier:
            earlier.append(edits)
            edits = self.versions[edits].edits
        return earlier

    def heads(self) -> list[Version]:
        """The versions that nothing replaced, the latest first."""
        replaced = {each.edits for each in self.versions.values() if not each.forgotten}
        heads = [
            each
            for each in self.versions.values()
            if not (each.forgotten or each.redacted or each.id in replaced)
        ]
        return sorted(heads, key=lambda each: (each.at, each.id), reverse=True)

    def hidden(self) -> dict[str, int]:
        """The versions that nobody forgot and another one replaced, and when."""
        live = {each.id: each for each in self.versions.values() if not each.forgotten}
        times = {each.edits: each.at for each in live.values()}
        heads = self.heads()
        times |= {each.id: heads[0].at for each in heads[1:]}
        return {id_: at for id_, at in times.items() if id_ in live}


def families(db: sqlite3.Connection) -> list[Family]:
    """The memories that somebody edited."""
    versions = {}
    for row in db.execute(_ROWS):
        version = Version(*row)
        at = arrival(db, f"memory:{version.id}", version.at)
        versions[version.id] = version._replace(at=at)
    by_first: dict[str, Family] = {}
    for id_, version in versions.items():
        first = id_
        seen: set[str] = set()
        while versions[first].edits in versions and first not in seen:
            seen.add(first)
            first = versions[first].edits
        by_first.setdefault(first, Family()).versions[id_] = version
    return [*by_first.values()]


def family(db: sqlite3.Connection, id_: str) -> Family:
    """The versions of the memory that an id is one of."""
    for each in families(db):
        if id_ in each.versions:
            return each
    alone = Family()
    row = db.execute(
        "SELECT id, edits, created_at, redacted, forgotten_at OR EXISTS (SELECT 1 FROM suppressed"
        " WHERE ref = 'memory:' || memories.id AND NOT replaced) FROM memories WHERE id = ?",
        (id_,),
    ).fetchone()
    if row:
        alone.versions[id_] = Version(*row)
    return alone


def settle(db: sqlite3.Connection) -> None:
    """Show the latest version of each memory and hide the others, in a transaction of the caller.

    What is left to decide is noted, for whoever shows the memory.
    """
    hidden: dict[str, int] = {}
    notes = {}
    for each in families(db):
        hidden |= each.hidden()
        heads = each.heads()
        if not heads:
            continue
        gone = {id_ for head in heads for id_ in each.before(head.id)}
        gone = {id_ for id_ in gone if each.versions[id_].forgotten}
        if heads[1:] or gone:
            notes[f"memory:{heads[0].id}"] = {
                "also": [head.id for head in heads[1:]],
                "forgotten": sorted({_who_forgot(db, f"memory:{id_}") for id_ in gone}),
            }
    before = _noted(db)
    now = {f"memory:{id_}": at for id_, at in hidden.items()}
    was = {ref for (ref,) in db.execute("SELECT ref FROM suppressed WHERE replaced")}
    for ref in sorted(was - now.keys()):
        db.execute("DELETE FROM suppressed WHERE ref = ?", (ref,))
    for ref in sorted(now.keys() - was):
        db.execute("INSERT INTO suppressed(ref, at, replaced) VALUES (?, ?, 1)", (ref, now[ref]))
    if notes != before:
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (META, json.dumps(notes)))
        for ref in sorted({*notes, *before}):
            if notes.get(ref) != before.get(ref):
                db.execute("INSERT INTO changes(ref) VALUES (?)", (ref,))


def _noted(db: sqlite3.Connection) -> dict[str, dict[str, list[str]]]:
    row = db.execute("SELECT value FROM meta WHERE key = ?", (META,)).fetchone()
    return json.loads(row[0]) if row else {}


def _who_forgot(db: sqlite3.Connection, ref: str) -> str:
    """The colleague who hid a ref; empty for oneself, and where it is not known."""
    row = db.execute(
        "SELECT e.author FROM team_entries t, team_entries e WHERE t.noun = 'suppressed'"
        " AND t.id = ? AND e.machine = json_extract(t.stamps, '$.hidden[1]') LIMIT 1",
        (ref,),
    ).fetchone()
    author = str(row[0]) if row else ""
    return "" if author == team_person(db) else author


class Question:
    """What is left to decide of the version that is shown, which `author` wrote.

    `also` are the other versions, by id with who wrote each, and `forgotten` says who forgot an
    earlier one; empty where nobody did.
    """

    def __init__(self, author: str, also: list[tuple[str, str]], forgotten: str) -> None:
        self.author = author
        self.also = also
        self.forgotten = forgotten

    def others(self, db: sqlite3.Connection) -> tuple[Any, ...]:
        """The other versions as memories."""
        from kinen.journal import queries

        entries = [(queries.entry(db, "memory", id_), by) for id_, by in self.also]
        return tuple(entry._replace(by=by) for entry, by in entries if entry)

    def __str__(self) -> str:
        names = " and ".join(dict.fromkeys(name for _, name in self.also))
        also = f"also edited by {names}" if names else ""
        return "; ".join(filter(None, (also, self.forgotten)))


def questions(db: sqlite3.Connection) -> dict[str, Question]:
    """What is left to decide, by the ref of the version that is shown."""
    notes = _noted(db)
    person = team_person(db) if notes else ""

    def author(id_: str) -> str:
        return team_author(db, f"memory:{id_}", person) or person or SOMEBODY

    open_questions = {}
    for ref, note in notes.items():
        also = [(id_, author(id_)) for id_ in note["also"]]
        who = " and ".join(name or person for name in note["forgotten"])
        gone = f"forgotten by {who or SOMEBODY} while it was edited" if note["forgotten"] else ""
        open_questions[ref] = Question(author(ref.partition(":")[2]), also, gone)
    return open_questions


def attributed(db: sqlite3.Connection, entries: Iterable[Any]) -> list[Any]:
    """Entries of the journal, those of colleagues with their names (`by`).

    Memories also have the versions that somebody wrote at the same time.
    """
    person = team_person(db)
    open_questions = questions(db)
    if not (person or open_questions):
        return list(entries)
    signed = []
    for entry in entries:
        names: dict[str, Any] = {"by": team_author(db, entry.ref, person) if person else ""}
        newer = getattr(entry, "superseded_by", "")
        if newer and person:
            names["successor_by"] = team_author(db, f"memory:{newer}", person)
        if entry.ref in open_questions:
            names["also"] = open_questions[entry.ref].others(db)
            names["question"] = open_questions[entry.ref].forgotten
        signed.append(entry._replace(**names) if any(names.values()) else entry)
    return signed


def mark(db: sqlite3.Connection, refs: Iterable[str], now: int) -> list[str]:
    """Hide refs until somebody shows them again; returns those that were not."""
    new = []
    for ref in refs:
        done = db.execute(
            "INSERT INTO suppressed(ref, at) VALUES (?, ?)"
            " ON CONFLICT(ref) DO UPDATE SET at = excluded.at WHERE replaced",
            (ref, now),
        )
        new += [ref] if done.rowcount else []
    return new


def unmark(db: sqlite3.Connection, refs: Iterable[str]) -> list[str]:
    """Show refs again; returns those that were hidden."""
    sql = "DELETE FROM suppressed WHERE ref = ? AND NOT replaced"
    return [ref for ref in refs if db.execute(sql, (ref,)).rowcount]
