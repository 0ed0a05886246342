"""The entries that an export is made of.

A bundle keeps the places of redacted entries and the names of forgotten files, because it is a
backup. A page is attached to tickets and archived, so they are not in it at all (`Filter.shared`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from kinen.journal.queries import NOUNS, decode
from kinen.model.kinds import REDACTED
from kinen.model.late import Any, json
from kinen.model.tuples import NamedTuple
from kinen.storage.database import begins, path_of, translated, trial

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
_HIDDEN = "SELECT substr(ref, instr(ref, ':') + 1) FROM suppressed"
_SHARED = {
    "observations": "NOT redacted",
    "memories": "NOT redacted",
    "summaries": "NOT redacted",
    # a session stays if only its first prompt was redacted
    "capsules": "(NOT ({erased}) OR EXISTS (SELECT 1 FROM observations"
    " WHERE capsule = capsules.id AND capsule != '' AND {observations}))",
    "pins": f"NOT ({{erased}}) AND target_id NOT IN ({_HIDDEN})",
    "tag_ops": f"path NOT IN ({_HIDDEN})",
    "suppressed": "0",
}
"""The SQL conditions of entries that may be handed on, by table."""
_REFERENCES = {
    "capsule": "live_ref('capsule', capsule)",
    "parent": "live_ref('capsule', parent)",
    "superseded_by": "live_ref('memory', superseded_by)",
    "edits": "live_ref('memory', edits)",
    "evidence_refs": "live_refs('observation', evidence_refs)",
    "derived_from": "live_refs('', derived_from)",
}
"""Columns with the ids of other entries, of one kind, or with refs: read without erased ones."""
BY_SESSION = "coalesce(nullif(live_ref('capsule', capsule), ''), session), ts, id"
"""The order of observations that are shared: each session by itself."""
_ERASED = (
    "SELECT 'observation:' || id FROM observations WHERE forgotten_at OR redacted"
    " UNION ALL SELECT 'memory:' || id FROM memories WHERE forgotten_at OR redacted"
    " UNION ALL SELECT 'summary:' || id FROM summaries WHERE forgotten_at OR redacted"
    " UNION ALL SELECT 'capsule:' || id FROM capsules WHERE forgotten_at"
    " UNION ALL SELECT ref FROM suppressed"
)


class Filter(NamedTuple):
    """What to export; an empty field selects everything."""

    session: str = ""
    repo: str = ""
    after: int = 0
    """Epoch milliseconds, inclusive."""
    before: int = 0
    """Epoch milliseconds, exclusive."""
    agent: str = ""
    user: str = ""
    shared: bool = False
    """Whether entries that were redacted, and names of what was forgotten, are left out."""

    @property
    def partial(self) -> bool:
        """Whether it selects a part of the journal."""
        return any(self._replace(shared=False))


class Selection:
    """Reads the entries of a journal that pass a filter."""

    def __init__(self, db: sqlite3.Connection, only: Filter) -> None:
        self._db = db
        self.only = only

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read everything as of now, and not as of the first entry that is read."""
        where = path_of(self._db) or "the journal"
        with translated(where, "run `kinen doctor`"), trial(self._db, "BEGIN"):
            self._db.execute("SELECT 1 FROM sqlite_master").fetchone()
            if self.only.shared:
                _add_functions(self._db)
            yield

    def rows(
        self, table: str, columns: Sequence[str], order: str = ""
    ) -> Iterator[tuple[Any, ...]]:
        """The cells of the entries of a table, in an order that never varies."""
        if self.only.shared:
            columns = [_REFERENCES.get(column, column) for column in columns]
        return self._db.execute(
            f"SELECT {', '.join(columns)} FROM {table}"
            f" WHERE {_where(table, self.only)} ORDER BY {order or TABLES[table].order}",
            self.only._asdict(),
        )

    def entries(self, table: str, order: str = "") -> Iterator[Any]:
        """The entries of a table as values; by default in the order of `rows`."""
        noun = NOUNS[table]
        for row in self.rows(table, noun.columns.split(", "), order):
            yield decode(noun.kind, row)

    def observations_of(self, capsule: str) -> list[str]:
        """The ids of the selected observations of a capsule, as they happened."""
        rows = self._db.execute(
            "SELECT id FROM observations WHERE capsule = :capsule AND capsule != ''"
            f" AND {_where('observations', self.only)} ORDER BY ts, id",
            {**self.only._asdict(), "capsule": capsule},
        )
        return [id_ for (id_,) in rows]

    def summary_of(self, capsule: str) -> str:
        """The id of the newest summary of a capsule; empty without one."""
        live = "NOT redacted AND" if self.only.shared else ""
        row = self._db.execute(
            f"SELECT id FROM summaries WHERE {live} capsule = ? AND forgotten_at = 0"
            " ORDER BY created_at DESC, id DESC LIMIT 1",
            (capsule,),
        ).fetchone()
        return row[0] if row else ""


def hidden_paths(db: sqlite3.Connection) -> set[str]:
    """The paths of files that were forgotten."""
    return {path for (path,) in db.execute(_HIDDEN)}


def _add_functions(db: sqlite3.Connection) -> None:
    """Define the functions of `_REFERENCES`; they know what is erased now."""
    erased = {str(ref) for (ref,) in db.execute(_ERASED)}

    def is_live(kind: str, ref: str) -> bool:
        return ref not in erased and f"{kind}:{ref}" not in erased

    def live_ref(kind: str, ref: str) -> str:
        return ref if is_live(kind, ref) else ""

    def live_refs(kind: str, cell: str) -> str:
        try:
            refs = json.loads(cell)
        except ValueError:
            return cell  # what reads it will say so
        live = [ref for ref in refs if is_live(kind, str(ref))]
        return cell if len(live) == len(refs) else json.dumps(live, ensure_ascii=False)

    db.create_function("live_ref", 2, live_ref)
    db.create_function("live_refs", 2, live_refs)


def _where(table: str, only: Filter) -> str:
    """The SQL condition that an entry of a table is exported."""
    live = TABLES[table].live
    if only.shared:
        observations = _where("observations", only) if table == "capsules" else ""
        condition = _SHARED[table].format(erased=TABLES[table].erased, observations=observations)
        live = f"{live} AND {condition}"
    if table in ("suppressed", "tag_ops"):
        live = "NOT replaced" if table == "suppressed" and not only.shared else live
        return "0" if only.partial else live
    if table == "pins":
        # Pins go with their target; those of files only with the whole journal.
        kinds = [
            f"target_type = '{noun}' AND EXISTS (SELECT 1 FROM {target.name}"
            f" WHERE id = pins.target_id AND {_where(target.name, only)})"
            for noun, target in TARGETS.items()
        ]
        if not only.partial:
            nouns = ", ".join(f"'{noun}'" for noun in TARGETS)
            kinds.append(f"target_type NOT IN ({nouns})")
        return f"{live} AND ({' OR '.join(kinds)})"
    if table == "summaries":
        if not any(only):
            return live
        capsules = _where("capsules", only)
        capsule = "EXISTS (SELECT 1 FROM capsules WHERE id = summaries.capsule AND"
        if only.partial:
            return f"{live} AND {capsule} {capsules})"
        return f"{live} AND NOT {capsule} NOT ({capsules}))"
    names = ("session", "repo", "agent", "user")
    scope = [begins(name, f":{name}") for name in names if getattr(only, name)]
    column = {"observations": "ts", "capsules": "opened_at", "memories": "created_at"}[table]
    period = [f"{column} >= :after"] if only.after else []
    period += [f"{column} < :before"] if only.before else []
    if table == "capsules" and period:
        held = (
            "EXISTS (SELECT 1 FROM observations WHERE capsule = capsules.id AND capsule != ''"
            f" AND {_where('observations', only)})"
        )
        period = [f"({' AND '.join(period)} OR {held})"]
    return " AND ".join([live, *scope, *period])


class Table(NamedTuple):
    """What SQL needs to know of a table."""

    name: str
    noun: str
    order: str = "created_at, id"
    live: str = "forgotten_at = 0"
    erased: str = "redacted"
    """The SQL condition of an entry whose text was taken out."""

    @property
    def forgettable(self) -> bool:
        """Whether an entry leaves a tombstone; those of other tables are deleted."""
        return self.live != "1"


TABLES = {
    table.name: table
    for table in (
        Table("observations", "observation", order="ts, id"),
        Table("capsules", "capsule", order="opened_at, id", erased=f"intent = '{REDACTED}'"),
        # A summary that kinen wrote may quote an observation that was taken out since.
        Table(
            "summaries",
            "summary",
            erased="redacted OR NOT written AND EXISTS (SELECT 1 FROM observations o"
            " WHERE o.capsule = summaries.capsule AND (o.redacted OR o.forgotten_at))",
        ),
        Table("pins", "pin", live="1", erased=f"reason = '{REDACTED}'"),
        Table("memories", "memory"),
        Table("suppressed", "suppressed", order="at, ref", live="1", erased="0"),
        Table("tag_ops", "tag", live="1", erased="0"),
    )
}
TARGETS = {table.noun: table for table in TABLES.values() if table.forgettable}
"""What can be pinned and forgotten, by kind."""
