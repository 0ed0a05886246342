"""Chats of Gemini CLI: one document in older versions, lines that amend one another in newer."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import partial

from kinen.agents.tool_use import ToolUse
from kinen.agents.transcripts.session import Event, Line, Past
from kinen.agents.transcripts.values import count, elements, fields, joined, milliseconds, text
from kinen.storage import regular

_SKIPPED = frozenset("info warning error".split())
_DONE = ("success", "error")
_EXIT = re.compile(r"(?m)^Exit Code: (-?\d{1,6})$")


def is_gemini(line: Line) -> bool:
    return "$set" in line or ("projectHash" in line and "sessionId" in line)


def sessions(lines: Iterable[Line], path: str, unknown: dict[str, int]) -> Iterator[Past]:
    """The session of a chat; one of a subagent is a part of another's."""
    lines = iter(lines)
    head = next((line for line in lines if text(line.get("sessionId"))), {})
    if head and head.get("kind") != "subagent":
        read = partial(_events, lines=lines, unknown=unknown)
        project = text(head.get("projectHash"))
        # Newer versions note the folder of a project beside its chats.
        note = os.path.join(os.path.dirname(os.path.dirname(path)), ".project_root")
        cwd = regular.text(note, 4096, "replace").strip()
        yield Past("gemini", text(head["sessionId"]), path, read, cwd=cwd, project=project)


def _events(past: Past, lines: Iterable[Line], unknown: dict[str, int]) -> Iterator[Event]:
    for line in lines:
        entries = elements(fields(line["$set"]).get("messages")) if "$set" in line else [line]
        for entry in map(fields, entries):
            kind = text(entry.get("type"))
            at = milliseconds(entry.get("timestamp"))
            if kind not in ("user", "gemini"):
                if kind not in _SKIPPED and not text(entry.get("sessionId")):
                    count(unknown, kind)
                continue
            if not at:
                continue
            key = f"{past.id}:{entry.get('id')}"
            content = entry.get("content")
            if kind == "user":  # what was typed, where a command made a prompt of it
                content = elements(entry.get("displayContent")) or content
            id_ = past.event_id(at, key)
            event = past.message("user" if kind == "user" else "assistant", joined(content))
            if event:
                yield event._replace(id=id_, ts=at)
            # A message is written again with its calls once they are done.
            for call in map(fields, elements(entry.get("toolCalls"))):
                if text(call.get("status")) in _DONE:
                    when = milliseconds(call.get("timestamp")) or at
                    id_ = past.event_id(when, f"{key}:{call.get('id')}")
                    event = past.tool_use(_use(call))
                    if event:
                        yield event._replace(id=id_, ts=when)


def _use(call: Line) -> ToolUse:
    answers = (
        fields(fields(part).get("functionResponse")).get("response")
        for part in elements(call.get("result"))
    )
    entries = (joined(fields(entry).get(name)) for entry in answers for name in ("output", "error"))
    result = "\n".join(filter(None, entries)) or joined(call.get("resultDisplay"))
    exit_line = _EXIT.search(result)
    return ToolUse(
        text(call.get("name")),
        fields(call.get("args")),
        result,
        failed=call["status"] == "error",
        exit_code=int(exit_line[1]) if exit_line else 0,
        diff=text(fields(call.get("resultDisplay")).get("fileDiff")) or None,
    )
