"""Words of the journal that hooks need too: no import, so that it costs nothing."""

EVENTS = (
    *("message", "tool_call", "command", "file_diff", "error"),
    *("node_start", "node_end", "node_output", "node_error"),
)
"""The kinds of observation."""
CAPSULE_TYPES = ("session", "pocketflow_node")
MEMORY_TYPES = ("decision", "pattern", "insight", "lesson")
REDACTED = "[redacted]"
MEMORY_OPEN, MEMORY_CLOSE = "<kinen-memory>", "</kinen-memory>"
"""What kinen tells an agent stands between these, so that it is never taken for something new."""
