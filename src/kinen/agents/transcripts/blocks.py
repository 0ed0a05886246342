"""Messages made of blocks, as the APIs of models have them: text, tool use, tool result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kinen.agents.tool_use import ToolUse
from kinen.agents.transcripts.session import Event, Past
from kinen.agents.transcripts.values import elements, fields, joined, text
from kinen.privacy.injected import without_blocks

WAITING = 100
"""Calls that wait for their results; of more the oldest is forgotten."""
_PROMPTS = ("user_query", "task", "user_message", "feedback")
"""Tags that clients put around what the user typed."""


class Conversation:
    """The messages of one session, and the calls in them that wait for a result.

    Without `results`, as for a client that does not store them, a call is recorded at once.
    """

    def __init__(self, past: Past, *, results: bool = True) -> None:
        self._past = past
        self._results = results
        self._calls: dict[str, ToolUse] = {}

    def events(self, role: str, content: object) -> Iterator[tuple[int, Event | None]]:
        """The number of each block of a message, with what is recorded of it."""
        for number, block in enumerate(elements(content) or [content]):
            entry = fields(block) or {"type": "text", "text": block}
            yield number, self._event(role, entry)

    def _event(self, role: str, block: dict[str, Any]) -> Event | None:
        kind = text(block.get("type"))
        if kind == "text":
            words = joined(block.get("text"))
            return self._past.message(role, typed(words) if role == "user" else words)
        if kind == "tool_use":
            return self._call(block)
        if kind == "tool_result":
            use = self._calls.pop(text(block.get("tool_use_id")), None)
            if use is None:
                return None
            use.result = joined(block.get("content"))
            use.failed = block.get("is_error") is True
            return self._past.tool_use(use)
        return None

    def _call(self, block: dict[str, Any]) -> Event | None:
        use = ToolUse(text(block.get("name")), fields(block.get("input")))
        if not self._results:
            return self._past.tool_use(use)
        self._calls[text(block.get("id"))] = use
        if len(self._calls) > WAITING:
            del self._calls[next(iter(self._calls))]
        return None


def typed(words: str) -> str:
    """What a user typed, where the client put tags around it or added to it."""
    if "</" not in words:
        return words
    for name in _PROMPTS:
        start = words.find(f"<{name}>")
        end = words.rfind(f"</{name}>")
        if 0 <= start < end:
            return words[start + len(name) + 2 : end].strip()
    return without_blocks(words, "environment_details")
