"""The journal as one file that travels: export, and import of what kinen or Kindling exported."""

from __future__ import annotations

import contextlib
import hashlib
import re
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple

from kinen.errors import StoreError
from kinen.privacy.masking import VERSION as MASKING
from kinen.storage.database import translated
from kinen.transfer import stream
from kinen.transfer.intake import TARGETS, Intake, Loaded, place
from kinen.transfer.fields import SCOPE, encode, let_go
from kinen.transfer.sections import REQUIRED, SECTIONS, Section

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kinen.transfer.intake import Conflict

__all__ = ["VERSION", "Filter", "Loaded", "export", "load"]

VERSION = "1.0"
_TAIL = 200
_SEAL = re.compile(rb'(?:,\n|(?<=\n)\{)"digest": "([0-9a-f]{64})"\n?\}\n\Z')


class Filter(NamedTuple):
    """What to export; an empty field takes everything."""

    session: str = ""
    repo: str = ""
    after: int = 0
    """Epoch milliseconds, inclusive."""
    before: int = 0
    """Epoch milliseconds, exclusive."""

    def shown(self) -> dict[str, str | int]:
        """As a bundle says it."""
        names = {column: key for key, column in SCOPE.items()}
        return {names.get(name, name): value for name, value in self._asdict().items() if value}


def export(
    db: sqlite3.Connection,
    out: Callable[[str], object],
    *,
    only: Filter = Filter(),  # noqa: B008
    form: Literal["json", "jsonl"] = "json",
    exported_at: int,
) -> dict[str, int]:
    """Write what is not forgotten, one entry per line in an order that never varies.

    How many of each there were comes back. The last line seals it: an import of what nobody changed
    need not mask it again.
    """
    head = {"version": VERSION, "exported_at": exported_at, "scope_filter": only.shown()}
    head["masked"] = MASKING
    seal = hashlib.sha256()

    def write(text: str) -> None:
        seal.update(text.encode("utf-8", "surrogatepass"))
        out(text)

    with translated(place(db), "run `kinen doctor`"), _snapshot(db):
        if form == "jsonl":
            write(encode(head) + "\n")
            counts = {
                section.table: _each(
                    _lines(db, section, only), write, f'{{"{section.noun}": ', "}\n"
                )
                for section in SECTIONS
            }
            out(f'{{"digest": "{seal.hexdigest()}"}}\n')
            return counts
        write("{\n" + ",\n".join(f"{encode(key)}: {encode(value)}" for key, value in head.items()))
        counts = {}
        for section in SECTIONS:
            write(f',\n"{section.table}": [')
            lines = _lines(db, section, only)
            counts[section.table] = _each(lines, write, "\n", "", between=",")
            write("\n]" if counts[section.table] else "]")
        out(f',\n"digest": "{seal.hexdigest()}"\n}}\n')
        return counts


def _each(
    lines: Iterable[str], write: Callable[[str], object], start: str, end: str, between: str = ""
) -> int:
    count = 0
    for line in lines:
        write(f"{between if count else ''}{start}{line}{end}")
        count += 1
    return count


@contextlib.contextmanager
def _snapshot(db: sqlite3.Connection) -> Iterator[None]:
    """One moment for all that is read: this one, not that of the first entry."""
    db.execute("BEGIN")
    try:
        db.execute("SELECT 1 FROM sqlite_master").fetchone()
        yield
    finally:
        db.execute("ROLLBACK")
        let_go()


def _lines(db: sqlite3.Connection, section: Section, only: Filter) -> Iterator[str]:
    """The entries of one table as JSON."""
    show = _shower(section)
    sql = (
        f"SELECT {', '.join(section.columns)} FROM {section.table}"
        f" WHERE {_where(section.table, only)} ORDER BY {section.order}"
    )
    for row in db.execute(sql, only._asdict()):
        try:
            shown = show(row)
        except ValueError as error:
            what = f"{section.noun} {row[0]} of the journal holds text that is not JSON"
            raise StoreError(what, "run `kinen doctor`; the export is not whole") from error
        if section.derived:
            shown += _held(db, row[0], only)
        yield f"{{{', '.join(shown)}}}"


def _shower(section: Section) -> Callable[[Sequence[Any]], list[str]]:
    """What makes the fields of a row; its cells are the section's columns."""
    plan, start = [], 0
    for field in section.fields:
        form, stop = field.form, start + len(field.columns)
        always = field.always or field.empty is REQUIRED
        empty = "" if always else form.show(*chain(*form.keep([field.empty], {})))
        plan.append((f'"{field.name}": ', form.show, start, stop, empty))
        start = stop

    def show(row: Sequence[Any]) -> list[str]:
        shown = []
        for name, form, start, stop, empty in plan:
            text = form(*row[start:stop])
            if text != empty:
                shown.append(name + text)
        return shown

    return show


def _held(db: sqlite3.Connection, capsule: str, only: Filter) -> list[str]:
    """The fields that tell what a capsule holds of that which is exported."""
    values = {**only._asdict(), "capsule": capsule}
    ids = db.execute(
        "SELECT id FROM observations WHERE capsule = :capsule AND capsule != ''"
        f" AND {_where('observations', only)} ORDER BY ts, id",
        values,
    )
    shown = [f'"observationIds": {encode([row[0] for row in ids])}']
    summary = db.execute(
        "SELECT id FROM summaries WHERE capsule = :capsule AND forgotten_at = 0"
        " ORDER BY created_at DESC, id DESC LIMIT 1",
        values,
    ).fetchone()
    return [*shown, f'"summaryId": {encode(summary[0])}'] if summary else shown


def _where(table: str, only: Filter) -> str:
    """The condition that an entry of a table is exported."""
    live = next(section.live for section in SECTIONS if section.table == table)
    if table in ("suppressed", "tag_ops"):
        return "0" if any(only) else live
    if table == "pins":
        journal = ", ".join(f"'{noun}'" for noun in TARGETS)
        kinds = [
            f"target_type = '{noun}' AND EXISTS (SELECT 1 FROM {section.table}"
            f" WHERE id = pins.target_id AND {_where(section.table, only)})"
            for noun, section in TARGETS.items()
        ]
        return " OR ".join([*kinds, *([] if any(only) else [f"target_type NOT IN ({journal})"])])
    if table == "summaries":
        capsules = _where("capsules", only)
        part = f"EXISTS (SELECT 1 FROM capsules WHERE id = summaries.capsule AND {capsules})"
        return f"{live} AND {part}" if any(only) else live
    time = {"observations": "ts", "capsules": "opened_at", "memories": "created_at"}[table]
    scope = [f"{name} = :{name}" for name in ("session", "repo") if getattr(only, name)]
    times = [f"{time} >= :after"] * bool(only.after) + [f"{time} < :before"] * bool(only.before)
    if table == "capsules" and times:
        held = (
            "EXISTS (SELECT 1 FROM observations WHERE capsule = capsules.id AND capsule != ''"
            f" AND {_where('observations', only)})"
        )
        times = [f"({' AND '.join(times)} OR {held})"]
    return " AND ".join([live, *scope, *times])


def load(
    db: sqlite3.Connection,
    file: IO[bytes],
    *,
    conflict: Conflict = "skip",
    dry_run: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Loaded:
    """Import a bundle of kinen or Kindling, all of it or nothing."""
    intake = Intake(db, stream.name(file), conflict, progress, sealed=_is_sealed(file))
    return intake.take(lambda pause: stream.parts(file, pause), dry_run=dry_run)


def _is_sealed(file: IO[bytes]) -> bool:
    """Is it as kinen exported it, by the rules of masking that hold now?"""
    if not file.seekable():
        return False
    start = file.tell()
    try:
        if f'"masked": {MASKING}'.encode() not in file.read(4096):
            return False
        size = file.seek(0, 2)
        tail_at = file.seek(max(start, size - _TAIL))
        found = _SEAL.search(file.read())
        if not found:
            return False
        left, seal = tail_at + found.start() - start, hashlib.sha256()
        file.seek(start)
        while left > 0:
            data = file.read(min(left, 1 << 20))
            if not data:
                return False
            seal.update(data)
            left -= len(data)
        return seal.hexdigest() == found[1].decode()
    finally:
        file.seek(start)
