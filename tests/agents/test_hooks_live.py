"""The hooks with the real kinen behind them: git commits, and the memory knows of it by itself."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sources.repositories import Repository

if TYPE_CHECKING:
    from collections.abc import Iterator

KINEN = Path(sys.executable).with_name("kinen")
SESSION, GUIDE = "src/auth/session.py", "docs/guide.md"


@pytest.fixture
def repo(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    """A repository whose hooks call kinen; what they started has ended when the test has."""
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
    repository = Repository(tmp_path / "repo")
    repository.commit("first", {SESSION: "1", GUIDE: "# Guide\n"})
    subprocess.run([KINEN, "hooks", "install", "--tags"], cwd=repository.root, check=True)
    yield repository
    if any((home / "kinen").glob("spaces/*/index.db")):
        until_indexed(home, repository.head)


def indexed(home: Path) -> str:
    """The commit that the index has read up to, as its database says."""
    for path in (home / "kinen").glob("spaces/*/index.db"):
        with (
            contextlib.suppress(sqlite3.OperationalError),
            contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db,
        ):
            row = db.execute("SELECT stamp FROM states WHERE source = 'git' AND key = ''")
            return str((row.fetchone() or ("",))[0])
    return ""


def until_indexed(home: Path, head: str) -> bool:
    end = time.monotonic() + 300
    while indexed(home) != head and time.monotonic() < end:
        time.sleep(0.05)
    return indexed(home) == head


def change(repo: Repository, *paths: str) -> None:
    for path in paths:
        (repo.root / path).write_text(f"{time.monotonic_ns()}\n")


def message(repo: Repository) -> str:
    return repo.git("log", "-1", "--format=%B").strip()


def test_a_commit_is_indexed_and_tagged_by_itself(repo: Repository, home: Path) -> None:
    change(repo, SESSION)
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "fix: refresh tokens")
    assert message(repo) == "fix: refresh tokens\n\ntags: auth"
    assert until_indexed(home, repo.head)
    before = repo.head
    repo.git("commit", "-q", "--amend", "-m", "fix: refresh tokens twice")
    assert repo.head != before
    assert until_indexed(home, repo.head)


@pytest.mark.parametrize("how", ["-a", SESSION])
def test_the_tags_are_of_what_is_committed(repo: Repository, how: str) -> None:
    change(repo, SESSION, *([] if how == "-a" else [GUIDE]))
    if how != "-a":
        repo.git("add", GUIDE)
    repo.git("commit", "-q", "-m", "fix: refresh tokens", how)
    assert repo.git("show", "--name-only", "--format=") == SESSION
    assert message(repo).endswith("\n\ntags: auth")


def test_the_line_of_tags_waits_for_no_index(repo: Repository, home: Path) -> None:
    change(repo, SESSION)
    repo.git("add", "-A")
    ran = subprocess.run(
        [KINEN, "tags", "--staged"], cwd=repo.root, capture_output=True, check=True
    )
    assert ran.stdout == b"tags: auth\n"
    assert not list(home.rglob("index.db"))


def test_leaving_the_editor_still_means_no_commit(repo: Repository) -> None:
    before = repo.head
    change(repo, SESSION)
    repo.git("add", "-A")
    repo.git("commit", check=False, GIT_EDITOR="true")
    assert (repo.head, message(repo)) == (before, "first")


def test_a_sign_off_stays_a_trailer(repo: Repository) -> None:
    change(repo, SESSION)
    repo.git("add", "-A")
    repo.git("commit", "-q", "-s", "-m", "fix: refresh tokens")
    assert "tags: auth" in message(repo)
    trailers = repo.git("log", "-1", "--format=%(trailers:key=Signed-off-by,valueonly)")
    assert trailers.strip() == "Ada <ada@example.org>"


@pytest.mark.parametrize("how", ["read-only", "a file in its place", "a broken journal"])
def test_a_commit_succeeds_whatever_is_wrong_with_kinens_folder(
    repo: Repository, home: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home / "elsewhere"
    monkeypatch.setenv("KINEN_HOME", str(folder))
    if how == "a file in its place":
        folder.write_text("in the way")
    else:
        folder.mkdir(mode=0o500 if how == "read-only" else 0o700)
    if how == "a broken journal":
        subprocess.run([KINEN, "index", "--quiet"], cwd=repo.root, check=True)
        (data,) = (folder / "spaces").iterdir()
        for name in ("journal.db", "index.db", "cache.db"):
            (data / name).write_bytes(b"no database" * 1000)
    change(repo, SESSION)
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "fix: refresh tokens")
    assert message(repo).startswith("fix: refresh tokens")
    assert repo.git("status", "--porcelain") == ""
    os.chmod(folder, 0o700)
