"""Asks the journal: its entries by id, by filter, and what changed since an index last looked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from kinen.characters import storable
from kinen.errors import NotFound, QueryError
from kinen.model.journal import Capsule, Learned, Observation, Pin, Scope, Summary
from kinen.privacy.entrance import name, names

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

_SCOPE = "session, repo, agent, user, task"


class Noun(NamedTuple):
    """What is listed under a plural: its table, the column of its time, and its columns."""

    kind: str
    table: str
    time: str
    columns: str


NOUNS = {
    "observations": Noun(
        "observation",
        "observations",
        "ts",
        f"id, kind, content, ts, {_SCOPE}, capsule, provenance, branch, head, files, masked,"
        " redacted, forgotten_at",
    ),
    "capsules": Noun(
        "capsule",
        "capsules",
        "opened_at",
        f"id, type, intent, status, opened_at, closed_at, reason, {_SCOPE}, forgotten_at",
    ),
    "summaries": Noun(
        "summary",
        "summaries",
        "created_at",
        "id, capsule, content, created_at, confidence, evidence_refs, written, redacted,"
        " forgotten_at",
    ),
    "pins": Noun(
        "pin",
        "pins",
        "created_at",
        f"id, target_type || ':' || target_id, reason, created_at, expires_at, {_SCOPE}",
    ),
    "memories": Noun(
        "memory",
        "memories",
        "created_at",
        f"id, type, content, confidence, created_at, derived_from, superseded_by, {_SCOPE},"
        " redacted, forgotten_at",
    ),
}
KINDS = {noun.kind: noun for noun in NOUNS.values()}


class Wanted(NamedTuple):
    """Which entries; an empty field matches anything, times are epoch milliseconds."""

    session: str = ""
    repo: str = ""
    agent: str = ""
    kind: str = ""
    capsule: str = ""
    after: int = 0
    before: int = 0
    limit: int = 0
    audit: bool = False
    """Also what was forgotten, and pins that expired."""
    now: int = 0
    scope: Scope = Scope()
    """The same as a whole, where the fields above know beginnings."""
    kinds: tuple[str, ...] = ()
    status: str = ""
    """Of capsules: `open` or `closed`."""
    redacted: bool = True
    """Also what was emptied."""
    past: tuple[int, str] | None = None
    """Only what comes after an entry of this time and id."""


def entries(db: sqlite3.Connection, plural: str, wanted: Wanted) -> tuple[list[Any], int]:
    """The newest that match, newest first, and how many match in all."""
    noun = NOUNS[plural]
    where, values = _where(noun, wanted)
    count = db.execute(f"SELECT COUNT(*) FROM {noun.table}{where}", values).fetchone()[0]
    return page(db, plural, wanted), count


def page(db: sqlite3.Connection, plural: str, wanted: Wanted) -> list[Any]:
    """The same without counting them."""
    noun = NOUNS[plural]
    where, values = _where(noun, wanted)
    limit = " LIMIT ?" if wanted.limit else ""
    rows = db.execute(
        f"SELECT {noun.columns} FROM {noun.table}{where} ORDER BY {noun.time} DESC, id DESC{limit}",
        [*values, wanted.limit] if wanted.limit else values,
    )
    return [made(noun.kind, row) for row in rows]


def _where(noun: Noun, wanted: Wanted) -> tuple[str, list[Any]]:
    clauses: list[str] = []
    values: list[Any] = []
    begun = {column: name(getattr(wanted, column)) for column in ("session", "repo", "agent")}
    scoped = [f"substr({column}, 1, length(?)) = ?" for column, value in begun.items() if value]
    scoped += [f"{column} = ?" for column, value in wanted.scope._asdict().items() if value]
    if scoped:
        said = " AND ".join(scoped)
        inner = f"capsule IN (SELECT id FROM capsules WHERE {said})"
        clauses.append(inner if noun.kind == "summary" else said)
        values += [value for value in begun.values() if value for _ in range(2)]
        values += filter(None, names(wanted.scope))
    kinds = tuple(map(storable, (*wanted.kinds, *filter(None, [wanted.kind]))))
    if kinds:
        if noun.kind in ("summary", "pin"):
            raise QueryError(f"{noun.table} have no kind", "ask for them without one")
        column = "kind" if noun.kind == "observation" else "type"
        clauses.append(f"{column} IN ({', '.join('?' * len(kinds))})")
        values += kinds
    if wanted.capsule:
        if noun.kind not in ("observation", "summary"):
            raise QueryError(f"{noun.table} are in no capsule", "ask for them without one")
        clauses.append("capsule = ?")
        values.append(wanted.capsule)
    if wanted.after:
        clauses.append(f"{noun.time} >= ?")
        values.append(wanted.after)
    if wanted.before:
        clauses.append(f"{noun.time} <= ?")
        values.append(wanted.before)
    if wanted.status:
        clauses.append("status = ?")
        values.append(wanted.status)
    if not wanted.redacted:
        clauses.append("redacted = 0")
    if wanted.past:
        clauses.append(f"({noun.time}, id) < (?, ?)")
        values += wanted.past
    if not wanted.audit:
        alive = "expires_at = 0 OR expires_at > ?" if noun.kind == "pin" else "forgotten_at = 0"
        clauses.append(f"({alive})")
        values += [wanted.now] if noun.kind == "pin" else []
    return (" WHERE " + " AND ".join(clauses) if clauses else ""), values


def entry(db: sqlite3.Connection, kind: str, id_: str) -> Any:
    """One entry, forgotten or not, or None."""
    noun = KINDS[kind]
    row = db.execute(f"SELECT {noun.columns} FROM {noun.table} WHERE id = ?", (id_,)).fetchone()
    return made(kind, row) if row else None


def made(kind: str, row: Sequence[Any]) -> Any:
    """A row of the table as a value."""
    if kind == "observation":
        scope, about, files = Scope(*row[4:9]), _decoded(row[10]), tuple(_decoded(row[13]))
        masked, redacted = _decoded(row[14]), bool(row[15])
        return Observation._make(
            [*row[:4], scope, row[9], about, *row[11:13], files, masked, redacted, row[16]]
        )
    if kind == "capsule":
        return Capsule._make([*row[:7], Scope(*row[7:12]), row[12]])
    if kind == "summary":
        evidence = tuple(json.loads(row[5]))
        return Summary._make([*row[:5], evidence, bool(row[6]), bool(row[7]), row[8]])
    if kind == "pin":
        return Pin._make([*row[:5], Scope(*row[5:10])])
    drawn, scope = tuple(json.loads(row[5])), Scope(*row[7:12])
    return Learned._make([*row[:5], drawn, row[6], scope, bool(row[12]), row[13]])


def _decoded(text: str) -> Any:
    """JSON of a cell; most are empty, and then there is nothing to parse."""
    return {} if text == "{}" else () if text == "[]" else json.loads(text)


def resolve(db: sqlite3.Connection, name: str, kinds: Sequence[str] = ()) -> tuple[str, str]:
    """The kind and id that a ref, an id or the beginning of one stands for."""
    name = storable(name)
    kind, _, rest = name.partition(":")
    among, id_ = ([kind], rest) if kind in KINDS and rest else ([*KINDS], name)
    among = [one for one in among if not kinds or one in kinds]
    for test in ("id = :id", "substr(id, 1, length(:id)) IN (:id, upper(:id))"):
        found = []
        for one in among:
            query = f"SELECT id FROM {KINDS[one].table} WHERE {test} LIMIT 2"
            found += [(one, row[0]) for row in db.execute(query, {"id": id_})]
        if len(found) == 1:
            return found[0]
        if found:
            refs = ", ".join(":".join(one) for one in found[:3])
            raise NotFound(f"{name!r} may be {refs}", "give more of the id")
        if len(id_) < 6:
            break
    what = " or ".join(kinds) if kinds else "entry of the journal"
    raise NotFound(f"no {what} {name!r}", "`kinen list observations` shows what there is")


def stream(db: sqlite3.Connection, capsule: str, after: tuple[int, str] = (0, "")) -> Iterator[Any]:
    """The living observations of a capsule in the order in which they happened."""
    columns = NOUNS["observations"].columns
    rows = db.execute(
        f"SELECT {columns} FROM observations WHERE capsule = ? AND capsule != ''"
        " AND (ts, id) >= (?, ?)"
        " AND forgotten_at = 0 ORDER BY ts, id",
        (capsule, *after),
    )
    return (made("observation", row) for row in rows)


def outline(
    db: sqlite3.Connection, capsule: str, after: tuple[int, str]
) -> Iterator[tuple[str, str, int, Any]]:
    """The same with what a cut into segments depends on: id, kind, length, provenance."""
    rows = db.execute(
        "SELECT id, kind, length(content), provenance FROM observations WHERE capsule = ?"
        " AND capsule != '' AND (ts, id) >= (?, ?) AND forgotten_at = 0 ORDER BY ts, id",
        (capsule, *after),
    )
    return ((id_, kind, length, _decoded(said)) for id_, kind, length, said in rows)


def latest_summary(db: sqlite3.Connection, scope: Scope) -> Summary | None:
    """The summary of the open capsule in scope, else of the one that was closed last."""
    fields = [field for field in Scope._fields[:4] if getattr(scope, field)]
    clauses = "".join(f" AND c.{field} IN ('', ?)" for field in fields)
    columns = ", ".join(f"s.{column.strip()}" for column in NOUNS["summaries"].columns.split(","))
    row = db.execute(
        f"SELECT {columns} FROM summaries s JOIN capsules c ON c.id = s.capsule"
        f" WHERE s.forgotten_at = 0 AND s.redacted = 0{clauses}"
        " ORDER BY c.status = 'open' DESC, MAX(c.closed_at, c.opened_at) DESC, c.id DESC,"
        " s.created_at DESC, s.id DESC LIMIT 1",
        [name(getattr(scope, field)) for field in fields],
    ).fetchone()
    return made("summary", row) if row else None


def pins_in(db: sqlite3.Connection, scope: Scope, now: int) -> list[Pin]:
    """The pins that hold in a scope and have not expired, oldest first."""
    fields = [field for field in Scope._fields[:4] if getattr(scope, field)]
    clauses = "".join(f" AND {field} IN ('', ?)" for field in fields)
    rows = db.execute(
        f"SELECT {NOUNS['pins'].columns} FROM pins WHERE (expires_at = 0 OR expires_at > ?)"
        f"{clauses} ORDER BY created_at, id",
        [now, *(name(getattr(scope, field)) for field in fields)],
    )
    return [made("pin", row) for row in rows]


# What an index follows


class Mark(NamedTuple):
    """How far an index has followed a journal."""

    journal: str
    added: int
    changed: int


def added(db: sqlite3.Connection, since: Mark, until: Mark) -> Iterator[Observation]:
    """Observations outside capsules that were written between two marks."""
    rows = db.execute(
        f"SELECT {NOUNS['observations'].columns} FROM observations"
        " WHERE seq > ? AND seq <= ? AND capsule = '' AND forgotten_at = 0 ORDER BY seq",
        (since.added, until.added),
    )
    return (made("observation", row) for row in rows)


def grown(db: sqlite3.Connection, since: Mark, until: Mark) -> dict[str, tuple[int, str]]:
    """The capsules that got observations between two marks, each with the place of the first."""
    found: dict[str, tuple[int, str]] = {}
    for capsule, ts, id_ in db.execute(
        "SELECT capsule, ts, id FROM observations"
        " WHERE seq > ? AND seq <= ? AND capsule != '' AND forgotten_at = 0 ORDER BY seq",
        (since.added, until.added),
    ):
        if capsule not in found or (ts, id_) < found[capsule]:
            found[capsule] = (ts, id_)
    return found


def changed(db: sqlite3.Connection, since: Mark, until: Mark) -> list[str]:
    """The refs of everything else that was written, changed or taken away between two marks."""
    rows = db.execute(
        "SELECT ref, MAX(seq) FROM changes WHERE seq > ? AND seq <= ? GROUP BY ref ORDER BY 2",
        (since.changed, until.changed),
    )
    return [row[0] for row in rows]


def suppressed(db: sqlite3.Connection) -> set[str]:
    """Refs of files and commits that are not to be shown."""
    return {row[0] for row in db.execute("SELECT ref FROM suppressed")}


def tag_ops(db: sqlite3.Connection) -> list[tuple[str, str, str]]:
    """Tags given and taken by hand, in order: the path, `+tag` or `-tag`, the last commit then."""
    return db.execute("SELECT path, op || tag, head FROM tag_ops ORDER BY seq").fetchall()
