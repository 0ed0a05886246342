"""Entries of the journal as the fields that travel, checked and masked, and back into rows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kinen.errors import InvalidEntry
from kinen.journal import erase
from kinen.model.kinds import REDACTED
from kinen.model.team import WITHDRAWN, Version
from kinen.model.tuples import NamedTuple
from kinen.team.merge import TEXTS, change, redact
from kinen.transfer.fields import Masker
from kinen.transfer.intake import Intake
from kinen.transfer.sections import SECTIONS, Section

SECTION = {section.noun: section for section in SECTIONS}
HIDDEN = "hidden"
"""The field of `suppressed` that says whether the ref is hidden now."""
FIX = "update kinen on both sides"
_SELECT = {
    noun: f"SELECT {', '.join(section.columns)}{', forgotten_at' if section.forgettable else ''}"
    f" FROM {section.table} WHERE {section.key.column} = ?"
    for noun, section in SECTION.items()
}


class Row(NamedTuple):
    """An entry as the journal has it."""

    fields: Mapping[str, Any]
    forgotten: int = 0


def read(db: sqlite3.Connection, noun: str, id_: str) -> Row | None:
    """An entry of the journal; None if it has none of that id."""
    section = SECTION[noun]
    buried = section.forgettable
    row = db.execute(_SELECT[noun], (id_,)).fetchone()
    if row is None:
        return None
    cells = iter(row)
    fields: dict[str, Any] = {}
    for field in section.fields:
        values = [next(cells) for _ in field.columns]
        fields[field.name] = json.loads(field.form.show(*values))
    if noun == "suppressed":
        fields[HIDDEN] = True
    return Row(fields, next(cells) if buried else 0)


def is_redacted(noun: str, fields: Mapping[str, Any]) -> bool:
    """Whether the text of an entry was taken out."""
    if "redacted" in fields:
        return bool(fields["redacted"])
    return any(fields.get(name) == REDACTED for name in TEXTS.get(noun, {}))


def clean_fields(noun: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an entry as the journal may hold them, without secrets.

    Raises InvalidEntry for a field that it cannot hold.
    """
    masker = Masker()
    clean: dict[str, Any] = {}
    for field in SECTION[noun].fields:
        try:
            clean[field.name] = field.form.mask(masker, field.value(dict(fields)))
        except (ValueError, RecursionError):
            raise InvalidEntry(f"an invalid {field.name} in a {noun} of the team", FIX) from None
    if fields.keys() - clean.keys() - {HIDDEN, WITHDRAWN}:
        raise InvalidEntry(f"an unknown field in a {noun} of the team", FIX)
    return clean


def checked(version: Version) -> Version:
    """A version with every field as it may be, and without secrets.

    Raises InvalidEntry for one that the journal cannot hold. What had to be masked is a change of
    its own, so that the masked text wins wherever the other one has got to.
    """
    if version.forgotten or version.withdrawn:
        return version
    clean = clean_fields(version.noun, version.fields)
    if clean[SECTION[version.noun].key.name] != version.id:
        raise InvalidEntry(f"two ids in a {version.noun} of the team", FIX)
    masked = change(version, clean, "")
    return redact(masked) if is_redacted(version.noun, masked.fields) else masked


class Merged(Intake):
    """Writes entries as they are after a merge: what was there is replaced."""

    def _insert(self, section: Section, _key: str, cells: list[object]) -> None:
        self._journal.put(section.table, cells)
        self._added[section.table] += 1


def write(db: sqlite3.Connection, versions: Iterable[Version]) -> None:
    """Put versions into the journal; a forgotten one stays as a tombstone."""
    live = []
    for version in versions:
        if version.noun == "suppressed" and not version.fields.get(HIDDEN):
            db.execute("DELETE FROM suppressed WHERE ref = ?", (version.id,))
        elif version.forgotten or version.withdrawn:
            _bury(db, version)
        else:
            live.append(version)

    def members() -> Iterator[tuple[str, Any]]:
        yield from (("version", "1.0"), ("exported_at", 0))
        for version in live:
            names = {field.name for field in SECTION[version.noun].fields}
            fields = {name: value for name, value in version.fields.items() if name in names}
            yield version.noun, fields

    if live:
        Merged(db, "the team", "overwrite", sealed=True).take(members(), dry_run=False)


def hide(db: sqlite3.Connection, ref: str, now: int) -> None:
    """Show a record of this machine no more."""
    db.execute("INSERT OR IGNORE INTO suppressed VALUES (?, ?)", (ref, now))


def _bury(db: sqlite3.Connection, version: Version) -> None:
    """Empty an entry for good, or leave a tombstone where it never was."""
    section = SECTION[version.noun]
    if not section.forgettable:
        db.execute(f"DELETE FROM {section.table} WHERE {section.key.column} = ?", (version.id,))
        return
    moment = version.forgotten or 1
    if db.execute(f"SELECT 1 FROM {section.table} WHERE id = ?", (version.id,)).fetchone():
        erase.empty(db, version.noun, version.id, forget=True, now=moment)
        return
    required = {
        "observation": ("kind, content, ts", "'message', '', 0"),
        "capsule": ("type, intent, status, opened_at", "'session', '', 'closed', 0"),
        "summary": ("capsule, content, created_at", "'', '', 0"),
        "memory": ("type, content, created_at", "'', '', 0"),
    }
    columns, values = required[version.noun]
    db.execute(
        f"INSERT INTO {section.table}(id, forgotten_at, {columns}) VALUES (?, ?, {values})",
        (version.id, moment),
    )
