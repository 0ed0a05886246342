"""Kilo Code: a fork of OpenCode, with the same plugins in folders of its own."""

from kinen.agents.client import Setting
from kinen.agents.clients import opencode

CLIENT = opencode.CLIENT.like(
    "kilo",
    "Kilo Code",
    program="kilo",
    resume="kilo --session {}",
    folder=".config/kilo",
    scopes={
        "user": (
            Setting("plugin", "{config}/plugins/kinen.ts", form="file"),
            Setting("server", "{config}/kilo.jsonc", ("mcp",), "jsonc"),
        ),
        "project": (
            Setting("plugin", "{top}/.kilo/plugins/kinen.ts", form="file"),
            Setting("server", "{top}/.kilo/kilo.jsonc", ("mcp",), "jsonc"),
        ),
    },
    imports=False,
    proved="types of 7.3.1, replay of payloads of OpenCode",
)
