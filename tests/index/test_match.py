"""The full-text query that a cold search begins early gives what the search itself would."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kinen import Memory, Query
from kinen.index import match
from kinen.index.match import begun, depth
from kinen.index.reader import Reader


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    space = tmp_path / "space"
    (space / ".kinen").mkdir(parents=True)
    for n in range(30):
        (space / f"note-{n}.md").write_text(f"# Note {n}\n\n{'pool ' * (n + 1)}of connections.\n")
    memory = Memory.open(space, home=tmp_path / "home")
    memory.sync(embed=False)
    return memory


TERMS = ("pool", "connections")


def executed(reader: Reader) -> list[str]:
    """The full-text queries that the reader runs itself, as they come."""
    seen: list[str] = []
    reader.db.set_trace_callback(lambda sql: seen.append(sql) if "MATCH" in sql else None)
    return seen


def test_rows_are_taken_as_they_are(memory: Memory) -> None:
    reader = memory.core.reader
    alone = reader.match(TERMS, Query("pool"), depth(10))
    seen = executed(reader)
    with begun(reader.path, TERMS, depth(10)):
        assert reader.match(TERMS, Query("pool"), depth(10)) == alone
    assert len(alone) == 30
    assert not seen


def test_another_query_runs_by_itself(memory: Memory) -> None:
    reader = memory.core.reader
    seen = executed(reader)
    with begun(reader.path, TERMS, depth(10)):
        assert reader.match(("connections",), Query("connections"), 5)
        assert reader.match(TERMS, Query("pool", paths=("note-1.md",)), depth(10))
    assert len(seen) == 2


@pytest.mark.parametrize(("most", "queries"), [(match.WIDE, 0), (10, 1)])
def test_filters_choose_among_more_rows_if_these_are_enough(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, most: int, queries: int
) -> None:
    monkeypatch.setattr("kinen.index.reader.WIDE", most)
    reader = memory.core.reader
    query = Query("pool", paths=("note-1*.md",))
    alone = reader.match(TERMS, query, depth(10))
    best = reader.match(TERMS, Query("pool"), 5)
    seen = executed(reader)
    with begun(reader.path, TERMS, match.WIDE):
        assert reader.match(TERMS, query, depth(10)) == alone
        assert reader.match(TERMS, Query("pool"), 5) == best
    assert len(alone) == 11
    assert len(seen) == queries


@pytest.mark.parametrize("words", ["pool note", "connections rare", "pool rare", "pool pools note"])
def test_a_large_index_weighs_fewer_chunks_for_the_same_rows(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    for n in range(12):
        text = f"# Rare {n}\n\n{'rare ' * (n % 4 + 1)}words{' of a pool' * (n % 3)}.\n"
        (Path(memory.space.root) / f"rare-{n}.md").write_text(text)
    memory.sync(embed=False)
    reader = memory.core.reader
    terms = tuple(words.split())
    queries = [Query(words), Query(words, paths=("rare-*",)), Query(words, kinds=("memory",))]
    small = [reader.match(terms, query, k) for query in queries for k in (3, 30)]
    for name, value in (("reader.LARGE", 1), ("reader.WIDE", 40), ("match.LARGE", 1)):
        monkeypatch.setattr(f"kinen.index.{name}", value)
    with begun(reader.path, terms, depth(10)):
        assert begun.current is None  # what it would weigh early is more than what has to be
    assert [reader.match(terms, query, k) for query in queries for k in (3, 30)] == small
    seen = executed(reader)
    assert reader.match(terms, queries[0], 3) == small[0]
    assert not seen


def test_the_commonest_word_is_left_out_where_it_tells_little() -> None:
    counts = {"test": 280_000, "failed": 25_000, "last": 89_000}
    common, most = match.outweighed(counts, 1_000_000)
    assert common == "test"
    assert 2.0 < most < 2.1
    for no_gain in ({"test": 280_000}, {**counts, "gone": 0}, {"a b": 280_000, "failed": 10}):
        assert match.outweighed(no_gain, 1_000_000) == ("", 0.0)


def test_what_was_written_since_is_found(memory: Memory) -> None:
    reader = memory.core.reader
    with begun(reader.path, TERMS, depth(10)):
        (Path(memory.space.root) / "new.md").write_text("# New\n\nA pool of connections.\n")
        memory.sync(embed=False)
        assert len(reader.match(TERMS, Query("pool"), depth(10))) == 31


def test_a_database_that_is_missing_or_damaged_is_left_to_the_search(tmp_path: Path) -> None:
    missing = tmp_path / "none.db"
    with begun(str(missing), TERMS, depth(10)):
        assert begun.current is None
    assert not missing.exists()
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"no database " * 1000)
    with begun(str(damaged), TERMS, depth(10)):
        assert begun.current is None
    empty = tmp_path / "empty.db"
    empty.touch()
    with begun(str(empty), TERMS, depth(10)):
        assert begun.current is None


def test_everything_is_as_before_after_the_block(memory: Memory) -> None:
    interval = sys.getswitchinterval()
    with pytest.raises(KeyboardInterrupt), begun(memory.core.reader.path, TERMS, depth(10)):
        raise KeyboardInterrupt
    assert begun.current is None
    assert sys.getswitchinterval() == interval


def test_the_command_begins_the_query_of_its_search(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from kinen.cli import main

    taken: list[bool] = []
    rows = begun.rows

    def spy(self: begun, *asked: object) -> object:
        taken.append(rows(self, *asked) is not None)  # type: ignore[arg-type]
        return rows(self, *asked)  # type: ignore[arg-type]

    monkeypatch.setattr(begun, "rows", spy)
    monkeypatch.chdir(memory.space.root)
    monkeypatch.setenv("KINEN_HOME", memory.space.home)
    monkeypatch.setenv("KINEN_DAEMON_AUTO_START", "false")
    for options in (["--fulltext"], ["--fulltext", "--type", "notes"]):
        with pytest.raises(SystemExit) as left:
            main(["search", *options, "pool connections"])
        assert left.value.code == 0
        assert "note-6.md" in capsys.readouterr().out
    assert taken[:1] == [True]
    assert not any(taken[1:])  # a run of words is another query, and a filter begins none
