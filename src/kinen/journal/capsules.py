"""The capsule of a session, and what the journal contributes to a session start, for hooks.

Light on purpose, as `write` is.
"""

from __future__ import annotations

import os

from kinen.model.kinds import REDACTED
from kinen.privacy.entrance import name

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    Entry = tuple[str, str, int]
    """A ref, its text and when it was written."""
    Learned = tuple[str, str, int, float]
    """The same with how certain it is."""

STALE_MS = 24 * 3_600_000
"""An open capsule without an observation for this long was left by a crash."""
IDLE = (
    "opened_at < ? AND NOT EXISTS (SELECT 1 FROM observations o WHERE o.capsule = capsules.id"
    " AND o.ts >= ?)"
)
UNNAMED = ""
"""The intent of a capsule before its first prompt."""
INTENT = 200
"""Characters of a prompt that are an intent."""
LATELY_MS = 7 * 24 * 3_600_000
"""Sessions of other agents that are told of."""
SESSIONS = 50
"""The newest sessions among which those of other agents are looked for."""
ASKED = 80
"""Characters of the prompt of another session, so that there is room for the answer."""
OTHERS = 6
"""Sessions of others that are told of at most."""
COMMITS = 5
"""Commits that a space without sessions tells of."""
READ_COMMITS = 40
"""The newest commits among which they are looked for."""
MOST = 500
"""Memories that are considered."""
RECENT = 400
"""The newest observations, whose files count as touched lately."""
ISSUE = 120
"""Characters of the issue in progress: its id and title."""
JOURNAL_TABLES = {"observation": "observations", "summary": "summaries", "memory": "memories"}
PINNED_CHUNKS = 3
"""The first chunks of a pinned file: a brief has no room for more."""
_ALIVE = "redacted = 0 AND forgotten_at = 0"


def begin(
    db: sqlite3.Connection, id_: str, now: int, scope: tuple[str, str, str], *, again: bool = False
) -> bool:
    """Make sure that a capsule exists for a session, repo and agent; True if it is new.

    With `again` a closed one is opened again, and summaries that kinen made of it are deleted.
    """
    row = db.execute("SELECT status FROM capsules WHERE id = ?", (id_,)).fetchone()
    if row and (row[0] == "open" or not again):
        return False
    with db:
        db.execute("BEGIN IMMEDIATE")
        inserted = db.execute(
            "INSERT OR IGNORE INTO capsules(id, type, intent, status, opened_at, session, repo,"
            " agent) VALUES (?, 'session', ?, 'open', ?, ?, ?, ?)",
            (id_, UNNAMED, now, *map(name, scope)),
        ).rowcount
        if not inserted:
            db.execute(
                "UPDATE capsules SET status = 'open', closed_at = 0, reason = ''"
                " WHERE id = ? AND status = 'closed' AND forgotten_at = 0",
                (id_,),
            )
            db.execute(
                "DELETE FROM summaries WHERE capsule = ? AND written = 0 AND id NOT IN"
                " (SELECT target_id FROM pins WHERE target_type = 'summary')",
                (id_,),
            )
    return bool(inserted)


def call(db: sqlite3.Connection, id_: str, prompt: str) -> None:
    """Give a capsule its intent, the first line of a prompt, unless it has one."""
    update = "UPDATE capsules SET intent = ? WHERE id = ? AND intent = ?"
    db.execute(update, (name(prompt.partition("\n")[0][:INTENT]), id_, UNNAMED))


def first_prompt(db: sqlite3.Connection, id_: str) -> str:
    """What the user wrote first in a capsule; empty if nothing."""
    return _message(db, id_, "user", "ts, id")


def _message(db: sqlite3.Connection, capsule: str, role: str, order: str) -> str:
    """The first message of a user or an assistant in some order; empty if there is none."""
    row = db.execute(
        f"SELECT content FROM observations WHERE capsule = ? AND kind = 'message' AND {_ALIVE}"
        f" AND provenance LIKE ? ORDER BY {order} LIMIT 1",
        (capsule, f'%"role": "{role}"%'),
    ).fetchone()
    return row[0].strip() if row and row[0] != REDACTED else ""


def has_intent(db: sqlite3.Connection, id_: str) -> bool:
    """Whether a prompt has given a capsule its intent."""
    row = db.execute("SELECT intent FROM capsules WHERE id = ?", (id_,)).fetchone()
    return bool(row) and row[0] != UNNAMED


def sum_up(db: sqlite3.Connection, id_: str, capsule: str, text: str, now: int) -> None:
    """Store a summary of a capsule that somebody wrote."""
    db.execute(
        "INSERT OR IGNORE INTO summaries(id, capsule, content, created_at) VALUES (?, ?, ?, ?)",
        (id_, capsule, name(text), now),
    )


def left_open(db: sqlite3.Connection, now: int, but: str) -> bool:
    """Whether a crash left a capsule open, other than `but`."""
    sql = f"SELECT 1 FROM capsules WHERE status = 'open' AND id != ? AND {IDLE} LIMIT 1"
    return db.execute(sql, (but, now - STALE_MS, now - STALE_MS)).fetchone() is not None


def pins(
    db: sqlite3.Connection, session: str, agent: str, now: int, index: str = ""
) -> list[Entry]:
    """The pins of a session and an agent, each with its note and the text of its target.

    The text of a file is the one in the `index` folder.
    """
    hidden = _hidden(db)
    rows = db.execute(
        "SELECT target_type, target_id, reason, created_at FROM pins"
        " WHERE (expires_at = 0 OR expires_at > ?) AND session IN ('', ?) AND agent IN ('', ?)"
        " ORDER BY created_at, id",
        (now, name(session), name(agent)),
    ).fetchall()
    entries = []
    for kind, id_, note, at in rows:
        ref = f"{kind}:{id_}"
        text = _content(db, kind, id_) or _text_in_index(index, ref) or _name(kind, id_)
        if ref not in hidden and (text or note):
            entries.append((ref, "\n".join(filter(None, (note, text))), at))
    return entries


def _content(db: sqlite3.Connection, kind: str, id_: str) -> str:
    """The text of an entry of the journal."""
    table = JOURNAL_TABLES.get(kind)
    if not table:
        return ""
    row = db.execute(f"SELECT content FROM {table} WHERE id = ? AND {_ALIVE}", (id_,)).fetchone()
    return "" if row is None or row[0] == REDACTED else str(row[0])


def _text_in_index(folder: str, ref: str) -> str:
    """How the text of a file begins, without what its frontmatter says; empty if unknown."""
    row = _from_index(
        folder,
        "SELECT group_concat(body, char(10)) FROM (SELECT c.body FROM chunks c"
        " JOIN records r ON r.id = c.record WHERE r.ref = ? AND (c.start_line = 0 OR"
        " length(c.body) - length(replace(c.body, char(10), '')) = c.end_line - c.start_line)"
        " ORDER BY c.n LIMIT ?)",
        (ref, PINNED_CHUNKS),
    )
    return row[0] or "" if row else ""


def _name(kind: str, id_: str) -> str:
    """The name of a file or commit, which agents can read."""
    return "" if kind in ("capsule", "pin", *JOURNAL_TABLES) else id_


def summary(db: sqlite3.Connection, but: str) -> Entry | None:
    """The latest summary of another capsule."""
    row = db.execute(
        f"SELECT 'summary:' || id, content, created_at FROM summaries WHERE {_ALIVE}"
        " AND capsule != ? ORDER BY created_at DESC, id DESC LIMIT 1",
        (but,),
    ).fetchone()
    return row and (row[0], row[1], row[2])


def author(db: sqlite3.Connection, ref: str) -> str:
    """Who a summary is of, as `codex on main`."""
    row = db.execute(
        "SELECT c.id, c.agent FROM summaries s JOIN capsules c ON c.id = s.capsule WHERE s.id = ?",
        (ref.partition(":")[2],),
    ).fetchone()
    return _place(db, *row) if row and row[1] else ""


def others(db: sqlite3.Connection, but: str, now: int, summary_ref: str) -> list[Entry]:
    """What other sessions are at: those that are open, and the last one of each other agent.

    Each with its agent and branch, the newest first. `summary_ref` is the summary that is
    given anyway: its session is left out.
    """
    summed = db.execute(
        "SELECT c.id, c.agent FROM summaries s JOIN capsules c ON c.id = s.capsule WHERE s.id = ?",
        (summary_ref.partition(":")[2],),
    ).fetchone() or ("", "")
    rows = db.execute(
        "SELECT id, agent, status, intent, opened_at FROM capsules WHERE type = 'session'"
        " AND forgotten_at = 0 AND agent != '' AND intent NOT IN ('', ?) AND id NOT IN (?, ?)"
        " AND opened_at > ? ORDER BY opened_at DESC, id LIMIT ?",
        (REDACTED, but, summed[0], now - LATELY_MS, SESSIONS),
    ).fetchall()
    hidden = _hidden(db)
    agents = {summed[1]}
    entries = []
    for id_, agent, status, intent, at in rows:
        alive = status == "open" and at > now - STALE_MS
        if (alive or agent not in agents) and f"capsule:{id_}" not in hidden:
            state = ", at work" if alive else ""
            answer = _last_answer(db, id_)
            asked = intent if len(intent) <= ASKED else f"{intent[: ASKED - 1].rstrip()}…"
            task = f"{asked} → {answer}" if answer else intent
            text = f"{_place(db, id_, agent)}{state}: {task}"
            entries.append((f"capsule:{id_}", text, at))
        agents.add(agent)
    return entries[:OTHERS]


def _place(db: sqlite3.Connection, capsule: str, agent: str) -> str:
    """An agent and the branch that it was on last."""
    row = db.execute(
        "SELECT branch FROM observations WHERE capsule = ? AND branch != ''"
        " ORDER BY ts DESC, id DESC LIMIT 1",
        (capsule,),
    ).fetchone()
    return f"{agent} on {row[0]}" if row else agent


def _last_answer(db: sqlite3.Connection, capsule: str) -> str:
    """The first line of what an agent said last in a session."""
    return _message(db, capsule, "assistant", "ts DESC, id DESC").partition("\n")[0]


def memories(db: sqlite3.Connection) -> list[Learned]:
    """The newest memories that were not superseded."""
    hidden = _hidden(db)
    rows = db.execute(
        f"SELECT 'memory:' || id, content, created_at, confidence FROM memories WHERE {_ALIVE}"
        " AND superseded_by = '' ORDER BY created_at DESC, id DESC LIMIT ?",
        (MOST,),
    ).fetchall()
    return [(ref, text, at, sure) for ref, text, at, sure in rows if ref not in hidden]


def touched(db: sqlite3.Connection) -> str:
    """The files that the latest observations name, as JSON arrays one after the other."""
    rows = db.execute("SELECT files FROM observations ORDER BY ts DESC LIMIT ?", (RECENT,))
    return "\n".join(dict.fromkeys(row[0] for row in rows if row[0] != "[]"))


def overview(db: sqlite3.Connection, but: str, root: str, data: str) -> str:
    """What can be recalled besides the capsule `but`, as one line; empty if there is nothing."""
    from kinen.journal.brief import count_checkpoints, known_line

    sessions, drawn = db.execute(
        "SELECT (SELECT COUNT(*) FROM capsules"
        " WHERE type = 'session' AND forgotten_at = 0 AND id != ?),"
        f" (SELECT COUNT(*) FROM memories WHERE {_ALIVE} AND superseded_by = '')",
        (but,),
    ).fetchone()
    return known_line(sessions, drawn, count_checkpoints(root), note_count(data))


def note_count(data: str) -> int:
    """How many notes the index in a folder has; 0 if it cannot be read now."""
    # By the index on paths, since a space has many more observations than files.
    row = _from_index(data, "SELECT COUNT(*) FROM records WHERE path != '' AND kind = 'note'")
    return int(row[0]) if row else 0


def issue_in_progress(data: str) -> str:
    """The issue that is worked on, by its id and title; empty if there is none."""
    row = _from_index(
        data,
        "SELECT key || ' ' || title FROM records WHERE source = 'issues' AND key != ''"
        " AND json_extract(metadata, '$.status') = 'in_progress' ORDER BY at DESC LIMIT 1",
    )
    return row[0][:ISSUE] if row else ""


def latest_commits(db: sqlite3.Connection, data: str) -> list[tuple[str, str, str]]:
    """The latest commits of substance that the index in a folder has: ref, subject and day.

    No merges, no updates of dependencies, and nothing of bots.
    """
    row = _from_index(
        data,
        "SELECT group_concat(ref || char(31) || title || char(31) || substr(at, 1, 10), char(10))"
        " FROM (SELECT ref, title, at FROM records WHERE kind = 'commit'"
        " AND title NOT LIKE 'Merge %' AND user NOT LIKE '%[bot]' ORDER BY at DESC LIMIT ?)",
        (READ_COMMITS,),
    )
    if not row or not row[0]:
        return []
    from kinen.model.updates import dependency_of

    hidden = _hidden(db)
    entries = [line.split("\x1f") for line in row[0].split("\n")]
    commits = [(entry[0], entry[1], entry[2]) for entry in entries if len(entry) == 3]
    chosen = (entry for entry in commits if not dependency_of(entry[1]) and entry[0] not in hidden)
    return [*chosen][:COMMITS]


def _from_index(data: str, sql: str, parameters: tuple[object, ...] = ()) -> tuple[str, ...] | None:
    """The first row of a query on the index in a folder; None if it cannot be read now."""
    from kinen.storage.sqlite import sqlite3

    path = os.path.join(data, "index.db")
    if not os.path.isfile(path):
        return None
    place = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    try:
        index = sqlite3.connect(f"file:{place}?mode=ro", uri=True, timeout=0)
        try:
            row: tuple[str, ...] | None = index.execute(sql, parameters).fetchone()
        finally:
            index.close()
    except sqlite3.Error:
        return None
    return row


def _hidden(db: sqlite3.Connection) -> set[str]:
    return {row[0] for row in db.execute("SELECT ref FROM suppressed")}
