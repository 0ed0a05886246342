"""`kinen restore`: versions that sessions replaced are listed, compared and written back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from kinen.memory import Memory
from sources.repositories import EPOCH, Repository
from sources.test_traces import checkpoint, transcript

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ran

BEFORE = "import kettle\nwater = cold\npour(water)\n"
AFTER = "import kettle\nwater = hot\npour(water)\n"


@pytest.fixture
def repository(space: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
    repository = Repository(space, "existing")
    repository.git("init", "-q", "-b", "main")
    repository.commit("start", {"tea.py": AFTER})
    record(space, "tea.py", "-water = cold\n+water = hot")
    return repository


def record(root: Path, path: str, diff: str, at: int = EPOCH - 60) -> None:
    """An edit in a session."""
    scope = {"session": "s-tea", "agent": "claude-code"}
    with Memory.open(root) as memory:
        text = f"Tool: Edit\nFile: {path}\n{diff}"
        memory.observe(text, kind="file_diff", files=[path], scope=scope, at=at * 1000)


def listed(kinen: Callable[..., Ran], *words: str) -> dict[str, Any]:
    run = kinen("restore", *words, "--json")
    assert run.code == 0, run.err
    answer: dict[str, Any] = json.loads(run.out)
    return answer


def test_a_version_is_listed_shown_and_written(
    repository: Repository, kinen: Callable[..., Ran]
) -> None:
    (version,) = listed(kinen, "tea.py")["versions"]
    assert (version["session"], version["agent"], version["whole"]) == (
        "s-tea",
        "claude-code",
        True,
    )
    shown = kinen("restore", "tea.py", "--show", "1")
    assert "-water = hot\n+water = cold" in shown.out
    assert (repository.root / "tea.py").read_text() == AFTER
    run = kinen("files", "restore", "tea.py", "--write", version["ref"])
    assert run.code == 0, run.err
    assert (repository.root / "tea.py").read_text() == BEFORE


def test_changes_that_are_not_committed_are_kept(
    repository: Repository, kinen: Callable[..., Ran]
) -> None:
    file = repository.root / "tea.py"
    file.write_text(f"{AFTER}milk()\n")
    run = kinen("restore", "tea.py", "--write", "1")
    assert run.code == 2
    assert "not committed" in run.err
    assert file.read_text() == f"{AFTER}milk()\n"
    answer = listed(kinen, "tea.py", "--write", "1", "--force")
    with open(answer["backup"]) as kept:
        assert kept.read() == f"{AFTER}milk()\n"
    assert file.read_text() != f"{AFTER}milk()\n"


def test_a_partial_version_is_said_to_be_partial_and_is_not_written(
    repository: Repository, kinen: Callable[..., Ran]
) -> None:
    record(repository.root, "cup.py", "-saucer = 1\n+saucer = 2")
    repository.commit("cup", {"cup.py": "nothing of it\n"})
    (version,) = listed(kinen, "cup.py")["versions"]
    assert not version["whole"]
    assert "partial" in kinen("restore", "cup.py").out
    shown = kinen("restore", "cup.py", "--show", "1")
    assert shown.out == "-saucer = 1\n"
    assert kinen("restore", "cup.py", "--write", "1", "--force").code == 2
    assert (repository.root / "cup.py").read_text() == "nothing of it\n"


def test_a_version_of_a_session_in_the_repository_is_read_there(
    repository: Repository, kinen: Callable[..., Ran]
) -> None:
    # More than a piece of the index: it has texts in pieces that overlap.
    code = "".join(f"line {n} of a long whistle\n" for n in range(400))
    checkpoint(repository, "a" * 12, transcript(("user", "whistle"), ("edit", ("w.py", code))))
    repository.commit("whistle", {"w.py": code})
    at = EPOCH + 60 * repository.minutes + 30
    record(repository.root, "w.py", "-line 7 of a long whistle\n+short", at)
    repository.commit("short", {"w.py": code.replace("line 7 of a long whistle", "short")})
    (version,) = listed(kinen, "w.py")["versions"]
    assert version["whole"]
    assert version["commit"]
    assert kinen("restore", "w.py", "--write", "1").code == 0
    assert (repository.root / "w.py").read_text() == code


def test_nothing_is_written_outside_of_the_space_or_into_git(
    repository: Repository, kinen: Callable[..., Ran], tmp_path: Path
) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text(AFTER)
    (repository.root / "link.py").symlink_to(outside)
    record(repository.root, "link.py", "-water = cold\n+water = hot")
    assert kinen("restore", "link.py", "--write", "1", "--force").code != 0
    assert outside.read_text() == AFTER
    record(repository.root, ".git/config", "-bare = false\n+bare = true")
    before = (repository.root / ".git/config").read_text()
    assert kinen("restore", ".git/config", "--write", "1", "--force").code != 0
    assert (repository.root / ".git/config").read_text() == before
    assert kinen("restore", "../outside.py").code == 2
