"""Commits told one by one by a git that stays are those that `git log` prints."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from kinen import Memory
from kinen.sources.git.log import Log
from kinen.sources.git.stream import MOST
from kinen.space.repository import find
from properties.test_history import dump
from sources.repositories import LINES, Repository

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    repo = Repository(tmp_path / "repo")
    repo.commit("feat: begin", {"a.txt": LINES, "src/b.txt": LINES, "docs/c.md": "# C\n"})
    return repo


def log_of(root: Path) -> Log:
    git = find(str(root))
    assert git is not None
    return Log(git, str(root))


def children() -> set[str]:
    """Processes of git that stay."""
    line = ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(os.getpid())]
    listed = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    return {line.split()[0] for line in listed.splitlines() if "diff-tree" in line}


def test_they_are_the_same_in_the_same_order(repository: Repository) -> None:
    first = repository.head
    repository.commit("fix(a): one\n\nWith a body.\n\nRefs: " + first[:9], {"a.txt": LINES + "x\n"})
    repository.commit("refactor: rename", {"src/b.txt": None, "src/d.txt": LINES + "y\n"})
    repository.commit("feat: odd names", {b"caf\xe9 \xff.txt": "x", "tab\tand\nline.txt": "y"})
    repository.commit("chore: nothing at all", {})
    repository.commit(
        "fix: \x02 a strange message\nkinen: end\n\n:100644 M", {"a.txt": "all new\n"}
    )
    log = log_of(repository.root)
    steps = log.steps(None)
    try:
        for old in repository.git("rev-list", "HEAD").splitlines()[1:]:
            log.begin(old, steps)
            assert log._begun is not None
            commits = list(log.since(repository.head, old))
            assert commits == list(log_of(repository.root).since(repository.head, old))
        assert log.steps(steps) is steps
    finally:
        steps.close()


def test_what_is_no_plain_line_is_left_to_the_log(repository: Repository) -> None:
    first = repository.head
    repository.git("checkout", "-qb", "side")
    repository.commit("feat: aside", {"side.txt": "x"})
    repository.git("checkout", "-q", "main")
    repository.commit("feat: main", {"main.txt": "x"})
    repository.git("merge", "-q", "--no-ff", "-m", "merge", "side")
    merged = repository.head
    steps = log_of(repository.root).steps(None)
    try:
        assert steps.between(merged, first) is None
        assert steps.between(first, merged) is None  # before it, not after
        assert steps.between("0" * 40, first) is None  # no such commit, and git goes on
        repository.commit("feat: after", {"a.txt": "x"})
        assert [item.message for item in steps.between(repository.head, merged) or ()] == [
            "feat: after"
        ]
        for n in range(MOST + 1):
            repository.commit(f"feat: {n}", {"a.txt": f"{n}\n"})
        assert steps.between(repository.head, merged) is None
    finally:
        steps.close()


def test_an_open_memory_follows_and_leaves_no_process(
    repository: Repository, tmp_path: Path
) -> None:
    before = children()
    with Memory.open(repository.root, home=tmp_path / "one") as memory:
        memory.sync(embed=False)
        for n in range(4):
            repository.commit(f"fix: {n}", {"a.txt": f"{n}\n", f"new-{n}.txt": "x"})
            memory.index.follow_history()
        assert memory.index.sources._steps is not None
        (pid,) = children() - before
        os.kill(int(pid), 9)  # it is started again where it ended
        repository.commit("fix: more", {"a.txt": "more\n"})
        memory.index.follow_history()
        repository.git("commit", "-q", "--amend", "-m", "fix: other words")
        memory.index.follow_history()
        (repository.root / ".mailmap").write_text("Grace <grace@example.org> <ada@example.org>\n")
        repository.commit("fix: by Grace", {"a.txt": "grace\n"})
        memory.index.follow_history()
        memory.sync(embed=False)
        grown = dump(memory.core.reader.db)
    assert children() == before
    with Memory.open(repository.root, home=tmp_path / "two") as memory:
        memory.sync(embed=False)
        assert dump(memory.core.reader.db) == grown
