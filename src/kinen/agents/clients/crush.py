"""Crush: an MCP server and a block in AGENTS.md."""

from kinen.agents.client import Client, Setting

CLIENT = Client(
    "crush",
    "Crush",
    program="crush",
    folder=".config/crush",
    scopes={
        "user": (Setting("server", "{config}/crush.json", ("mcp",)),),
        "project": (
            Setting("server", "{top}/crush.json", ("mcp",)),
            Setting("rules", "{top}/AGENTS.md", form="block"),
        ),
    },
    server={"type": "stdio", "command": "{program}", "args": ["{args}"]},
    proved="settings only",
)
