"""Messages made of blocks, as the APIs of models have them: text, tool use, tool result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kinen.agents.tool_use import ToolUse
from kinen.agents.transcripts.session import Event, Line, Past, Ready
from kinen.agents.transcripts.values import elements, fields, joined, parsed, text
from kinen.model.tuples import NamedTuple
from kinen.privacy.injected import without_blocks

WAITING = 100
"""Calls that wait for their results; of more the oldest is forgotten."""
_PROMPTS = ("user_query", "task", "user_message", "feedback")
"""Tags that clients put around what the user typed."""


class Message(NamedTuple):
    """A message as a client stores it."""

    role: str
    """`user`, `assistant`, `tool`, or `summary` for what a compaction left."""
    content: object
    """A text, or blocks."""
    at: int = 0
    """Epoch milliseconds; 0 if it is that of the message before."""
    key: str = ""
    """What names it in its session; its number if it is empty."""


def events(
    past: Past,
    messages: Iterable[Message],
    *,
    results: bool = True,
    own_times: bool = True,
    branch: str = "",
) -> Iterator[Event]:
    """What happened in a session.

    Without `own_times`, as where the time is that of a file, ids of events do not depend on it.
    """
    conversation = Conversation(past, results=results)
    at = 0
    for number, message in enumerate(messages):
        at = message.at or at
        key = message.key or f"{past.id}:{number}"
        stamp = at if own_times else 0
        if message.role == "summary":
            content = joined(message.content)
            past.summaries.append(Ready(past.event_id(stamp, key), at, content))
            continue
        for place, event in conversation.events(message.role, message.content) if at else ():
            id_ = past.event_id(stamp, f"{key}:{place}")
            if event:
                yield event._replace(id=id_, ts=at, branch=branch)


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

    def _event(self, role: str, block: Line) -> Event | None:
        kind = text(block.get("type"))
        if kind == "text" and role in ("user", "assistant"):
            words = joined(block.get("text"))
            return self._past.message(role, typed(words) if role == "user" else words)
        if kind == "tool_use":
            called = ToolUse(text(block.get("name")), fields(block.get("input")))
            if not self._results:
                return self._past.tool_use(called)
            self._calls[text(block.get("id"))] = called
            if len(self._calls) > WAITING:
                del self._calls[next(iter(self._calls))]
            return None
        if kind == "tool_result":
            use = self._calls.pop(text(block.get("tool_use_id")), None)
            if use is None:
                return None
            use.result = joined(block.get("content"))
            use.failed = block.get("is_error") is True
            use.exit_code = code if isinstance(code := block.get("exit_code"), int) else None
            use.diff = text(block.get("diff")) or None
            return self._past.tool_use(use)
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


def tool_call(id_: object, name: object, inputs: object) -> Line:
    """The block of a call, whose inputs may be JSON in a text."""
    return {"type": "tool_use", "id": id_, "name": name, "input": parsed(inputs)}


def function_calls(calls: object) -> Iterator[Line]:
    """The blocks of calls in the form of OpenAI's API."""
    for call in map(fields, elements(calls)):
        function = fields(call.get("function"))
        yield tool_call(call.get("id"), function.get("name"), function.get("arguments"))


def tool_result(
    id_: object, content: str, *, failed: bool = False, code: object = None, diff: str = ""
) -> Line:
    """The block of a result."""
    return {
        "type": "tool_result",
        "tool_use_id": id_,
        "content": content,
        "is_error": failed,
        "exit_code": code,
        "diff": diff,
    }
