"""Google ADK: a memory service whose sessions are in the journal.

Runner(agent=agent, app_name="app", session_service=..., memory_service=KinenMemoryService())
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kinen.frameworks.history import History, in_thread
from kinen.ipc import extras
from kinen.memory import Memory
from kinen.model.records import Hit, Query

try:
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai import types
except ImportError as error:
    raise ImportError(extras.missing("kinen.frameworks.adk", "adk")) from error


class KinenMemoryService(BaseMemoryService):  # type: ignore[misc]
    """Stores the events of sessions, and searches everything in the space.

    The memory is that of the working folder if omitted. With `everything=False`, a search returns
    only what ADK stored for the same user.
    """

    def __init__(
        self, memory: Memory | None = None, *, limit: int = 10, everything: bool = True
    ) -> None:
        self._history = History(memory, "google-adk")
        self._limit = limit
        self._everything = everything

    async def add_session_to_memory(self, session: Any) -> None:
        """Store the events of a session; those that are stored already stay as they are."""
        await self.add_events_to_memory(
            app_name=session.app_name,
            user_id=session.user_id,
            events=session.events,
            session_id=session.id,
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Any],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store events that have text, each once."""
        scope = self._history.scope(session_id or f"{app_name} {user_id}", app_name, user_id)
        entries = [
            (_text(event.content), {"id": event.id, "author": event.author or ""})
            for event in events
            if _text(event.content)
        ]
        metadata = {"metadata": dict(custom_metadata)} if custom_metadata else {}
        await in_thread(
            None, self._history.add, scope, entries, key=lambda value: value["id"], **metadata
        )

    async def search_memory(
        self,
        *,
        app_name: str,  # noqa: ARG002
        user_id: str,
        query: str,
    ) -> SearchMemoryResponse:
        """What answers a query, best first; empty where the memory cannot be read."""
        hits = await in_thread(list["Hit"](), self._search, query, user_id)
        memories = [
            MemoryEntry(
                id=hit.record.ref,
                content=types.Content(
                    role="user", parts=[types.Part(text=(hit.passage or hit.chunk).text)]
                ),
                author=hit.record.title,
                timestamp=hit.record.at or None,
            )
            for hit in hits
        ]
        return SearchMemoryResponse(memories=memories)

    def _search(self, query: str, user: str) -> list[Hit]:
        question = Query(query, limit=self._limit)
        if not self._everything:
            question = question._replace(agent="google-adk", user=user)
        return list(self._history.memory.search(question))


def _text(content: Any) -> str:
    parts = (content.parts or []) if content else []
    return "\n".join(part.text for part in parts if part.text and not part.thought)
