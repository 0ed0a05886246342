"""Factory Droid: an MCP server and a block in AGENTS.md."""

from kinen.agents.client import Client, Setting

CLIENT = Client(
    "droid",
    "Factory Droid",
    program="droid",
    folder=".factory",
    scopes={
        "user": (
            Setting("server", "{config}/mcp.json", ("mcpServers",)),
            Setting("rules", "{config}/AGENTS.md", form="block"),
        ),
        "project": (
            Setting("server", "{top}/.factory/mcp.json", ("mcpServers",)),
            Setting("rules", "{top}/AGENTS.md", form="block"),
        ),
    },
    server={"type": "stdio", "command": "{program}", "args": ["{args}"]},
    proved="settings only",
)
