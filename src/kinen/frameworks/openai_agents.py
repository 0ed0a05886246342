"""OpenAI Agents SDK: a session whose history is in the journal.

await Runner.run(agent, "hello", session=KinenSession("user-1"))
"""

from __future__ import annotations

from typing import Any

from kinen.frameworks.history import History, in_thread, text_of
from kinen.memory import Memory


class KinenSession:
    """Implements the SDK's `Session` protocol; the memory is that of the working folder if omitted.

    An item comes back as it was added, except that secrets in it are masked.
    """

    session_settings = None

    def __init__(self, session_id: str, memory: Memory | None = None) -> None:
        self.session_id = session_id
        self._history = History(memory, "openai-agents")
        self._scope = self._history.scope(session_id)

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """The history, oldest first; with a limit only the newest."""
        items = await in_thread(list[Any](), self._history.values, self._scope)
        return items if limit is None else items[-limit:] if limit > 0 else []

    async def add_items(self, items: list[Any]) -> None:
        entries = [(_text(item), item) for item in items]
        await in_thread(None, self._history.add, self._scope, entries)

    async def pop_item(self) -> Any:
        """Remove and return the newest item; None if there is none."""
        return await in_thread(None, self._pop)

    async def clear_session(self) -> None:
        await in_thread(None, self._history.clear, self._scope)

    def _pop(self) -> Any:
        observations = self._history.observations(self._scope)
        if not observations:
            return None
        self._history.remove(observations[-1:])
        return observations[-1].provenance["value"]


def _text(item: dict[str, Any]) -> str:
    """The text of a message, or the call or result of a tool in a line."""
    name = item.get("name")
    if name:
        return f"{name} {item.get('arguments', '')}"
    return text_of(item) or str(item.get("type", ""))
