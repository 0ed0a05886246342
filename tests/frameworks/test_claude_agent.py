"""The session store of the Claude Agent SDK: its conformance suite, and what that leaves out."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from frameworks_memory import SECRET, on_disk
from kinen import Memory
from kinen.frameworks.claude_agent import KinenSessionStore

if TYPE_CHECKING:
    from pathlib import Path

KEY = {"project_key": "-home-me-shop", "session_id": "s-1"}
ENTRIES: list[Any] = [
    {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "how do we deploy?"}},
    {"type": "mode", "mode": "plan"},
    {
        "type": "assistant",
        "uuid": "u2",
        "message": {"content": [{"type": "text", "text": "By make ship."}]},
    },
]


def test_the_conformance_suite_of_the_sdk_passes(tmp_path: Path) -> None:
    suite = pytest.importorskip("claude_agent_sdk.testing", reason="make frameworks")
    memories: list[Memory] = []

    def make_store() -> KinenSessionStore:
        folder = tmp_path / str(len(memories))
        folder.mkdir()
        memories.append(Memory.open(folder, home=tmp_path / "home"))
        return KinenSessionStore(memories[-1])

    asyncio.run(suite.run_session_store_conformance(make_store))
    for memory in memories:
        memory.close()


def test_sessions_of_projects_and_their_parts_are_apart(memory: Memory, tmp_path: Path) -> None:
    store = KinenSessionStore(memory)
    part = {**KEY, "subpath": "subagents/agent-1"}
    other = {**KEY, "project_key": "other"}

    async def main() -> None:
        for key, word in ((KEY, "main"), (part, "rooibos"), (other, "other")):
            await store.append(key, [{"type": "user", "message": {"content": word}}])
        assert len(await store.load(part) or []) == 1
        assert await store.list_subkeys(KEY) == ["subagents/agent-1"]
        sessions = await store.list_sessions(KEY["project_key"])
        assert [session["session_id"] for session in sessions] == ["s-1"]
        await store.delete(KEY)
        assert await store.load(KEY) is None
        assert await store.load(part) is None
        assert await store.load(other)

    asyncio.run(main())
    assert not on_disk(tmp_path / "home", "rooibos")


def test_an_entry_is_stored_once(memory: Memory) -> None:
    store = KinenSessionStore(memory)

    async def main() -> None:
        await store.append(KEY, ENTRIES)
        await store.append(KEY, ENTRIES[:1])  # the SDK tries a batch again after an error
        assert await KinenSessionStore(memory).load(KEY) == ENTRIES

    asyncio.run(main())


def test_what_was_said_can_be_searched_and_secrets_are_masked(
    memory: Memory, tmp_path: Path
) -> None:
    entry = {"type": "user", "uuid": "u3", "message": {"content": f"the token is {SECRET}"}}
    asyncio.run(KinenSessionStore(memory).append(KEY, [*ENTRIES, entry]))
    (hit, *_) = memory.search("make ship")
    assert hit.chunk.text == "By make ship."
    assert not on_disk(tmp_path / "home", SECRET)


def test_an_append_that_fails_is_told_to_the_sdk_and_a_load_is_empty(broken: Any) -> None:
    store = KinenSessionStore(broken)
    with pytest.raises(OSError, match="disk full"):
        asyncio.run(store.append(KEY, ENTRIES))
    assert asyncio.run(store.load(KEY)) is None
    assert asyncio.run(store.list_sessions("p")) == []
