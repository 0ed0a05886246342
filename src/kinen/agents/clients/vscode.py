"""VS Code with Copilot: an MCP server and a block in its instructions."""

from kinen.agents.client import Client, Setting

CLIENT = Client(
    "vscode",
    "VS Code",
    program="code",
    folder="{settings}/Code/User",
    scopes={
        "user": (Setting("server", "{config}/mcp.json", ("servers",), "jsonc"),),
        "project": (
            Setting("server", "{top}/.vscode/mcp.json", ("servers",), "jsonc"),
            Setting("rules", "{top}/.github/copilot-instructions.md", form="block"),
        ),
    },
    server={"type": "stdio", "command": "{program}", "args": ["{args}"]},
    proved="settings only",
)
