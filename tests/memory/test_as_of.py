"""What was known at an earlier time."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from kinen.errors import QueryError
from kinen.memory import Memory
from kinen.model.records import Query
from kinen.query import recall_query

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MARCH = 1_772_366_400_000
"""2026-03-01, 12:00 UTC."""
DAY = 86_400_000
BEFORE = "2026-03-02"


def commit(folder: Path, day: str, message: str) -> None:
    at = f"{day}T10:00:00+00:00"
    env = {**os.environ, "GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (("add", "-A"), (*who, "commit", "-q", "-m", message)):
        subprocess.run(["git", *words], cwd=folder, env=env, check=True, capture_output=True)


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    """A space whose note was changed and whose plan was replaced after the first of March."""
    monkeypatch.setenv("KINEN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
    root = tmp_path / "space"
    plans = root / ".memories" / "plans"
    plans.mkdir(parents=True)
    (root / ".kinen").mkdir()
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    (root / "store.md").write_text("# Store\n\nSessions are in Redis.\n\nThe cache has a TTL.\n")
    (plans / "redis.md").write_text("---\nstatus: active\n---\n# Tune Redis\n\n- [ ] eviction\n")
    (root / ".memories" / ".active-plan").write_text("redis\n")
    commit(root, "2026-03-01", "docs: where sessions are")
    (root / "store.md").write_text(
        "# Store\n\nSessions are in PostgreSQL since the kettle fell.\n\nThe cache has a TTL.\n"
    )
    (plans / "redis.md").write_text("---\nstatus: completed\n---\n# Tune Redis\n\n- [x] eviction\n")
    (plans / "postgres.md").write_text("---\nstatus: active\n---\n# Move\n\n- [ ] rows\n")
    (root / ".memories" / ".active-plan").write_text("postgres\n")
    (root / "new.md").write_text("# New\n\nThe cache is warm.\n")
    commit(root, "2026-03-05", "docs: PostgreSQL")
    with Memory.open(root) as memory:
        memory.sync()
        yield memory


def search(memory: Memory, text: str, as_of: str) -> list[tuple[str, str]]:
    hits = memory.search(Query(text, as_of=as_of))
    return [(hit.record.ref, hit.display.text) for hit in hits]


def test_a_file_counts_with_the_lines_that_it_had(memory: Memory) -> None:
    now = search(memory, "cache", "today")
    assert {ref for ref, _ in now} >= {"note:store.md", "note:new.md"}
    then = dict(search(memory, "cache", BEFORE))
    assert "note:store.md" in then
    assert "TTL" in then["note:store.md"]
    assert "kettle" not in then["note:store.md"]
    assert "note:new.md" not in then
    assert not search(memory, "kettle", BEFORE)


def test_observations_and_commits_count_by_their_time(memory: Memory) -> None:
    memory.observe("The walrus was fed.", at=MARCH)
    memory.observe("The walrus was fed again.", at=MARCH + 3 * DAY)
    assert len(search(memory, "walrus", "today")) == 2
    assert len(search(memory, "walrus", BEFORE)) == 1
    assert not [ref for ref, _ in search(memory, "PostgreSQL", BEFORE) if "commit" in ref]


def test_a_commit_is_a_time_too(memory: Memory) -> None:
    assert memory.past.moment("HEAD~1").at == "2026-03-01T10:00:00.000Z"
    assert memory.past.moment(BEFORE).commit == memory.past.moment("HEAD~1").commit
    assert search(memory, "cache", "HEAD~1") == search(memory, "cache", BEFORE)
    with pytest.raises(QueryError, match="invalid time or commit"):
        memory.past.moment("no-such-branch")
    for words in ("--all", "HEAD:store.md", "a\nb"):
        with pytest.raises(QueryError):
            memory.past.moment(words)


def test_memories_hidden_or_superseded_later_come_back(memory: Memory) -> None:
    def learn(content: str, at: int) -> str:
        from kinen.journal import memories as learn
        from kinen.model.journal import Learned

        entry = Learned(content.replace(" ", "-"), "decision", content, 0.9, at)
        memory.observe("x", at=MARCH)
        learn.learn(memory.core.store.db, [entry])
        return entry.ref

    old = learn("sessions in redis", MARCH)
    new = learn("sessions in postgres", MARCH + 3 * DAY)
    wrong = learn("tea is blue", MARCH)
    memory.consolidation.supersede(old, new)
    memory.consolidation.hide(wrong)
    now = {entry.ref: entry for entry in memory.consolidation.memories()}
    assert set(now) == {old, new}
    assert now[old].superseded_by
    then = {entry.ref: entry for entry in memory.consolidation.memories(as_of=BEFORE)}
    assert set(then) == {old, wrong}
    assert then[old].superseded_by == ""
    with pytest.raises(QueryError):
        memory.consolidation.memories(as_of=BEFORE, hidden=True)


def test_the_plan_is_the_one_of_that_commit(memory: Memory) -> None:
    past = memory.past.plan(memory.past.moment(BEFORE))
    assert past
    assert past.exact
    assert past.plan.title == "Tune Redis"
    assert "- [ ] eviction" in past.plan.text
    assert memory.past.plan(memory.past.moment("2026-02-01")) is None
    recall = memory.recall(recall_query("cache", as_of=BEFORE))
    assert [item.ref for item in recall.items if item.tier == "plan"] == [past.plan.ref]
    assert not [item for item in recall.items if "kettle" in item.text]
    lately = memory.recall(recall_query("", as_of=BEFORE))
    assert not [item for item in lately.items if "PostgreSQL" in item.text]


def test_pins_made_later_are_not_there(memory: Memory) -> None:
    memory.journal.pin("note:store.md")
    assert [item.tier for item in memory.recall(recall_query("cache")).items if item.tier == "pins"]
    recall = memory.recall(recall_query("cache", as_of=BEFORE))
    assert not [item for item in recall.items if item.tier == "pins"]


def test_without_a_repository_dates_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINEN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
    root = tmp_path / "space"
    (root / ".kinen").mkdir(parents=True)
    (root / "old.md").write_text("---\ndate: 2026-01-01\n---\n# Old\n\nThe kettle is on.\n")
    (root / "new.md").write_text("---\ndate: 2026-05-01\n---\n# New\n\nThe kettle is off.\n")
    with Memory.open(root) as memory:
        hits = memory.search(Query("kettle", as_of=BEFORE))
        assert [hit.record.ref for hit in hits] == ["note:old.md"]
        assert any("no commit then" in note for note in hits.notes)
