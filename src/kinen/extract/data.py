"""Describes a data file by its name and its first bytes: format, columns, rows, a sample."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any

from kinen.errors import Unreadable
from kinen.extract.decode import decode, suffix_of
from kinen.model.documents import Extract, Part
from kinen.model.tuples import NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = 3
WIDTH = 80
MAX_COLUMNS = 200
MAX_TABLES = 50
MAX_COUNTED = 32 * 1024 * 1024
"""Above this size the rows of a database are not counted."""
MAX_VALUE = 16 * 1024 * 1024
MAX_STEPS = 20_000_000
"""Instructions that SQLite may run for one file."""

_BINARY_FORMATS = {
    ".arrow": "Arrow table",
    ".avro": "Avro data",
    ".feather": "Feather table",
    ".h5": "HDF5 data",
    ".npy": "NumPy array",
    ".npz": "NumPy arrays",
    ".ods": "OpenDocument spreadsheet",
    ".onnx": "ONNX model",
    ".parquet": "Parquet table",
    ".pickle": "Python pickle",
    ".pkl": "Python pickle",
    ".xls": "Excel workbook",
    ".xlsx": "Excel workbook",
}
"""Names of formats that their suffix does not spell out."""
_YAML_KEY = re.compile(
    r"""(?m)^(?:"([^"\n]+)"|'([^'\n]+)'|([^\s#'"\[\]{}&*!|>%@-][^:\n]*)):(?:\s|$)"""
)


class _Shape(NamedTuple):
    """What is known of a file, or of a table of a database."""

    format: str
    columns: tuple[str, ...] = ()
    rows: int | None = None
    estimated: bool = False
    """Is `rows` projected from the beginning of the file?"""
    sample: tuple[str, ...] = ()
    tables: tuple[tuple[str, _Shape], ...] = ()


def describe(path: Path, size: int, head: bytes) -> Extract:
    """A data file of some size from its first bytes; of an SQLite file, its tables are read."""
    shape = _shape(path, size, head)
    lines = [f"{path.name}: {_summary(shape)}, {_size(size)}", *_details(shape)]
    for name, table in shape.tables:
        lines += ["", f"Table {name}: {_summary(table)}", *_details(table)]
    metadata: dict[str, Any] = {"format": shape.format, "size": size}
    if shape.columns:
        metadata["columns"] = list(shape.columns)
    if shape.rows is not None and not shape.estimated:
        metadata["rows"] = shape.rows
    if shape.tables:
        metadata["tables"] = [name for name, _ in shape.tables]
    return Extract((Part("\n".join(lines)),), path.name, metadata)


def _shape(path: Path, size: int, head: bytes) -> _Shape:
    if head.startswith(b"SQLite format 3\0"):
        return _database(path, size)
    suffix = suffix_of(path.name)
    kind = suffix[1:].upper()
    whole = size <= len(head)
    try:
        # The last line is incomplete, unless it is the only one.
        text = decode(head if whole else head[: head.rfind(b"\n") + 1] or head)
    except Unreadable:
        return _Shape(_BINARY_FORMATS.get(suffix, f"{kind} file" if kind else "binary file"))
    try:
        shape = _READERS.get(suffix, _lines)(text, whole)
    except (ValueError, RecursionError, csv.Error):
        shape = _lines(text, whole)
    if shape.rows and not whole:
        rows = shape.rows * size / max(1, len(text.encode()))
        # An estimate must not look like a count: only two digits of it are shown.
        shape = shape._replace(rows=int(float(f"{rows:.2g}")), estimated=True)
    if shape.format == "text" and kind:
        shape = shape._replace(format=f"{kind} text")
    return shape


def _csv(text: str, whole: bool, delimiter: str = "") -> _Shape:
    delimiter = delimiter or max(",;\t|", key=text.partition("\n")[0].count)
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    if not rows:
        return _lines(text, whole)
    header = rows[0]
    if all(map(_is_column_name, header)) and len(set(header)) == len(header):
        rows = rows[1:]
    else:
        header = [f"column {n}" for n in range(1, len(header) + 1)]
    name = "TSV" if delimiter == "\t" else "CSV"
    return _Shape(name, _columns(header), len(rows), sample=_cells(rows))


def _tsv(text: str, whole: bool) -> _Shape:
    return _csv(text, whole, "\t")


def _is_column_name(cell: str) -> bool:
    """Is a cell neither empty nor a number?"""
    try:
        float(cell)
    except ValueError:
        return bool(cell.strip())
    return False


def _json(text: str, whole: bool) -> _Shape:
    start = text.lstrip("\ufeff \t\r\n")
    if whole:
        value = json.loads(text)
    elif start.startswith("["):
        return _objects("JSON", list(islice(_values(start), SAMPLE)), None)
    elif start.startswith("{"):
        values = list(_values(start))
        value = dict(zip_longest(map(str, values[::2]), values[1::2], fillvalue="…"))
    else:
        return _lines(text, whole)
    if isinstance(value, list):
        return _objects("JSON", value, len(value))
    if isinstance(value, dict):
        return _Shape("JSON", _columns(value), sample=(_object(value),) if value else ())
    return _Shape("JSON", sample=(_cut(value),))


def _values(text: str) -> Iterator[Any]:
    """The values of an incomplete JSON array, or the keys and values of an object in turn."""
    decoder = json.JSONDecoder()
    at = 1
    while True:
        while at < len(text) and (text[at].isspace() or text[at] in ",:"):
            at += 1
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError:
            return
        yield value


def _jsonl(text: str, whole: bool) -> _Shape:  # noqa: ARG001
    lines = [line for line in text.split("\n") if line.strip()]
    return _objects("JSON lines", [json.loads(line) for line in lines[:SAMPLE]], len(lines))


def _objects(name: str, values: list[Any], count: int | None) -> _Shape:
    sample = values[:SAMPLE]
    keys = dict.fromkeys(key for value in sample if isinstance(value, dict) for key in value)
    return _Shape(name, _columns(keys), count, sample=tuple(_object(value) for value in sample))


def _object(value: Any) -> str:
    if not isinstance(value, dict):
        return _cut(value)
    pairs = list(value.items())[:MAX_COLUMNS]
    return " | ".join(f"{_cut(key)}: {_cut(item)}" for key, item in pairs)


def _yaml(text: str, whole: bool) -> _Shape:
    """The keys at the start of a line; parsing it all would give aliases a chance to multiply."""
    keys = dict.fromkeys(filter(None, (key for match in _YAML_KEY.findall(text) for key in match)))
    return _lines(text, whole)._replace(format="YAML", columns=_columns(keys))


def _lines(text: str, whole: bool) -> _Shape:  # noqa: ARG001
    lines = (line.strip() for line in text.split("\n"))
    return _Shape("text", sample=tuple(_cut(line) for line in lines if line)[:SAMPLE])


_READERS: dict[str, Callable[[str, bool], _Shape]] = {
    ".csv": _csv,
    ".tsv": _tsv,
    ".tab": _tsv,
    ".json": _json,
    ".geojson": _json,
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".yaml": _yaml,
    ".yml": _yaml,
}


def _database(path: Path, size: int) -> _Shape:
    """The tables of an SQLite file, which is never written or locked, within limits of work."""
    uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as database:
            database.text_factory = lambda data: data.decode("utf-8", "replace")
            database.execute("PRAGMA trusted_schema = OFF")
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)
            steps = iter(range(MAX_STEPS // 10_000))
            database.set_progress_handler(lambda: next(steps, None) is None, 10_000)
            names = database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
                " AND coalesce(sql, '') NOT LIKE 'CREATE VIRTUAL%' ORDER BY name LIMIT ?",
                (MAX_TABLES,),
            ).fetchall()
            tables = tuple(
                (str(name), _table(database, str(name), count=size <= MAX_COUNTED))
                for (name,) in names
            )
    except (sqlite3.Error, OSError, ValueError, OverflowError):
        return _Shape("SQLite database")
    return _Shape("SQLite database", tables=tables)


def _table(database: sqlite3.Connection, name: str, *, count: bool) -> _Shape:
    quoted = '"' + name.replace('"', '""') + '"'
    columns = _rows(database, f"PRAGMA table_xinfo({quoted})")
    sample = _rows(database, f"SELECT * FROM {quoted} LIMIT {SAMPLE}")  # noqa: S608
    total = _rows(database, f"SELECT count(*) FROM {quoted}") if count else []  # noqa: S608
    return _Shape(
        format="table",
        columns=_columns(str(column[1]) for column in columns),
        rows=total[0][0] if total else None,
        sample=_cells(sample),
    )


def _rows(database: sqlite3.Connection, query: str) -> list[Any]:
    """The rows of a query; none if the table is damaged or the query takes too much work."""
    try:
        return database.execute(query).fetchall()
    except (sqlite3.Error, OverflowError):
        return []


def _columns(names: Iterable[Any]) -> tuple[str, ...]:
    return tuple(_cut(name) for name in islice(names, MAX_COLUMNS))


def _cells(rows: list[Any]) -> tuple[str, ...]:
    return tuple(" | ".join(map(_cut, row[:MAX_COLUMNS])).rstrip() for row in rows[:SAMPLE])


def _cut(value: Any) -> str:
    """A value on one line of at most `WIDTH` characters."""
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = " ".join(text[: 4 * WIDTH].split())
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"


def _summary(shape: _Shape) -> str:
    facts = [shape.format]
    if shape.tables:
        facts.append(_plural(len(shape.tables), "table"))
    if shape.rows is not None:
        facts.append(("about " if shape.estimated else "") + _plural(shape.rows, "row"))
    if shape.columns:
        facts.append(_plural(len(shape.columns), "column"))
    return ", ".join(facts)


def _details(shape: _Shape) -> list[str]:
    lines = [f"Columns: {', '.join(shape.columns)}"] if shape.columns else []
    if shape.sample:
        lines += ["Sample:", *shape.sample]
    return lines


def _plural(n: int, noun: str) -> str:
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def _size(size: int) -> str:
    if size < 1024:
        return _plural(size, "byte")
    power = min((size.bit_length() - 1) // 10, 4)
    return f"{size / 1024**power:.1f} {'_KMGT'[power]}B"
