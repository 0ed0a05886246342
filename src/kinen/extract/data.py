"""What a data file holds, from its head and its name: never the whole of it."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from kinen.errors import Unreadable
from kinen.extract.decode import decode
from kinen.extract.suffixes import suffix_of
from kinen.model.records import Extract, Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

SAMPLE = 3
WIDTH = 80
MAX_COLUMNS = 200
MAX_TABLES = 50
MAX_DEPTH = 100
MAX_COUNTED = 32 * 1024 * 1024
"""Above this size the rows of a database are not counted."""
MAX_VALUE = 16 * 1024 * 1024
MAX_STEPS = 20_000_000
"""How much work SQLite may do for one file before it is stopped."""

_NAMES = {
    ".7z": "7-Zip archive",
    ".arrow": "Arrow table",
    ".avro": "Avro data",
    ".bin": "binary data",
    ".feather": "Feather table",
    ".gz": "gzip file",
    ".h5": "HDF5 data",
    ".hdf5": "HDF5 data",
    ".npy": "NumPy array",
    ".npz": "NumPy arrays",
    ".ods": "OpenDocument spreadsheet",
    ".onnx": "ONNX model",
    ".orc": "ORC table",
    ".parquet": "Parquet table",
    ".pickle": "Python pickle",
    ".pkl": "Python pickle",
    ".safetensors": "safetensors model",
    ".tar": "tar archive",
    ".xls": "Excel workbook",
    ".xlsx": "Excel workbook",
    ".zip": "zip archive",
    ".zst": "Zstandard file",
}


class _Shape(NamedTuple):
    """What was learned of a file, or of one table of a database."""

    format: str
    columns: tuple[str, ...] = ()
    rows: int | None = None
    about: bool = False
    sample: tuple[str, ...] = ()
    tables: tuple[tuple[str, _Shape], ...] = ()


def describe(path: Path, size: int, head: bytes) -> Extract:
    """Name, columns, row count if that is cheap, and the first rows of a data file."""
    shape = _shape(path, size, head)
    lines = [f"{path.name}: {_summary(shape)}, {_size(size)}", *_body(shape)]
    for name, table in shape.tables:
        lines += ["", f"Table {name}: {_summary(table)}", *_body(table)]
    metadata: dict[str, Any] = {"format": shape.format, "size": size}
    if shape.columns:
        metadata["columns"] = list(shape.columns)
    if shape.rows is not None and not shape.about:
        metadata["rows"] = shape.rows
    if shape.tables:
        metadata["tables"] = [name for name, _ in shape.tables]
    return Extract((Part("\n".join(lines)),), path.name, metadata)


def _shape(path: Path, size: int, head: bytes) -> _Shape:
    if head.startswith(b"SQLite format 3\0"):
        return _database(path, size)
    suffix = suffix_of(path.name)
    whole = size <= len(head)
    try:
        # A cut line or character says nothing, unless there is no other.
        text = decode(head if whole else head[: head.rfind(b"\n") + 1] or head)
    except Unreadable:
        return _Shape(_NAMES.get(suffix, f"{suffix[1:].upper()} file" if suffix else "binary file"))
    reader = _READERS.get(suffix, _lines)
    try:
        shape = reader(text, whole)
    except (ValueError, RecursionError, csv.Error):
        shape = _lines(text, whole)
    if shape.about and shape.rows:
        shape = shape._replace(rows=_rounded(shape.rows * size / max(1, len(text.encode()))))
    if shape.format == "text" and suffix:
        shape = shape._replace(format=f"{suffix[1:].upper()} text")
    return shape


def _table(text: str, whole: bool, delimiter: str = "") -> _Shape:
    first = text.partition("\n")[0]
    delimiter = delimiter or max(",;\t|", key=first.count)
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    if not rows:
        return _lines(text, whole)
    header = rows[0]
    if all(map(_wordy, header)) and len(set(header)) == len(header):
        rows = rows[1:]
    else:
        header = [f"column {n}" for n in range(1, len(header) + 1)]
    sample = tuple(_joined(row) for row in rows[:SAMPLE])
    name = "TSV" if delimiter == "\t" else "CSV"
    return _Shape(name, _columns(header), len(rows), not whole, sample)


def _wordy(cell: str) -> bool:
    """Whether this can be the name of a column: not empty, and no number."""
    try:
        float(cell)
    except ValueError:
        return bool(cell.strip())
    return False


def _json(text: str, whole: bool) -> _Shape:
    if whole:
        return _value("JSON", json.loads(text))
    start = text.lstrip("\ufeff \t\r\n")
    if start.startswith("["):
        return _rows("JSON", list(_items(start)), None)
    if start.startswith("{"):
        return _value("JSON", dict(_members(start)))
    return _lines(text, whole)


def _items(text: str) -> Iterator[Any]:
    """The first elements of a JSON array that is cut off somewhere."""
    decoder, at = json.JSONDecoder(), 1
    for _ in range(SAMPLE):
        try:
            value, at = decoder.raw_decode(text, _past(text, at, ","))
        except ValueError:
            return
        yield value


def _members(text: str) -> Iterator[tuple[str, Any]]:
    """The first members of a JSON object that is cut off somewhere."""
    decoder, at = json.JSONDecoder(), 1
    while True:
        try:
            key, at = decoder.raw_decode(text, _past(text, at, ","))
        except ValueError:
            return
        try:
            value, at = decoder.raw_decode(text, _past(text, at, ":"))
        except ValueError:
            yield str(key), "…"
            return
        yield str(key), value


def _past(text: str, at: int, mark: str) -> int:
    while at < len(text) and (text[at].isspace() or text[at] == mark):
        at += 1
    return at


def _jsonl(text: str, whole: bool) -> _Shape:
    lines = [line for line in text.split("\n") if line.strip()]
    rows = [json.loads(line) for line in lines[:SAMPLE]]
    return _rows("JSON lines", rows, len(lines))._replace(about=not whole)


def _value(name: str, value: Any) -> _Shape:
    if isinstance(value, list):
        return _rows(name, value, len(value))
    if isinstance(value, dict):
        return _Shape(name, _columns(value), sample=(_row(value),) if value else ())
    return _Shape(name, sample=(_cut(value),))


def _rows(name: str, rows: list[Any], count: int | None) -> _Shape:
    keys = dict.fromkeys(key for row in rows[:SAMPLE] if isinstance(row, dict) for key in row)
    return _Shape(name, _columns(keys), count, sample=tuple(_row(row) for row in rows[:SAMPLE]))


def _row(value: Any) -> str:
    if not isinstance(value, dict):
        return _cut(value)
    return " | ".join(f"{_cut(k)}: {_cut(v)}" for k, v in list(value.items())[:MAX_COLUMNS])


def _yaml(text: str, whole: bool) -> _Shape:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    keys: list[str] = []
    depth, key = 0, True
    try:
        # Events build nothing, so aliases that multiply cost nothing.
        for event in yaml.parse(text, Loader=loader):
            if isinstance(event, yaml.events.CollectionEndEvent):
                depth -= 1
            elif isinstance(event, yaml.events.NodeEvent):
                if depth == 1 and key and isinstance(event, yaml.events.ScalarEvent):
                    keys.append(event.value)
                if depth == 0:
                    key = not isinstance(event, yaml.events.MappingStartEvent)
                if depth <= 1:
                    key = not key
                depth += isinstance(event, yaml.events.CollectionStartEvent)
            if depth > MAX_DEPTH:  # libyaml takes quadratic time for nested brackets
                break
    except yaml.YAMLError:
        pass
    return _lines(text, whole)._replace(format="YAML", columns=_columns(dict.fromkeys(keys)))


def _lines(text: str, _whole: bool) -> _Shape:
    lines = (line.strip() for line in text.split("\n"))
    return _Shape("text", sample=tuple(_cut(line) for line in lines if line)[:SAMPLE])


def _tsv(text: str, whole: bool) -> _Shape:
    return _table(text, whole, "\t")


_READERS: dict[str, Callable[[str, bool], _Shape]] = {
    ".csv": _table,
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
    """The tables of an SQLite file, opened so that nothing is written, locked or run for long."""
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
                (str(name), _database_table(database, str(name), counted=size <= MAX_COUNTED))
                for (name,) in names
            )
    except (sqlite3.Error, OSError, ValueError, OverflowError):
        return _Shape("SQLite database")
    return _Shape("SQLite database", tables=tables)


def _database_table(database: sqlite3.Connection, name: str, *, counted: bool) -> _Shape:
    quoted = '"' + name.replace('"', '""') + '"'
    columns = _columns(
        str(column[1]) for column in _asked(database, f"PRAGMA table_xinfo({quoted})")
    )
    rows = _asked(database, f"SELECT * FROM {quoted} LIMIT {SAMPLE}")  # noqa: S608
    total = _asked(database, f"SELECT count(*) FROM {quoted}") if counted else []  # noqa: S608
    sample = tuple(_joined(row) for row in rows)
    return _Shape("table", columns, total[0][0] if total else None, sample=sample)


def _asked(database: sqlite3.Connection, question: str) -> list[Any]:
    """The answer, or nothing where the table is damaged or does too much to give one."""
    try:
        return database.execute(question).fetchall()
    except (sqlite3.Error, OverflowError):
        return []


def _columns(names: Any) -> tuple[str, ...]:
    return tuple(_cut(name) for name in list(names)[:MAX_COLUMNS])


def _joined(row: Sequence[Any]) -> str:
    return " | ".join(map(_cut, row[:MAX_COLUMNS])).rstrip()


def _cut(value: Any) -> str:
    """A value on one line, at most `WIDTH` characters of it."""
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = " ".join(text[: 4 * WIDTH].split())
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"


def _summary(shape: _Shape) -> str:
    facts = [shape.format]
    if shape.tables:
        facts.append(_counted(len(shape.tables), "table"))
    if shape.rows is not None:
        facts.append(("about " if shape.about else "") + _counted(shape.rows, "row"))
    if shape.columns:
        facts.append(_counted(len(shape.columns), "column"))
    return ", ".join(facts)


def _body(shape: _Shape) -> list[str]:
    lines = [f"Columns: {', '.join(shape.columns)}"] if shape.columns else []
    return lines + (["Sample:", *shape.sample] if shape.sample else [])


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def _rounded(n: float) -> int:
    """An estimate must not look like a count: two digits of it are kept."""
    digits = len(str(int(n)))
    return round(int(n), 2 - digits) if digits > 2 else int(n)


def _size(size: int) -> str:
    if size < 1024:
        return _counted(size, "byte")
    power = min((size.bit_length() - 1) // 10, 4)
    return f"{size / 1024**power:.1f} {'_KMGT'[power]}B"
