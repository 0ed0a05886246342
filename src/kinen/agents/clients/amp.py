"""Amp: an MCP server under a key with a dot, and a block in AGENTS.md."""

from kinen.agents.client import Client, Setting

CLIENT = Client(
    "amp",
    "Amp",
    program="amp",
    folder=".config/amp",
    scopes={
        "user": (
            Setting("server", "{config}/settings.json", ("amp.mcpServers",), "jsonc"),
            Setting("rules", "{config}/AGENTS.md", form="block"),
        ),
        "project": (
            Setting("server", "{top}/.amp/settings.json", ("amp.mcpServers",), "jsonc"),
            Setting("rules", "{top}/AGENTS.md", form="block"),
        ),
    },
    server={"command": "{program}", "args": ["{args}"]},
    proved="settings only",
)
