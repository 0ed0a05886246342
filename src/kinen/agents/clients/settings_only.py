"""Agents without hooks: an MCP server in their settings, and a file or a block of rules."""

from kinen.agents.client import Client, Setting

SERVER = {"command": "{program}", "args": ["{args}"]}
STDIO = {"type": "stdio", **SERVER}
CLIENTS = (
    Client(
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
    ),
    Client(
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
        server=SERVER,
    ),
    Client(
        "claude-desktop",
        "Claude Desktop",
        folder="{settings}/Claude",
        scopes={
            "user": (Setting("server", "{config}/claude_desktop_config.json", ("mcpServers",)),)
        },
        server=SERVER,
    ),
    Client(
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
        server=SERVER,
        imports=True,
    ),
    Client(
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
        server=SERVER,
    ),
    Client(
        "crush",
        "Crush",
        program="crush",
        folder=".config/crush",
        scopes={
            "user": (Setting("server", "{config}/crush.json", ("mcp",)),),
            "project": (
                Setting("server", "{top}/crush.json", ("mcp",)),
                Setting("rules", "{top}/AGENTS.md", form="block"),
            ),
        },
        server=STDIO,
    ),
    Client(
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
        server=STDIO,
    ),
    Client(
        "goose",
        "goose",
        program="goose",
        folder=".config/goose",
        scopes={
            "user": (
                Setting("server", "{config}/config.yaml", ("extensions",), "yaml"),
                Setting("rules", "{config}/.goosehints", form="block"),
            ),
            "project": (Setting("rules", "{top}/.goosehints", form="block"),),
        },
        server={
            "enabled": True,
            "type": "stdio",
            "name": "kinen",
            "cmd": "{program}",
            "args": ["{args}"],
            "timeout": 300,
        },
    ),
    Client(
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
        server=SERVER,
        imports=True,
    ),
    Client(
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
        server=STDIO,
    ),
    Client(
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
        server=SERVER,
    ),
    Client(
        "zed",
        "Zed",
        program="zed",
        folder=".config/zed",
        scopes={
            "user": (Setting("server", "{config}/settings.json", ("context_servers",), "jsonc"),),
            "project": (
                Setting("server", "{top}/.zed/settings.json", ("context_servers",), "jsonc"),
                Setting("rules", "{top}/.rules", form="block"),
            ),
        },
        server={"source": "custom", "command": "{program}", "args": ["{args}"], "env": {}},
        imports=True,
    ),
)
