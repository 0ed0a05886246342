"""The journal as one file: export, and import of what kinen or Kindling exported."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple

from kinen.errors import StoreError
from kinen.privacy.masking import VERSION as MASKING
from kinen.storage.database import translated
from kinen.storage.scopes import begins
from kinen.text import plural
from kinen.transfer import shared, stream
from kinen.transfer.fields import SCOPE, encode
from kinen.transfer.intake import TARGETS, Intake, Loaded, journal_path
from kinen.transfer.sections import SECTIONS, Section

if TYPE_CHECKING:
    import sqlite3

    from kinen.transfer.intake import Conflict

    Write = Callable[[str], object]

__all__ = ["VERSION", "Filter", "Loaded", "export", "load"]

VERSION = "1.0"
_TAIL = 200
_SEAL = re.compile(rb'(?:,\n|(?<=\n)\{)"digest": "([0-9a-f]{64})"\n?\}\n\Z')


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

    def header(self) -> dict[str, str | int]:
        """The filter as the header of a bundle has it."""
        names = {column: key for key, column in SCOPE.items()}
        return {
            names.get(name, name): value
            for name, value in self._asdict().items()
            if value and name != "shared"
        }


def export(
    db: sqlite3.Connection,
    out: Write,
    *,
    only: Filter = Filter(),  # noqa: B008
    form: Literal["json", "jsonl"] = "json",
    exported_at: int,
    space: str = "",
    documents: Iterable[tuple[str, str]] = (),
) -> dict[str, int]:
    """Write every entry that is not forgotten on a line of its own, in an order that never varies.

    Lines of JSON may also have the name of the space, and documents: a noun and JSON each.
    Returns the number of entries by table. The last line is a seal: a bundle that was not changed
    since need not be masked again on import.
    """
    header = {
        "version": VERSION,
        "exported_at": exported_at,
        "scope_filter": only.header(),
        "masked": MASKING,
        **({"space": space} if space else {}),
    }
    seal = hashlib.sha256()

    def write(text: str) -> None:
        seal.update(text.encode("utf-8", "surrogatepass"))
        out(text)

    with translated(journal_path(db), "run `kinen doctor`"), _snapshot(db):
        if only.shared:
            shared.prepare(db)
        if form == "jsonl":
            counts = _write_lines(db, header, only, write)
            for noun, document in documents:
                write(f'{{"{noun}": {document}}}\n')
                counts[plural(noun)] = counts.get(plural(noun), 0) + 1
            out(f'{{"digest": "{seal.hexdigest()}"}}\n')
        else:
            counts = _write_document(db, header, only, write)
            out(f',\n"digest": "{seal.hexdigest()}"\n}}\n')
    return counts


def _write_lines(
    db: sqlite3.Connection, header: dict[str, object], only: Filter, write: Write
) -> dict[str, int]:
    counts = {}
    write(encode(header) + "\n")
    for section in SECTIONS:
        counts[section.table] = 0
        for entry in _entries(db, section, only):
            write(f'{{"{section.noun}": {entry}}}\n')
            counts[section.table] += 1
    return counts


def _write_document(
    db: sqlite3.Connection, header: dict[str, object], only: Filter, write: Write
) -> dict[str, int]:
    counts = {}
    write("{\n" + ",\n".join(f"{encode(key)}: {encode(value)}" for key, value in header.items()))
    for section in SECTIONS:
        counts[section.table] = 0
        write(f',\n"{section.table}": [')
        for entry in _entries(db, section, only):
            write(f",\n{entry}" if counts[section.table] else f"\n{entry}")
            counts[section.table] += 1
        write("\n]" if counts[section.table] else "]")
    return counts


@contextlib.contextmanager
def _snapshot(db: sqlite3.Connection) -> Iterator[None]:
    """Read everything as of now, and not as of the first entry that is read."""
    db.execute("BEGIN")
    try:
        db.execute("SELECT 1 FROM sqlite_master").fetchone()
        yield
    finally:
        db.execute("ROLLBACK")


def _entries(db: sqlite3.Connection, section: Section, only: Filter) -> Iterator[str]:
    """The entries of one table as JSON."""
    fields = [
        (f'"{field.name}": ', field.form.show, len(field.columns), field.omitted)
        for field in section.fields
    ]
    columns = map(shared.column, section.columns) if only.shared else section.columns
    sql = (
        f"SELECT {', '.join(columns)} FROM {section.table}"
        f" WHERE {_where(section.table, only)} ORDER BY {section.order}"
    )
    for row in db.execute(sql, only._asdict()):
        cells = iter(row)
        members = []
        try:
            for name, show, width, omitted in fields:
                text = show(*islice(cells, width))
                if text != omitted:
                    members.append(name + text)
        except ValueError as error:
            fact = f"{section.noun} {row[0]} of the journal holds text that is not JSON"
            raise StoreError(fact, "run `kinen doctor`; the export is incomplete") from error
        if section.derived:
            members += _capsule_contents(db, row[0], only)
        yield f"{{{', '.join(members)}}}"


def _capsule_contents(db: sqlite3.Connection, capsule: str, only: Filter) -> Iterable[str]:
    """The fields that list which exported entries belong to a capsule."""
    values = {**only._asdict(), "capsule": capsule}
    ids = db.execute(
        "SELECT id FROM observations WHERE capsule = :capsule AND capsule != ''"
        f" AND {_where('observations', only)} ORDER BY ts, id",
        values,
    )
    yield f'"observationIds": {encode([id_ for (id_,) in ids])}'
    live = "NOT redacted AND" if only.shared else ""
    summary = db.execute(
        f"SELECT id FROM summaries WHERE {live} capsule = :capsule AND forgotten_at = 0"
        " ORDER BY created_at DESC, id DESC LIMIT 1",
        values,
    ).fetchone()
    if summary:
        yield f'"summaryId": {encode(summary[0])}'


def _where(table: str, only: Filter) -> str:
    """The SQL condition that an entry of a table is exported."""
    section = next(section for section in SECTIONS if section.table == table)
    live = section.live
    if only.shared:
        observations = _where("observations", only) if table == "capsules" else ""
        condition = shared.CONDITIONS[table]
        condition = condition.format(erased=section.erased, observations=observations)
        live = f"{live} AND {condition}"
    if table in ("suppressed", "tag_ops"):
        return "0" if only.partial else live
    if table == "pins":
        return f"{live} AND ({_where_pins(only)})"
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
    return " AND ".join([live, *scope, *_where_time(table, only)])


def _where_pins(only: Filter) -> str:
    """Pins go with their target; those of files only with the whole journal."""
    kinds = [
        f"target_type = '{noun}' AND EXISTS (SELECT 1 FROM {section.table}"
        f" WHERE id = pins.target_id AND {_where(section.table, only)})"
        for noun, section in TARGETS.items()
    ]
    if not only.partial:
        nouns = ", ".join(f"'{noun}'" for noun in TARGETS)
        kinds.append(f"target_type NOT IN ({nouns})")
    return " OR ".join(kinds)


def _where_time(table: str, only: Filter) -> list[str]:
    column = {"observations": "ts", "capsules": "opened_at", "memories": "created_at"}[table]
    conditions = []
    if only.after:
        conditions.append(f"{column} >= :after")
    if only.before:
        conditions.append(f"{column} < :before")
    if table == "capsules" and conditions:
        held = (
            "EXISTS (SELECT 1 FROM observations WHERE capsule = capsules.id AND capsule != ''"
            f" AND {_where('observations', only)})"
        )
        return [f"({' AND '.join(conditions)} OR {held})"]
    return conditions


def load(
    db: sqlite3.Connection,
    file: IO[bytes],
    *,
    conflict: Conflict = "skip",
    dry_run: bool = False,
    progress: Callable[[int], None] | None = None,
    documents: Mapping[str, Callable[[Any], object]] | None = None,
) -> Loaded:
    """Import a bundle of kinen or Kindling, all of it or nothing.

    `documents` takes the members that belong into files and not into the journal, by their noun.
    """
    name = stream.file_name(file)
    intake = Intake(db, name, conflict, progress, sealed=_is_sealed(file))
    members = stream.members(file)
    if documents:
        members = _apart(members, documents)
    return intake.take(members, dry_run=dry_run)


def _apart(
    members: stream.Members, documents: Mapping[str, Callable[[Any], object]]
) -> stream.Members:
    for key, value in members:
        if key in documents:
            documents[key](value)
        else:
            yield key, value


def _is_sealed(file: IO[bytes]) -> bool | None:
    """Whether a bundle is as kinen exported it, by the current rules of masking; None: unknown."""
    if not file.seekable():
        return None
    start = file.tell()
    try:
        if f'"masked": {MASKING}'.encode() not in file.read(4096):
            return False
        size = file.seek(0, 2)
        tail_at = file.seek(max(start, size - _TAIL))
        seal = _SEAL.search(file.read())
        if not seal:
            return False
        file.seek(start)
        return _digest(file, tail_at + seal.start() - start) == seal[1].decode()
    finally:
        file.seek(start)


def _digest(file: IO[bytes], size: int) -> str:
    digest = hashlib.sha256()
    while size > 0 and (data := file.read(min(size, 1 << 20))):
        digest.update(data)
        size -= len(data)
    return digest.hexdigest()
