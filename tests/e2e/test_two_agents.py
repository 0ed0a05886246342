"""One agent works, another asks for it by MCP: the real Claude Code, then the real Codex."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from e2e.stub_llm import script

if TYPE_CHECKING:
    from e2e.machine import Machine

REQUIRED = (
    *("-c", "mcp_servers.kinen.required=true"),
    *("-c", 'mcp_servers.kinen.env.KINEN_DAEMON_AUTO_START="false"'),
)
"""Makes Codex wait for the tools of a server before it asks its model."""
OUTCOME = (
    "Fixed: the scale reports grams and the form reads kilos. "
    "We decided to store grams everywhere, because the carrier bills by gram.\n\n"
    "Next: convert the old orders."
)


def test_what_claude_code_did_is_told_to_codex(machine: Machine) -> None:
    machine.install("claude-code", "codex")
    steps = (
        {"tool": "Bash", "input": {"command": "echo 'weights differ by 1000' >&2; exit 1"}},
        {"tool": "Write", "input": {"file_path": f"{machine.project}/scale.py", "content": "G\n"}},
        {"text": OUTCOME},
    )
    machine.ask("claude-code", f"Parcels weigh too much. {script(*steps)}")

    tools = [
        {"tool": "kinen_status", "namespace": "mcp__kinen", "input": {"view": "handoff"}},
        {
            "tool": "kinen_recall",
            "namespace": "mcp__kinen",
            "input": {"query": "which unit do we store weights in"},
        },
        {"text": "I will convert the old orders."},
    ]
    before = len(machine.stub.requests)
    printed = machine.ask("codex", f"Go on with the parcels. {script(*tools)}", *REQUIRED)
    events = [json.loads(line) for line in printed.splitlines()]
    calls = [event["item"] for event in events if event["type"] == "item.completed"]
    statuses = {call["tool"]: call["status"] for call in calls if call["type"] == "mcp_tool_call"}
    assert statuses == {"kinen_status": "completed", "kinen_recall": "completed"}
    handoff, recalled = [
        json.dumps(item["output"])
        for item in machine.stub.requests[-1].body["input"]
        if item["type"] == "function_call_output"
    ]
    # As the model of the second agent reads it: what was asked, what came of it, what is next.
    assert "claude-code" in handoff
    assert "Parcels weigh too much." in handoff
    assert "the scale reports grams and the form reads kilos" in handoff
    assert "convert the old orders" in handoff
    assert "store grams everywhere" in recalled
    assert len(machine.stub.requests) - before == len(tools)
