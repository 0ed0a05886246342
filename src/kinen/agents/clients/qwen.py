"""Qwen Code: the hooks of Claude Code in settings like Gemini's; times are milliseconds."""

from __future__ import annotations

from kinen.agents.client import Client, Result, Setting

CLIENT = Client(
    "qwen",
    "Qwen Code",
    program="qwen",
    folder=".qwen",
    scopes={
        "user": (
            Setting("hooks", "{config}/settings.json", ("hooks",), "jsonc"),
            Setting("server", "{config}/settings.json", ("mcpServers",), "jsonc"),
        ),
        "project": (
            Setting("hooks", "{top}/.qwen/settings.json", ("hooks",), "jsonc"),
            Setting("server", "{top}/.qwen/settings.json", ("mcpServers",), "jsonc"),
        ),
    },
    events={
        name: name
        for name in ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd")
    },
    matchers={"PostToolUse": "*"},
    hook={"type": "command", "command": "{line}", "timeout": 10_000},
    server={"command": "{program}", "args": ["{args}"]},
    commands={
        "user": ("{config}", "commands/kinen"),
        "project": ("{top}", ".qwen/commands/kinen"),
    },
    fields={"prompt": ("submitted_prompt", "prompt")},
    result=Result(
        text=("error.message", "returnDisplay", "llmContent"),
        diff="returnDisplay.fileDiff",
        failed="error",
        marks=("Exit Code: ",),
    ),
    answer="claude",
    told_at=("SessionStart", "UserPromptSubmit"),
    by_hand={"project": "trust the folder when qwen asks"},
    imports=True,
    proved="replay of 0.24.4",
)
