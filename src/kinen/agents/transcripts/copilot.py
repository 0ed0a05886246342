"""Sessions of GitHub Copilot CLI: `session-state/ID/events.jsonl`, a line for each event."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial

from kinen.agents.tool_use import ToolUse
from kinen.agents.transcripts.session import Event, Line, Past, Ready, Unsupported
from kinen.agents.transcripts.values import count, fields, joined, milliseconds, text
from kinen.space.repository import normalise_origin

VERSION = 1
"""The version of the format, as `session.start` has it."""
_SKIPPED = tuple(
    "session. assistant. hook. skill. subagent. permission. system. tool. command. abort".split()
)
"""Beginnings of the types that tell nothing that others do not."""
_EXIT = re.compile(r"\n?<(?:shellId: \S{1,40} completed|exited) with exit code -?\d{1,6}>\s*$")


def is_copilot(line: Line) -> bool:
    return line.get("type") == "session.start" and "data" in line


def sessions(lines: Iterable[Line], path: str, unknown: dict[str, int]) -> Iterator[Past]:
    """The session of a file; raises Unsupported for another version of the format."""
    rest = iter(lines)
    start = next((line for line in rest if is_copilot(line)), {})
    about = fields(start.get("data"))
    if about.get("version", VERSION) != VERSION:
        raise Unsupported("Copilot CLI", about.get("version"))
    context = fields(about.get("context"))
    repository = text(context.get("repository"))
    yield Past(
        "copilot",
        text(about.get("sessionId")),
        path,
        partial(_events, lines=rest, branch=text(context.get("branch")), unknown=unknown),
        cwd=text(context.get("cwd")) or text(context.get("gitRoot")),
        origin=normalise_origin(f"https://github.com/{repository}") if repository else "",
    )


def _events(
    past: Past, lines: Iterable[Line], branch: str, unknown: dict[str, int]
) -> Iterator[Event]:
    calls: dict[str, ToolUse] = {}
    for number, line in enumerate(lines):
        at = milliseconds(line.get("timestamp"))
        data = fields(line.get("data"))
        if not at or data.get("parentToolCallId"):
            continue  # a subagent's: the tool that started it has its report
        kind = text(line.get("type"))
        id_ = past.event_id(at, text(line.get("id")) or f"{past.id}:{number}")
        if kind == "session.compaction_complete":
            past.summaries.append(Ready(id_, at, joined(data.get("summaryContent"))))
        event = _event(past, kind, data, calls)
        if event:
            yield event._replace(id=id_, ts=at, branch=branch)
        elif not kind.startswith((*_SKIPPED, "user.")):
            count(unknown, kind)


def _event(past: Past, kind: str, data: Line, calls: dict[str, ToolUse]) -> Event | None:
    call = text(data.get("toolCallId"))
    if kind == "user.message":
        return past.message("user", joined(data.get("content")))
    if kind == "assistant.message":
        return past.message("assistant", joined(data.get("content")))
    if kind == "tool.execution_start":
        arguments = data.get("arguments")
        inputs = fields(arguments) or {"input": text(arguments)}  # a patch is plain text
        tool = text(data.get("toolName"))
        server = text(data.get("mcpServerName"))
        if server:  # as other clients say it
            tool = f"mcp__{server}__{text(data.get('mcpToolName'))}"
        calls[call] = ToolUse(tool, inputs)
    elif kind == "tool.execution_complete" and call in calls:
        use = calls.pop(call)
        use.result = _EXIT.sub("", joined(fields(data.get("result")).get("content")))
        use.failed = data.get("success") is False
        if use.failed:
            use.result = joined(fields(data.get("error")).get("message")) or use.result
        code = fields(data.get("shellExecution")).get("exitCode")
        use.exit_code = code if isinstance(code, int) else None
        return past.tool_use(use)
    return None
