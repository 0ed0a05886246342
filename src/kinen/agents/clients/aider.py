"""Aider: no MCP; conventions that it reads with each message."""

from kinen.agents.client import Client, Setting

CLIENT = Client(
    "aider",
    "Aider",
    program="aider",
    folder=".aider",
    scopes={
        "project": (
            Setting("rules", "{top}/CONVENTIONS.md", form="block"),
            Setting("read", "{top}/.aider.conf.yml", ("read",), "yaml"),
        )
    },
    imports=True,
    proved="settings only",
)
