"""Claude Desktop: an MCP server; it has no file of rules."""

from kinen.agents.client import Client, Setting

CLIENT = Client(
    "claude-desktop",
    "Claude Desktop",
    folder="{settings}/Claude",
    scopes={"user": (Setting("server", "{config}/claude_desktop_config.json", ("mcpServers",)),)},
    server={"command": "{program}", "args": ["{args}"]},
    proved="settings only",
)
