"""Strands Agents: a store for its memory manager.

Agent(memory_manager=MemoryManager(stores=[KinenMemoryStore()]))
"""

from __future__ import annotations

from typing import Any

from kinen.frameworks.history import History, in_thread, text_of
from kinen.ids import ulid
from kinen.ipc import extras
from kinen.memory import Memory
from kinen.model.records import Query

try:
    from strands.memory import MemoryEntry
except ImportError as error:
    raise ImportError(extras.missing("kinen.frameworks.strands", "strands")) from error


LIMIT = 5


class KinenMemoryStore:
    """Implements Strands' `MemoryStore`: searches the space, stores what the agent adds.

    The memory is that of the working folder if omitted. With `extraction=True` the manager hands
    over the messages of a conversation, which are stored as they are.
    """

    description = "Notes, decisions and past work of this project."

    def __init__(
        self,
        memory: Memory | None = None,
        *,
        name: str = "kinen",
        max_search_results: int = LIMIT,
        writable: bool = True,
        extraction: bool = False,
    ) -> None:
        self.name = name
        self.max_search_results = max_search_results
        self.writable = writable
        self.extraction = extraction
        self._history = History(memory, "strands")
        self._scope = self._history.scope(f"strands-{ulid()}")

    async def search(self, query: str, options: Any = None) -> list[MemoryEntry]:
        """The passages that answer a query, best first."""
        limit = (options or {}).get("max_search_results") or self.max_search_results
        return await in_thread([], self._search, query, limit)

    async def add(self, content: str, metadata: dict[str, Any] | None = None) -> None:
        entries = [(content, {"content": content, "metadata": metadata or {}})]
        await in_thread(None, self._history.add, self._scope, entries)

    async def add_messages(self, messages: list[Any], context: Any = None) -> None:
        """Store messages; one that the manager hands over again is stored once."""
        numbers = getattr(context, "sequence_numbers", None) or [None] * len(messages)
        values = [
            (text_of(message.get("content")), {"role": message.get("role"), "number": number})
            for message, number in zip(messages, numbers, strict=False)
        ]
        entries = [(text, {**value, "content": text}) for text, value in values if text]
        await in_thread(None, self._history.add, self._scope, entries, key=_number)

    def _search(self, query: str, limit: int) -> list[MemoryEntry]:
        hits = self._history.memory.search(Query(query, limit=limit))
        return [
            MemoryEntry(
                content=(hit.passage or hit.chunk).text,
                metadata={"ref": hit.record.ref, "score": hit.score, "at": hit.record.at},
            )
            for hit in hits
        ]


def _number(value: dict[str, Any]) -> str:
    return "" if value["number"] is None else str(value["number"])
