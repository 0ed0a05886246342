"""pi: an extension of ours, which speaks the shared shape; it has no MCP client."""

from kinen.agents.client import Client, Result, Setting

CLIENT = Client(
    "pi",
    "pi",
    program="pi",
    resume="pi --session {}",
    folder=".pi",
    scopes={
        "user": (Setting("plugin", "{config}/agent/extensions/kinen.ts", form="file"),),
        "project": (Setting("plugin", "{top}/.pi/extensions/kinen.ts", form="file"),),
    },
    events={
        name: name
        for name in ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd")
    },
    plugin="pi.ts",
    command_form="plugin",
    result=Result(
        text=("content",),
        failed="isError",
        marks=("Command exited with code ",),
        noise=("Command exited with code ",),
    ),
    answer="text",
    told_at=("SessionStart", "UserPromptSubmit"),
    imports=True,
    proved="0.80.10",
)
