"""The session store of the Claude Agent SDK: its conformance suite, and what that leaves out."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("claude_agent_sdk", reason="make frameworks")
from claude_agent_sdk.testing import run_session_store_conformance

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
    memories = []

    def make_store() -> KinenSessionStore:
        folder = tmp_path / str(len(memories))
        folder.mkdir()
        memories.append(Memory.open(folder, home=tmp_path / "home"))
        return KinenSessionStore(memories[-1])

    asyncio.run(run_session_store_conformance(make_store))
    for memory in memories:
        memory.close()


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
