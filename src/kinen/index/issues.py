"""Issues in the index, and which records name them. Links are found by full text when asked for.

Commits and sessions come before or after the issues that they name, and an id may be known only
later, so nothing about this is stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kinen.index.reader import RECORD, to_record
from kinen.model.issues import (
    BLOCKING,
    CHILD,
    Issue,
    from_metadata,
    ranges_with,
    references,
    tracked_ids,
)
from kinen.model.late import Any, json
from kinen.model.records import Edge, Record
from kinen.model.tuples import NamedTuple
from kinen.text import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
NAMING_KINDS = ("commit", "checkpoint", "plan", "round", "note", "memory", "capsule", "observation")
"""Kinds of records that are searched for the ids of issues."""
MOST = 5_000
"""Chunks that are read for one issue."""
SHORTEST = 3
"""Characters of the last part of an id that is searched for alone."""


class Mention(NamedTuple):
    """A record that names an issue, and how."""

    record: Record
    type: str
    """`closes` or `mentions`."""
    places: int = 1
    """The number of places that name it; all entries of a session are one record."""
    text: str = ""
    """The line that names it."""


def issues(db: sqlite3.Connection) -> list[Issue]:
    """All issues, by id."""
    rows = db.execute(
        f"SELECT {RECORD} FROM records r WHERE r.source = 'issues' AND r.key != '' ORDER BY r.ref"
    )
    return [to_issue(to_record(row)) for row in rows]


def to_issue(record: Record) -> Issue:
    id_ = record.ref.partition(":")[2]
    return from_metadata(id_, record.title, record.metadata or {}, record.tags)


def known_ids(db: sqlite3.Connection) -> dict[str, str]:
    """The ids of all issues, by their lower-case form."""
    rows = db.execute("SELECT key FROM records WHERE source = 'issues' AND key != ''")
    return {key.lower(): key for (key,) in rows}


def mentions(db: sqlite3.Connection, id_: str) -> list[Mention]:
    """The records that name an issue, newest first; a session once for all of its entries."""
    # The other ids tell whether the last part of this one is enough to name it.
    tracked = tracked_ids({*known_ids(db), id_.lower()})
    by_ref: dict[str, Mention] = {}
    # Records whose text has the words of the id one after the other, or those of its last part.
    last = id_.rpartition("-")[2]
    forms = [id_, last] if len(last) >= SHORTEST else [id_]
    forms += [f"{first} {end}" for first, end in ranges_with(id_)]
    phrase = " OR ".join('"' + " ".join(words(form)) + '"' for form in forms)
    marks = ", ".join("?" * len(NAMING_KINDS))
    rows = db.execute(
        f"SELECT {RECORD}, c.title, c.body FROM search"
        " JOIN chunks c ON c.id = search.rowid JOIN records r ON r.id = c.record"
        f" WHERE search MATCH ? AND r.kind IN ({marks}) ORDER BY search.rowid DESC LIMIT ?",
        (phrase, *NAMING_KINDS, MOST),
    )
    for *row, title, body in rows.fetchall():
        record = to_record(row)
        text = _text(title, body)
        names = [
            name for name in references(_own_words(record, text), tracked) if _is(name.id, id_)
        ]
        if not names:
            continue
        owner = _owner(db, record)
        before = by_ref.get(owner.ref)
        closes = any(name.closes for name in names) and record.kind in ("commit", "checkpoint")
        by_ref[owner.ref] = Mention(
            owner,
            "closes" if closes or (before and before.type == "closes") else "mentions",
            (before.places if before else 0) + len(names),
            before.text if before else _line(text, names[0].start),
        )
    for record in (*_on_branch(db, id_), *_closing_sessions(db, id_)):
        by_ref.setdefault(record.ref, Mention(record, "mentions"))
    for record in _closing_sessions(db, id_):
        by_ref[record.ref] = by_ref[record.ref]._replace(type="closes")
    return sorted(by_ref.values(), key=lambda item: (item.record.at, item.record.ref), reverse=True)


def named_in(db: sqlite3.Connection, record: Record) -> list[tuple[str, str]]:
    """The issues that a record names, as ids and types: `closes` or `mentions`."""
    by_lower = known_ids(db)
    tracked = tracked_ids(by_lower)
    ids: dict[str, str] = {}
    for owner, text in _texts(db, record):
        for name in references(_own_words(owner, text), tracked):
            closes = name.closes and record.kind in ("commit", "checkpoint")
            id_ = by_lower.get(name.id.lower(), name.id)
            if closes or id_ not in ids:
                ids[id_] = "closes" if closes else "mentions"
    return sorted(ids.items())


def summaries(db: sqlite3.Connection, sessions: Sequence[str]) -> list[str]:
    """The refs of the summaries of sessions."""
    rows = db.execute(
        "SELECT ref FROM records WHERE kind = 'summary' AND parent != ''"
        " AND parent IN (SELECT value FROM json_each(?)) ORDER BY ref",
        (json.dumps(sessions),),
    )
    return [ref for (ref,) in rows]


def edges(db: sqlite3.Connection, ref: str) -> list[Edge]:
    """The edges of an issue, or from a record to the issues that it names."""
    record = _record(db, ref)
    if ref.startswith("issue:"):
        id_ = ref.partition(":")[2]
        needs = to_issue(record).dependencies if record else ()
        own = [_dependency(id_, other, type_) for other, type_ in needs]
        naming = [
            Edge(item.record.ref, ref, item.type, text=item.text) for item in mentions(db, id_)
        ]
        dependents = db.execute(
            "SELECT r.key, json_extract(j.value, '$[1]') FROM records r,"
            " json_each(r.metadata, '$.dependencies') j WHERE r.source = 'issues' AND r.key != ''"
            " AND instr(r.metadata, ?) AND json_extract(j.value, '$[0]') = ? ORDER BY r.key",
            (id_, id_),
        )
        waiting = [_dependency(other, id_, type_) for other, type_ in dependents]
        return [*own, *waiting, *naming, *_joined(db, "issue", id_)]
    joined = _joined(db, "concerns", ref)
    if record is None or record.kind not in NAMING_KINDS:
        return joined
    return [*joined, *(Edge(ref, f"issue:{id_}", type_) for id_, type_ in named_in(db, record))]


def _dependency(id_: str, other: str, type_: str) -> Edge:
    """A dependency as an edge: what must come first blocks, a child is part of its parent."""
    here = f"issue:{id_}"
    there = f"issue:{other}"
    if type_ in BLOCKING:
        return Edge(there, here, "blocks")
    return Edge(here, there, "part_of" if type_ == CHILD else "refs", text=type_)


def _texts(db: sqlite3.Connection, record: Record) -> Iterator[tuple[Record, str]]:
    """The texts of a record; of a session also those of its entries, and its branches."""
    rows = db.execute(
        f"SELECT {RECORD}, c.title, c.body FROM records r"
        " JOIN chunks c ON c.record = r.id"
        " WHERE r.ref = ? OR (r.parent = ? AND r.parent != '')"
        " ORDER BY r.at, r.ref, c.n LIMIT ?",
        (record.ref, record.ref if record.kind == "capsule" else "", MOST),
    )
    branches: dict[str, None] = {}
    for *row, title, body in rows.fetchall():
        owner = to_record(row)
        branches[str((owner.metadata or {}).get("branch", ""))] = None
        yield owner, _text(title, body)
    yield record, " ".join(branches)


def _text(title: str, body: str) -> str:
    return body if body.startswith(title) else f"{title}\n{body}"


def _own_words(record: Record, text: str) -> str:
    """The text of an entry without output: the output of a list names every issue.

    The entry of a link by hand has none: the link is an edge of its own.
    """
    about = record.metadata or {}
    if record.kind != "observation":
        return text
    if about.get("event", "") == "message":
        return "" if "concerns" in about else text
    return str(about.get("command", ""))


def _owner(db: sqlite3.Connection, record: Record) -> Record:
    """The session of an entry; every other record itself."""
    parent = str((record.metadata or {}).get("parent", ""))
    if record.kind == "observation" and parent:
        return _record(db, parent) or record
    return record


def _on_branch(db: sqlite3.Connection, id_: str) -> Iterator[Record]:
    """Sessions that worked on a branch whose name has the id."""
    rows = db.execute(
        "SELECT DISTINCT r.parent, json_extract(r.metadata, '$.branch') FROM records r"
        " WHERE r.kind = 'observation' AND r.parent != '' AND instr(lower(r.metadata), ?)",
        (id_.lower(),),
    )
    for parent, branch in rows.fetchall():
        names = references(branch or "", {id_.lower()})
        if any(_is(name.id, id_) for name in names) and (record := _record(db, parent)):
            yield record


def _closing_sessions(db: sqlite3.Connection, id_: str) -> list[Record]:
    """The sessions in which an issue was closed, as its tracker says."""
    record = _record(db, f"issue:{id_}")
    session = str((record.metadata or {}).get("closed_by_session", "")) if record else ""
    if not session:
        return []
    rows = db.execute(
        f"SELECT {RECORD} FROM records r WHERE r.session = ? AND r.kind = 'capsule'", (session,)
    )
    return [to_record(row) for row in rows.fetchall()]


def _record(db: sqlite3.Connection, ref: str) -> Record | None:
    row: Any = db.execute(f"SELECT {RECORD} FROM records r WHERE r.ref = ?", (ref,)).fetchone()
    return to_record(row) if row else None


def _is(name: str, id_: str) -> bool:
    return name.lower() == id_.lower()


def _line(text: str, start: int) -> str:
    end = text.find("\n", start)
    return text[text.rfind("\n", 0, start) + 1 : end if end >= 0 else len(text)].strip()


def _joined(db: sqlite3.Connection, column: str, value: str) -> list[Edge]:
    """What `kinen issues link` joined: from the other record to the issue.

    The text of such an entry has the word that is searched for, so that few entries are read.
    """
    rows = db.execute(
        "SELECT DISTINCT json_extract(r.metadata, '$.concerns'),"
        " json_extract(r.metadata, '$.issue') FROM search JOIN chunks c ON c.id = search.rowid"
        " JOIN records r ON r.id = c.record WHERE search MATCH 'concerns'"
        " AND r.kind = 'observation' AND instr(r.metadata, '\"concerns\"')"
        f" AND json_extract(r.metadata, '$.{column}') = ? ORDER BY 1, 2",
        (value,),
    )
    return [Edge(ref, f"issue:{id_}", "refs", text="linked by hand") for ref, id_ in rows if id_]
