"""The ledger: what kinen told agents, in `ledger.db` beside the journal.

It also has `remedies`: commands that fail here and what worked instead, looked up before an agent
runs one, with the capsules that they were drawn from (`remedied`). Both can be made again.

A database of its own, so that nothing in it can be searched, recalled, exported or consolidated,
and an older kinen on the same home never meets it. Hooks write it: it imports what `append` does.
"""

from __future__ import annotations

import os

from kinen import ids
from kinen.journal import write as append
from kinen.privacy import entrance
from kinen.storage import private
from kinen.storage.sqlite import sqlite3

FILE = "ledger.db"
SCHEMA = 1
MOST_ROWS = 5_000
"""Injections that are kept; older ones are deleted."""
MOST_DAYS = 90
LONGEST = 1 << 20
"""Characters of a text; nothing that kinen tells is nearly as long."""
PRUNE_EVERY = 50
"""Injections between two deletions of old ones."""
DAY_MS = 86_400_000
SHORT_IDS = (8, 16)
"""Characters of an id that a session start and a recall cite."""
_QUIET_PIPES = ("tail", "head", "cat", "less")
_TABLES = (
    (
        "CREATE TABLE injections(seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,"
        " at INTEGER NOT NULL, event TEXT NOT NULL, subject TEXT NOT NULL, agent TEXT NOT NULL,"
        " session TEXT NOT NULL, tokens INTEGER NOT NULL, text TEXT NOT NULL,"
        " entries TEXT NOT NULL, dropped TEXT NOT NULL, masked TEXT NOT NULL)"
    ),
    "CREATE INDEX injections_of_session ON injections(session, agent)",
    "CREATE TABLE remedies(command TEXT PRIMARY KEY, text TEXT NOT NULL, ref TEXT NOT NULL)",
    "CREATE TABLE remedied(capsule TEXT PRIMARY KEY, closed_at INTEGER NOT NULL)",
    (
        "CREATE TABLE compactions(agent TEXT NOT NULL, session TEXT NOT NULL,"
        " after INTEGER NOT NULL, PRIMARY KEY (agent, session))"
    ),
)


class Injection:
    """One text for an agent, before it is written."""

    __slots__ = ("agent", "at", "dropped", "entries", "event", "session", "subject", "text")

    def __init__(self, event: str, agent: str, session: str, at: int) -> None:
        self.event = event
        """The hook event, or `mcp`."""
        self.agent = agent
        self.session = session
        self.at = at
        """Epoch milliseconds."""
        self.subject = ""
        """The MCP tool, the file or command that a tool was about to be used on, or `correction`
        for a request to save what a prompt corrects."""
        self.text = ""
        self.entries: list[str] = []
        """Refs that the text cites."""
        self.dropped: list[tuple[str, str]] = []
        """Refs that were candidates and are not in the text, each with the reason."""

    def tell(self, text: str, candidates: list[str], reason: str = "budget") -> None:
        """Set the text; of the candidates those that it does not cite were dropped for a reason."""
        self.text = text
        for ref in dict.fromkeys(candidates):
            if cites(text, ref):
                self.entries.append(ref)
            else:
                self.dropped.append((ref, reason))


def bare_command(line: str) -> str:
    """A command line without what only shortens or redirects its output."""
    words = line.split(" ") if "\n" in line else line.split()
    text = " ".join(word for word in words if word not in ("2>&1", "2>/dev/null"))
    while "|" in text:
        head, _, last = text.rpartition("|")
        if last.split()[:1] and last.split()[0] in _QUIET_PIPES and not head.endswith("|"):
            text = head.rstrip()
        else:
            break
    return text.strip()


def remedy(db: sqlite3.Connection, command: str) -> tuple[str, str] | None:
    """The ref and text of what is known about exactly this command."""
    row = db.execute(
        "SELECT ref, text FROM remedies WHERE command = ?", (bare_command(command),)
    ).fetchone()
    return (row[0], row[1]) if row else None


def cites(text: str, ref: str) -> bool:
    """Does a text name a ref in brackets, whole or in one of the short forms of an id?"""
    kind, _, id_ = ref.partition(":")
    short = [f"[{kind}:{id_[:length]}]" for length in SHORT_IDS]
    short.append(f"[{ids.short_ref(ref)}]")
    short.append(f"[{kind}:{id_.rpartition('/')[2].removesuffix('.md')}]")
    return f"[{ref}" in text or any(form in text for form in short)


def connect(data: str, timeout_ms: int = append.HOOK_MS) -> sqlite3.Connection:
    """The ledger of a space, made if there is none; sqlite3.Error or OSError if that fails."""
    private.folder(data)
    db = sqlite3.connect(
        private.database(os.path.join(data, FILE)),
        timeout=timeout_ms / 1000,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA:
            raise sqlite3.NotSupportedError(f"ledger schema {version}")
        if version < SCHEMA:
            db.execute("PRAGMA journal_mode=WAL")
            with db:
                db.execute("BEGIN IMMEDIATE")
                # Another process may have done it while this one waited.
                if db.execute("PRAGMA user_version").fetchone()[0] < SCHEMA:
                    for table in _TABLES:
                        db.execute(table)
                    db.execute(f"PRAGMA user_version={SCHEMA}")
        # What was told last may be lost with the power: no hook waits for the disk because of it.
        db.execute("PRAGMA synchronous=NORMAL")
        db.execute(f"PRAGMA wal_autocheckpoint={append.CHECKPOINT}")
    except BaseException:
        db.close()
        raise
    return db


def write(db: sqlite3.Connection, injection: Injection, tokens: int) -> str:
    """Record an injection, secrets masked as in everything that is written; its id."""
    text, counts = entrance.masked(injection.text[:LONGEST])
    id_ = ids.ulid(injection.at)
    lines = [f"{reason}\t{_line(ref)}" for ref, reason in injection.dropped]
    row = (
        id_,
        injection.at,
        injection.event,
        entrance.name(injection.subject),
        entrance.name(injection.agent),
        entrance.name(injection.session),
        tokens,
        text,
        "\n".join(_line(ref) for ref in injection.entries),
        "\n".join(lines),
        append.evidence(counts),
    )
    seq = db.execute(
        "INSERT INTO injections(id, at, event, subject, agent, session, tokens, text, entries,"
        " dropped, masked) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        row,
    ).lastrowid
    if seq and seq % PRUNE_EVERY == 0:
        prune(db, injection.at)
    return id_


def _line(ref: str) -> str:
    """A ref as it is stored, in one line."""
    return entrance.name(ref).replace("\n", " ").replace("\t", " ")


def prune(db: sqlite3.Connection, now: int) -> None:
    """Delete what is older than MOST_DAYS, and all but the newest MOST_ROWS."""
    last = db.execute("SELECT IFNULL(MAX(seq), 0) FROM injections").fetchone()[0]
    limits = (last - MOST_ROWS, now - MOST_DAYS * DAY_MS)
    db.execute("DELETE FROM injections WHERE seq <= ? OR at < ?", limits)
    oldest = db.execute("SELECT IFNULL(MIN(seq), 0) FROM injections").fetchone()[0]
    db.execute("DELETE FROM compactions WHERE after < ?", (oldest,))


def forget_context(db: sqlite3.Connection, agent: str, session: str) -> None:
    """Note that a session lost its context: what it was told before may be told again."""
    db.execute(
        "INSERT OR REPLACE INTO compactions SELECT ?, ?, IFNULL(MAX(seq), 0) FROM injections",
        (entrance.name(agent), entrance.name(session)),
    )


def has_told(db: sqlite3.Connection, event: str, agent: str, session: str) -> bool:
    """Whether a session was told something at an event."""
    row = db.execute(
        "SELECT 1 FROM injections WHERE event = ? AND agent = ? AND session = ? LIMIT 1",
        (event, entrance.name(agent), entrance.name(session)),
    ).fetchone()
    return row is not None


def last_told(
    db: sqlite3.Connection, event: str, agent: str, session: str, subject: str = ""
) -> int:
    """When a session was last told something at an event, in epoch milliseconds; 0 for never."""
    row = db.execute(
        "SELECT IFNULL(MAX(at), 0) FROM injections WHERE event = ? AND agent = ? AND session = ?"
        " AND subject = ?",
        (event, entrance.name(agent), entrance.name(session), subject),
    ).fetchone()
    return int(row[0])


def in_context(db: sqlite3.Connection, agent: str, session: str) -> tuple[set[str], list[str]]:
    """The refs and texts that a session was told since its last compaction."""
    scope = (entrance.name(agent), entrance.name(session))
    rows = db.execute(
        "SELECT entries, text FROM injections WHERE agent = ? AND session = ? AND seq >"
        " IFNULL((SELECT after FROM compactions WHERE agent = ? AND session = ?), 0)",
        (*scope, *scope),
    ).fetchall()
    refs = {ref for entries, _ in rows for ref in entries.split("\n") if ref}
    return refs, [text for _, text in rows]
