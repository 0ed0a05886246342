"""Gemini CLI: hooks in its settings, with names of its own; times are milliseconds."""

from kinen.agents.client import Client, Result, Setting, Trust

SETTINGS = "{config}/settings.json"
CLIENT = Client(
    "gemini",
    "Gemini CLI",
    program="gemini",
    folder=".gemini",
    scopes={
        scope: (
            Setting("hooks", file, ("hooks",), "jsonc"),
            Setting("server", file, ("mcpServers",), "jsonc"),
        )
        for scope, file in (("user", SETTINGS), ("project", "{top}/{folder}/settings.json"))
    },
    # PreCompress comes before every request to the model, whether anything is compressed or not.
    events={
        "SessionStart": "SessionStart",
        "BeforeAgent": "UserPromptSubmit",
        "AfterTool": "PostToolUse",
        "AfterAgent": "Stop",
        "SessionEnd": "SessionEnd",
    },
    matchers={"AfterTool": "*"},
    before_tools={"BeforeTool": "run_shell_command|replace|write_file"},
    hook={"name": "kinen", "type": "command", "command": "{line}", "timeout": 10_000},
    server={"command": "{program}", "args": ["{args}"]},
    commands={
        "user": ("{config}", "commands/kinen"),
        "project": ("{top}", "{folder}/commands/kinen"),
    },
    command_form="toml",
    command_file="{command}.toml",
    fields={
        "prompt_id": ("timestamp",),
        "tool_use_id": ("timestamp",),
        "last_assistant_message": ("prompt_response",),
    },
    result=Result(
        text=("error.message", "returnDisplay", "llmContent"),
        diff="returnDisplay.fileDiff",
        failed="error",
        marks=("Exit Code: ",),
        report=("Command: ", "\nOutput: ", "\nError: "),
    ),
    answer="claude",
    told_at=("SessionStart", "UserPromptSubmit"),
    by_hand={"project": "start {program} here and trust the folder: hooks of a project need it"},
    trust=Trust(
        "{config}/trustedFolders.json",
        settings=SETTINGS,
        switch=("security", "folderTrust", "enabled"),
    ),
    switches={("hooksConfig", "enabled"): False, ("tools", "enableHooks"): False},
    imports=True,
    proved="0.61.0",
)
