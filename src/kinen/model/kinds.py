"""Closed lists of words. Hooks import this module, so it imports nothing."""

EVENTS = (
    "message",
    "tool_call",
    "command",
    "file_diff",
    "error",
    "node_start",
    "node_end",
    "node_output",
    "node_error",
)
"""The kinds of observation."""
CAPSULE_TYPES = ("session", "pocketflow_node")
MEMORY_TYPES = ("decision", "pattern", "insight", "lesson")
PROVIDERS = ("onnx", "ollama", "openai", "none")
"""What can embed text."""
REDACTED = "[redacted]"
MEMORY_OPEN = "<kinen-memory>"
MEMORY_CLOSE = "</kinen-memory>"
"""Tags around what kinen injects, so that it is never recorded as something new."""
