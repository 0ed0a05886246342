"""The capsule of a session, and what the journal contributes to a session start, for hooks.

Light on purpose, as `write` is.
"""

from __future__ import annotations

import os

from kinen.journal.schema import OF_CAPSULE
from kinen.model.kinds import REDACTED
from kinen.privacy.entrance import name

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from kinen.journal.admission import Admission

    Entry = tuple[str, str, int]
    """A ref, its text and when it was written."""
    Learned = tuple[str, str, int, float]
    """The same with how certain it is."""
    About = tuple[str, tuple[str, ...], str]
    """The type of a memory, its files and who saved it."""

CLIENT = "client:"
"""How the keys begin under which the process of a session is noted."""
UNNAMED = ""
"""The intent of a capsule before its first prompt."""
INTENT = 200
"""Characters of a prompt that are an intent."""
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
AUTHOR = 60
SOURCE = 120
"""Characters of the name of an author, and of the ref that a memory was drawn from."""
JOURNAL_TABLES = {"observation": "observations", "summary": "summaries", "memory": "memories"}
PINNED_CHUNKS = 3
"""The first chunks of a pinned file: a brief has no room for more."""
_ALIVE = "redacted = 0 AND forgotten_at = 0"


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
    return _message(db, id_, "user", "ts, id")


def _message(db: sqlite3.Connection, capsule: str, role: str, order: str) -> str:
    """The first message of a user or an assistant in some order; empty if there is none."""
    row = db.execute(
        f"SELECT content FROM observations WHERE {OF_CAPSULE} AND kind = 'message' AND {_ALIVE}"
        f" AND json_extract(provenance, '$.role') = ? ORDER BY {order} LIMIT 1",
        (capsule, role),
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
        " AND json_extract(provenance, '$.role') = 'user' AND ts < ?",
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
        self.file = next(iter(files.split('"')[1:2]), "")
        self.interrupted = bool(interrupted)


def turn_before(db: sqlite3.Connection, id_: str, prompt_at: int) -> list[Deed]:
    """What an agent edited, ran and said between the last two prompts of a capsule, in order."""
    rows = db.execute(
        "SELECT kind, content, ts, files, IFNULL(json_extract(provenance, '$.interrupted'), 0)"
        f" FROM observations WHERE {OF_CAPSULE} AND ts >= ? AND ts < ?"
        " AND (kind IN ('file_diff', 'command', 'error')"
        "  OR kind = 'message' AND json_extract(provenance, '$.role') = 'assistant')"
        f" AND {_ALIVE} ORDER BY ts, rowid",
        (id_, last_prompt(db, id_, prompt_at), prompt_at),
    )
    return [Deed(*row) for row in rows]


def worked(db: sqlite3.Connection, id_: str, since: int) -> bool:
    """Was a file edited or something committed in a capsule since a moment, and nothing saved?"""
    rows = db.execute(
        "SELECT kind, IFNULL(json_extract(provenance, '$.command'), '') FROM observations"
        f" WHERE {OF_CAPSULE} AND ts >= ? AND kind IN ('file_diff', 'command')",
        (id_, since),
    ).fetchall()
    if not any(kind == "file_diff" or "git commit" in command for kind, command in rows):
        return False
    # What is saved through MCP does not know its session; that of another one may count, too.
    saved = db.execute(
        "SELECT 1 FROM observations WHERE ts >= ?"
        " AND json_extract(provenance, '$.event') = 'remember' LIMIT 1",
        (since,),
    ).fetchone()
    return saved is None


def sum_up(db: sqlite3.Connection, id_: str, capsule: str, text: str, now: int) -> None:
    """Store a summary of a capsule that somebody wrote."""
    db.execute(
        "INSERT OR IGNORE INTO summaries(id, capsule, content, created_at) VALUES (?, ?, ?, ?)",
        (id_, capsule, name(text), now),
    )


def pins(
    db: sqlite3.Connection, session: str, agent: str, now: int, index: str = ""
) -> list[Entry]:
    """The pins of a session and an agent, each with its note and the text of its target.

    The text of a file is the one in the `index` folder.
    """
    from kinen.journal.authors import colleague, signature

    hidden = _hidden(db)
    rows = db.execute(
        "SELECT target_type, target_id, reason, created_at, 'pin:' || id FROM pins"
        " WHERE (expires_at = 0 OR expires_at > ?) AND session IN ('', ?) AND agent IN ('', ?)"
        " ORDER BY created_at, id",
        (now, name(session), name(agent)),
    ).fetchall()
    entries = []
    for kind, id_, words, at, pin in rows:
        ref = f"{kind}:{id_}"
        note = words + signature(colleague(db, pin)) if words else ""
        in_journal = kind in JOURNAL_TABLES or kind in ("capsule", "pin")
        text = _content(db, kind, id_) if in_journal else _text_in_index(index, ref) or id_
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


def sources(
    db: sqlite3.Connection | None, refs: Iterable[str], index: str, admission: Admission
) -> dict[str, str]:
    """Who wrote something, as far as it is known: refs with words to put behind them.

    An entry of this machine has none. Of a file, the index in a folder may know who committed it.
    """
    from kinen.characters import visible_line
    from kinen.journal.admission import RECORDED
    from kinen.journal.authors import team_author, team_person

    person = team_person(db) if db else ""
    words = {}
    files: dict[str, str] = {}
    for ref in dict.fromkeys(refs):
        path = ref.partition(":")[2]
        if ref.startswith(RECORDED):
            author = team_author(db, ref, person) if db and person else ""
            words[ref] = f" by {visible_line(author)[:AUTHOR]}" if author else ""
            if ref in admission.drawn:
                words[ref] += f" (from {visible_line(admission.drawn[ref])[:SOURCE]})"
        elif not admission.is_own(path):
            files[path] = ref
    authors = committers(index, [*files]) if files else {}
    for path, ref in files.items():
        author = visible_line(authors.get(path, ""))[:AUTHOR]
        words[ref] = f" (committed by {author})" if author else " (from this repository)"
    return {ref: text for ref, text in words.items() if text}


def committers(index: str, paths: list[str]) -> dict[str, str]:
    """The author of the latest commit of each file, as far as the index in a folder knows it."""
    marks = ", ".join("?" * len(paths))
    row = _from_index(
        index,
        "SELECT group_concat(path || char(31) || user, char(10)) FROM (SELECT p.path, r.user,"
        " max(c.at) FROM paths p JOIN touches t ON t.path = p.id JOIN commits c"
        f" ON c.id = t.commit_id JOIN records r ON r.id = c.record WHERE p.path IN ({marks})"
        " GROUP BY p.path)",
        tuple(paths),
    )
    pairs = (line.partition("\x1f") for line in (row[0] or "").split("\n")) if row else ()
    return {path: author for path, _, author in pairs if author}


def memories(db: sqlite3.Connection, admission: Admission) -> list[Learned]:
    """The newest memories that were not superseded and may be told."""
    return [row[:4] for row in _memories(db, admission)]


def known_memories(
    db: sqlite3.Connection, admission: Admission
) -> tuple[list[Learned], dict[str, About]]:
    """The same, and by ref what each is about: its type, its files and who saved it.

    Files and who are those of the observations that it was drawn from.
    """
    rows = _memories(db, admission)
    sources = {row[0]: row[4].split('"')[1::2] for row in rows}
    ids = {each.partition(":")[2] for refs in sources.values() for each in refs}
    marks = ", ".join("?" * len(ids))
    sql = f"SELECT id, files, agent, user FROM observations WHERE id IN ({marks}) AND {_ALIVE}"
    origins = {f"observation:{row[0]}": row[1:] for row in db.execute(sql, (*ids,))} if ids else {}
    about = {}
    for ref, *_, type_ in rows:
        drawn = [origins[each] for each in sources[ref] if each in origins]
        files = [path for files, _, _ in drawn for path in files.split('"')[1::2]]
        who = next((agent or user for _, agent, user in drawn if agent or user), "")
        about[ref] = (type_, tuple(dict.fromkeys(files)), who)
    return [row[:4] for row in rows], about


def _memories(
    db: sqlite3.Connection, admission: Admission
) -> list[tuple[str, str, int, float, str, str]]:
    hidden = _hidden(db)
    rows = db.execute(
        "SELECT 'memory:' || id, content, created_at, confidence, derived_from, type FROM memories"
        f" WHERE {_ALIVE} AND superseded_by = '' ORDER BY created_at DESC, id DESC LIMIT ?",
        (MOST,),
    ).fetchall()
    rows = [row for row in rows if row[0] not in hidden]
    admitted = [row for row in rows if admission.memory(row[0], row[4])]
    admission.withhold("memory", len(rows) - len(admitted))
    return admitted


def touched(db: sqlite3.Connection) -> str:
    """The files that the latest observations name, as JSON arrays one after the other.

    What somebody saves with its files does not say that they are worked on.
    """
    rows = db.execute(
        "SELECT files FROM observations WHERE NOT instr(provenance, '\"remember\"')"
        " ORDER BY ts DESC LIMIT ?",
        (RECENT,),
    )
    return "\n".join(dict.fromkeys(row[0] for row in rows if row[0] != "[]"))


def overview(db: sqlite3.Connection, but: str, root: str, data: str, admission: Admission) -> str:
    """What can be recalled besides the capsule `but`, as one line; empty if there is nothing."""
    from kinen.journal.brief import checkpoint_paths, known_line

    sessions, drawn = db.execute(
        "SELECT (SELECT COUNT(*) FROM capsules"
        " WHERE type = 'session' AND forgotten_at = 0 AND id != ?),"
        f" (SELECT COUNT(*) FROM memories WHERE {_ALIVE} AND superseded_by = '')",
        (but,),
    ).fetchone()
    saved = checkpoint_paths(root)
    admission.count_checkpoints(saved)
    return known_line(sessions, drawn, len(saved), note_count(data))


def note_count(data: str) -> int:
    """How many notes the index in a folder has; 0 if it cannot be read now."""
    # By the index on paths, since a space has many more observations than files.
    row = _from_index(data, "SELECT COUNT(*) FROM records WHERE path != '' AND kind = 'note'")
    return int(row[0]) if row else 0


def issue_in_progress(db: sqlite3.Connection, data: str, admission: Admission) -> str:
    """The issue that is worked on, by its id and title; empty if there is none to tell."""
    hidden = sorted(_hidden(db))
    row = _from_index(
        data,
        "SELECT key || ' ' || title FROM records WHERE source = 'issues' AND key != ''"
        " AND json_extract(metadata, '$.status') = 'in_progress'"
        f" AND ref NOT IN ({', '.join('?' * len(hidden))}) ORDER BY at DESC LIMIT 1",
        (*hidden,),
    )
    if row and not admission.trusted:
        admission.withhold("issue")
        return ""
    return f"{row[0][:ISSUE]} (from this repository)" if row else ""


def latest_commits(
    db: sqlite3.Connection, data: str, admission: Admission
) -> list[tuple[str, str, str]]:
    """The latest commits of substance that the index in a folder has: ref, subject, day and author.

    None of a space that is not trusted. No merges, no updates of dependencies, and nothing of bots.
    """
    row = _from_index(
        data,
        "SELECT group_concat(ref || char(31) || title || char(31) || substr(at, 1, 10) ||"
        " CASE user WHEN '' THEN '' ELSE ' by ' || substr(user, 1, 60) END, char(10))"
        " FROM (SELECT ref, title, at, user FROM records WHERE kind = 'commit'"
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
    commits = [*chosen][:COMMITS]
    if commits and not admission.trusted:
        admission.withhold("commit", len(commits))
        return []
    return commits


def subjects(data: str, since: str) -> list[tuple[str, str]]:
    """The latest commits after a UTC moment that the index in a folder has: time and subject."""
    row = _from_index(
        data,
        "SELECT group_concat(at || char(31) || title, char(10)) FROM (SELECT at, title FROM records"
        " WHERE kind = 'commit' AND at > ? ORDER BY at DESC LIMIT ?)",
        (since, READ_COMMITS),
    )
    pairs = (line.partition("\x1f") for line in (row[0] or "").split("\n")) if row else ()
    return [(at, title) for at, _, title in pairs if title]


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
