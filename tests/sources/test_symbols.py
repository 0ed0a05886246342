"""Functions and classes of a repository as records of the index."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from kinen import Query
from kinen.memory import Memory
from sources.repositories import Repository, remembered

if TYPE_CHECKING:
    from pathlib import Path

CODE = '''"""Sessions."""


class Session:
    """A signed-in user."""

    def refresh(self, token: str) -> str:
        """Exchange an expired credential for a new one."""
        return token[::-1]


def close_all() -> None:
    """Sign everybody out."""
'''


@pytest.fixture
def code(space: Path, write, kinen):
    write("src/session.py", CODE)
    write("notes.md", "# Notes\n\nSee [the code](src/session.py).\n")
    assert kinen("index").code == 0
    return kinen


def symbol_names(space: Path, **settings: object) -> list[str]:
    with Memory.open(space, settings=dict(settings)) as memory:
        memory.sync(embed=False)
        return [record.title for record in memory.records.select(["symbol"])]


def test_a_symbol_is_found_by_name_and_by_meaning(code, write) -> None:
    write("src/a.py", "def _all():\n    close_all(close_all(close_all()))\n")
    by_name = json.loads(code("search", "Session.refresh", "--json").out)["results"][0]
    assert by_name["source"]["ref"] == "symbol:src/session.py#Session.refresh"
    assert by_name["source"]["metadata"]["signature"] == "def refresh(self, token: str) -> str"
    assert (by_name["chunk"]["start_line"], by_name["chunk"]["end_line"]) == (7, 9)
    meaning = code("search", "--type", "symbols", "log out of all accounts")
    assert meaning.out.splitlines()[1].strip().startswith("src/session.py:")
    assert "close_all" in meaning.out.splitlines()[0]
    assert "close_all" in code("search", "close_all").out.splitlines()[0]
    output = code("show", "symbol:src/session.py#close_all")
    assert "Sign everybody out" in output.out


def test_an_edit_changes_the_symbols(space: Path, write, code) -> None:
    assert symbol_names(space) == ["Session", "Session.refresh", "close_all"]
    write("src/session.py", "def other():\n    pass\n\ndef other():\n    pass\n")
    with Memory.open(space) as memory:
        memory.sync(embed=False)
        refs = [record.ref for record in memory.records.select(["symbol"])]
    assert refs == ["symbol:src/session.py#other", "symbol:src/session.py#other~2"]
    write("src/session.py", "X = 1\n")
    assert symbol_names(space) == []
    write("src/session.py", "def f(:\n")
    assert symbol_names(space) == []
    with Memory.open(space) as memory:
        assert "not valid Python" in dict(memory.index.skipped())["src/session.py"]
    (space / "src/session.py").unlink()
    assert symbol_names(space) == []
    with Memory.open(space) as memory:
        assert memory.index.skipped() == []


def test_a_rebuild_equals_the_index_after_edits(space: Path, write, code) -> None:
    write("src/more.py", "def more():\n    '''More.'''\n")
    before = symbol_names(space)
    with Memory.open(space) as memory:
        memory.sync(rebuild=True, embed=False)
        assert [record.title for record in memory.records.select(["symbol"])] == before


def test_ignored_files_and_other_spaces_have_no_symbols(space: Path, write, code) -> None:
    write(".kinenignore", "src/session.py\n")
    write("node_modules/x/y.py", "def vendored(): pass\n")
    write(".hidden.py", "def hidden(): pass\n")
    assert symbol_names(space) == []


def test_symbols_can_be_switched_off(space: Path, code) -> None:
    assert symbol_names(space, **{"index.symbols": False}) == []
    assert symbol_names(space) == ["Session", "Session.refresh", "close_all"]


def test_recall_and_links_leave_symbols_out(space: Path, code) -> None:
    assert "close_all" not in code("recall", "sign everybody out").out
    assert "close_all" in code("recall", "sign everybody out", "--type", "symbols").out
    assert code("graph", "broken").code == 0
    with Memory.open(space) as memory:
        assert [edge.target for edge in memory.records.links("note:notes.md")] == []


def test_secrets_in_code_are_masked_with_the_index(space: Path, write, kinen) -> None:
    write("a.py", 'def f():\n    """Key."""\n    key = "ghp_' + "a1B2c3D4e5" * 3 + 'f6G7h8"\n')
    with Memory.open(space, settings={"privacy.mask_index": True}) as memory:
        memory.sync(embed=False)
        _, chunks = memory.records.show("symbol:a.py#f")
    assert "ghp_" not in chunks[0].text


def test_a_source_file_whose_name_is_not_utf8_is_skipped_with_a_reason(space: Path, code) -> None:
    (space / os.fsdecode(b"caf\xe9.py")).write_text(CODE)
    with Memory.open(space) as memory:
        assert memory.sync(embed=False).skipped == 1
        reason = "file name is not valid UTF-8: rename it"
        assert memory.index.skipped() == [("caf\\xe9.py", reason)]
        assert memory.sync(embed=False).skipped == 0
        assert memory.index.skipped() == [("caf\\xe9.py", reason)]
        (space / os.fsdecode(b"caf\xe9.py")).unlink()
        memory.sync(embed=False)
        assert memory.index.skipped() == []


def test_a_changed_source_file_is_read_again_for_a_symbol_but_not_for_its_history(
    tmp_path: Path,
) -> None:
    repo = Repository(tmp_path / "repo")
    repo.commit("feat: sessions", {"session.py": CODE})
    remark = "files had changed: the index was brought up to date"
    with remembered(repo.root) as memory:
        (repo.root / "session.py").write_text("# moved\n" + CODE)
        assert remark not in memory.search(Query("session", kinds=("file",))).notes
        hits = memory.search(Query("close_all", kinds=("symbol",)))
        assert remark in hits.notes
        assert hits[0].chunk.start_line == 13
