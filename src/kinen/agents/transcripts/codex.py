"""Rollouts of Codex, where what is said stands twice: as an item for the model and as an event."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, islice

from kinen.agents.tool_use import EDITS, SHELLS, ToolUse
from kinen.agents.transcripts.session import Event, Line, Past, Ready
from kinen.agents.transcripts.values import count, elements, fields, joined, milliseconds, text
from kinen.space.repository import normalise_origin
from kinen.text import digest

_SKIPPED = frozenset("session_meta turn_context world_state token_usage_record".split())
_TYPES = _SKIPPED | {"event_msg", "response_item", "compacted"}
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_RESULTS = ("function_call_output", "custom_tool_call_output")
_ROLES = {"user_message": "user", "agent_message": "assistant"}
_HEAD = 10
_EXITED = re.compile(r"(?:Exit code:|Process exited with code) (-?\d{1,6})\b")
_PATCH = "*** Begin Patch"
_END = "*** End Patch"


def is_codex(line: Line) -> bool:
    return "payload" in line and text(line.get("type")) in _TYPES


def sessions(lines: Iterable[Line], path: str, unknown: dict[str, int]) -> Iterator[Past]:
    """The session of a rollout; one of a subagent is a part of another's."""
    lines = iter(lines)
    head = list(islice(lines, _HEAD))
    metas = (fields(line.get("payload")) for line in head if line.get("type") == "session_meta")
    meta = next(metas, {})
    if not text(meta.get("id")) or isinstance(meta.get("source"), dict):
        return
    git = fields(meta.get("git"))
    read = partial(
        _events, lines=chain(head, lines), branch=text(git.get("branch")), unknown=unknown
    )
    origin = normalise_origin(text(git.get("repository_url")))
    yield Past("codex", text(meta["id"]), path, read, cwd=text(meta.get("cwd")), origin=origin)


def _events(
    past: Past, lines: Iterable[Line], branch: str, unknown: dict[str, int]
) -> Iterator[Event]:
    calls: dict[str, ToolUse] = {}
    heard = _Heard()
    at = 0
    for line in lines:
        at = milliseconds(line.get("timestamp")) or at
        payload = fields(line.get("payload"))
        kind = text(line.get("type"))
        if kind not in _TYPES:
            count(unknown, kind)
        elif kind == "compacted" and at:
            summary = joined(payload.get("message"))
            id_ = past.event_id(at, f"{past.id}:{digest(summary)}")
            past.summaries.append(Ready(id_, at, summary))
        elif kind not in _SKIPPED and at:
            key, event = _event_of(past, payload, kind, calls, heard)
            id_ = past.event_id(at, f"{past.id}:{key}") if key else ""
            if event:
                yield event._replace(id=id_, ts=at, branch=branch)


class _Heard:
    """How often each text was heard, from each of the two that tell it."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}

    def news(self, key: str, teller: str) -> int:
        """How often it was said so far if that is news, else 0."""
        times = self._counts[key, teller] = self._counts.get((key, teller), 0) + 1
        counted = self._counts.get((key, ""), 0)
        self._counts[key, ""] = max(times, counted)
        return times if times > counted else 0


def _event_of(
    past: Past, payload: Line, teller: str, calls: dict[str, ToolUse], heard: _Heard
) -> tuple[str, Event | None]:
    """What a line tells, with a key that is its own in the session."""
    kind = payload.get("type")
    call = text(payload.get("call_id"))
    if kind in _CALLS:
        calls[call] = _call(payload)
    elif kind in _RESULTS and call in calls:
        use = _done(calls.pop(call), payload.get("output"))
        return f"call:{call}", past.tool_use(use)
    elif kind == "patch_apply_end":
        diff, inputs = _changes(fields(payload.get("changes")))
        if call not in calls:
            failed = payload.get("success") is False
            result = joined(payload.get("stderr")) or joined(payload.get("stdout"))
            use = ToolUse("apply_patch", inputs, result, failed=failed, diff=diff)
            return f"call:{call}", past.tool_use(use)
        calls[call].diff = diff
    else:
        return _message_of(past, payload, teller, heard)
    return "", None


def _message_of(past: Past, payload: Line, teller: str, heard: _Heard) -> tuple[str, Event | None]:
    role = _ROLES.get(text(payload.get("type")), "")
    content = joined(payload.get("message"))
    if payload.get("type") == "message" and payload.get("role") in _ROLES.values():
        role = payload["role"]
        content = joined(payload.get("content"))
    event = past.message(role, content) if role else None
    if event is None:
        return "", None
    key = f"{role}:{digest(event.content)}"
    times = heard.news(key, teller)
    return f"{key}:{times}", event if times else None


def _call(payload: Line) -> ToolUse:
    tool = text(payload.get("name")) or "local_shell"
    space = text(payload.get("namespace"))
    arguments = _parsed(payload.get("arguments") or payload.get("action") or payload.get("input"))
    inputs = fields(arguments) or {"input": text(arguments)}
    command = inputs.get("command") or inputs.get("cmd")
    words = [text(word) for word in elements(command)]
    if words:
        command = words[-1] if words[1:2] in (["-lc"], ["-c"]) else " ".join(words)
    if tool in SHELLS and text(command):
        inputs = {"command": command}
        if _PATCH in text(command):
            patch = text(command)[text(command).index(_PATCH) :].partition(_END)
            tool = "apply_patch"
            inputs = {"input": "".join(patch[:2])}
    return ToolUse(f"{space}__{tool}" if space else tool, inputs)


def _done(use: ToolUse, output: object) -> ToolUse:
    """A call with its result, of which there were several forms."""
    parsed = _parsed(output)
    values = fields(parsed)
    result = joined(parsed)
    code: object = None
    if values:
        result = joined(values.get("output") or values.get("content"))
        code = fields(values.get("metadata")).get("exit_code", int(values.get("success") is False))
    elif use.tool in SHELLS | EDITS:
        exited = _EXITED.search(result[:300])
        code = int(exited[1]) if exited else None
        result = result.partition("\nOutput:\n")[2] if exited else result
    use.exit_code = code if isinstance(code, int) else 0
    use.failed = bool(use.exit_code)
    use.result = result
    return use


def _changes(changes: Line) -> tuple[str, Line]:
    """What a patch did, as a diff, and as a patch that names its files."""
    names = [f"*** Update File: {text(name)}" for name in changes]
    edits = map(fields, changes.values())
    diffs = (text(edit.get("unified_diff") or edit.get("content")) for edit in edits)
    return "\n".join(diffs), {"input": "\n".join(names)}


def _parsed(value: object) -> object:
    """What a text of JSON holds, or the text itself."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value
