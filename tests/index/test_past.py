"""Commits found by what they touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinen import Memory, Query
from kinen.index import writer
from sources.repositories import Repository

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_path_filter_finds_the_commits_that_touched_it(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repo")
    repository.commit("fix the kettle lid", {"src/kettle.py": "1"})
    repository.commit("fix the teapot lid", {"docs/teapot.md": "1"})
    settings = {"index.embedding_provider": "none"}
    with Memory.open(repository.root, home=tmp_path / "home", settings=settings) as memory:
        for path, title in (("src", "fix the kettle lid"), ("docs/*.md", "fix the teapot lid")):
            hits = memory.search(Query("fix the lid", kinds=("commit",), paths=(path,)))
            assert [hit.record.title for hit in hits] == [title]
        plain = memory.search(Query("fix the lid", paths=("src",)))
        assert not [hit for hit in plain if hit.record.kind == "commit"]


def test_a_first_history_keeps_the_indexes_of_what_is_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "LARGE", 1)
    root = tmp_path / "repo"
    (root / ".git/objects").mkdir(parents=True)
    (root / ".git/refs/heads").mkdir(parents=True)
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git/refs/heads/main").write_text("a" * 40 + "\n")  # git does not have it
    settings = {"index.embedding_provider": "none"}
    with Memory.open(root, home=tmp_path / "home", settings=settings) as memory:
        memory.observe("the kiln is fired on Monday")
        memory.sync(embed=False)
        numbers = "SELECT name, rootpage FROM sqlite_master WHERE type = 'index'"
        db = memory.core.reader.db
        before = db.execute(numbers).fetchall()
        (root / ".git/refs/heads/main").write_text("b" * 40 + "\n")
        memory.sync(embed=False)
        assert memory.core.reader.db.execute(numbers).fetchall() == before
