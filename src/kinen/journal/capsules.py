"""The capsule of a session, and the memories of a space, for hooks.

Light on purpose, as `write` is.
"""

from __future__ import annotations

from kinen.journal.schema import ALIVE, OF_CAPSULE, strings
from kinen.model.kinds import REDACTED
from kinen.privacy.entrance import name

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from kinen.journal.admission import Admission

    Learned = tuple[str, str, int, float]
    """The ref of a memory, its text, when it was written, how certain it is."""
    About = tuple[str, tuple[str, ...], str]
    """The type of a memory, its files and who saved it."""

CLIENT = "client:"
"""How the keys begin under which the process of a session is noted."""
UNNAMED = ""
"""The intent of a capsule before its first prompt."""
MOST = 500
"""Memories that are considered."""
INTENT = 200
"""Characters of a prompt that are an intent."""


def begin(
    db: sqlite3.Connection,
    id_: str,
    now: int,
    scope: tuple[str, str, str],
    *,
    again: bool = False,
    client: str = "",
) -> bool:
    """Make sure that a capsule exists for a session, repo and agent; True if it is new.

    With `again` a closed one is opened again, and summaries that kinen made of it are deleted.
    `client` is the process that the session runs in now, as `process.client` says it.
    """
    row = db.execute(
        "SELECT status, (SELECT value FROM meta WHERE key = ?) FROM capsules WHERE id = ?",
        (CLIENT + id_, id_),
    ).fetchone()
    if row and (row[0] == "open" or not again) and client in ("", row[1]):
        return False
    with db:
        db.execute("BEGIN IMMEDIATE")
        if client:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (CLIENT + id_, client))
        inserted = db.execute(
            "INSERT OR IGNORE INTO capsules(id, type, intent, status, opened_at, session, repo,"
            " agent) VALUES (?, 'session', ?, 'open', ?, ?, ?, ?)",
            (id_, UNNAMED, now, *map(name, scope)),
        ).rowcount
        if not inserted and again and not (row and row[0] == "open"):
            db.execute(
                "UPDATE capsules SET status = 'open', closed_at = 0, reason = ''"
                " WHERE id = ? AND status = 'closed' AND forgotten_at = 0",
                (id_,),
            )
            drop_summaries(db, id_)
    return bool(inserted)


def drop_summaries(db: sqlite3.Connection, id_: str) -> None:
    """Delete the summaries that kinen made of a capsule, but for those that are pinned."""
    db.execute(
        "DELETE FROM summaries WHERE capsule = ? AND written = 0 AND id NOT IN"
        " (SELECT target_id FROM pins WHERE target_type = 'summary')",
        (id_,),
    )


def is_forgotten(db: sqlite3.Connection, id_: str) -> bool:
    """Whether a capsule was forgotten."""
    row = db.execute("SELECT forgotten_at FROM capsules WHERE id = ?", (id_,)).fetchone()
    return bool(row and row[0])


def call(db: sqlite3.Connection, id_: str, prompt: str) -> None:
    """Give a capsule its intent, the first line of a prompt, unless it has one."""
    update = "UPDATE capsules SET intent = ? WHERE id = ? AND intent = ?"
    db.execute(update, (name(prompt.partition("\n")[0][:INTENT]), id_, UNNAMED))


def begin_earlier(db: sqlite3.Connection, id_: str, at: int) -> None:
    """Move the beginning of a capsule back to an event that was written later than others."""
    db.execute("UPDATE capsules SET opened_at = ? WHERE id = ? AND opened_at > ?", (at, id_, at))


def first_prompt(db: sqlite3.Connection, id_: str) -> str:
    """What the user wrote first in a capsule; empty if nothing."""
    row = db.execute(
        f"SELECT content FROM observations WHERE {OF_CAPSULE} AND kind = 'message'"
        f" AND role = 'user' AND {ALIVE} ORDER BY ts, id LIMIT 1",
        (id_,),
    ).fetchone()
    return row[0].strip() if row and row[0] != REDACTED else ""


def has_intent(db: sqlite3.Connection, id_: str) -> bool:
    """Whether a prompt has given a capsule its intent."""
    row = db.execute("SELECT intent FROM capsules WHERE id = ?", (id_,)).fetchone()
    return bool(row) and row[0] != UNNAMED


def last_prompt(db: sqlite3.Connection, id_: str, before: int = 1 << 62) -> int:
    """When the user last wrote in a capsule, before some moment; 0 for never."""
    row = db.execute(
        f"SELECT IFNULL(MAX(ts), 0) FROM observations WHERE {OF_CAPSULE} AND kind = 'message'"
        " AND role = 'user' AND ts < ?",
        (id_, before),
    ).fetchone()
    return int(row[0])


class Deed:
    """An observation of a turn: what was done, or what the agent said."""

    __slots__ = ("at", "file", "interrupted", "kind", "text")

    def __init__(self, kind: str, text: str, at: int, files: str, interrupted: int) -> None:
        self.kind = kind
        self.text = text
        self.at = at
        self.file = next(iter(strings(files)), "")
        self.interrupted = bool(interrupted)


def turn_before(db: sqlite3.Connection, id_: str, prompt_at: int) -> list[Deed]:
    """What an agent edited, ran and said between the last two prompts of a capsule, in order."""
    rows = db.execute(
        "SELECT kind, content, ts, files, IFNULL(interrupted, 0)"
        f" FROM observations WHERE {OF_CAPSULE} AND ts >= ? AND ts < ?"
        " AND (kind IN ('file_diff', 'command', 'error')"
        "  OR kind = 'message' AND role = 'assistant')"
        f" AND {ALIVE} ORDER BY ts, rowid",
        (id_, last_prompt(db, id_, prompt_at), prompt_at),
    )
    return [Deed(*row) for row in rows]


def worked(db: sqlite3.Connection, id_: str, since: int) -> bool:
    """Was a file edited or something committed in a capsule since a moment, and nothing saved?"""
    rows = db.execute(
        "SELECT kind, IFNULL(command, '') FROM observations"
        f" WHERE {OF_CAPSULE} AND ts >= ? AND kind IN ('file_diff', 'command')",
        (id_, since),
    ).fetchall()
    if not any(kind == "file_diff" or "git commit" in command for kind, command in rows):
        return False
    # What is saved through MCP does not know its session; that of another one may count, too.
    saved = db.execute(
        "SELECT 1 FROM observations WHERE ts >= ? AND event = 'remember' LIMIT 1", (since,)
    ).fetchone()
    return saved is None


def sum_up(db: sqlite3.Connection, id_: str, capsule: str, text: str, now: int) -> None:
    """Store a summary of a capsule that somebody wrote."""
    db.execute(
        "INSERT OR IGNORE INTO summaries(id, capsule, content, created_at) VALUES (?, ?, ?, ?)",
        (id_, capsule, name(text), now),
    )


def known_memories(
    db: sqlite3.Connection, admission: Admission
) -> tuple[list[Learned], dict[str, About]]:
    """The newest memories that hold and may be told, and by ref what each is about.

    Files and who are those of the observations that it was drawn from.
    """
    out = hidden(db)
    rows = db.execute(
        "SELECT 'memory:' || id, content, created_at, confidence, derived_from, type FROM memories"
        f" WHERE {ALIVE} AND superseded_by = '' ORDER BY created_at DESC, id DESC LIMIT ?",
        (MOST,),
    ).fetchall()
    shown = [row for row in rows if row[0] not in out]
    rows = [row for row in shown if admission.memory(row[0], row[4])]
    admission.withhold("memory", len(shown) - len(rows))
    sources = {row[0]: strings(row[4]) for row in rows}
    ids = {each.partition(":")[2] for refs in sources.values() for each in refs}
    marks = ", ".join("?" * len(ids))
    sql = f"SELECT id, files, agent, user FROM observations WHERE id IN ({marks}) AND {ALIVE}"
    origins = {f"observation:{row[0]}": row[1:] for row in db.execute(sql, (*ids,))} if ids else {}
    about = {}
    for ref, *_, type_ in rows:
        drawn = [origins[each] for each in sources[ref] if each in origins]
        files = [path for files, _, _ in drawn for path in strings(files)]
        who = next((agent or user for _, agent, user in drawn if agent or user), "")
        about[ref] = (type_, tuple(dict.fromkeys(files)), who)
    return [row[:4] for row in rows], about


def hidden(db: sqlite3.Connection) -> set[str]:
    """The refs that nobody is told of any more."""
    return {row[0] for row in db.execute("SELECT ref FROM suppressed")}
