"""Gemini CLI: hooks in its settings, with names of its own; times are milliseconds."""

from __future__ import annotations

from kinen.agents.client import Client, Result, Setting

CLIENT = Client(
    "gemini",
    "Gemini CLI",
    program="gemini",
    folder=".gemini",
    scopes={
        "user": (
            Setting("hooks", "{config}/settings.json", ("hooks",), "jsonc"),
            Setting("server", "{config}/settings.json", ("mcpServers",), "jsonc"),
        ),
        "project": (
            Setting("hooks", "{top}/.gemini/settings.json", ("hooks",), "jsonc"),
            Setting("server", "{top}/.gemini/settings.json", ("mcpServers",), "jsonc"),
        ),
    },
    # PreCompress comes before every request to the model, whether anything is compressed or not.
    events={
        "SessionStart": "SessionStart",
        "BeforeAgent": "UserPromptSubmit",
        "AfterTool": "PostToolUse",
        "AfterAgent": "Stop",
        "SessionEnd": "SessionEnd",
    },
    matchers={"AfterTool": "*"},
    before_tools={"BeforeTool": "run_shell_command|replace|write_file"},
    hook={"name": "kinen", "type": "command", "command": "{line}", "timeout": 10_000},
    server={"command": "{program}", "args": ["{args}"]},
    commands={
        "user": ("{config}", "commands/kinen"),
        "project": ("{top}", ".gemini/commands/kinen"),
    },
    command_form="toml",
    command_file="{command}.toml",
    fields={
        "prompt_id": ("timestamp",),
        "tool_use_id": ("timestamp",),
        "last_assistant_message": ("prompt_response",),
    },
    result=Result(
        text=("error.message", "returnDisplay", "llmContent"),
        diff="returnDisplay.fileDiff",
        failed="error",
        marks=("Exit Code: ",),
    ),
    answer="claude",
    told_at=("SessionStart", "UserPromptSubmit"),
    by_hand={"project": "trust the folder when gemini asks: hooks of a project run only there"},
    imports=True,
    proved="0.61.0",
)
