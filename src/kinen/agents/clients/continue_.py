"""Continue: an MCP server in a file of its own, and a file of rules."""

from kinen.agents.client import Client, Setting

CLIENT = Client(
    "continue",
    "Continue",
    program="cn",
    folder=".continue",
    scopes={
        "user": (
            Setting("server", "{config}/mcpServers/kinen.json", ("mcpServers",)),
            Setting("rules", "{config}/rules/kinen.md", form="file"),
        ),
        "project": (
            Setting("server", "{top}/.continue/mcpServers/kinen.json", ("mcpServers",)),
            Setting("rules", "{top}/.continue/rules/kinen.md", form="file"),
        ),
    },
    server={"command": "{program}", "args": ["{args}"]},
    proved="settings only",
)
