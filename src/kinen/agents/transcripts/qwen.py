"""Chats of Qwen Code: `projects/FOLDER/chats/ID.jsonl`, lines with the parts of Gemini's API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain

from kinen.agents.tool_use import ToolUse
from kinen.agents.transcripts.session import Event, Line, Past
from kinen.agents.transcripts.values import count, elements, fields, joined, milliseconds, text

_ROLES = {"user": "user", "assistant": "assistant", "tool_result": ""}


def is_qwen(line: Line) -> bool:
    """Whether a line is one of Qwen Code; those of Claude Code have another `message`."""
    known = "parentUuid" in line and "sessionId" in line and "isSidechain" not in line
    return known and ("systemPayload" in line or "parts" in fields(line.get("message")))


def sessions(lines: Iterable[Line], path: str, unknown: dict[str, int]) -> Iterator[Past]:
    rest = iter(lines)
    head = next((line for line in rest if text(line.get("sessionId"))), {})
    if head:
        read = partial(_events, lines=chain([head], rest), unknown=unknown)
        yield Past("qwen", text(head["sessionId"]), path, read, cwd=text(head.get("cwd")))


def _events(past: Past, lines: Iterable[Line], unknown: dict[str, int]) -> Iterator[Event]:
    calls: dict[str, ToolUse] = {}
    for number, line in enumerate(lines):
        kind = text(line.get("type"))
        at = milliseconds(line.get("timestamp"))
        if kind not in _ROLES:
            if kind != "system":
                count(unknown, kind)
            continue
        key = text(line.get("uuid")) or f"{past.id}:{number}"
        parts = elements(fields(line.get("message")).get("parts"))
        for place, part in enumerate(map(fields, parts) if at else ()):
            id_ = past.event_id(at, f"{key}:{place}")
            event = _event(past, _ROLES[kind], part, line, calls)
            if event:
                yield event._replace(id=id_, ts=at, branch=text(line.get("gitBranch")))


def _event(
    past: Past, role: str, part: Line, line: Line, calls: dict[str, ToolUse]
) -> Event | None:
    if "functionCall" in part:
        call = fields(part["functionCall"])
        calls[text(call.get("id"))] = ToolUse(text(call.get("name")), fields(call.get("args")))
    elif "functionResponse" in part:
        answer = fields(part["functionResponse"])
        use = calls.pop(text(answer.get("id")), None)
        return past.tool_use(_done(use, fields(answer.get("response")), line)) if use else None
    elif role and not part.get("thought"):
        return past.message(role, joined(part.get("text")))
    return None


def _done(use: ToolUse, answer: Line, line: Line) -> ToolUse:
    result = fields(line.get("toolCallResult"))
    display = fields(result.get("resultDisplay"))
    use.result = joined(display.get("output")) or joined(
        answer.get("output") or answer.get("error")
    )
    use.failed = result.get("status") == "error"
    diff = text(display.get("fileDiff"))
    use.diff = diff[max(0, diff.find("@@")) :] or None  # the head names the file again
    code = display.get("exitCode")
    use.exit_code = code if isinstance(code, int) else None
    return use
