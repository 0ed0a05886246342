"""Codex CLI: hooks in a file of their own, and `notify` for what happens without them."""

from kinen.agents.client import Client, Result, Setting

CLIENT = Client(
    "codex",
    "Codex CLI",
    program="codex",
    resume="codex resume {}",
    folder=".codex",
    variable="CODEX_HOME",
    scopes={
        "user": (
            Setting("hooks", "{config}/hooks.json", ("hooks",)),
            Setting("server", "{config}/config.toml", ("mcp_servers",), "toml"),
            Setting("notify", "{config}/config.toml", ("notify",), "toml"),
        ),
        "project": (
            Setting("hooks", "{top}/.codex/hooks.json", ("hooks",)),
            Setting("server", "{top}/.codex/config.toml", ("mcp_servers",), "toml"),
        ),
    },
    events={
        name: name
        for name in ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd")
    },
    before_tools={"PreToolUse": "Bash|apply_patch"},
    hook={"type": "command", "command": "{line}", "timeout": 3},
    # Not `required`: Codex would wait for the tools, and not start at all without kinen. A server
    # gets only those variables that are named.
    server={
        "command": "{program}",
        "args": ["{args}"],
        "env_vars": ["KINEN_HOME"],
        "startup_timeout_sec": 60,
    },
    commands={"user": ("{config}", "prompts")},
    command_file="kinen-{command}.md",
    fields={
        "session_id": ("session_id", "thread-id"),
        "prompt_id": ("turn_id", "turn-id"),
        "last_assistant_message": ("last_assistant_message", "last-assistant-message"),
    },
    result=Result(
        text=("output", "content"),
        exit_code="metadata.exit_code",
        failed="isError",
        marks=("Process exited with code ", "Exit code: "),
        silent=None,
    ),
    answer="claude",
    told_at=("SessionStart", "UserPromptSubmit", "PreToolUse"),
    late=True,
    by_hand={"user": "start codex and approve the hooks with /hooks"},
    imports=True,
    proved="0.166.0",
)
