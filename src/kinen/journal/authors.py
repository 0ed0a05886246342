"""Who of a team wrote an entry. Hooks import it: it imports nothing."""

from __future__ import annotations

ARRIVED = "team.arrived"
"""The first word of keys in the table `meta`: when entries came whose clock was ahead."""
TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3


class Colleague(str):
    """The name of a colleague, and of the machine that an entry was written on."""

    machine = ""

    @staticmethod
    def on(name: str, machine: str) -> Colleague:
        """A machine is named by its host name, without the end that makes it unique."""
        author = Colleague(name)
        author.machine = machine.rpartition("-")[0] or machine[:8]
        return author


def team_person(db: sqlite3.Connection) -> str:
    """The name of the person here in a team; empty without a team."""
    row = db.execute(
        "SELECT json_extract(value, '$.author') FROM meta WHERE key = 'team'"
    ).fetchone()
    return str(row[0] or "") if row else ""


def team_author(db: sqlite3.Connection, ref: str, person: str) -> Colleague:
    """The colleague who wrote an entry; empty if it was the person."""
    noun, _, id_ = ref.partition(":")
    row = db.execute(
        "SELECT author, machine FROM team_entries WHERE noun = ? AND id = ? AND author != ?",
        (noun, id_, person),
    ).fetchone()
    return Colleague.on(*map(str, row)) if row else Colleague()


def arrival(db: sqlite3.Connection, ref: str, claimed: int) -> int:
    """When a colleague's entry happened: as it says, but not after it came here.

    Only of entries with a time that was still to come it is known when they came.
    """
    row = db.execute("SELECT value FROM meta WHERE key = ?", (f"{ARRIVED} {ref}",)).fetchone()
    return min(claimed, int(row[0])) if row else claimed


def colleague(db: sqlite3.Connection, ref: str) -> Colleague:
    """The colleague who wrote an entry; empty for one's own, and without a team."""
    person = team_person(db)
    return team_author(db, ref, person) if person else Colleague()


def signature(author: str, agent: str = "") -> str:
    """What stands behind an entry of a colleague: who wrote it, with which agent, on what machine.

    Whoever names no machine, such as the author of a commit, is a name alone.
    """
    about = ", ".join(filter(None, (agent, getattr(author, "machine", ""))))
    behind = f" ({about})" if about else ""
    return f" by {author}{behind}" if author else ""
