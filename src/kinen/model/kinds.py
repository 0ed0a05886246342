"""The closed sets of words, each defined here and nowhere else.

Hooks and the cold search load it: it has no import, so that it costs nothing.
"""

EVENTS = tuple(
    "message tool_call command file_diff error node_start node_end node_output node_error".split()
)
"""The kinds of observation."""
CAPSULE_TYPES = ("session", "pocketflow_node")
MEMORY_TYPES = ("decision", "pattern", "insight", "lesson")
PROVIDERS = ("none", "onnx", "ollama", "openai")
"""What can embed text: nothing, this process, a server that is mostly local, a service."""
BUILT_IN = {
    "english": "onnx:0bfe808f1ff77b14c3cba6b3",
    "multilingual": "onnx:cd69d0c899db25ebceca0573",
}
"""The models of the package, each with the fingerprint of its vectors."""
CHECKPOINT_TYPES = ("checkpoint", "decision", "incident", "learning")
LESSONS = ("lesson", "learning")
"""One type: the word for it, and the word that files of checkpoints have."""
MODES = ("hybrid", "fulltext", "semantic", "rrf", "keyword-first", "rerank")
"""How a search retrieves and ranks."""
MODE_ALIASES = {"fts": "fulltext", "vector": "semantic"}
"""Names of modes that other tools use."""
MOST_HITS = 1000
"""The largest number of hits that a search or recall returns."""
MODELS = ("claude", "gemini", "ollama", "openai")
"""Language models that can distill."""
DISTILLERS = (*MODELS, "extract")
"""All that can distill, in the order in which they are tried; `extract` needs no model."""
CLIENT = "client"
"""The model of the MCP client whose call is answered: only where a configuration names it."""
REDACTED = "[redacted]"
MEMORY_OPEN = "<kinen-memory>"
MEMORY_CLOSE = "</kinen-memory>"
"""Tags around what kinen injects, so that it is never recorded as something new."""
MEMORY = "kinen-memory"
REMINDERS = (
    *("system-reminder", "hook_context", "user-prompt-submit-hook", "session-start-hook"),
    "oai-mem-citation",
    "system_notification",
)
"""Blocks that clients add to any text."""
WRAPPERS = ("tool_use_error", "untrusted_context", "persisted-output")
"""Tags that clients put around a result; what is inside stays."""
MACHINE = (
    "command-message",
    "command-name",
    "command-args",
    "local-command-stdout",
    "local-command-stderr",
    "local-command-caveat",
    "bash-input",
    "bash-stdout",
    "bash-stderr",
    "ide_opened_file",
    "ide_selection",
    "ide_diagnostics",
    "environment_context",
    "user_instructions",
    "session_context",
    "turn_aborted",
    "subagent_notification",
    "skill",
    "permissions instructions",
    "recommended_plugins",
)
"""Blocks that clients add to prompts."""
VOICES = (
    "[Request interrupted",
    "Caveat: The messages below",
    "This session is being continued",
    "# AGENTS.md instructions",
    "System: Please continue",
    "This is the Gemini CLI.",
    "Human:",
    "Assistant:",
)
"""Beginnings of text in which clients speak, and marks of turns; the user typed none of them."""
