"""Qwen Code: settings as those of Gemini CLI, and the events of Claude Code.

It reports the end of a session only if that was interactive; others are closed when idle.
"""

from kinen.agents.client import Trust
from kinen.agents.clients import gemini

CLIENT = gemini.CLIENT.like(
    "qwen",
    "Qwen Code",
    program="qwen",
    folder=".qwen",
    events={
        name: name
        for name in (
            *("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure"),
            *("Stop", "SessionEnd"),
        )
    },
    matchers={"PostToolUse": "*", "PostToolUseFailure": "*"},
    before_tools={},
    hook={"type": "command", "command": "{line}", "timeout": 10_000},
    command_form="markdown",
    command_file="{command}.md",
    fields={"prompt": ("submitted_prompt", "prompt")},
    trust=Trust(
        "{config}/trustedFolders.json",
        settings=gemini.SETTINGS,
        switch=("security", "folderTrust", "enabled"),
        on=False,
    ),
    forgets=True,
    proved="0.24.4",
)
