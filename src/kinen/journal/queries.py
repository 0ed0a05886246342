"""Reads the journal: entries by id and by filter, names, activity, and what changed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from kinen.characters import storable
from kinen.errors import Ambiguous, NotFound, QueryError
from kinen.ids import padded
from kinen.journal.authors import team_person
from kinen.journal.schema import OF_CAPSULE
from kinen.model.journal import Capsule, Learned, Observation, Pin, Scope, Summary
from kinen.model.late import Any, json
from kinen.model.tuples import NamedTuple
from kinen.privacy.entrance import name
from kinen.storage.database import begins

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
DAY = 86_400_000
"""Milliseconds."""
LEAST = 6
"""Characters of an id that stand for it where names of files are accepted too."""


class Noun(NamedTuple):
    """What is listed under a plural: its table, the column of its time, its columns, its value."""

    kind: str
    table: str
    time: str
    columns: str
    value: Callable[..., Any]
    """Takes the columns by name; five of them as one scope, JSON decoded, flags as bool."""


def _summary(evidence_refs: tuple[str, ...], **cells: Any) -> Summary:
    return Summary(evidence=evidence_refs, **cells)


def _pin(target_type: str, target_id: str, reason: str, **cells: Any) -> Pin:
    return Pin(target=f"{target_type}:{target_id}", note=reason, **cells)


def _decode_json(text: str) -> Any:
    """JSON of a cell, lists as tuples; most are empty, and then there is nothing to parse."""
    if text == "{}":
        return {}
    value = () if text == "[]" else json.loads(text)
    return tuple(value) if isinstance(value, list) else value


_SCOPE = ", ".join(Scope._fields)

NOUNS = {
    "observations": Noun(
        "observation",
        "observations",
        "ts",
        f"id, kind, content, ts, {_SCOPE}, capsule, provenance, branch, head, files, masked,"
        " redacted, forgotten_at",
        Observation,
    ),
    "capsules": Noun(
        "capsule",
        "capsules",
        "opened_at",
        f"id, type, intent, status, opened_at, closed_at, reason, {_SCOPE}, forgotten_at, parent",
        Capsule,
    ),
    "summaries": Noun(
        "summary",
        "summaries",
        "created_at",
        "id, capsule, content, created_at, confidence, evidence_refs, written, redacted,"
        " forgotten_at",
        _summary,
    ),
    "pins": Noun(
        "pin",
        "pins",
        "created_at",
        f"id, target_type, target_id, reason, created_at, expires_at, {_SCOPE}",
        _pin,
    ),
    "memories": Noun(
        "memory",
        "memories",
        "created_at",
        f"id, type, content, confidence, created_at, derived_from, superseded_by, {_SCOPE},"
        " redacted, forgotten_at, edits",
        Learned,
    ),
}
KINDS = {noun.kind: noun for noun in NOUNS.values()}
_COLUMNS = {kind: noun.columns.split(", ") for kind, noun in KINDS.items()}
_CONVERTED: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys("provenance masked files evidence_refs derived_from".split(), _decode_json),
    **dict.fromkeys(("written", "redacted"), bool),
}
_CONVERSIONS = {
    kind: [(column, _CONVERTED[column]) for column in columns if column in _CONVERTED]
    for kind, columns in _COLUMNS.items()
}


class EntryFilter(NamedTuple):
    """Which entries; an empty field matches anything, times are epoch milliseconds."""

    session: str = ""
    repo: str = ""
    agent: str = ""
    user: str = ""
    kind: str = ""
    capsule: str = ""
    after: int = 0
    before: int = 0
    limit: int = 0
    audit: bool = False
    """Also what was forgotten, and pins that expired."""
    now: int = 0
    scope: Scope = Scope()
    """Matches whole values, where `session`, `repo`, `agent` and `user` match beginnings."""
    kinds: tuple[str, ...] = ()
    status: str = ""
    """Of capsules: `open` or `closed`."""
    redacted: bool = True
    """Also what was redacted."""
    past: tuple[int, str] | None = None
    """Only what comes after an entry of this time and id."""


def entries(db: sqlite3.Connection, plural: str, chosen: EntryFilter) -> tuple[list[Any], int]:
    """The newest entries that match, newest first, and how many match in all."""
    noun = NOUNS[plural]
    where, values = _where(noun, chosen)
    count = db.execute(f"SELECT COUNT(*) FROM {noun.table}{where}", values).fetchone()[0]
    return page(db, plural, chosen), count


def page(db: sqlite3.Connection, plural: str, chosen: EntryFilter) -> list[Any]:
    """The newest entries that match, newest first, without counting the rest."""
    noun = NOUNS[plural]
    where, values = _where(noun, chosen)
    sql = f"SELECT {noun.columns} FROM {noun.table}{where} ORDER BY {noun.time} DESC, id DESC"
    if chosen.limit:
        sql += " LIMIT ?"
        values.append(chosen.limit)
    return [decode(noun.kind, row) for row in db.execute(sql, values)]


def _where(noun: Noun, chosen: EntryFilter) -> tuple[str, list[Any]]:
    scope, values = _where_scope(noun, chosen)
    clauses = [scope] if scope else []
    kinds = tuple(map(storable, (*chosen.kinds, *filter(None, [chosen.kind]))))
    if kinds:
        if noun.kind in ("summary", "pin"):
            raise QueryError(f"{noun.table} have no kind", "list them without a kind")
        column = "kind" if noun.kind == "observation" else "type"
        clauses.append(f"{column} IN ({', '.join('?' * len(kinds))})")
        values += kinds
    if chosen.capsule:
        if noun.kind not in ("observation", "summary"):
            raise QueryError(f"{noun.table} are not in capsules", "list them without a capsule")
        clauses.append(OF_CAPSULE)
        values.append(chosen.capsule)
    for clause, value in (
        (f"{noun.time} >= ?", chosen.after),
        (f"{noun.time} <= ?", chosen.before),
        ("status = ?", chosen.status),
    ):
        if value:
            clauses.append(clause)
            values.append(value)
    if not chosen.redacted:
        clauses.append("redacted = 0")
    if chosen.past:
        clauses.append(f"({noun.time}, id) < (?, ?)")
        values += chosen.past
    if not chosen.audit and noun.kind == "pin":
        clauses.append("(expires_at = 0 OR expires_at > ?)")
        values.append(chosen.now)
    elif not chosen.audit:
        clauses.append("forgotten_at = 0")
    return (" WHERE " + " AND ".join(clauses) if clauses else ""), values


def _where_scope(noun: Noun, chosen: EntryFilter) -> tuple[str, list[Any]]:
    """The condition on the scope; summaries have that of their capsule."""
    clauses: list[str] = []
    values: list[Any] = []
    for column in ("session", "repo", "agent", "user"):
        beginning = name(getattr(chosen, column))
        if beginning:
            clauses.append(begins(column))
            values.append(beginning)
    for column, value in chosen.scope._asdict().items():
        if value:
            clauses.append(f"{column} = ?")
            values.append(name(value))
    condition = " AND ".join(clauses)
    if condition and noun.kind == "summary":
        condition = f"capsule IN (SELECT id FROM capsules WHERE {condition})"
    return condition, values


def entry(db: sqlite3.Connection, kind: str, id_: str) -> Any:
    """One entry, forgotten or not, or None."""
    noun = KINDS[kind]
    row = db.execute(f"SELECT {noun.columns} FROM {noun.table} WHERE id = ?", (id_,)).fetchone()
    return decode(kind, row) if row else None


def decode(kind: str, row: Sequence[Any]) -> Any:
    """The value of a row with the columns of a kind."""
    if kind == "observation":  # as `decode_cells` has it: a session has thousands
        id_, kind, content, ts, *scope, capsule = row[:10]
        provenance, branch, head, files, masked, redacted, forgotten_at = row[10:]
        return Observation(
            id_,
            kind,
            content,
            ts,
            Scope(*scope),
            capsule,
            _decode_json(provenance),
            branch,
            head,
            _decode_json(files),
            _decode_json(masked),
            bool(redacted),
            forgotten_at,
        )
    return decode_cells(kind, dict(zip(_COLUMNS[kind], row, strict=True)))


def decode_cells(kind: str, cells: dict[str, Any]) -> Any:
    """The value of the cells of a row, by column; it uses them up."""
    if "session" in cells:
        cells["scope"] = Scope(*map(cells.pop, Scope._fields))
    for column, convert in _CONVERSIONS[kind]:
        cells[column] = convert(cells[column])
    return KINDS[kind].value(**cells)


LAST = "\U0010ffff"
"""The last character there is: what begins with a text comes before the text and this."""
MOST = Ambiguous.LISTED + 1
"""Entries of each kind to look for, so that an ambiguous name can list them."""


def resolve(db: sqlite3.Connection, name: str, kinds: Sequence[str] = ()) -> tuple[str, str]:
    """The kind and id that a ref, an id or the beginning of one stands for.

    Of an entry of any kind, LEAST characters are needed: less could be the name of a file.
    """
    name = storable(name)
    kind, _, rest = name.partition(":")
    least = 1 if kinds else LEAST
    if kind in KINDS and rest:
        candidates = [kind]
        id_ = rest
        least = 1
    else:
        candidates = [*KINDS]
        id_ = name
    candidates = [kind for kind in candidates if not kinds or kind in kinds]
    for test in (
        "id = :id",
        "(id >= :id AND id < :id || :last) OR (id >= upper(:id) AND id < upper(:id) || :last)",
        "id = upper(:padded)",
    ):
        matches = []
        for kind in candidates:
            query = f"SELECT id FROM {KINDS[kind].table} WHERE {test} LIMIT {MOST}"
            values = {"id": id_, "last": LAST, "padded": padded(id_)}
            matches += [(kind, row[0]) for row in db.execute(query, values)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise Ambiguous(name, [":".join(match) for match in matches])
        if len(id_) < least:
            break
    noun = " or ".join(kinds) if kinds else "entry of the journal"
    listed = KINDS[kinds[0]].table if len(kinds) == 1 else "observations"
    raise NotFound(f"no {noun} {name!r}", f"`kinen list {listed}` shows what there is")


def stream(db: sqlite3.Connection, capsule: str, after: tuple[int, str] = (0, "")) -> Iterator[Any]:
    """The observations of a capsule that are not forgotten, in the order in which they happened."""
    columns = NOUNS["observations"].columns
    rows = db.execute(
        f"SELECT {columns} FROM observations WHERE {OF_CAPSULE}"
        " AND (ts, id) >= (?, ?)"
        " AND forgotten_at = 0 ORDER BY ts, id",
        (capsule, *after),
    )
    return (decode("observation", row) for row in rows)


def parts(db: sqlite3.Connection, capsule: str) -> list[Capsule]:
    """The capsules that are directly part of a capsule and not forgotten, oldest first."""
    rows = db.execute(
        f"SELECT {NOUNS['capsules'].columns} FROM capsules"
        " WHERE parent = ? AND parent != '' AND forgotten_at = 0 ORDER BY opened_at, id",
        (capsule,),
    )
    return [decode("capsule", row) for row in rows]


def ids_in(db: sqlite3.Connection, capsule: str) -> set[str]:
    """The ids of the observations of a capsule that are not forgotten."""
    sql = f"SELECT id FROM observations WHERE {OF_CAPSULE} AND forgotten_at = 0"
    return {row[0] for row in db.execute(sql, (capsule,))}


def latest_summary(db: sqlite3.Connection, scope: Scope) -> Summary | None:
    """The summary of the open capsule in scope, else of the one that was closed last."""
    fields = [field for field in Scope._fields[:4] if getattr(scope, field)]
    clauses = "".join(f" AND c.{field} IN ('', ?)" for field in fields)
    columns = ", ".join(f"s.{column}" for column in _COLUMNS["summary"])
    row = db.execute(
        f"SELECT {columns} FROM summaries s JOIN capsules c ON c.id = s.capsule"
        f" WHERE s.forgotten_at = 0 AND s.redacted = 0{clauses}"
        " ORDER BY c.status = 'open' DESC, MAX(c.closed_at, c.opened_at) DESC, c.id DESC,"
        " s.created_at DESC, s.id DESC LIMIT 1",
        [name(getattr(scope, field)) for field in fields],
    ).fetchone()
    return decode("summary", row) if row else None


def pins_in(db: sqlite3.Connection, scope: Scope, now: int) -> list[Pin]:
    """The pins that hold in a scope and have not expired, oldest first."""
    fields = [field for field in Scope._fields[:4] if getattr(scope, field)]
    clauses = "".join(f" AND {field} IN ('', ?)" for field in fields)
    rows = db.execute(
        f"SELECT {NOUNS['pins'].columns} FROM pins WHERE (expires_at = 0 OR expires_at > ?)"
        f"{clauses} ORDER BY created_at, id",
        [now, *(name(getattr(scope, field)) for field in fields)],
    )
    return [decode("pin", row) for row in rows]


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
    return (decode("observation", row) for row in rows)


def grown(db: sqlite3.Connection, since: Mark, until: Mark) -> dict[str, tuple[int, str]]:
    """The capsules that got observations between two marks, each with the place of the first."""
    firsts: dict[str, tuple[int, str]] = {}
    for capsule, ts, id_ in db.execute(
        "SELECT capsule, ts, id FROM observations"
        " WHERE seq > ? AND seq <= ? AND capsule != '' AND forgotten_at = 0 ORDER BY seq",
        (since.added, until.added),
    ):
        if capsule not in firsts or (ts, id_) < firsts[capsule]:
            firsts[capsule] = (ts, id_)
    return firsts


def changed(db: sqlite3.Connection, since: Mark, until: Mark) -> list[str]:
    """The refs of everything else that was written, changed or taken away between two marks."""
    rows = db.execute(
        "SELECT ref, MAX(seq) FROM changes WHERE seq > ? AND seq <= ? GROUP BY ref ORDER BY 2",
        (since.changed, until.changed),
    )
    return [row[0] for row in rows]


def agents(db: sqlite3.Connection) -> list[tuple[str, int, int]]:
    """Each agent with the number of its observations and the time of the last, the latest first."""
    return db.execute(
        "SELECT agent, COUNT(*), MAX(ts) FROM observations WHERE forgotten_at = 0"
        " GROUP BY agent ORDER BY 3 DESC, 1"
    ).fetchall()


class FileEdits(NamedTuple):
    """How much agents changed a file."""

    path: str
    edits: int
    sessions: int
    last: int
    """Epoch milliseconds."""
    days: dict[int, int]
    """Edits by day since 1970."""


def edits(
    db: sqlite3.Connection, after: int = 0, before: int = 1 << 62
) -> list[tuple[str, str, int]]:
    """The edits of agents in a time: the file, the session and the moment of each."""
    return db.execute(
        "SELECT j.value, capsule, ts FROM observations, json_each(files) j"
        " WHERE kind = 'file_diff' AND ts BETWEEN ? AND ? AND NOT redacted"
        " AND forgotten_at = 0 AND j.type = 'text'",
        (after, before),
    ).fetchall()


def by_file(changes: Iterable[tuple[str, str, int]]) -> list[FileEdits]:
    """The files of edits, the most edited first."""
    moments: dict[str, list[int]] = {}
    sessions: dict[str, set[str]] = {}
    for path, session, at in changes:
        moments.setdefault(path, []).append(at)
        sessions.setdefault(path, set()).add(session)
    files = [
        FileEdits(
            path, len(times), len(sessions[path]), max(times), Counter(at // DAY for at in times)
        )
        for path, times in moments.items()
    ]
    return sorted(files, key=lambda file: (-file.edits, -file.last, file.path))


def masked(db: sqlite3.Connection) -> list[tuple[str, int]]:
    """Classes of secrets that were masked, with the number of observations, the most first."""
    return db.execute(
        "SELECT j.value, COUNT(*) FROM observations, json_each(masked, '$.classes') j"
        " WHERE masked != '{}' GROUP BY 1 ORDER BY 2 DESC, 1"
    ).fetchall()


def sessions(db: sqlite3.Connection) -> set[str]:
    """The ids of all sessions that were recorded or imported."""
    return {row[0] for row in db.execute("SELECT DISTINCT session FROM capsules")}


def suppressed(db: sqlite3.Connection) -> set[str]:
    """Refs of files and commits that are not to be shown."""
    return {row[0] for row in db.execute("SELECT ref FROM suppressed")}


def suppressed_at(db: sqlite3.Connection) -> dict[str, int]:
    """When each ref that is not to be shown was hidden."""
    return dict(db.execute("SELECT ref, at FROM suppressed").fetchall())


def tag_ops(db: sqlite3.Connection) -> list[tuple[str, str, str]]:
    """Tags set by hand, in order: the path, `+tag` or `-tag`, the last commit at that time.

    In a team they arrive in any order, so their times and ids decide, the same everywhere.
    """
    order = "created_at, id" if team_person(db) else "seq"
    return db.execute(f"SELECT path, op || tag, head FROM tag_ops ORDER BY {order}").fetchall()


SHORTEST_ID = 8
ID_TABLES = ("observations", "capsules", "summaries", "pins", "memories")


def short_ids(
    db: sqlite3.Connection, ids: Iterable[str], tables: Sequence[str] = ID_TABLES
) -> dict[str, str]:
    """The shortest unique beginning of each id in some tables, of at least SHORTEST_ID characters.

    Only the neighbours in the order of ids can share the longest beginning.
    """
    shorts = {}
    for id_ in ids:
        others = []
        for table in tables:
            before = db.execute(f"SELECT MAX(id) FROM {table} WHERE id < ?", (id_,)).fetchone()[0]
            after = db.execute(f"SELECT MIN(id) FROM {table} WHERE id > ?", (id_,)).fetchone()[0]
            others += [other for other in (before, after) if other]
        shared = max((_shared(id_, other) for other in others), default=0)
        shorts[id_] = id_[: max(SHORTEST_ID, shared + 1)]
    return shorts


def beginnings(names: Iterable[str]) -> dict[str, str]:
    """The same of all names that there are: each name → its shortest unique beginning."""
    ordered = sorted(names)
    shared = [0, *(_shared(*pair) for pair in pairwise(ordered)), 0]
    return {
        name: name[: max(SHORTEST_ID, shared[n] + 1, shared[n + 1] + 1)]
        for n, name in enumerate(ordered)
    }


def _shared(left: str, right: str) -> int:
    """The length of the beginning that two ids share."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(left), len(right)))


SCOPE_NOUNS = {"session": "session", "repo": "repository", "agent": "agent", "user": "user"}
SCOPED_TABLES = ("capsules", "observations", "memories", "pins")
LISTED_NAMES = 4
"""Number of existing names that a message lists."""


def require(db: sqlite3.Connection | None, **scope: str) -> None:
    """Raise NotFound for a name that matches no entry; `db` is None if there is no journal."""
    for column, value in scope.items():
        if value and not (db and _exists(db, column, begins("v"), name(value))):
            noun = SCOPE_NOUNS[column]
            raise NotFound(f"no {noun} {value!r} in this space", _hint(db, column))


def part_of(db: sqlite3.Connection, value: str) -> str:
    """Whether a name is that of a session or of a repository; whole names before beginnings."""
    for test in ("v = ?", begins("v")):
        for column in ("session", "repo"):
            if _exists(db, column, test, name(value)):
                return column
    return "session"


def _exists(db: sqlite3.Connection, column: str, test: str, value: str) -> bool:
    tables = (
        f"SELECT 1 FROM (SELECT DISTINCT {column} AS v FROM {table}) WHERE {test} LIMIT 1"
        for table in SCOPED_TABLES
    )
    return any(db.execute(query, (value,)).fetchone() for query in tables)


def _hint(db: sqlite3.Connection | None, column: str) -> str:
    """The names that exist; of sessions the latest."""
    if not db:
        return "nothing is recorded here yet: `kinen install` connects an agent"
    names = db.execute(
        f"SELECT {column} FROM capsules WHERE {column} != '' GROUP BY {column}"
        f" ORDER BY MAX(opened_at) DESC LIMIT {LISTED_NAMES + 1}"
    ).fetchall()
    if not names:
        return "no entry here has one"
    texts = ["…" if n == LISTED_NAMES else value for n, (value,) in enumerate(names)]
    return f"use one of {', '.join(texts)}"


DAYS = 14


class AgentActivity(NamedTuple):
    """An agent and its last event, in epoch milliseconds."""

    agent: str
    at: int


class Activity(NamedTuple):
    """What happened lately in a space."""

    observations: int = 0
    days: tuple[int, ...] = (0,) * DAYS
    """Events of each of the last days, today last."""
    agents: tuple[AgentActivity, ...] = ()
    """The last active first."""
    open_sessions: tuple[AgentActivity, ...] = ()
    """The agent of each open session, and when it began; the newest first."""


def observation_count(db: sqlite3.Connection) -> int:
    """How many observations there are that were not forgotten."""
    count = db.execute("SELECT COUNT(*) FROM observations WHERE forgotten_at = 0").fetchone()[0]
    return int(count)


def first_at(db: sqlite3.Connection) -> int:
    """When the first observation was made, in epoch milliseconds; 0 without any."""
    return int(db.execute("SELECT IFNULL(MIN(ts), 0) FROM observations").fetchone()[0])


def only_open_session(db: sqlite3.Connection, agent: str) -> str:
    """The session that an agent has open, if it is one."""
    rows = db.execute(
        "SELECT session FROM capsules WHERE status = 'open' AND type = 'session'"
        " AND agent = ? LIMIT 2",
        (agent,),
    ).fetchall()
    return str(rows[0][0]) if len(rows) == 1 else ""


def recent_activity(db: sqlite3.Connection, now: float) -> Activity:
    """The activity until now, in days of local time."""
    today = time.localtime(now)
    midnight = time.mktime((*today[:3], 0, 0, 0, 0, 0, -1)) * 1000
    first = midnight - (DAYS - 1) * DAY
    days = [0] * DAYS
    rows = db.execute(
        "SELECT CAST((ts - ?) / ? AS INTEGER), COUNT(*) FROM observations"
        " WHERE ts >= ? AND forgotten_at = 0 GROUP BY 1",
        (first, DAY, first),
    )
    for day, count in rows:
        days[min(day, DAYS - 1)] += count
    agents = db.execute(
        "SELECT agent, MAX(ts) FROM observations WHERE agent != '' AND forgotten_at = 0"
        " GROUP BY agent ORDER BY 2 DESC"
    )
    sessions = db.execute(
        "SELECT agent, opened_at FROM capsules WHERE status = 'open' AND type = 'session'"
        " AND forgotten_at = 0 ORDER BY opened_at DESC"
    )
    return Activity(
        observation_count(db),
        tuple(days),
        tuple(AgentActivity(*row) for row in agents),
        tuple(AgentActivity(*row) for row in sessions),
    )
