"""What files held at any commit, read from git through one process that stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from kinen.errors import GitError, KinenError, NotFound, Unreadable
from sources.repositories import LINES, Repository, clone, opened, remembered

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kinen import Memory

OLD, NEW = "old\n" + LINES, "new\n" + LINES


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """For tests that only read."""
    folder = tmp_path_factory.mktemp("contents")
    (folder / "secret.txt").write_text("outside")
    repo = Repository(folder / "repo")
    repo.commit("first", {"src/a.py": OLD, "gone.py": "was here\n", "dir/x.txt": "x"})
    repo.git("tag", "v1")
    repo.git("tag", "-a", "v1-signed", "-m", "annotated")
    repo.git("branch", "topic/one")
    os.symlink("../secret.txt", repo.root / "link.txt")
    os.symlink(folder, repo.root / "out")
    repo.commit(
        "second",
        {
            "src/a.py": NEW,
            "gone.py": None,
            "empty.txt": "",
            "open.txt": "no end",
            "two words.txt": "spaced",
            "größe/日本.txt": "größer\r\n日本\n",
            b"caf\xe9.py": "latin name",
            "latin.txt": b"caf\xe9\n",
            "data.bin": b"\x89PNG\0\0rest",
            "late.bin": b"x" * 9000 + b"\0",
            "line\nbreak.txt": "odd name",
            "-dash.txt": "dash",
            "a blob 5": "tricky",
        },
    )
    return repo


@pytest.fixture
def memory(repo: Repository, tmp_path: Path) -> Iterator[Memory]:
    with opened(repo.root, tmp_path / "home", index_max_file_mb=1) as memory:
        yield memory


# Where a file is read


@pytest.mark.parametrize("at", ["v1", "v1-signed", "topic/one", "HEAD~1", "HEAD^", "HEAD@{1}"])
def test_a_file_is_read_at_a_tag_a_branch_or_before_the_head(memory: Memory, at: str) -> None:
    assert memory.git.read("src/a.py", at) == OLD


@pytest.mark.parametrize("at", ["HEAD", "main", "refs/heads/main", "@"])
def test_a_file_is_read_at_the_head(memory: Memory, at: str) -> None:
    assert memory.git.read("src/a.py", at) == memory.git.read("src/a.py") == NEW


def test_a_file_is_read_by_a_full_and_by_a_short_sha(repo: Repository, memory: Memory) -> None:
    sha = repo.git("rev-parse", "v1")
    assert [memory.git.read("src/a.py", sha[:n]) for n in (7, 12, 40)] == [OLD] * 3
    assert memory.git.read("src/a.py", repo.head) == NEW


def test_a_deleted_file_is_read_where_it_was(memory: Memory) -> None:
    assert memory.git.read("gone.py", "v1") == "was here\n"
    with pytest.raises(NotFound, match=r"no file gone\.py at HEAD"):
        memory.git.read("gone.py")


def test_the_working_tree_and_the_index_play_no_part(tmp_path: Path) -> None:
    repo = Repository(tmp_path / "repo")
    repo.commit("one", {"a.py": "committed"})
    repo.put({"a.py": "staged", "b.py": "staged"})
    (repo.root / "a.py").write_text("written")
    with opened(repo.root) as memory:
        assert memory.git.read("a.py") == "committed"
        with pytest.raises(NotFound):
            memory.git.read("b.py")


def test_a_new_commit_is_read_at_once(tmp_path: Path) -> None:
    repo = Repository(tmp_path / "repo")
    repo.commit("one", {"a.py": "1"})
    with opened(repo.root) as memory:
        assert memory.git.read("a.py") == "1"
        repo.commit("two", {"a.py": "2", "b.py": "new"})
        repo.git("gc", "-q", "--prune=now")
        assert (memory.git.read("a.py"), memory.git.read("b.py")) == ("2", "new")


# What a file holds


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("empty.txt", ""),
        ("open.txt", "no end"),
        ("two words.txt", "spaced"),
        ("größe/日本.txt", "größer\r\n日本\n"),
        ("latin.txt", "caf\ufffd\n"),
        ("link.txt", "../secret.txt"),
        ("-dash.txt", "dash"),
        ("a blob 5", "tricky"),
    ],
)
def test_a_file_is_read_as_it_is(memory: Memory, path: str, text: str) -> None:
    assert memory.git.read(path) == text
    assert memory.git.read(path) == text


def test_a_file_whose_name_has_a_line_break_is_read_or_refused_by_name(memory: Memory) -> None:
    try:
        assert memory.git.read("line\nbreak.txt") == "odd name"
    except KinenError as error:
        assert "break.txt" in error.message


def test_a_file_whose_name_is_no_utf8_is_read_by_the_name_that_the_index_has(
    memory: Memory,
) -> None:
    assert "caf\\xe9.py" in [record.path for record in memory.git.files()[0]]
    assert memory.git.read(os.fsdecode(b"caf\xe9.py")) == "latin name"
    assert memory.git.read("caf\\xe9.py") == "latin name"


def test_a_binary_file_is_refused_by_name(memory: Memory) -> None:
    with pytest.raises(Unreadable, match=r"data\.bin at HEAD is binary"):
        memory.git.read("data.bin")
    assert memory.git.read("late.bin").endswith("x\0")
    assert memory.git.read("open.txt") == "no end"


def test_a_file_that_is_too_large_is_refused_and_the_next_is_read(tmp_path: Path) -> None:
    repo = Repository(tmp_path / "repo")
    repo.commit("one", {"edge.txt": "x" * (1 << 20), "big.txt": "x" * (1 << 20) + "y", "a": "a"})
    with opened(repo.root, index_max_file_mb=1) as memory:
        assert len(memory.git.read("edge.txt")) == 1 << 20
        with pytest.raises(Unreadable, match=r"big\.txt.* 1,048,577 bytes") as caught:
            memory.git.read("big.txt")
        assert "index.max_file_mb" in caught.value.hint
        assert memory.git.read("a") == "a"


# What cannot be read


@pytest.mark.parametrize("path", ["../secret.txt", "dir/../../secret.txt", "/etc/passwd", "..", ""])
def test_a_path_outside_is_refused(memory: Memory, path: str) -> None:
    with pytest.raises(NotFound, match="outside the space"):
        memory.git.read(path)


def test_an_absolute_path_inside_is_the_same_file(repo: Repository, memory: Memory) -> None:
    assert memory.git.read(str(repo.root / "src" / "a.py")) == NEW
    assert memory.git.read(repo.root / "dir" / ".." / "src" / "a.py") == NEW
    with pytest.raises(NotFound, match="outside the space"):
        memory.git.read(str(repo.root.parent / "secret.txt"))


@pytest.mark.parametrize("path", ["out/secret.txt", "out/repo/src/a.py", "link.txt/x"])
def test_a_link_is_not_followed(memory: Memory, path: str) -> None:
    with pytest.raises(NotFound):
        memory.git.read(path)


@pytest.mark.parametrize("path", ["dir", "src", "src/", "nowhere.py", "src/a.py/b", "SRC/A.PY"])
def test_a_folder_or_an_unknown_path_is_no_file(memory: Memory, path: str) -> None:
    with pytest.raises(NotFound, match="no file"):
        memory.git.read(path)


@pytest.mark.parametrize(
    "at",
    [
        *(
            "nowhere",
            "0123456",
            "HEAD~9",
            "HEAD^{blob}",
            "-p",
            "--batch-check",
            "v1 v1",
            "*",
            "v1\n",
        ),
        *("HEAD:src", ":0", ":/first", "HEAD:src/a.py\n", "", "\n", "HEAD\0", "../x", "v1^{/x"),
        *("é", "\ud800"),
    ],
)
def test_an_unknown_or_malformed_commit_is_a_clear_error(memory: Memory, at: str) -> None:
    with pytest.raises(NotFound, match="no commit"):
        memory.git.read("src/a.py", at)
    assert memory.git.read("src/a.py") == NEW


def test_a_commit_that_is_a_tree_or_a_blob_gives_what_is_there_or_an_error(
    repo: Repository, memory: Memory
) -> None:
    tree, blob = repo.git("rev-parse", "v1^{tree}"), repo.git("rev-parse", "v1:src/a.py")
    assert memory.git.read("src/a.py", tree) == OLD
    with pytest.raises(NotFound):
        memory.git.read("src/a.py", blob)


def test_an_empty_repository_has_nothing_to_read(tmp_path: Path) -> None:
    repo = Repository(tmp_path / "repo")
    with opened(repo.root) as memory, pytest.raises(NotFound, match="no commit 'HEAD'"):
        memory.git.read("a.py")


def test_without_a_repository_there_is_nothing_to_read(tmp_path: Path) -> None:
    with opened(tmp_path) as memory, pytest.raises(GitError, match="no git repository"):
        memory.git.read("a.py")


def test_without_git_reading_is_a_clear_error(
    repo: Repository, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(GitError, match="git cannot be started"):
        memory.git.read("src/a.py")


def test_what_a_partial_clone_does_not_have_is_said_and_never_fetched(tmp_path: Path) -> None:
    origin = Repository(tmp_path / "origin")
    origin.git("config", "uploadpack.allowFilter", "true")
    origin.commit("one", {"a.py": OLD, "b.py": "b"})
    origin.commit("two", {"a.py": NEW})
    repo = clone(origin.root, tmp_path / "repo", "--filter=blob:none")
    before = repo.git("count-objects", "-v")
    with opened(repo.root) as memory:
        for _ in range(5):
            with pytest.raises(KinenError, match=r"a\.py at HEAD~1") as caught:
                memory.git.read("a.py", "HEAD~1")
            assert not caught.value.message.startswith(("no file", "no commit"))
            assert memory.git.read("a.py") == NEW
    assert repo.git("count-objects", "-v") == before


def test_a_subfolder_reads_its_own_files_only(tmp_path: Path) -> None:
    repo = Repository(tmp_path / "repo")
    repo.commit("one", {"sub/a.py": "inner", "a.py": "outer", "sub/deep/b.py": "b"})
    (repo.root / "sub" / ".kinen").mkdir()
    with opened(repo.root / "sub") as memory:
        assert memory.git.read("a.py") == "inner"
        assert memory.git.read("deep/b.py") == "b"
        with pytest.raises(NotFound, match="outside"):
            memory.git.read("../a.py")


# One process


def children(root: Path) -> list[str]:
    """The processes of git that this one started for a repository, as the system lists them."""
    listed = subprocess.run(
        ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(os.getpid())],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [
        line.split()[0] for line in listed.splitlines() if "cat-file" in line and f"{root} " in line
    ]


linux = pytest.mark.skipif(sys.platform != "linux", reason="lists processes as Linux does")


@linux
def test_one_process_serves_many_reads_and_is_gone_after_close(
    repo: Repository, tmp_path: Path
) -> None:
    memory = remembered(repo.root, tmp_path / "home")
    assert children(repo.root) == []
    seen = set()
    for n in range(30):
        memory.git.read("src/a.py", "HEAD" if n % 2 else "v1")
        if n % 3 == 0:
            with pytest.raises(NotFound):
                memory.git.read("nowhere.py")
        seen.update(children(repo.root))
    assert len(seen) == 1
    memory.close()
    assert children(repo.root) == []
    assert memory.git.read("src/a.py") == NEW
    memory.close()
    assert children(repo.root) == []


@linux
def test_a_process_that_was_killed_is_started_again(memory: Memory, repo: Repository) -> None:
    memory.git.read("src/a.py")
    (pid,) = children(repo.root)
    os.kill(int(pid), signal.SIGKILL)
    time.sleep(0.05)
    assert memory.git.read("src/a.py") == NEW
    assert children(repo.root) != [pid]
