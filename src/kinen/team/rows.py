"""Entries of the journal as the fields that travel, checked and masked, and back into rows."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kinen.characters import visible_line
from kinen.errors import InvalidEntry
from kinen.journal import edits, erase
from kinen.journal.schema import LATEST
from kinen.model.kinds import REDACTED
from kinen.model.team import WITHDRAWN, Version
from kinen.model.tuples import NamedTuple
from kinen.privacy import entrance
from kinen.privacy.entrance import masked_values
from kinen.team.merge import (
    DERIVED,
    HIDDEN,
    JOURNAL,
    NOUN,
    TEXTS,
    change,
    encode,
    equal,
    invalid,
    redact,
    to_json,
    unknown,
)
from kinen.transfer import sections as forms
from kinen.transfer.intake import Intake
from kinen.transfer.sections import SECTIONS, Masker, Section

SECTION = {section.noun: section for section in SECTIONS}
EXTRA = "team.extra"
"""The first word of keys in the journal's table `meta`: fields of entries, not known here."""
MOST_EXTRA = 50
_FIELD = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
LARGEST = 8 << 20
"""Characters of the JSON of a version."""
_SELECT = {
    noun: f"SELECT {', '.join(section.columns)}{', forgotten_at' if section.forgettable else ''}"
    f" FROM {section.table} WHERE {section.key.column} = ?"
    f"{' AND NOT replaced' if noun == 'suppressed' else ''}"
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
    key = f"{EXTRA} {noun}:{id_}"
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    fields |= json.loads(row[0]) if row else {}
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
            field.form.store(clean[field.name])
        except (ValueError, RecursionError):
            raise invalid(noun, f"an invalid {field.name}") from None
    return clean


def checked(version: Version, *, passed_on: bool = False) -> Version:
    """A version with every part as it may be, and without secrets, whoever it comes from.

    Fields that only a newer kinen knows are kept. So is an entry of an unknown noun where it is
    `passed_on`: a server stores it for machines that know it.

    Raises InvalidEntry for one that a journal or a database cannot hold, and for one that says of
    itself what it is not: redacted fields with a text, something taken back with a value. What had
    to be masked is a change of its own, so that the masked text wins wherever the other one has got
    to.
    """
    noun = version.noun

    def require(fact: bool, what: str) -> None:
        if not fact:
            raise invalid(noun, what)

    try:
        require(len(encode(to_json(version))) <= LARGEST, f"more than {LARGEST >> 20} MiB")
    except (ValueError, RecursionError):
        require(False, "a value that JSON does not have")
    require(passed_on or noun in SECTION, "an unknown noun")
    key = SECTION[noun].key.form if noun in SECTION else forms.ID
    require(key.fits(version.id) and key.mask(Masker(), version.id) == version.id, "an invalid id")
    if noun == "suppressed":
        require(version.id.partition(":")[0] in JOURNAL, "a ref that is not the team's")
    names = {version.author, version.machine, *(machine for _, machine in version.stamps.values())}
    require(all(map(_is_name, names | version.cleaned)), "an invalid name")
    require(not version.cleaned or noun in DERIVED, "a list of observations")
    require(0 <= version.forgotten < LATEST, "an invalid time")
    if version.forgotten:
        require(not (version.fields or version.cleaned), "something after it was forgotten")
        # nobody could hide or show its ref again
        require(noun != "suppressed", "the end of a mark")
        return version
    extra = unknown(version)
    require(len(extra) <= MOST_EXTRA and all(map(_FIELD.fullmatch, extra)), "an unknown field")
    empty = {**TEXTS.get(noun, {}), **dict.fromkeys(extra)}
    for name in version.redacted:
        as_redacted = name in empty and equal(version.fields[name], empty[name])
        require(as_redacted and not version.stamps[name][1], f"a redacted {name} with a value")
    marks = {name: version.fields[name] for name in (WITHDRAWN, HIDDEN) if name in version.fields}
    if version.withdrawn:
        left = version.fields.keys() - {WITHDRAWN, *version.redacted}
        require(
            version.fields[WITHDRAWN] is True
            and all(version.fields[name] is None for name in left),
            "something after it was taken back",
        )
        return redact(version) if version.redacted else version
    require(all(type(value) is bool for value in marks.values()), "an invalid mark")
    clean = masked_values({name: version.fields[name] for name in extra})[0]
    if noun in SECTION:
        clean |= clean_fields(noun, version.fields)
        require(clean[SECTION[noun].key.name] == version.id, "a second id")
    masked = change(version, clean, "")
    return redact(masked) if version.redacted or is_redacted(noun, masked.fields) else masked


def only_valid(
    versions: Iterable[Version], *, passed_on: bool = False
) -> tuple[list[Version], dict[str, str]]:
    """The versions that can be taken, checked, and why others cannot, by ref."""
    valid = []
    reasons = {}
    for version in versions:
        try:
            valid.append(checked(version, passed_on=passed_on))
        except InvalidEntry as error:
            reasons[visible_line(version.ref)] = error.fact()
    return valid, reasons


def is_ref(text: str) -> bool:
    """Whether it is a ref that can be kept: a noun, and an id that is no secret."""
    noun, _, id_ = text.partition(":")
    return bool(NOUN.fullmatch(noun)) and id_ != "" and _is_name(id_)


def _is_name(text: str) -> bool:
    """Whether it is the name of a machine or person or an id, and no secret."""
    return forms.OPTIONAL_ID.fits(text) and entrance.name(text) == text


class Merged(Intake):
    """Writes entries as they are after a merge: what was there is replaced."""

    def _insert(self, section: Section, _key: str, cells: list[object]) -> None:
        self._journal.put(section.table, cells)
        self._added[section.table] += 1


def write(db: sqlite3.Connection, versions: Iterable[Version]) -> None:
    """Put versions into the journal; a forgotten one stays as a tombstone."""
    live = []
    for version in versions:
        keep_extra(db, version)
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


def keep_extra(db: sqlite3.Connection, version: Version) -> None:
    """Keep the fields of an entry that this kinen does not know, to pass them on."""
    key = f"{EXTRA} {version.ref}"
    fields = {name: version.fields[name] for name in unknown(version)}
    if fields:
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, encode(fields)))
    else:
        db.execute("DELETE FROM meta WHERE key = ?", (key,))


def hide(db: sqlite3.Connection, ref: str, now: int) -> None:
    """Show a record of this machine no more."""
    edits.mark(db, [ref], now)


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
