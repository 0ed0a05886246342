"""Cursor: hooks.json with flat entries; only the start of a session can be answered."""

from kinen.agents.client import Client, Result, Setting

CLIENT = Client(
    "cursor",
    "Cursor",
    program="cursor-agent",
    folder=".cursor",
    scopes={
        "user": (
            Setting("hooks", "{config}/hooks.json", ("hooks",)),
            Setting("server", "{config}/mcp.json", ("mcpServers",)),
        ),
        "project": (
            Setting("hooks", "{top}/.cursor/hooks.json", ("hooks",)),
            Setting("server", "{top}/.cursor/mcp.json", ("mcpServers",)),
            Setting("rules", "{top}/.cursor/rules/kinen.mdc", form="file"),
        ),
    },
    events={
        "sessionStart": "SessionStart",
        "beforeSubmitPrompt": "UserPromptSubmit",
        "postToolUse": "PostToolUse",
        "postToolUseFailure": "PostToolUseFailure",
        "afterAgentResponse": "Stop",
        "sessionEnd": "SessionEnd",
    },
    hook={"command": "{line}"},
    nested=False,
    defaults={"version": 1},
    server={"command": "{program}", "args": ["{args}"]},
    commands={"user": ("{config}", "commands"), "project": ("{top}", ".cursor/commands")},
    command_form="plain",
    command_file="kinen-{command}.md",
    fields={
        "session_id": ("conversation_id", "session_id"),
        "prompt_id": ("generation_id",),
        "cwd": ("workspace_roots.0", "cwd"),
        "tool_response": ("tool_output", "result_json"),
        "error": ("error_message", "error"),
        "last_assistant_message": ("text",),
    },
    result=Result(text=("output", "stdout", "content"), exit_code="exitCode", failed="isError"),
    answer="cursor",
    told_at=("SessionStart",),
    imports=True,
    proved="replay of documented payloads",
)
