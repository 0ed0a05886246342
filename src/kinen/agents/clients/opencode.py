"""OpenCode: a plugin of ours in its plugin folder, which speaks the shared shape."""

from kinen.agents.client import SHARED_EVENTS, Client, Result, Setting

CLIENT = Client(
    "opencode",
    "OpenCode",
    program="opencode",
    resume="opencode --session {}",
    folder=".config/opencode",
    scopes={
        "user": (
            Setting("plugin", "{config}/plugins/kinen.ts", form="file"),
            Setting("server", "{config}/opencode.json", ("mcp",), "jsonc"),
        ),
        "project": (
            Setting("plugin", "{top}/.opencode/plugins/kinen.ts", form="file"),
            Setting("server", "{top}/opencode.json", ("mcp",), "jsonc"),
        ),
    },
    events={event: event for event in SHARED_EVENTS if event != "PreToolUse"},
    server={"type": "local", "command": ["{argv}"], "enabled": True},
    plugin="opencode.ts",
    command_form="plugin",
    result=Result(text=("output",), exit_code="metadata.exit", diff="metadata.diff"),
    answer="text",
    told_at=("SessionStart", "UserPromptSubmit", "SubagentStart", "PreCompact"),
    imports=True,
    proved="1.18.18",
)
