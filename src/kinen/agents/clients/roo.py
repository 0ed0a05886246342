"""Roo Code in VS Code: an MCP server and a file of rules."""

from kinen.agents.client import Client, Setting

CLIENT = Client(
    "roo",
    "Roo Code",
    folder="{settings}/Code/User/globalStorage/rooveterinaryinc.roo-cline",
    scopes={
        "user": (
            Setting("server", "{config}/settings/mcp_settings.json", ("mcpServers",)),
            Setting("rules", "{home}/.roo/rules/kinen.md", form="file"),
        ),
        "project": (
            Setting("server", "{top}/.roo/mcp.json", ("mcpServers",)),
            Setting("rules", "{top}/.roo/rules/kinen.md", form="file"),
        ),
    },
    server={"command": "{program}", "args": ["{args}"]},
    imports=True,
    proved="settings only",
)
