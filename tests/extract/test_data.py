from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinen.extract import data

if TYPE_CHECKING:
    from kinen.model.documents import Extract

HEAD = 64 * 1024


def described(name: str, content: bytes | str) -> Extract:
    whole = content if isinstance(content, bytes) else content.encode()
    return data.describe(Path("resources/data") / name, len(whole), whole[:HEAD])


def text(name: str, content: bytes | str) -> str:
    return described(name, content).parts[0].text


def test_a_table_is_described_by_its_columns_and_first_rows() -> None:
    description = described("people.csv", 'name,age,note\nAda,36,"a, b"\nBob,7,\nCy,8,x\nDi,9,y\n')
    assert description.title == "people.csv"
    assert description.parts[0].text == (
        "people.csv: CSV, 4 rows, 3 columns, 49 bytes\n"
        "Columns: name, age, note\n"
        "Sample:\n"
        "Ada | 36 | a, b\n"
        "Bob | 7 |\n"
        "Cy | 8 | x"
    )
    assert description.metadata == {
        "format": "CSV",
        "size": 49,
        "columns": ["name", "age", "note"],
        "rows": 4,
    }


def test_other_delimiters_and_missing_headers_are_noticed() -> None:
    assert "Columns: a, b" in text("x.csv", "a;b\n1;2\n")
    assert "TSV, 1 row, 2 columns" in text("x.tsv", "a\tb\n1\t2,5\n")
    assert "CSV, 2 rows, 2 columns" in text("x.csv", "1,2\n3,4\n")
    assert "Columns: column 1, column 2" in text("x.csv", "1,2\n3,4\n")


def test_only_the_head_of_a_large_table_is_told_and_its_rows_are_estimated() -> None:
    description = described(
        "big.csv", "id,word\n" + "".join(f"{n:06},é word\n" for n in range(50_000))
    )
    assert "CSV, about 50,000 rows, 2 columns" in description.parts[0].text
    assert len(description.parts[0].text) < 300
    assert description.metadata is not None
    assert "rows" not in description.metadata


def test_long_values_are_cut() -> None:
    line = text("x.csv", f"a,b\n{'x' * 500},1\n").splitlines()[-1]
    assert line == "x" * 79 + "… | 1"


def test_json_is_described_by_its_keys() -> None:
    rows = [{"id": n, "tags": ["a", "b"]} for n in range(5)]
    assert text("x.json", json.dumps(rows)).splitlines()[1:] == [
        "Columns: id, tags",
        "Sample:",
        'id: 0 | tags: ["a", "b"]',
        'id: 1 | tags: ["a", "b"]',
        'id: 2 | tags: ["a", "b"]',
    ]
    assert "JSON, 2 columns" in text("x.json", '{"name": "kinen", "version": 1}')
    assert "name: kinen | version: 1" in text("x.json", '{"name": "kinen", "version": 1}')


def test_json_that_is_cut_off_is_described_as_far_as_it_goes() -> None:
    rows = json.dumps([{"id": n, "text": "x" * 50} for n in range(5_000)])
    assert "Columns: id, text" in text("x.json", rows)
    assert "id: 2 | text: xxx" in text("x.json", rows)
    members = json.dumps({"name": "kinen", "items": ["x" * 50] * 5_000, "unseen": 1}, indent=1)
    assert "Columns: name, items" in text("x.geojson", members)


def test_json_lines_are_rows() -> None:
    lines = "".join(json.dumps({"event": n}) + "\n" for n in range(9))
    assert "JSON lines, 9 rows, 1 column" in text("x.jsonl", lines)
    assert "about" in text("x.jsonl", lines * 2_000)


def test_yaml_is_described_by_its_top_keys_and_aliases_cost_nothing() -> None:
    description = text("x.yml", "name: kinen\nlist:\n  - a: 1\nmap: {inner: 2, more: 3}\nlast: x\n")
    assert "Columns: name, list, map, last" in description
    bomb = "a0: &a0 [x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 40)
    )
    assert "Columns: a0, a1" in text("x.yaml", bomb)
    assert "Columns" not in text("x.yaml", "- a: 1\n- b: 2\n")


def test_other_text_shows_its_first_lines() -> None:
    assert text("x.toml", "\n[a]\nb = 1\n\nc = 2\nd = 3\n").splitlines() == [
        "x.toml: TOML text, 24 bytes",
        "Sample:",
        "[a]",
        "b = 1",
        "c = 2",
    ]
    assert "JSON text" in text("x.json", "{broken")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("x.parquet", "x.parquet: Parquet table, 2.0 KB"),
        ("x.weird", "x.weird: WEIRD file, 2.0 KB"),
        ("x", "x: binary file, 2.0 KB"),
        ("x.csv", "x.csv: CSV file, 2.0 KB"),
    ],
)
def test_unknown_binaries_are_named(name: str, expected: str) -> None:
    assert text(name, b"\x00\x01" * 1024) == expected


def test_sizes_are_readable() -> None:
    sizes = [1, 2048, 5 * 1024**2, 3 * 1024**3, 5 * 1024**5]
    description = [data.describe(Path("x.bin"), size, b"\0").parts[0].text for size in sizes]
    ends = [line.rpartition(", ")[2] for line in description]
    assert ends == ["1 byte", "2.0 KB", "5.0 MB", "3.0 GB", "5120.0 TB"]


def database(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            'CREATE TABLE "odd ""name" (id INTEGER PRIMARY KEY, body TEXT, raw BLOB)'
        )
        rows = [(f"row {n}", b"\0\1") for n in range(5)]
        connection.executemany('INSERT INTO "odd ""name" (body, raw) VALUES (?, ?)', rows)
        connection.execute("CREATE TABLE empty (x)")
        connection.execute("CREATE VIEW v AS SELECT * FROM empty")
        connection.commit()
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return database(tmp_path_factory.mktemp("whole") / "a.db").read_bytes()


def test_a_database_is_described_by_its_tables(tmp_path: Path) -> None:
    path = database(tmp_path / "what? #1.db")
    before = path.read_bytes()
    description = data.describe(path, len(before), before[:HEAD])
    assert description.parts[0].text.splitlines()[1:] == [
        "",
        "Table empty: table, 0 rows, 1 column",
        "Columns: x",
        "",
        'Table odd "name: table, 5 rows, 3 columns',
        "Columns: id, body, raw",
        "Sample:",
        "1 | row 0 | <2 bytes>",
        "2 | row 1 | <2 bytes>",
        "3 | row 2 | <2 bytes>",
    ]
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_the_rows_of_a_large_database_are_not_counted(tmp_path: Path) -> None:
    path = database(tmp_path / "a.db")
    description = data.describe(path, data.MAX_COUNTED + 1, path.read_bytes()).parts[0].text
    assert 'Table odd "name: table, 3 columns' in description


def test_a_column_that_computes_too_much_is_not_shown(tmp_path: Path) -> None:
    path = database(tmp_path / "a.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE trap (a, b AS (hex(zeroblob(a)))); INSERT INTO trap (a) VALUES (20000000)"
        )
    description = data.describe(path, path.stat().st_size, path.read_bytes()).parts[0].text
    assert description.endswith("Table trap: table, 1 row, 2 columns\nColumns: a, b")
    assert "row 0" in description


@given(at=st.integers(0, 13_000), new=st.binary(min_size=1, max_size=40))
@settings(deadline=None)
def test_a_torn_database_is_still_named(
    whole: bytes, tmp_path_factory: pytest.TempPathFactory, at: int, new: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "torn.db"
    content = bytearray(whole)
    content[at : at + len(new)] = new
    path.write_bytes(content)
    description = data.describe(path, len(content), bytes(content[:HEAD]))
    assert description.parts[0].text.startswith("torn.db: ")


def test_a_database_that_is_gone_is_still_named(tmp_path: Path) -> None:
    description = data.describe(tmp_path / "gone.db", 100, b"SQLite format 3\0" + bytes(84))
    assert description.parts[0].text == "gone.db: SQLite database, 100 bytes"


SUFFIXES = ".csv .tsv .json .jsonl .yaml .toml .xml .db .parquet .unknown".split()


@given(st.sampled_from(SUFFIXES), st.one_of(st.binary(), st.text().map(str.encode)), st.booleans())
def test_any_bytes_are_described(suffix: str, head: bytes, whole: bool) -> None:
    description = data.describe(Path(f"x{suffix}"), len(head) * (1 if whole else 1000), head)
    assert description.parts[0].text.startswith(f"x{suffix}: ")


@given(st.sampled_from(SUFFIXES), st.text("{}[],:\"'\\ab1-\n|;\t&*!#", max_size=60), st.booleans())
def test_anything_like_data_is_described(suffix: str, head: str, whole: bool) -> None:
    assert data.describe(Path(f"x{suffix}"), len(head) if whole else 10**6, head.encode()).parts


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".yaml"])
def test_deep_nesting_is_described(suffix: str) -> None:
    assert text(f"x{suffix}", "[" * 30_000 + "]" * 30_000)
    assert text(f"x{suffix}", "[" * 100_000)
