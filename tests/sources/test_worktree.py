"""What is changed in a working tree is what `git status` would say, without git reading a file."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from kinen.sources.git.worktree import changed_files
from kinen.space.repository import git_above
from sources.repositories import LINES, Repository

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=["sha1", "sha256"])
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "repo", f"--object-format={request.param}")
    names = ("kept.py", "edited.py", "gone.py", "old.py", "src/deep.py", "touched.py", "empty.py")
    repository.commit("first", {name: f"{name}\n{LINES}" for name in names} | {"empty.py": ""})
    return repository


def changed(folder: Path) -> set[str]:
    git = git_above(os.path.realpath(folder))
    assert git is not None
    return {os.fsdecode(path) for path in changed_files(git, str(folder), time.monotonic() + 60)}


def status(repo: Repository) -> set[str]:
    """The paths that `git status` names; of a renamed file only the new one."""
    words = ("status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=dirty")
    paths = set()
    tokens = iter(repo.git(*words).split("\0"))
    for token in tokens:
        if token:
            paths.add(token[3:])
            if token[0] == "R":
                next(tokens)
    return paths


def test_it_is_what_git_status_says(repo: Repository) -> None:
    assert changed(repo.root) == set()
    (repo.root / "edited.py").write_text("edited\n")
    (repo.root / "gone.py").unlink()
    (repo.root / "empty.py").write_text("no more\n")
    (repo.root / "new größe.py").write_text("new\n")
    (repo.root / ".gitignore").write_text("ignored\n")
    (repo.root / "ignored").write_text("x")
    (repo.root / "added.py").write_text("x")
    repo.git("mv", "old.py", "renamed.py")
    repo.git("add", "-N", "added.py")
    os.utime(repo.root / "touched.py", (1, 1))
    names = {"edited.py", "gone.py", "empty.py", "new größe.py", ".gitignore", "renamed.py"}
    assert changed(repo.root) == {*names, "added.py"} == status(repo)
    (repo.root / "src" / "deep.py").write_text("deeper\n")
    assert changed(repo.root / "src") == {"deep.py"}


def test_a_change_of_the_same_size_right_after_a_commit_is_seen(repo: Repository) -> None:
    for n in range(20):
        repo.commit(f"number {n}", {"kept.py": f"{n:04}\n"})
        assert changed(repo.root) == set()
        (repo.root / "kept.py").write_text(f"{n + 5000}\n")
        assert changed(repo.root) == {"kept.py"}


def test_line_ends_alone_are_no_change(repo: Repository) -> None:
    lines = (repo.root / "kept.py").read_bytes()
    (repo.root / "kept.py").write_bytes(lines.replace(b"\n", b"\r\n"))
    assert changed(repo.root) == set()
    (repo.root / "kept.py").write_bytes(b"other" + lines.replace(b"\n", b"\r\n"))
    assert changed(repo.root) == {"kept.py"}


@pytest.mark.skipif(os.name == "nt", reason="modes and links as on POSIX")
def test_modes_links_and_pipes(repo: Repository) -> None:
    (repo.root / "link").symlink_to("kept.py")
    repo.commit("link")
    assert changed(repo.root) == set()
    (repo.root / "kept.py").chmod(0o755)
    (repo.root / "link").unlink()
    (repo.root / "link").symlink_to("gone.py")
    (repo.root / "gone.py").unlink()
    os.mkfifo(repo.root / "gone.py")
    assert changed(repo.root) == {"kept.py", "link", "gone.py"} == status(repo)
    repo.git("config", "core.fileMode", "false")
    assert changed(repo.root) == {"link", "gone.py"} == status(repo)


@pytest.mark.skipif(os.name == "nt", reason="links as on POSIX")
def test_what_is_behind_a_link_is_deleted(repo: Repository, tmp_path: Path) -> None:
    (repo.root / "src").rename(tmp_path / "elsewhere")
    (repo.root / "src").symlink_to(tmp_path / "elsewhere")
    os.utime(tmp_path / "elsewhere" / "deep.py", (1, 1))
    assert "src/deep.py" in changed(repo.root)


def test_files_that_git_is_told_not_to_look_at(repo: Repository) -> None:
    repo.git("update-index", "--assume-unchanged", "kept.py")
    repo.git("update-index", "--skip-worktree", "gone.py")
    (repo.root / "kept.py").write_text("edited\n")
    (repo.root / "gone.py").unlink()
    assert changed(repo.root) == set() == status(repo)


def test_a_conflict_is_a_change(repo: Repository) -> None:
    repo.git("checkout", "-q", "-b", "side")
    repo.commit("side", {"kept.py": "side\n"})
    repo.git("checkout", "-q", "main")
    repo.commit("main", {"kept.py": "main\n"})
    repo.git("merge", "-q", "side", check=False)
    assert changed(repo.root) == {"kept.py"} == status(repo)


def test_a_submodule_changes_with_its_commit(tmp_path: Path) -> None:
    inner, outer = Repository(tmp_path / "inner"), Repository(tmp_path / "outer")
    inner.commit("one", {"a.py": "1"})
    outer.commit("one", {"b.py": "1"})
    outer.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.root), "sub")
    outer.commit("with a submodule")
    sub = Repository(outer.root / "sub", "existing")
    (sub.root / "a.py").write_text("dirty")
    assert changed(outer.root) == set() == status(outer)
    sub.commit("two")
    assert changed(outer.root) == {"sub"} == status(outer)


def test_a_linked_worktree_has_its_own_changes(repo: Repository, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", str(tmp_path / "tree"), "-b", "side")
    (tmp_path / "tree" / "kept.py").write_text("edited\n")
    assert changed(tmp_path / "tree") == {"kept.py"}
    assert changed(repo.root) == set()


def test_before_the_first_commit_and_in_a_bare_repository(tmp_path: Path) -> None:
    repo = Repository(tmp_path / "young")
    repo.put({"staged.py": "1"})
    (repo.root / "new.py").write_text("2")
    assert changed(repo.root) == {"staged.py", "new.py"}
    repo.commit("first")
    repo.git("clone", "-q", "--bare", ".", str(tmp_path / "layout" / ".bare"))
    (tmp_path / "layout" / ".git").write_text("gitdir: ./.bare\n")
    assert changed(tmp_path / "layout") == set()


def test_another_layout_of_the_index_is_read(repo: Repository) -> None:
    repo.git("update-index", "--index-version", "4")
    repo.git("update-index", "--split-index")
    (repo.root / "kept.py").write_text("edited\n")
    assert changed(repo.root) == {"kept.py"} == status(repo)
