"""Claude Agent SDK: a store for the transcripts of sessions, to resume them from the journal.

ClaudeAgentOptions(session_store=KinenSessionStore())
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from kinen.frameworks.history import History, in_thread, lock, text_of
from kinen.memory import Memory
from kinen.model.journal import Scope

if TYPE_CHECKING:
    Key = dict[str, str]


class KinenSessionStore:
    """Implements the SDK's `SessionStore`; the memory is that of the working folder if omitted.

    `append` raises where the memory cannot be written to: the SDK tries again, then goes on without
    the store. An entry comes back as it was appended, except that secrets in it are masked.
    """

    def __init__(self, memory: Memory | None = None) -> None:
        self._history = History(memory, "claude-agent-sdk")

    async def append(self, key: Key, entries: list[dict[str, Any]]) -> None:
        """Store entries; an entry with a `uuid` is stored once."""
        await asyncio.to_thread(self._append, key, entries)

    async def load(self, key: Key) -> list[dict[str, Any]] | None:
        """The entries in the order in which they were appended; None if there are none."""
        entries: list[dict[str, Any]] = await in_thread([], self._history.values, self._scope(key))
        return entries or None

    async def list_sessions(self, project_key: str) -> list[dict[str, Any]]:
        return await in_thread([], self._sessions, project_key)

    async def list_subkeys(self, key: Key) -> list[str]:
        """The paths of the parts of a session."""
        return await in_thread([], self._subkeys, key)

    async def delete(self, key: Key) -> None:
        """Forget a session with its parts, or one part."""
        await in_thread(None, self._delete, key)

    def _scope(self, key: Key) -> Scope:
        parts = [key["project_key"], key["session_id"], *filter(None, [key.get("subpath")])]
        return self._history.scope("/".join(quote(part, safe="") for part in parts))

    def _append(self, key: Key, entries: list[dict[str, Any]]) -> None:
        stored = (
            (text_of(entry.get("message")) or f"({entry.get('type', 'entry')})", entry)
            for entry in entries
        )
        with lock:
            self._history.add(self._scope(key), stored, key=lambda entry: entry.get("uuid") or "")

    def _stored(self) -> Iterator[tuple[list[str], Scope]]:
        """The project, the session and, for a part, its path, with the scope of what is stored."""
        for scope in self._history.sessions():
            yield [unquote(part) for part in scope.session.split("/")], scope

    def _sessions(self, project: str) -> list[dict[str, Any]]:
        sessions = []
        for name, scope in self._stored():
            if name[0] == project and len(name) == len(("project", "session")):
                newest = self._history.memory.journal.page("observations", 1, scope=scope)[0]
                sessions += [{"session_id": name[1], "mtime": entry.ts} for entry in newest]
        return sessions

    def _subkeys(self, key: Key) -> list[str]:
        start = [key["project_key"], key["session_id"]]
        parts = [(name[2:], scope) for name, scope in self._stored() if name[:2] == start]
        return [path[0] for path, scope in parts if path and self._history.values(scope)]

    def _delete(self, key: Key) -> None:
        self._history.clear(self._scope(key))
        if not key.get("subpath"):
            for subpath in self._subkeys(key):
                self._history.clear(self._scope({**key, "subpath": subpath}))
