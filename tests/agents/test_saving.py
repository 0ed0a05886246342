"""The agent is asked to save what was decided or learned: gently, after work, or never."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from kinen import Memory
from kinen.hooks.saving import COMPACT, CORRECTED, STOP
from kinen.journal.start import GENTLE
from kinen.mcp.server import create_server
from kinen.text import estimate
from mcp import Client

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ran

    Hook = Callable[..., str]
    Kinen = Callable[..., Ran]

EDIT = {
    "tool_name": "Edit",
    "tool_input": {"file_path": "a.py", "old_string": "a", "new_string": "b"},
    "tool_response": {"filePath": "a.py", "structuredPatch": []},
}
CLIENTS = {
    "claude-code": ("UserPromptSubmit", "PostToolUse", "Stop"),
    "codex": ("UserPromptSubmit", "PostToolUse", "Stop"),
    "qwen": ("UserPromptSubmit", "PostToolUse", "Stop"),
}


@pytest.fixture
def hook(space: Path, run_hook: Hook) -> Hook:
    """Runs the real hook on an event of a session; what it prints."""

    def run(event: str, agent: str = "claude-code", **more: Any) -> str:
        payload = {"session_id": "s1", "cwd": str(space), "hook_event_name": event, **more}
        return run_hook(payload, agent)

    return run


def test_what_is_asked_is_short() -> None:
    assert all(estimate(text) <= 60 for text in (GENTLE, STOP, COMPACT, CORRECTED))


def test_the_brief_has_one_line_about_saving_unless_that_is_off(
    space: Path, hook: Hook, kinen: Kinen
) -> None:
    with Memory.open(space) as memory:
        memory.journal.pin(memory.observe("deploys go through the blue cluster").ref)
    told = hook("SessionStart", source="startup")
    assert told.count("kinen_remember") == 1
    assert json.loads(kinen("ledger", "--json").out)["injections"][0]["tokens"] > estimate(GENTLE)
    kinen("config", "set", "memories.ask", "off")
    assert "kinen_remember" not in hook("SessionStart", source="clear")


@pytest.mark.parametrize("agent", CLIENTS)
def test_a_stop_after_work_asks_once_and_is_in_the_ledger(
    hook: Hook, kinen: Kinen, agent: str
) -> None:
    prompt, tool, stop = CLIENTS[agent]
    ending = {"last_assistant_message": "Done.", "stop_hook_active": False}

    def turn(number: int, *, work: bool, **more: Any) -> str:
        hook(prompt, agent, prompt=f"do part {number}", prompt_id=f"p{number}")
        if work:
            hook(tool, agent, tool_use_id=f"t{number}", **EDIT)
        return hook(stop, agent, prompt_id=f"p{number}", **{**ending, **more})

    assert turn(1, work=True) == "", "gentle by default"
    kinen("config", "set", "memories.ask", "stop")
    assert turn(2, work=False) == "", "nothing was done"
    assert json.loads(turn(3, work=True)) == {"decision": "block", "reason": STOP}
    assert hook(stop, agent, prompt_id="p3b", **ending) == "", "never twice for the same work"
    assert turn(4, work=True, stop_hook_active=True) == "", "the client goes on already"
    (line,) = json.loads(kinen("ledger", "--json").out)["injections"]
    assert (line["event"], line["tokens"]) == ("Stop", estimate(STOP))


def test_a_turn_in_which_something_was_saved_is_not_asked(hook: Hook, kinen: Kinen) -> None:
    kinen("config", "set", "memories.ask", "stop")
    hook("UserPromptSubmit", prompt="do it", prompt_id="p1")
    hook("PostToolUse", tool_use_id="t1", **EDIT)
    assert kinen("memories", "add", "Parts are done one by one").code == 0
    assert hook("Stop", last_assistant_message="Done.", stop_hook_active=False) == ""
    assert COMPACT in hook("PreCompact", trigger="auto")


def prompted(hook: Hook, text: str, agent: str = "claude-code") -> str:
    """What a prompt is answered with: the text for the model."""
    said = hook("UserPromptSubmit", agent, prompt=text, prompt_id=text)
    return json.loads(said)["hookSpecificOutput"]["additionalContext"] if said else ""


@pytest.mark.parametrize("agent", CLIENTS)
def test_a_prompt_after_stopped_work_asks_once_a_session(
    hook: Hook, kinen: Kinen, agent: str
) -> None:
    def stopped(prompt: str, number: int) -> str:
        hook("PostToolUse", agent, tool_use_id=f"t{number}", **EDIT)
        return prompted(hook, prompt, agent)

    assert prompted(hook, "do it", agent) == ""
    assert stopped("no, b is for tests only", 1) == "", "gentle by default"
    kinen("config", "set", "memories.ask", "stop")
    assert prompted(hook, "and what is b?", agent) == "", "nothing was done"
    assert stopped("go on", 2) == "", "the user asks to go on"
    assert stopped("b is for tests, take c", 3) == CORRECTED
    assert stopped("and not d", 4) == "", "never twice"
    hook("PostToolUse", agent, tool_use_id="t5", **EDIT)
    told = json.loads(kinen("ledger", "--json").out)["injections"]
    assert [(line["event"], line["tokens"]) for line in told] == [
        ("UserPromptSubmit", estimate(CORRECTED))
    ]


def test_a_turn_that_was_asked_at_its_prompt_is_not_asked_at_its_end(
    hook: Hook, kinen: Kinen
) -> None:
    kinen("config", "set", "memories.ask", "stop")
    prompted(hook, "do it")
    hook("PostToolUse", tool_use_id="t1", **EDIT)
    assert prompted(hook, "not b") == CORRECTED
    hook("PostToolUse", tool_use_id="t2", **EDIT)
    ending = {"last_assistant_message": "Done.", "stop_hook_active": False}
    assert hook("Stop", prompt_id="p2", **ending) == ""
    assert prompted(hook, "now the second part") == "", "it was answered"
    hook("PostToolUse", tool_use_id="t3", **EDIT)
    assert "kinen_remember" in hook("Stop", prompt_id="p3", **ending), "another turn, other work"


@pytest.mark.parametrize(
    ("after", "asked"),
    [("a\n", True), ("b\n", False), ("b\nmore\n", False), ("c\n", False)],
    ids=["taken back", "kept", "continued", "edited further"],
)
def test_an_edit_that_the_user_took_back_is_a_correction(
    space: Path, hook: Hook, kinen: Kinen, after: str, asked: bool
) -> None:
    kinen("config", "set", "memories.ask", "stop")
    prompted(hook, "rename it")
    hook("PostToolUse", tool_use_id="t1", **EDIT)
    hook("Stop", prompt_id="p1", last_assistant_message="Renamed.", stop_hook_active=True)
    (space / "a.py").write_text(after)
    assert prompted(hook, "the name has to stay") == (CORRECTED if asked else "")


def test_a_file_that_an_agent_made_and_the_user_deleted_is_a_correction(
    hook: Hook, kinen: Kinen
) -> None:
    kinen("config", "set", "memories.ask", "stop")
    prompted(hook, "write the test")
    made = {"file_path": "new.py", "content": "x = 1"}
    response = {"filePath": "new.py", "type": "create"}
    hook("PostToolUse", tool_name="Write", tool_input=made, tool_response=response, tool_use_id="t")
    hook("Stop", prompt_id="p1", last_assistant_message="Written.", stop_hook_active=True)
    assert prompted(hook, "tests are in tests/") == CORRECTED


def test_an_interrupted_command_is_a_correction_even_if_it_was_answered(
    hook: Hook, kinen: Kinen
) -> None:
    kinen("config", "set", "memories.ask", "stop")
    prompted(hook, "deploy")
    hook(
        "PostToolUseFailure",
        tool_name="Bash",
        tool_input={"command": "make deploy"},
        error="interrupted",
        is_interrupt=True,
        tool_use_id="t1",
    )
    hook("Stop", prompt_id="p1", last_assistant_message="Stopped.", stop_hook_active=True)
    assert prompted(hook, "only from the release branch") == CORRECTED


def test_what_is_saved_has_its_type_reason_files_and_source(space: Path, kinen: Kinen) -> None:
    async def call(**arguments: Any) -> Any:
        with Memory.open(space) as memory:
            async with Client(create_server(memory)) as client:
                return await client.call_tool("kinen_remember", arguments)

    said = {"text": "Sessions live in Postgres", "why": "Redis lost them", "files": ["a.py"]}
    assert not anyio.run(lambda: call(**said)).is_error
    assert anyio.run(lambda: call(text="TBD")).is_error
    added = kinen("memories", "add", "Lesson: the mock clock must be reset", "--json")
    assert json.loads(added.out)["type"] == "lesson"
    rows = json.loads(kinen("memories", "list", "--json").out)["memories"]
    contents = {row["content"]: row for row in rows}
    kept = contents["Sessions live in Postgres, because Redis lost them"]
    assert (kept["type"], kept["files"], kept["confidence"]) == ("decision", ["a.py"], 1.0)
    again = kinen("consolidate", "--since", "2000-01-01", "--json")
    assert json.loads(again.out)["added"] == 0, "what was saved is not drawn a second time"
    refused = kinen("memories", "add", "…")
    assert refused.code == 2
    assert "nothing to remember" in refused.err
