"""The memory service of Google ADK, with its own sessions and events."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("google.adk", reason="make frameworks")
from google.adk.events import Event
from google.adk.sessions import Session
from google.genai import types

from frameworks_memory import SECRET, on_disk
from kinen.frameworks.adk import KinenMemoryService

if TYPE_CHECKING:
    from pathlib import Path

    from kinen import Memory


def event(author: str, text: str) -> Event:
    return Event(author=author, content=types.Content(parts=[types.Part(text=text)]))


def session(*events: Event, user: str = "ann") -> Session:
    return Session(id="s1", app_name="shop", user_id=user, events=list(events))


def search(service: KinenMemoryService, query: str, user: str = "ann") -> list[str]:
    result = asyncio.run(service.search_memory(app_name="shop", user_id=user, query=query))
    return [entry.content.parts[0].text for entry in result.memories]


def test_a_session_is_found_again_and_stored_once(memory: Memory) -> None:
    service = KinenMemoryService(memory)
    talk = session(event("user", "how do we deploy?"), event("agent", "The shop: by make ship."))
    for _ in range(2):
        asyncio.run(service.add_session_to_memory(talk))
    talk.events.append(event("user", "thank you"))
    asyncio.run(service.add_session_to_memory(talk))
    texts = [entry.content for entry in memory.journal.entries("observations")[0]]
    assert sorted(texts) == ["The shop: by make ship.", "how do we deploy?", "thank you"]
    assert any("make ship" in text for text in search(service, "how is the shop deployed?"))


def test_a_search_is_of_the_space_or_of_the_user(memory: Memory) -> None:
    memory.observe("decision: the kettle is in the kitchen")
    asyncio.run(
        KinenMemoryService(memory).add_session_to_memory(
            session(event("user", "my kettle is red"), user="bob")
        )
    )
    everything = " ".join(search(KinenMemoryService(memory), "kettle"))
    assert "kitchen" in everything
    own = KinenMemoryService(memory, everything=False)
    assert "red" in " ".join(search(own, "kettle", user="bob"))
    assert "kitchen" not in " ".join(search(own, "kettle", user="bob"))
    assert search(own, "kettle", user="ann") == []


def test_secrets_are_masked(memory: Memory, tmp_path: Path) -> None:
    service = KinenMemoryService(memory)
    asyncio.run(service.add_session_to_memory(session(event("user", f"token {SECRET}"))))
    assert not on_disk(tmp_path / "home", SECRET)


def test_a_memory_that_fails_does_not_fail_the_agent(broken: Any) -> None:
    service = KinenMemoryService(broken)
    asyncio.run(service.add_session_to_memory(session(event("user", "hello"))))
    assert search(service, "hello") == []
