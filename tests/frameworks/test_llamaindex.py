"""The memory block of LlamaIndex, in its own memory."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("llama_index.core", reason="make frameworks")
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory as ChatMemory

from frameworks_memory import SECRET, on_disk
from kinen.frameworks.llamaindex import KinenMemoryBlock

if TYPE_CHECKING:
    from pathlib import Path

    from kinen import Memory


def ask(block: KinenMemoryBlock, question: str) -> str:
    return asyncio.run(block.aget([ChatMessage(role="user", content=question)]))


def test_a_block_recalls_what_answers_the_last_question(memory: Memory) -> None:
    memory.observe("decision: the labels service is deployed by make ship")
    block = KinenMemoryBlock(memory)
    assert "make ship" in ask(block, "how is the labels service deployed?")
    assert asyncio.run(block.aget([])) == ""
    assert asyncio.run(block.aget(None)) == ""


def test_messages_are_stored_with_their_session(memory: Memory, tmp_path: Path) -> None:
    block = KinenMemoryBlock(memory)
    messages = [
        ChatMessage(role="user", content="we never deploy on Fridays"),
        ChatMessage(role="assistant", content=f"Noted, token {SECRET}."),
        ChatMessage(role="assistant", content=""),
    ]
    asyncio.run(block.aput(messages, session_id="s1"))
    stored = memory.journal.entries("observations", session="s1")[0]
    assert len(stored) == 2
    assert not on_disk(tmp_path / "home", SECRET)
    assert "Fridays" in ask(block, "on which days do we deploy?")


def test_a_block_is_shortened_from_its_end() -> None:
    block = KinenMemoryBlock()
    text = "\n".join(f"line {number}" for number in range(100))
    shorter = asyncio.run(block.atruncate(text, 50))
    assert shorter
    assert text.startswith(shorter)
    assert len(text) - len(shorter) >= 200
    assert asyncio.run(block.atruncate(text, 10_000)) is None


def test_the_memory_of_llama_index_puts_it_into_the_chat(memory: Memory) -> None:
    memory.observe("decision: the labels service is deployed by make ship")

    async def main() -> str:
        chat = ChatMemory.from_defaults(session_id="s1", memory_blocks=[KinenMemoryBlock(memory)])
        await chat.aput(ChatMessage(role="user", content="how is the labels service deployed?"))
        return str(await chat.aget())

    assert "make ship" in asyncio.run(main())


def test_a_memory_that_fails_does_not_fail_the_chat(broken: Any) -> None:
    block = KinenMemoryBlock(broken)
    assert ask(block, "anything") == ""
    asyncio.run(block.aput([ChatMessage(role="user", content="hello")]))
