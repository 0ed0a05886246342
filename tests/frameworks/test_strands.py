"""The memory store of Strands, under its own manager."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("strands.memory", reason="make frameworks")
from strands.memory import MemoryManager

from frameworks_memory import SECRET, on_disk
from kinen.frameworks.strands import KinenMemoryStore

if TYPE_CHECKING:
    from pathlib import Path

    from kinen import Memory


def test_the_manager_searches_and_adds(memory: Memory, tmp_path: Path) -> None:
    memory.observe("decision: the labels service is deployed by make ship")
    manager = MemoryManager(stores=[KinenMemoryStore(memory)], add_tool_config=True)

    async def main() -> None:
        await manager.add(f"we never deploy on Fridays, token {SECRET}")
        hits = await manager.search("how is the labels service deployed?")
        assert "make ship" in hits[0].content
        assert hits[0].store_name == "kinen"
        assert hits[0].metadata["ref"]
        later = await manager.search("on which days do we deploy?")
        assert any("Fridays" in entry.content for entry in later)

    asyncio.run(main())
    assert not on_disk(tmp_path / "home", SECRET)


def test_a_search_keeps_its_limit(memory: Memory) -> None:
    for number in range(9):
        memory.observe(f"kettle number {number} is red", scope={"session": f"s{number}"})
    store = KinenMemoryStore(memory, max_search_results=3)
    assert len(asyncio.run(store.search("kettle"))) == 3
    assert len(asyncio.run(store.search("kettle", {"max_search_results": 2}))) == 2


def test_messages_handed_over_again_are_stored_once(memory: Memory) -> None:
    from strands.memory.types import AddMessagesContext

    store = KinenMemoryStore(memory, extraction=True)
    messages: Any = [
        {"role": "user", "content": [{"text": "ok"}]},
        {"role": "assistant", "content": [{"text": "ok"}]},
        {"role": "user", "content": [{"toolResult": {"status": "success"}}]},
    ]
    context = AddMessagesContext(sequence_numbers=[1, 2, 3])
    for _ in range(2):
        asyncio.run(store.add_messages(messages, context))
    assert len(memory.journal.entries("observations")[0]) == 2


def test_a_memory_that_fails_does_not_fail_the_agent(broken: Any) -> None:
    store = KinenMemoryStore(broken)
    asyncio.run(store.add("anything"))
    assert asyncio.run(store.search("anything")) == []
