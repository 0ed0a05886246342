"""Lists of memories, sessions, snapshots and the ledger: short on a terminal, whole in a pipe."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from kinen import Memory
from kinen.render.screen import columns
from terminal import COLUMNS, on_terminal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Ask = Callable[..., Any]

SESSION = "5b1d7c1e-0000-4000-8000-000000000001"


@pytest.fixture
def recorded(space: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A space with a session of an agent, a lesson of its summary, a decision and a snapshot."""
    monkeypatch.setenv("KINEN_INDEX_EMBEDDING_PROVIDER", "none")
    summary = "## Lessons\n\n- Stale cache: `pytest` does not clear the cache, clear it first.\n"
    with Memory.open(space) as memory:
        scope = {"session": SESSION, "agent": "claude-code"}
        capsule = memory.journal.open_capsule("clear the cache 缓存 before the tests", scope=scope)
        memory.observe("clear the cache", scope=scope, provenance={"role": "user"})
        memory.journal.close_capsule(capsule.id, summary)
        memory.worklog.checkpoint("Tea", type="decision", decision="Green tea in the office")
        memory.consolidation.consolidate()
        memory.snapshots.create()
        memory.ledger.record_answer("kinen_recall", "claude-code", "- what was sent " * 9, [])
    return space


LISTS = {
    "memories list": "memories",
    "session list": "sessions",
    "snapshot list": "snapshots",
    "ledger": "injections",
}


@pytest.mark.parametrize("command", LISTS)
def test_ids_are_short_on_a_terminal_and_whole_elsewhere(
    recorded: Path, kinen: Ask, command: str
) -> None:
    words = command.split()
    code, output = on_terminal(*words, cwd=recorded, NO_COLOR="1")
    assert code == 0
    assert all(columns(line) <= COLUMNS for line in output.splitlines()), output
    assert "just now" in output
    piped = kinen(*words).out
    entries = json.loads(kinen(*words, "--json").out)[LISTS[command]]
    for entry in entries:
        whole = entry.get("name") or entry.get("ref", entry["id"]).partition(":")[2] or entry["id"]
        assert whole in piped
        assert whole not in output
        assert whole[:8] in output


def test_memories_are_below_their_day_and_found_by_session(recorded: Path, kinen: Ask) -> None:
    _, output = on_terminal("memories", "list", cwd=recorded, NO_COLOR="1")
    assert output.splitlines()[0] == "Today"
    assert output.count("Today") == 1
    listed = json.loads(kinen("memories", "list", "--session", SESSION[:8], "--json").out)
    assert [entry["session"] for entry in listed["memories"]] == [SESSION]


def test_an_id_of_one_character_is_enough_where_it_is_unique(recorded: Path, kinen: Ask) -> None:
    injection = json.loads(kinen("ledger", "--json").out)["injections"][0]
    assert "what was sent" in kinen("ledger", "show", injection["id"][:1]).out
    snapshot = json.loads(kinen("snapshot", "list", "--json").out)["snapshots"][0]
    assert snapshot["name"] in kinen("snapshot", "restore", snapshot["name"][:1]).out
    memories = json.loads(kinen("memories", "list", "--json").out)["memories"]
    first, second = (entry["id"] for entry in memories)
    size = next(n for n in range(1, 26) if first[:n] != second[:n])
    assert first in kinen("memories", "show", first[:size]).out
    assert first in kinen("show", f"memory:{first[:size]}").out
    assert kinen("memories", "show", "").code == 2


def test_a_short_name_is_that_of_a_file_first(recorded: Path, kinen: Ask) -> None:
    memory = json.loads(kinen("memories", "list", "--json").out)["memories"][0]["id"]
    (recorded / f"{memory[:2]}.md").write_text("# A note\n\nIts name begins an id.\n")
    assert f"{memory[:2]}.md" in kinen("show", memory[:2]).out


def test_the_beginning_of_several_ids_is_ambiguous_and_lists_them(
    recorded: Path, kinen: Ask
) -> None:
    for text in ("first", "second"):
        kinen("log", text)
        kinen("checkpoint", f"Saved the {text}")
    for name in ("one", "two"):
        kinen("capsule", "open", "--intent", name)
        with Memory.open(recorded) as memory:
            memory.ledger.record_answer("kinen_recall", "claude-code", name, [])
    for words in (
        *("show 01", "open 01", "pin 01", "redact 01", "forget 01", "capsule show 01"),
        *("session show 01", "session resume 01", "context --session 01", "ledger show 01"),
        *("show observation:01", "capsule close 01"),
    ):
        ran = kinen(*words.split())
        assert (ran.code, ran.out) == (2, ""), words
        assert "01' is ambiguous: " in ran.err, words
        assert ran.err.count("01") > 2, ran.err
        assert "give more of the id" in ran.err


def test_status_shows_how_far_another_process_is(recorded: Path, kinen: Ask) -> None:
    from kinen.index.lock import sync_lock

    with Memory.open(recorded) as memory:
        lock = memory.core.file("sync.lock")
    with sync_lock(lock, 0) as announce:
        announce("embed", 6412, 27448)
        assert "working    making vectors: 6,412 of 27,448" in kinen("status").out
        assert json.loads(kinen("status", "--json").out)["work"]["done"] == 6412
    assert "working" not in kinen("status").out
    assert "synced     just now" in on_terminal("status", cwd=recorded, NO_COLOR="1")[1]
