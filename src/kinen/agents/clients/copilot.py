"""GitHub Copilot CLI: a file of hooks that is all ours; the event stands in the command."""

from kinen.agents.client import Client, Result, Setting, Trust

CLIENT = Client(
    "copilot",
    "GitHub Copilot CLI",
    program="copilot",
    resume="copilot --resume={}",
    folder=".copilot",
    scopes={
        "user": (
            Setting("hooks", "{config}/hooks/kinen.json", ("hooks",)),
            Setting("server", "{config}/mcp-config.json", ("mcpServers",)),
        ),
        "project": (Setting("hooks", "{top}/.github/hooks/kinen.json", ("hooks",)),),
    },
    events={
        "sessionStart": "SessionStart",
        "userPromptSubmitted": "UserPromptSubmit",
        "postToolUse": "PostToolUse",
        "postToolUseFailure": "PostToolUseFailure",
        "agentStop": "Stop",
        "sessionEnd": "SessionEnd",
    },
    before_tools={"preToolUse": ""},
    hook={
        "type": "command",
        "bash": "{line} {event}",
        "powershell": "{line} {event}",
        "timeoutSec": 10,
    },
    nested=False,
    defaults={"version": 1},
    server={"type": "local", "command": "{program}", "args": ["{args}"], "tools": ["*"]},
    fields={
        "session_id": ("sessionId", "session_id"),
        "prompt_id": ("timestamp",),
        "tool_use_id": ("timestamp",),
        "tool_name": ("toolName", "tool_name"),
        "tool_input": ("toolArgs", "tool_input"),
        "tool_response": ("toolResult", "tool_result"),
        "transcript_path": ("transcriptPath", "transcript_path"),
        "stop_reason": ("stopReason", "stop_reason"),
    },
    result=Result(
        text=("textResultForLlm", "text_result_for_llm"),
        marks=("completed with exit code ",),
        noise=("<shellId: ", "<exited with exit code "),
    ),
    answer="copilot",
    told_at=("SessionStart", "UserPromptSubmit", "PreToolUse"),
    transcript=("assistant.message", "data.content"),
    by_hand={"project": "start {program} here and trust the folder: hooks of a project need it"},
    trust=Trust("{config}/config.json", keys=("trustedFolders", "trusted_folders")),
    imports=True,
    forgets=True,
    proved="1.0.102",
)
