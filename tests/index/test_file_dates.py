from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from kinen import Memory, Query

if TYPE_CHECKING:
    from pathlib import Path

OLD = "2021-03-04T05:06:07+00:00"
PLAIN = {"index.embedding_provider": "none"}


def git(root: Path, *words: str) -> None:
    dates = {"GIT_AUTHOR_DATE": OLD, "GIT_COMMITTER_DATE": OLD}
    name = ("-c", "user.name=Mira", "-c", "user.email=mira@example.org")
    subprocess.run(
        ["git", *name, *words], cwd=root, check=True, capture_output=True, env=os.environ | dates
    )


@pytest.fixture
def clone(space: Path) -> Path:
    """A space whose notes were committed years ago and written to disk just now."""
    (space / "kept.md").write_text("# Kept\n\nThe kettle is copper.\n")
    (space / "edited.md").write_text("# Edited\n\nThe pot is tin.\n")
    git(space, "init", "-q")
    git(space, "add", ".")
    git(space, "commit", "-q", "-m", "notes")
    return space


def dates(memory: Memory) -> dict[str, str]:
    return {record.path: record.at for record in memory.records.select(("note",))}


def test_a_committed_file_is_dated_by_its_last_commit(clone: Path) -> None:
    with Memory.open(clone, settings=PLAIN) as memory:
        memory.sync()
        assert dates(memory)["kept.md"].startswith("2021-03-04T05:06:07")


def test_a_changed_or_new_file_is_dated_by_its_time_on_disk(clone: Path) -> None:
    (clone / "edited.md").write_text("# Edited\n\nThe pot is iron now.\n")
    (clone / "new.md").write_text("# New\n\nA cup.\n")
    with Memory.open(clone, settings=PLAIN) as memory:
        memory.sync()
        existing = dates(memory)
        year = time.strftime("%Y", time.gmtime(os.stat(clone / "new.md").st_mtime))
        assert existing["edited.md"].startswith(year)
        assert existing["new.md"].startswith(year)
        assert existing["kept.md"].startswith("2021")


def test_dates_follow_edits_touches_and_commits(clone: Path) -> None:
    with Memory.open(clone, settings=PLAIN) as memory:
        memory.sync()
        os.utime(clone / "kept.md")
        memory.sync()
        assert dates(memory)["kept.md"].startswith("2021")
        (clone / "edited.md").write_text("# Edited\n\nThe pot is iron now.\n")
        memory.sync()
        assert not dates(memory)["edited.md"].startswith("2021")
        git(clone, "commit", "-q", "-a", "-m", "iron")
        memory.sync()
        assert dates(memory)["edited.md"].startswith("2021")


def test_a_rebuild_gives_the_same_dates(clone: Path) -> None:
    (clone / "edited.md").write_text("# Edited\n\nThe pot is iron now.\n")
    with Memory.open(clone, settings=PLAIN) as memory:
        memory.sync()
        before = dates(memory)
        memory.sync(rebuild=True)
        assert dates(memory) == before


def test_git_is_not_asked_again_while_nothing_moves(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (clone / "edited.md").write_text("# Edited\n\nThe pot is iron now.\n")
    with Memory.open(clone, settings=PLAIN) as memory:
        memory.sync()
        request: list[str] = []
        monkeypatch.setattr("kinen.sources.git.worktree.changed_paths", request.append)
        memory.sync()
        assert request == []


def test_recall_without_a_question_shows_files_edited_since_the_last_session(clone: Path) -> None:
    with Memory.open(clone, settings=PLAIN) as memory:
        capsule = memory.journal.open_capsule("work on pots")
        memory.observe("Replaced the tin pot by an iron one.", capsule=capsule.id)
        memory.journal.close_capsule(capsule.id)
        memory.sync()
        output = {item.ref.split(":")[1] for item in memory.recall("").items}
        assert "kept.md" not in output
        later = time.time() + 3600
        (clone / "edited.md").write_text("# Edited\n\nThe pot is iron now.\n")
        os.utime(clone / "edited.md", (later, later))
        memory.sync()
        refs = [item.ref for item in memory.recall("").items]
        assert any(ref.startswith("note:edited.md") for ref in refs)
        assert not any(ref.startswith("note:kept.md") for ref in refs)


def test_the_vote_for_what_is_newer_uses_the_date_of_the_commit(clone: Path) -> None:
    (clone / "new.md").write_text("# New\n\nThe kettle is copper too.\n")
    with Memory.open(clone, settings=PLAIN) as memory:
        memory.sync()
        hits = memory.search(Query("kettle copper", recency=0.5))
        fresh = {
            hit.record.path: vote.score
            for hit in hits
            for vote in hit.votes
            if vote.retriever == "recency"
        }
        assert fresh["new.md"] > 0.9
        assert fresh["kept.md"] < 0.1
