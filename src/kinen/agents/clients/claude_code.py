"""Claude Code: hooks in its settings, whose shape is the one that kinen shares."""

from kinen.agents.client import SHARED_EVENTS, Client, Setting

CLIENT = Client(
    "claude-code",
    "Claude Code",
    program="claude",
    resume="claude --resume {}",
    folder=".claude",
    variable="CLAUDE_CONFIG_DIR",
    scopes={
        "user": (
            Setting("hooks", "{config}/settings.json", ("hooks",)),
            Setting("server", "{base}/.claude.json", ("mcpServers",)),
        ),
        "project": (
            Setting("hooks", "{top}/.claude/settings.json", ("hooks",)),
            Setting("server", "{top}/.mcp.json", ("mcpServers",)),
        ),
        "local": (
            Setting("hooks", "{top}/.claude/settings.local.json", ("hooks",)),
            Setting("server", "{base}/.claude.json", ("projects", "{main}", "mcpServers")),
        ),
    },
    events={event: event for event in SHARED_EVENTS if event != "PreToolUse"},
    matchers={"PostToolUse": "*", "PostToolUseFailure": "*"},
    before_tools={"PreToolUse": "Edit|Write|MultiEdit|NotebookEdit|Bash"},
    hook={"type": "command", "command": "{line}", "timeout": 10},
    server={"type": "stdio", "command": "{program}", "args": ["{args}"], "env": {}},
    plugin="plugin",
    commands={
        "user": ("{config}/commands", "kinen"),
        "project": ("{top}", ".claude/commands/kinen"),
    },
    command_form="claude",
    answer="claude",
    told_at=("SessionStart", "UserPromptSubmit", "PreToolUse", "SubagentStart", "PreCompact"),
    project_variable="CLAUDE_PROJECT_DIR",
    switches={("disableAllHooks",): True},
    imports=True,
    proved="2.1.325",
)
