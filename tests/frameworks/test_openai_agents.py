"""A session of the OpenAI Agents SDK, through its own runner and a model that it is given."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from frameworks_memory import SECRET, on_disk
from kinen.frameworks.openai_agents import KinenSession

if TYPE_CHECKING:
    from pathlib import Path

    from kinen import Memory

ITEMS: list[Any] = [
    {"role": "user", "content": "how do we deploy?"},
    {"type": "function_call", "call_id": "c1", "name": "run", "arguments": '{"x": [1, 2.5]}'},
    {"type": "function_call_output", "call_id": "c1", "output": "done"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "By make ship."}]},
]


def run(coroutine: Any) -> Any:
    return asyncio.run(coroutine)


def test_a_session_is_one_of_the_sdk(memory: Memory) -> None:
    sessions = pytest.importorskip("agents.memory", reason="make frameworks")
    assert isinstance(KinenSession("s1", memory), sessions.Session)


def test_items_come_back_as_they_were(memory: Memory) -> None:
    session = KinenSession("s1", memory)
    run(session.add_items(ITEMS[:2]))
    run(session.add_items(ITEMS[2:]))
    assert run(session.get_items()) == ITEMS
    assert run(session.get_items(2)) == ITEMS[2:]
    assert run(session.get_items(0)) == []
    assert run(KinenSession("s1", memory).get_items()) == ITEMS
    assert run(KinenSession("s", memory).get_items()) == []


def test_the_newest_item_is_popped(memory: Memory) -> None:
    session = KinenSession("s1", memory)
    run(session.add_items(ITEMS))
    assert run(session.pop_item()) == ITEMS[-1]
    assert run(session.get_items()) == ITEMS[:-1]
    assert run(KinenSession("empty", memory).pop_item()) is None


def test_a_cleared_session_is_forgotten(memory: Memory, tmp_path: Path) -> None:
    session = KinenSession("s1", memory)
    other = KinenSession("s2", memory)
    run(session.add_items([{"role": "user", "content": "a word: rooibos"}]))
    run(other.add_items(ITEMS[:1]))
    run(session.clear_session())
    assert run(session.get_items()) == []
    assert run(other.get_items()) == ITEMS[:1]
    assert not on_disk(tmp_path / "home", "rooibos")
    run(session.add_items(ITEMS[:1]))
    assert run(session.get_items()) == ITEMS[:1]


def test_secrets_are_masked(memory: Memory, tmp_path: Path) -> None:
    session = KinenSession("s1", memory)
    run(session.add_items([{"role": "user", "content": f"my token is {SECRET}"}]))
    assert SECRET not in run(session.get_items())[0]["content"]
    assert not on_disk(tmp_path / "home", SECRET)


def test_the_history_can_be_searched(memory: Memory) -> None:
    run(KinenSession("s1", memory).add_items(ITEMS))
    (hit, *_) = memory.search("make ship")
    assert hit.chunk.text == "By make ship."


def test_the_runner_of_the_sdk_goes_on_where_it_was(memory: Memory) -> None:
    pytest.importorskip("agents.memory", reason="make frameworks")
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    sdk = import_module("agents")
    seen: list[Any] = []

    class Echo(sdk.Model):  # type: ignore[name-defined]
        async def get_response(self, *args: Any, **kwargs: Any) -> Any:
            seen.append(kwargs.get("input", args[1] if len(args) > 1 else []))
            words = f"answer {len(seen)}"
            text = ResponseOutputText(annotations=[], text=words, type="output_text")
            message = ResponseOutputMessage(
                id="m", content=[text], role="assistant", status="completed", type="message"
            )
            return sdk.ModelResponse(output=[message], usage=sdk.Usage(), response_id=None)

        def stream_response(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

    async def main() -> None:
        agent = sdk.Agent(name="a", model=Echo())
        config = sdk.RunConfig(tracing_disabled=True)
        for question in ("first question", "second question"):
            session = KinenSession("s1", memory)
            await sdk.Runner.run(agent, question, session=session, run_config=config)

    run(main())
    items = str(seen[-1])
    assert "first question" in items
    assert "answer 1" in items
    assert "second question" in items


def test_a_memory_that_fails_does_not_fail_the_run(broken: Any) -> None:
    session = KinenSession("s1", broken)
    run(session.add_items(ITEMS))
    assert run(session.get_items()) == []
    assert run(session.pop_item()) is None
    run(session.clear_session())
