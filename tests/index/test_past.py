"""Commits found by what they touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinen import Memory, Query
from sources.repositories import Repository

if TYPE_CHECKING:
    from pathlib import Path


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
