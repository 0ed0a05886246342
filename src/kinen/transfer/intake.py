"""Entries on their way into the journal: checked, masked, and stored all or none."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Callable, Iterable
from typing import Any, Literal

from kinen import errors
from kinen.errors import StoreError
from kinen.journal.selection import TARGETS
from kinen.journal.store import Bulk, State
from kinen.model.kinds import REDACTED
from kinen.model.tuples import NamedTuple
from kinen.privacy.entrance import plain
from kinen.transfer.sections import LONGEST_ID, SCOPE, SECTIONS, Masker, Section, UnfitValue

Conflict = Literal["skip", "overwrite", "error"]
MAJOR = 1
"""The newest major version of bundles that can be read."""
FIX = "nothing was imported; fix the file or export it again"
UNCHANGED = "nothing was imported"

_VERSIONS = {"version", "bundleVersion", "dataset.version"}
_TIMES = {"exported_at", "exportedAt", "dataset.exportedAt"}
_FILTERS = {"scope_filter", "dataset.scope"}
_SEALS = {"masked", "digest"}
_ORIGINS = {"space"}
_MOST_IGNORED = 50
"""Unknown fields that are counted by name."""
_STEP = 250
"""Entries between two reports of the progress."""


_COLUMNS = {section.table: section.columns for section in SECTIONS}
_FIELDS = {section.table: (*section.fields, *section.derived) for section in SECTIONS}
_NAMES = {table: {field.name for field in fields} for table, fields in _FIELDS.items()}
_SECTION_OF = {
    key: section
    for section in SECTIONS
    for key in (section.table, section.noun, f"dataset.{section.table}")
}


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
    """One import. `sealed` entries come as this home exported them and need no masking.

    Values are checked all the same. None means that nobody looked, as in a pipe, which cannot be
    read twice.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        name: str,
        conflict: Conflict,
        progress: Callable[[int], None] | None = None,
        *,
        sealed: bool | None = False,
    ) -> None:
        tables = [section.table for section in SECTIONS]
        self._journal = Bulk(db, _COLUMNS)
        self._name = name
        self._conflict = conflict
        self._sealed = sealed
        self._masker = Masker()
        self._progress = progress
        self._read = dict.fromkeys(tables, 0)
        self._added = dict.fromkeys(tables, 0)
        self._skipped = dict.fromkeys(tables, 0)
        self._replaced = dict.fromkeys(tables, 0)
        self._ignored: dict[str, int] = {}
        self._header: set[str] = set()
        self._masked = 0
        self._forgotten = 0
        self._erased = 0
        self._without_capsule = 0
        self._in_two_capsules = 0

    def take(self, members: Iterable[tuple[str, Any]], *, dry_run: bool) -> Loaded:
        """Store the entries of a bundle in one transaction.

        A member is an entry under the name of its section or table, or a value of the header.
        """
        with contextlib.suppress(_Undo), self._journal.transaction(UNCHANGED):
            for key, value in members:
                section = _SECTION_OF.get(key)
                if section is None:
                    if key in _VERSIONS:
                        self._check_version(value)
                    if key in _VERSIONS | _TIMES | _SEALS:
                        self._header.add(key)
                    elif key not in _FILTERS | _ORIGINS:
                        self._ignore(key)
                else:
                    self._store(section, value)
            dated = self._header & _TIMES or any(self._read.values())
            if not self._header & _VERSIONS or not dated:
                raise StoreError(
                    f"{self._name}: not a bundle",
                    "`kinen import` reads what `kinen export` or Kindling wrote",
                )
            if self._header & _SEALS == {"masked"}:
                raise StoreError(f"{self._name}: cut short, its last line is missing", FIX)
            if self._without_capsule:
                self._journal.assign_capsules(overwrite=self._conflict == "overwrite")
            self._report(sum(self._read.values()))
            if dry_run:
                raise _Undo
        return self._loaded()

    def _report(self, count: int) -> None:
        if self._progress is not None:
            self._progress(count)

    def _loaded(self) -> Loaded:
        notes = []
        if self._without_capsule and self._in_two_capsules:
            notes.append(
                f"observations in more than one capsule, kept in the first: {self._in_two_capsules}"
            )
        if self._erased:
            notes.append(f"entries that were redacted here, and stay so: {self._erased}")
        if "digest" in self._header and self._sealed is False:
            seal = "no current seal of this home fits the bundle"
            notes.append(f"{seal}: everything in it was checked and masked")
        return Loaded(
            added=self._added,
            skipped=self._skipped,
            replaced=self._replaced,
            forgotten=self._forgotten,
            masked=self._masked,
            ignored=self._ignored,
            notes=tuple(notes),
        )

    def _check_version(self, version: object) -> None:
        match = None
        if isinstance(version, str):
            match = re.match(r"(\d{1,9})(?:\.[\w.-]{0,20})?$", version)
        if match is None:
            raise StoreError(f"{self._name}: invalid version {str(version)[:40]!r}", FIX)
        if int(match[1]) > MAJOR:
            raise StoreError(
                f"{self._name} is of version {match[0]}; this kinen reads {MAJOR}.x",
                f"{UNCHANGED}; update kinen: pip install -U kinen",
            )

    def _ignore(self, name: str) -> None:
        name = plain(name[:80])
        if name not in self._ignored and len(self._ignored) >= _MOST_IGNORED:
            name = "others"
        self._ignored[name] = self._ignored.get(name, 0) + 1

    def _store(self, section: Section, item: Any) -> None:
        self._read[section.table] += 1
        if type(item) is not dict:
            raise StoreError(f"{self._where(section)} is not an object", FIX)
        names = _NAMES[section.table]
        for name in item:
            if name not in names:
                self._ignore(f"{section.table}.{name}")
        scope = item.get("scopeIds")
        if "scopeIds" in names and type(scope) is dict:
            for name in scope:
                if name not in SCOPE:
                    self._ignore(f"{section.table}.scopeIds.{name}")
        values, cells = self._values(section, item)
        if section.table == "capsules" and values["observationIds"]:
            others = self._journal.hold(values["id"], values["observationIds"])
            self._in_two_capsules += others
        if section.table == "observations" and not values["capsuleId"]:
            self._without_capsule += 1
        target = TARGETS.get(values["targetType"]) if section.table == "pins" else None
        if target and self._journal.state(target.name, values["targetId"]) == State.FORGOTTEN:
            self._forgotten += 1
        else:
            self._insert(section, values[section.key.name], cells)
        count = sum(self._read.values())
        if count % _STEP == 0:
            self._report(count)

    def _values(
        self, section: Section, item: dict[str, Any]
    ) -> tuple[dict[str, Any], list[object]]:
        """The values of an entry by field, checked and without secrets, and its cells in order."""
        values = {}
        cells: list[object] = []
        masker = self._masker
        masker.secrets = {}
        field = section.key
        try:
            for field in _FIELDS[section.table]:
                value = field.value(item)
                values[field.name] = value if self._sealed else field.form.mask(masker, value)
            if values.get("redacted"):
                # The bundle may still hold the text that was redacted where it comes from.
                values["content"] = REDACTED
                values["provenance"] = {}
            for field in section.fields:
                cells.extend(field.form.store(values[field.name]))
        except (ValueError, RecursionError) as error:
            if isinstance(error, UnfitValue):
                fact = str(error)
            elif isinstance(error, RecursionError):
                fact = "nested too deep"
            else:
                fact = "not JSON"
            raise StoreError(f"{self._where(section, item)}: {field.name} is {fact}", FIX) from None
        self._masked += sum(masker.secrets.values())
        return values, cells

    def _where(self, section: Section, item: dict[str, Any] | None = None) -> str:
        where = f"{self._name}: {section.noun} {self._read[section.table]}"
        key = (item or {}).get(section.key.name)
        return f"{where} ({key[:LONGEST_ID]!r})" if type(key) is str else where

    def _insert(self, section: Section, key: str, cells: list[object]) -> None:
        """Insert an entry; if it exists, leave or replace it, or refuse."""
        try:
            inserted = self._journal.add(section.table, cells)
        except UnicodeEncodeError as error:
            # only where nothing was masked: otherwise lone surrogates were replaced before
            raise StoreError(
                f"{self._where(section)} holds text that is not Unicode", FIX
            ) from error
        if inserted:
            self._added[section.table] += 1
            return
        state = self._journal.state(section.table, key)
        if state == State.FORGOTTEN:
            self._forgotten += 1
        elif self._conflict == "error":
            raise errors.Conflict(
                f"{self._name}: {section.noun} {key} is in the journal already",
                f"{UNCHANGED}; use skip or overwrite",
                parameter="on_conflict",
            )
        elif self._conflict == "skip":
            self._skipped[section.table] += 1
        elif state == State.ERASED:
            self._erased += 1
            self._skipped[section.table] += 1
        else:
            self._replaced[section.table] += 1
            self._journal.replace(section.table, cells)


class _Undo(Exception):
    """Ends a dry run: the transaction is rolled back."""
