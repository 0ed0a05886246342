"""Sessions of pi: `agent/sessions/FOLDER/TIME_ID.jsonl`, a line for each message.

OpenClaw runs pi, and has them in `agents/NAME/sessions`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import partial

from kinen.agents.tool_use import ToolUse
from kinen.agents.transcripts.session import Event, Line, Past, Ready, Unsupported
from kinen.agents.transcripts.values import count, elements, fields, joined, milliseconds, text

VERSIONS = (1, 2, 3)
"""Versions of the format that differ in nothing that is read here."""
_SKIPPED = frozenset(
    "branch_summary custom custom_message label model_change session session_info"
    " thinking_level_change".split()
)
_EXIT = re.compile(r"\s{0,4}\bCommand exited with code (-?\d{1,6})\s{0,4}$")


def is_pi(line: Line) -> bool:
    """Whether a line is the head of a session of pi."""
    named = "cwd" in line or "version" in line
    return line.get("type") == "session" and named and "timestamp" in line


def sessions(lines: Iterable[Line], path: str, unknown: dict[str, int]) -> Iterator[Past]:
    """The session of a file; raises Unsupported for another version of the format."""
    rest = iter(lines)
    head = next((line for line in rest if is_pi(line)), {})
    if head.get("version", 1) not in VERSIONS:
        raise Unsupported("pi", head.get("version"))
    read = partial(_events, lines=rest, unknown=unknown)
    folders = os.path.abspath(path).split(os.sep)[-4:]
    agent = "openclaw" if folders[0] == "agents" and folders[-2] == "sessions" else "pi"
    yield Past(agent, text(head.get("id")), path, read, cwd=text(head.get("cwd")))


def _events(past: Past, lines: Iterable[Line], unknown: dict[str, int]) -> Iterator[Event]:
    calls: dict[str, ToolUse] = {}
    for number, line in enumerate(lines):
        kind = text(line.get("type"))
        at = milliseconds(line.get("timestamp"))
        key = text(line.get("id")) or f"{past.id}:{number}"
        if kind == "compaction" and at:
            past.summaries.append(Ready(past.event_id(at, key), at, joined(line.get("summary"))))
        elif kind == "message" and at:
            for place, event in enumerate(_message(past, fields(line.get("message")), calls)):
                if event:
                    yield event._replace(id=past.event_id(at, f"{key}:{place}"), ts=at)
        elif kind not in _SKIPPED:
            count(unknown, kind)


def _message(past: Past, message: Line, calls: dict[str, ToolUse]) -> Iterator[Event | None]:
    """What is recorded of a message: its texts, or the use of a tool that it ends."""
    role = text(message.get("role"))
    content = message.get("content")
    if role == "user":
        yield past.message("user", joined(content))
    elif role == "assistant":
        for block in map(fields, elements(content)):
            if block.get("type") == "toolCall":
                use = ToolUse(text(block.get("name")), fields(block.get("arguments")))
                calls[text(block.get("id"))] = use
            elif block.get("type") == "text":
                yield past.message("assistant", text(block.get("text")))
    elif role == "toolResult":
        called = calls.pop(text(message.get("toolCallId")), None)
        yield past.tool_use(_done(called, message)) if called else None
    elif role == "bashExecution":  # a command that the user ran
        use = ToolUse("bash", {"command": text(message.get("command"))})
        use.result = text(message.get("output"))
        code = message.get("exitCode")
        use.exit_code = code if isinstance(code, int) else None
        yield past.tool_use(use)


def _done(use: ToolUse, message: Line) -> ToolUse:
    result = joined(message.get("content"))
    ended = _EXIT.search(result)
    use.result = result[: ended.start()] if ended else result
    use.failed = message.get("isError") is True
    if use.tool == "bash":
        use.exit_code = int(ended[1]) if ended else None if use.failed else 0
    patch = text(fields(message.get("details")).get("patch"))
    use.diff = patch[max(0, patch.find("@@")) :] or None  # the head names the file again
    return use
