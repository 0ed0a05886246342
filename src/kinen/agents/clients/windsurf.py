"""Windsurf: an MCP server and a block in its rules."""

from kinen.agents.client import Client, Setting

CLIENT = Client(
    "windsurf",
    "Windsurf",
    folder=".codeium/windsurf",
    scopes={
        "user": (
            Setting("server", "{config}/mcp_config.json", ("mcpServers",)),
            Setting("rules", "{config}/memories/global_rules.md", form="block"),
        ),
        "project": (Setting("rules", "{top}/.windsurf/rules/kinen.md", form="file"),),
    },
    server={"command": "{program}", "args": ["{args}"]},
    proved="settings only",
)
