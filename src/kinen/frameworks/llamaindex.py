"""LlamaIndex: a memory block that recalls from the space and stores what leaves the chat.

Memory.from_defaults(session_id="s1", memory_blocks=[KinenMemoryBlock()])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinen.frameworks.history import History, in_thread, recall
from kinen.ipc import extras
from kinen.memory import Memory

try:
    from llama_index.core.memory import BaseMemoryBlock
    from pydantic import Field, PrivateAttr
except ImportError as error:
    raise ImportError(extras.missing("kinen.frameworks.llamaindex", "llamaindex")) from error

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatMessage


class KinenMemoryBlock(BaseMemoryBlock[str]):  # type: ignore[misc]
    """A block with what the memory knows about the last message of the user.

    Messages that leave the short-term memory are stored. The memory is that of the working folder
    if omitted; `budget` is in tokens.
    """

    name: str = "kinen"
    priority: int = 1
    budget: int = Field(default=600, gt=0)
    memory: Any = None
    _history: History = PrivateAttr()

    def __init__(self, memory: Memory | None = None, **fields: Any) -> None:
        super().__init__(memory=memory, **fields)
        self._history = History(memory, "llama-index")

    async def _aget(self, messages: list[ChatMessage] | None = None, **_: Any) -> str:
        asked = [message.content for message in messages or () if message.role.value == "user"]
        if not asked or not asked[-1]:
            return ""
        return await in_thread("", lambda: recall(self._history.memory, asked[-1], self.budget))

    async def _aput(self, messages: list[ChatMessage]) -> None:
        for message in messages:
            session = message.additional_kwargs.get("session_id") or "llama-index"
            role = message.role.value
            entries = [(message.content or "", {"role": role, "content": message.content or ""})]
            scope = self._history.scope(str(session))
            await in_thread(None, self._history.add, scope, entries if message.content else [])

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """The beginning of a recall, shorter by `tokens_to_truncate`; its best parts come first."""
        kept = content[: -4 * tokens_to_truncate].rpartition("\n")[0]
        return kept or None
