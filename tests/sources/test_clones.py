"""Repositories that do not have all there is: shallow and partial clones, submodules, damage."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from kinen.errors import KinenError
from sources.repositories import (
    LINES,
    Repository,
    alive,
    assert_as_built_anew,
    clone,
    commits,
    found,
    opened,
    remembered,
    says,
)

if TYPE_CHECKING:
    from pathlib import Path

    from kinen import Memory


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    repo = Repository(tmp_path_factory.mktemp("built") / "origin")
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.commit("feat(auth): one\n\ntags: login", {"src/auth/a.py": LINES, "b.py": "b"})
    repo.commit("two", {"src/auth/a.py": LINES + "more\n"})
    repo.rename("src/auth/a.py", "src/auth/moved.py", "moved whole")
    repo.put({"src/auth/moved.py": None, "src/auth/last.py": "changed\n" + LINES + "more\n"})
    repo.commit("moved and changed")
    for n in range(12):
        repo.commit(f"number {n}", {"b.py": f"{n}", f"dir{n}/x.py": f"{n}\n"})
    return repo


@pytest.fixture
def origin(built: Repository, tmp_path: Path) -> Repository:
    return built.copied(tmp_path / "origin")


def gone(origin: Repository) -> None:
    """Make an origin unreachable: whoever would fetch from it fails."""
    origin.root.rename(origin.root.with_name("elsewhere"))


def packed(repo: Repository) -> list[str]:
    """How many objects came in packs: whatever is fetched comes in one more."""
    lines = repo.git("count-objects", "-v").splitlines()
    return [line for line in lines if line.startswith(("in-pack:", "packs:"))]


def notes(memory: Memory) -> str:
    return "\n".join(f"{what}: {reason}" for what, reason in memory.index.skipped())


# Shallow


def test_a_shallow_clone_and_its_full_history_later(origin: Repository, tmp_path: Path) -> None:
    repo = clone(origin.root, tmp_path / "repo", "--depth", "3")
    with remembered(repo.root) as memory:
        assert set(commits(memory).values()) == {"number 9", "number 10", "number 11"}
        assert alive(memory) == repo.tree()
        assert_as_built_anew(memory)
        space, data = memory.space.id, memory.space.data
        repo.git("fetch", "-q", "--unshallow")
        memory.sync()
        assert len(commits(memory)) == 16
        assert [entry.status for entry in memory.git.history("src/auth/last.py")] == list("AMRR")
        assert_as_built_anew(memory)
    with opened(repo.root) as memory:
        assert (memory.space.id, memory.space.data) == (space, data)


def test_a_shallow_clone_that_is_deepened_and_cut_again(origin: Repository, tmp_path: Path) -> None:
    repo = clone(origin.root, tmp_path / "repo", "--depth", "3")
    with remembered(repo.root) as memory:
        repo.git("fetch", "-q", "--deepen", "2")
        assert_as_built_anew(memory)
        assert len(commits(memory)) == 5
        origin.commit("newest", {"b.py": "newest"})
        repo.git("fetch", "-q", "--depth", "1")
        repo.git("reset", "-q", "--hard", "origin/main")
        repo.git("reflog", "expire", "--expire=now", "--all")
        repo.git("gc", "-q", "--prune=now")
        assert_as_built_anew(memory)
        assert set(commits(memory).values()) == {"newest"}


# Partial


reachable = pytest.mark.parametrize("there", [True, False], ids=["origin", "no origin"])


@reachable
def test_a_clone_without_blobs_is_indexed_and_fetches_nothing(
    origin: Repository, tmp_path: Path, there: bool
) -> None:
    repo = clone(origin.root, tmp_path / "repo", "--filter=blob:none")
    if not there:
        gone(origin)
    before = packed(repo)
    with opened(repo.root) as memory:
        memory.sync()
        assert len(commits(memory)) == 16
        assert alive(memory) == repo.tree()
        statuses = [entry.status for entry in memory.git.history("src/auth/moved.py")]
        assert statuses[:3] == ["A", "M", "R"]
        assert_as_built_anew(memory)
        repo.commit("after", {"b.py": "mine"})
        assert_as_built_anew(memory)
        assert "after" in commits(memory).values()
    assert packed(repo) == before


def test_a_clone_without_blobs_says_that_renames_may_be_missing(
    origin: Repository, tmp_path: Path
) -> None:
    repo = clone(origin.root, tmp_path / "repo", "--filter=blob:none")
    gone(origin)
    with opened(repo.root) as memory:
        assert any("partial" in note for note in memory.sync().notes)


@reachable
def test_a_clone_without_trees_is_indexed_as_far_as_it_can_be_and_says_so(
    origin: Repository, tmp_path: Path, there: bool
) -> None:
    repo = clone(origin.root, tmp_path / "repo", "--filter=tree:0")
    if not there:
        gone(origin)
    before = packed(repo)
    with opened(repo.root) as memory:
        report = memory.sync()
        assert len(commits(memory)) == 16
        assert alive(memory) == repo.tree()
        assert any("cannot be read" in note for note in report.notes)
        assert notes(memory)
        assert_as_built_anew(memory)
    assert packed(repo) == before


# Submodules


def test_a_submodule_is_listed_and_its_content_refused(origin: Repository, tmp_path: Path) -> None:
    repo = Repository(tmp_path / "repo")
    repo.commit("one", {"a.py": "1"})
    repo.git("submodule", "--quiet", "add", origin.root.as_uri(), "vendor/sub")
    repo.commit("with a submodule")
    with remembered(repo.root) as memory:
        assert alive(memory) == [".gitmodules", "a.py", "vendor/sub"]
        assert [item.subject for item in memory.git.history("vendor/sub")] == ["with a submodule"]
        for path in ("vendor/sub", "vendor/sub/b.py"):
            with pytest.raises(KinenError, match=path):
                memory.git.read(path)
        origin.commit("newer", {"b.py": "newer"})
        repo.git("-C", "vendor/sub", "pull", "-q")
        repo.commit("moved on")
        assert [entry.status for entry in memory.git.history("vendor/sub")] == ["A", "M"]
        assert_as_built_anew(memory)


def test_the_error_for_a_submodule_says_that_it_is_one(origin: Repository, tmp_path: Path) -> None:
    repo = Repository(tmp_path / "repo")
    repo.git("submodule", "--quiet", "add", origin.root.as_uri(), "sub")
    repo.commit("with a submodule")
    with opened(repo.root) as memory, pytest.raises(KinenError) as caught:
        memory.git.read("sub")
    assert "submodule" in str(caught.value)


def test_a_submodule_is_a_space_of_its_own(origin: Repository, tmp_path: Path) -> None:
    repo = Repository(tmp_path / "repo")
    repo.git("submodule", "--quiet", "add", origin.root.as_uri(), "sub")
    repo.commit("outer")
    with remembered(repo.root / "sub") as memory:
        assert len(commits(memory)) == 16
        assert "outer" not in commits(memory).values()


# Damage


def spoil(file: Path, how: str) -> bytes:
    """Delete or overwrite the file of an object; what it was."""
    whole = file.read_bytes()
    file.chmod(0o644)
    if how == "deleted":
        file.unlink()
    else:
        file.write_bytes(b"garbage" if how == "garbage" else whole[: len(whole) // 2])
    return whole


@pytest.fixture
def repo(origin: Repository, tmp_path: Path) -> Repository:
    """A repository whose objects are files, each to be broken by itself."""
    shutil.copytree(origin.root, tmp_path / "repo", symlinks=True)
    return Repository(tmp_path / "repo", "existing")


HOW = ["deleted", "garbage", "cut"]


@pytest.mark.parametrize("how", HOW)
def test_a_broken_blob_costs_at_most_a_rename(repo: Repository, how: str) -> None:
    spoil(repo.object("HEAD~12:src/auth/last.py"), how)
    broken = repo.git("rev-parse", "HEAD~12")
    with opened(repo.root) as memory:
        report = memory.sync()
        assert len(commits(memory)) == 16
        assert [entry.subject for entry in memory.git.history("b.py")][-1] == "number 11"
        assert memory.records.get(broken).title == "moved and changed"
        assert alive(memory) == repo.tree()
        assert all(broken[:12] in note for note in report.notes)
        assert_as_built_anew(memory)


@pytest.mark.parametrize("how", HOW)
def test_a_broken_tree_costs_what_one_commit_changed_and_is_named(
    repo: Repository, how: str
) -> None:
    spoil(repo.object("HEAD~5^{tree}"), how)
    broken, after = repo.git("rev-parse", "HEAD~5", "HEAD~4").split()
    with opened(repo.root) as memory:
        report = memory.sync()
        assert len(commits(memory)) == 16
        for sha in (broken, after):
            assert any(sha[:12] in note for note in report.notes)
            assert sha[:12] in notes(memory)
        seen = [entry.subject for entry in memory.git.history("b.py")]
        assert len(seen) == 11
        assert {"number 5", "number 8"} <= set(seen)
        assert alive(memory) == repo.tree()
        assert_as_built_anew(memory)


@pytest.mark.parametrize("how", HOW)
def test_a_broken_commit_costs_what_is_before_it_and_is_named(repo: Repository, how: str) -> None:
    broken = repo.git("rev-parse", "HEAD~5")
    spoil(repo.object("HEAD~5"), how)
    with opened(repo.root) as memory:
        report = memory.sync()
        assert {f"number {n}" for n in range(8, 12)} <= set(commits(memory).values())
        assert any(broken[:12] in note for note in report.notes)
        assert found(memory, "number 11", limit=1)
        assert alive(memory) == repo.tree()
        assert_as_built_anew(memory)


def test_the_commit_above_a_broken_one_is_read(repo: Repository) -> None:
    spoil(repo.object("HEAD~5"), "deleted")
    with remembered(repo.root) as memory:
        assert set(commits(memory).values()) == {f"number {n}" for n in range(7, 12)}


def test_a_repository_that_breaks_later_keeps_what_was_read(repo: Repository) -> None:
    with remembered(repo.root) as memory:
        before = len(commits(memory))
        spoil(repo.object("HEAD~5"), "deleted")
        repo.commit("after", {"b.py": "after"})
        assert len(commits(memory)) == before + 1
        assert len(memory.git.history("b.py")) == 14


def test_a_head_that_cannot_be_read_is_a_note_and_the_rest_answers(repo: Repository) -> None:
    (repo.root / "note.md").write_text("# Kettle\n")
    spoil(repo.object("HEAD"), "garbage")
    with opened(repo.root) as memory:
        assert found(memory, "kettle") == ["note:note.md"]
        assert notes(memory)


def test_what_is_still_broken_is_still_named_after_the_next_commit(repo: Repository) -> None:
    spoil(repo.object("HEAD~5^{tree}"), "deleted")
    with remembered(repo.root) as memory:
        before = notes(memory)
        assert before
        repo.commit("after", {"b.py": "after"})
        memory.sync()
        assert notes(memory) == before


@pytest.mark.parametrize("name", ["HEAD~5", "HEAD~5^{tree}"])
def test_what_was_broken_is_read_when_it_is_mended(repo: Repository, name: str) -> None:
    file = repo.object(name)
    whole = spoil(file, "deleted")
    with remembered(repo.root) as memory:
        file.write_bytes(whole)
        repo.commit("after", {"b.py": "after"})
        assert_as_built_anew(memory)
        assert len(memory.git.history("b.py")) == 14


def test_a_folder_whose_git_leads_nowhere_is_searched_without_it(tmp_path: Path) -> None:
    (tmp_path / "space").mkdir()
    (tmp_path / "space" / ".git").write_text("gitdir: /nowhere/at/all\n")
    (tmp_path / "space" / "note.md").write_text("# Kettle\n")
    with remembered(tmp_path / "space") as memory:
        assert found(memory, "kettle") == ["note:note.md"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_of_somebody_else_is_not_read_and_that_is_said(repo: Repository) -> None:
    (repo.root / "note.md").write_text("# Kettle\n")
    for path in (repo.root, repo.root / ".git"):
        os.chown(path, 12345, 12345)
    with opened(repo.root) as memory:
        assert found(memory, "kettle") == ["note:note.md"]
        assert "belongs to another user" in notes(memory)
    for path in (repo.root, repo.root / ".git"):
        os.chown(path, 0, 0)
    with remembered(repo.root) as memory:
        assert len(commits(memory)) == 16
        assert says(memory)["files"]
