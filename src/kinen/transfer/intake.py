"""Entries on their way into the journal: checked, masked, and stored all or none."""

from __future__ import annotations

import contextlib
import json
import re
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from kinen.errors import StoreError
from kinen.model.kinds import REDACTED
from kinen.privacy.entrance import identifier, plain
from kinen.storage.database import translated, writing
from kinen.transfer.fields import LONGEST_ID, SCOPE, encode, let_go
from kinen.transfer.sections import REQUIRED, SECTIONS, Field, Section

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kinen.transfer.fields import Column, Found

    Conflict = Literal["skip", "overwrite", "error"]
    Source = Callable[[Callable[[], object]], Iterable[tuple[str, list[Any]]]]
    Row = tuple[Any, ...]

MAJOR = 1
"""The version of bundles that is read, and those before it."""
BATCH = 250
"""Entries that are judged and inserted together: a statement of that many rows costs a quarter less
than that many statements."""
PAGES_KB = 64_000
"""Memory for pages: with SQLite's own 2 MB the indexes are read again and again."""
MEND = "nothing was imported; mend it or export it again"
UNCHANGED = "nothing was imported"

TARGETS = {section.noun: section for section in SECTIONS if section.live != "1"}
"""What can be pinned and forgotten, by kind."""

_KEYS = {
    key: section.table
    for section in SECTIONS
    for key in (section.table, section.noun, f"dataset.{section.table}")
}
_VERSIONS = {"version", "bundleVersion", "dataset.version"}
_TIMES = {"exported_at", "exportedAt", "dataset.exportedAt"}
_FILTERS = {"scope_filter", "dataset.scope"}
_SEALS = {"masked", "digest"}
_LIVE, _ERASED, _FORGOTTEN = range(3)
_MANY = 50


def _insertion(section: Section, rows: int) -> str:
    places = f"({', '.join('?' * len(section.columns))})"
    names = ", ".join(section.columns)
    insert = f"INSERT OR IGNORE INTO {section.table}({names}) VALUES "
    return insert + ", ".join([places] * rows)


_ONE = {section.table: _insertion(section, 1) for section in SECTIONS}
_BATCH = {section.table: _insertion(section, BATCH) for section in SECTIONS}


class Loaded(NamedTuple):
    """What an import did, or would have done were it not a dry run; counts by table."""

    added: dict[str, int]
    skipped: dict[str, int]
    replaced: dict[str, int]
    forgotten: int
    """Entries that were forgotten here, and stay so."""
    masked: int
    """Secrets that were masked on the way in."""
    ignored: dict[str, int]
    """Fields that kinen does not know."""
    notes: tuple[str, ...]


class Intake:
    """One import."""

    def __init__(
        self,
        db: sqlite3.Connection,
        name: str,
        conflict: Conflict,
        progress: Callable[[int], None] | None = None,
        *,
        sealed: bool = False,
    ) -> None:
        self._db, self._name, self._conflict, self._sealed = db, name, conflict, sealed
        self._progress = progress or (lambda _: None)
        self._waiting: dict[str, list[Any]] = {section.table: [] for section in SECTIONS}
        self._read, self._added, self._skipped, self._replaced = (
            dict.fromkeys(self._waiting, 0) for _ in range(4)
        )
        self._ignored: dict[str, int] = {}
        self._masked = self._forgotten = self._erased = self._loose = self._shared = 0
        self._header: set[str] = set()
        self._last = 0

    def take(self, source: Source, *, dry_run: bool) -> Loaded:
        """Take in all that a source has, in one transaction.

        The source is given what to call before it gathers more.
        """
        waiting = {key: self._waiting[table] for key, table in _KEYS.items()}
        self._db.execute(f"PRAGMA cache_size=-{PAGES_KB}")
        own = translated(place(self._db), UNCHANGED)
        with own, contextlib.suppress(_Undone), _letting_go(), writing(self._db):
            self._begin()
            for key, values in source(self._flush):
                if key in waiting:
                    waiting[key].extend(values)
                    self._flush(BATCH)
                else:
                    self._heed(key, values)
            self._flush()
            self._end()
            if dry_run:
                raise _Undone
        return self._loaded()

    def _begin(self) -> None:
        self._db.execute("CREATE TEMP TABLE gathered(capsule TEXT, ids TEXT)")
        last = "SELECT IFNULL(MAX(seq), 0) FROM observations"
        self._last = self._db.execute(last).fetchone()[0]

    def _end(self) -> None:
        if not self._header & _VERSIONS or not (self._header & _TIMES or any(self._read.values())):
            raise StoreError(
                f"{self._name}: not a bundle",
                "`kinen import` reads what `kinen export` or Kindling wrote",
            )
        if self._header & _SEALS == {"masked"}:
            raise StoreError(f"{self._name}: cut short, its last line is missing", MEND)
        if self._loose:
            self._group()
        self._db.execute("DROP TABLE temp.gathered")

    def _loaded(self) -> Loaded:
        notes = (
            (self._shared, "observations in more than one capsule, kept in the first"),
            (self._erased, "redacted here, which they stay"),
        )
        changed = ["it was changed since it was exported, or is of another version of kinen"]
        changed *= "digest" in self._header and not self._sealed
        return Loaded(
            *(self._added, self._skipped, self._replaced, self._forgotten, self._masked),
            self._ignored,
            (*(f"{text}: {count}" for count, text in notes if count), *changed),
        )

    # What is said of the bundle itself

    def _heed(self, key: str, values: list[Any]) -> None:
        if key in _VERSIONS:
            for version in values:
                self._check(version)
        if key in _VERSIONS | _TIMES | _SEALS:
            self._header.add(key)
        elif key not in _FILTERS:
            self._ignore(key, len(values))

    def _check(self, version: object) -> None:
        major = (
            re.match(r"(\d{1,9})(?:\.[\w.-]{0,20})?$", version)
            if isinstance(version, str)
            else None
        )
        if major is None:
            raise StoreError(f"{self._name}: no version I know: {str(version)[:40]!r}", MEND)
        if int(major[1]) > MAJOR:
            raise StoreError(
                f"{self._name} is of version {major[0]}; this kinen reads {MAJOR}.x",
                f"{UNCHANGED}; update kinen: pip install -U kinen",
            )

    def _ignore(self, name: str, count: int = 1) -> None:
        name = plain(name[:80])
        name = name if name in self._ignored or len(self._ignored) < _MANY else "others"
        self._ignored[name] = self._ignored.get(name, 0) + count

    # Entries

    def _flush(self, least: int = 1) -> None:
        """Store what waits, as long as it is so many."""
        for section in SECTIONS:
            items = self._waiting[section.table]
            while len(items) >= least:
                batch = items[:BATCH]
                del items[:BATCH]
                self._store(section, batch)
                self._read[section.table] += len(batch)
                self._progress(sum(self._read.values()))

    def _store(self, section: Section, items: list[Any]) -> None:
        columns = self._columns(section, items)
        if section.table == "observations":
            self._loose += columns[section.columns.index("capsule")].count("")
        if section.table == "capsules":
            own = str if self._sealed else identifier
            groups = [(own(item["id"]), item.get("observationIds") or ()) for item in items]
            held = [(id_, encode([*map(own, ids)])) for id_, ids in groups if ids]
            self._db.executemany("INSERT INTO temp.gathered VALUES (?, ?)", held)
        rows = list(zip(*columns, strict=True))
        if section.table == "pins":
            rows = self._aimed(rows)
        (self._fill if self._conflict == "skip" else self._settle)(section, rows)

    def _columns(self, section: Section, items: list[Any]) -> list[Column]:
        """The cells of some entries by column."""
        before = self._read[section.table]
        if not {dict}.issuperset(map(type, items)):
            number = before + [type(item) is dict for item in items].index(False) + 1
            raise StoreError(f"{self._name}: {section.noun} {number} is not an object", MEND)
        found: Found = None if self._sealed else {}
        columns: list[Column] = []
        try:
            for field in section.fields:
                columns.extend(_cells(field, items, found))
            for field in () if self._sealed else section.derived:
                _cells(field, items, found)
        except (ValueError, RecursionError):
            raise self._wrong(section, items, before) from None
        self._masked += sum(sum(secrets.values()) for secrets in (found or {}).values())
        if not self._sealed:
            self._count(section, items)
        _redact(section, columns)
        return columns

    def _wrong(self, section: Section, items: list[Any], before: int) -> StoreError:
        """Which entry it is that cannot be, and why."""
        for number, item in enumerate(items, before + 1):
            for field in (*section.fields, *section.derived):
                try:
                    _cells(field, [item], {})
                except (ValueError, RecursionError) as error:
                    id_ = item.get(section.fields[0].name)
                    which = f" ({id_[:LONGEST_ID]!r})" if type(id_) is str else ""
                    where = f"{self._name}: {section.noun} {number}{which}"
                    what = _reason(error) if item.get(field.name) is not None else "missing"
                    return StoreError(f"{where}: {field.name} is {what}", MEND)
        return StoreError(f"{self._name}: {section.table} after the first {before} are wrong", MEND)

    def _count(self, section: Section, items: list[Any]) -> None:
        """Count the fields that are not kept."""
        known = {field.name for field in (*section.fields, *section.derived)}
        scopes = [item.get("scopeIds") or {} for item in items] if "scopeIds" in known else []
        for place, names, objects in (
            (section.table, known, items),
            (f"{section.table}.scopeIds", set(SCOPE), scopes),
        ):
            for name in sorted(set().union(*objects) - names):
                self._ignore(f"{place}.{name}", sum(name in one for one in objects))

    # Conflicts

    def _fill(self, section: Section, rows: Sequence[Row]) -> None:
        """Insert what is not there."""
        added = self._insert(section, rows)
        self._added[section.table] += added
        if added < len(rows):
            states = self._states(section, rows)
            forgotten = sum(states.get(row[0]) == _FORGOTTEN for row in rows)
            self._forgotten += forgotten
            self._skipped[section.table] += len(rows) - added - forgotten

    def _settle(self, section: Section, rows: Sequence[Row]) -> None:
        """Insert what is not there; replace what is, or refuse."""
        states, new, old = self._states(section, rows), [], []
        for row in rows:
            state = states.setdefault(row[0])
            if state is None:
                states[row[0]] = _LIVE
                new.append(row)
            elif state == _FORGOTTEN:
                self._forgotten += 1
            elif self._conflict == "error":
                raise StoreError(
                    f"{self._name}: {section.noun} {row[0]} is in the journal already",
                    f"{UNCHANGED}; pass --on-conflict skip or overwrite",
                )
            elif state == _ERASED:
                self._erased += 1
                self._skipped[section.table] += 1
            else:
                old.append((*row[1:], row[0]))
        self._added[section.table] += self._insert(section, new)
        self._replaced[section.table] += len(old)
        cells = ", ".join(f"{name} = ?" for name in section.columns[1:])
        update = f"UPDATE {section.table} SET {cells} WHERE {section.key} = ?"
        self._db.executemany(update, old)

    def _insert(self, section: Section, rows: Sequence[Row]) -> int:
        if len(rows) == BATCH:
            cells = tuple(chain.from_iterable(rows))
            return self._db.execute(_BATCH[section.table], cells).rowcount
        return max(self._db.executemany(_ONE[section.table], rows).rowcount, 0)

    def _states(self, section: Section, rows: Sequence[Row]) -> dict[str, int | None]:
        """Of those that are in the journal: whether they live, were redacted, or were forgotten."""
        found = self._db.execute(
            f"SELECT {section.key}, CASE WHEN NOT {section.live} THEN {_FORGOTTEN}"
            f" WHEN {section.erased} THEN {_ERASED} ELSE {_LIVE} END FROM {section.table}"
            f" WHERE {section.key} IN ({', '.join('?' * len(rows))})",
            [row[0] for row in rows],
        )
        return dict(found.fetchall())

    def _aimed(self, rows: list[Row]) -> list[Row]:
        """Pins whose target was not forgotten here."""
        kept = []
        for row in rows:
            section = TARGETS.get(row[1])
            states = self._states(section, [(row[2],)]) if section else {}
            if states.get(row[2]) == _FORGOTTEN:
                self._forgotten += 1
            else:
                kept.append(row)
        return kept

    def _group(self) -> None:
        """Put observations that came without a capsule into the first one that lists them."""
        db = self._db
        db.execute(
            "CREATE TEMP TABLE held(id TEXT PRIMARY KEY, capsule TEXT NOT NULL) WITHOUT ROWID"
        )
        for capsule, text in db.execute("SELECT capsule, ids FROM temp.gathered ORDER BY rowid"):
            ids = dict.fromkeys(json.loads(text))
            held = db.executemany(
                "INSERT OR IGNORE INTO temp.held VALUES (?, ?)", ((id_, capsule) for id_ in ids)
            )
            self._shared += len(ids) - held.rowcount
        db.execute(
            "UPDATE observations SET capsule = held.capsule FROM temp.held"
            " WHERE held.id = observations.id AND observations.capsule = ''"
            " AND forgotten_at = 0 AND (seq > ? OR ?)",
            (self._last, self._conflict == "overwrite"),
        )
        db.execute("DROP TABLE temp.held")


class _Undone(Exception):
    """Ends a dry run."""


def _cells(field: Field, items: list[Any], found: Found) -> Sequence[Column]:
    """The columns of one field; ValueError if one of the entries cannot be."""
    name, _, form, empty, _ = field
    if found is None and empty is REQUIRED:
        return form.keep(list(map(itemgetter(name), items)), found)
    values = [item.get(name, empty) for item in items]
    if found is not None and not form.fits(values):
        values = [empty if value is None else value for value in values]
        if not form.fits(values):
            raise ValueError(f"not {form.words}")
    return form.keep(values, found)


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deep"
    return str(error) if str(error).startswith("not ") else "not JSON"


@contextlib.contextmanager
def _letting_go() -> Iterator[None]:
    """Nothing here refers to itself: looking for such garbage would take a tenth of the time."""
    import gc

    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        let_go()
        if enabled:
            gc.enable()


def place(db: sqlite3.Connection) -> str:
    """Where a journal lives, for messages."""
    return db.execute("PRAGMA database_list").fetchone()[2] or "the journal"


def _redact(section: Section, columns: list[Column]) -> None:
    """What was redacted elsewhere is so here, whatever the bundle still says."""
    names = section.columns
    if "redacted" not in names or not any(columns[names.index("redacted")]):
        return
    emptied = {"content": REDACTED, "provenance": "{}"}
    for index, redacted in enumerate(columns[names.index("redacted")]):
        for name in emptied.keys() & set(names) if redacted else ():
            columns[names.index(name)][index] = emptied[name]
