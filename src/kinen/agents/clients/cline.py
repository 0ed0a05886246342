"""Cline in VS Code: an MCP server and a file of rules."""

from kinen.agents.client import Client, Setting

CLIENT = Client(
    "cline",
    "Cline",
    folder="{settings}/Code/User/globalStorage/saoudrizwan.claude-dev",
    scopes={
        "user": (
            Setting("server", "{config}/settings/cline_mcp_settings.json", ("mcpServers",)),
            Setting("rules", "{home}/Documents/Cline/Rules/kinen.md", form="file"),
        ),
        "project": (Setting("rules", "{top}/.clinerules/kinen.md", form="file"),),
    },
    server={"command": "{program}", "args": ["{args}"]},
    imports=True,
    proved="settings only",
)
