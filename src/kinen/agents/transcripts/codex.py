"""Rollouts of Codex, where what is said stands twice: as an item for the model and as an event."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import partial
from glob import escape, glob
from itertools import chain, islice

from kinen.agents.tool_use import SHELLS, ToolUse
from kinen.agents.transcripts.session import Event, Line, Past, Ready
from kinen.agents.transcripts.values import count, elements, fields, joined, milliseconds, text
from kinen.model.tuples import NamedTuple
from kinen.space.repository import normalise_origin
from kinen.text import digest

_SKIPPED = frozenset("session_meta turn_context world_state token_usage_record".split())
_TYPES = _SKIPPED | {"event_msg", "response_item", "compacted"}
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_RESULTS = ("function_call_output", "custom_tool_call_output")
_ROLES = {"user_message": "user", "agent_message": "assistant"}
_HEAD = 10
_EXITED = re.compile(r"(?:Exit code:|Process exited with code) (\d{1,6})\b")
_RUNNING = re.compile(r"Process running with session ID (\d{1,12})\b")
_OUTPUT = "\nOutput:\n"
_REPORTS = ("Chunk ID: ", "Wall time: ", "Exit code: ", "Process exited", "Process running")
"""How the report of a command begins; its output follows."""
_REPORT = 300
"""Characters of such a report before the output."""
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


def rollouts(sessions: str, thread: str) -> list[str]:
    """The files of a thread below a folder of sessions, which are in a folder for each day."""
    return sorted(glob(f"{escape(sessions)}/*/*/*/rollout-*-{escape(thread)}.jsonl"))


def _events(
    past: Past, lines: Iterable[Line], branch: str, unknown: dict[str, int]
) -> Iterator[Event]:
    calls = _Calls()
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
            done = calls.take(payload, at)
            if done:
                yield from _uses(past, [done], branch)
                continue
            key, event = _message_of(past, payload, kind, heard)
            id_ = past.event_id(at, f"{past.id}:{key}") if key else ""
            if event:
                yield event._replace(id=id_, ts=at, branch=branch)
    yield from _uses(past, calls.running.values(), branch)


def _uses(past: Past, calls: Iterable[_Call], branch: str) -> Iterator[Event]:
    """The events of calls that are over; each has the id of its call, as those of hooks have."""
    for call in calls:
        id_ = past.event_id(call.at, f"{past.id}:call:{call.id}")
        event = past.tool_use(call.use)
        if event:
            about = {**event.provenance, "toolUseId": call.id}
            yield event._replace(id=id_, ts=call.at, branch=branch, provenance=about)


class _Call(NamedTuple):
    """A call of a tool, and when its result came."""

    id: str
    use: ToolUse
    at: int


class _Calls:
    """Calls of tools until their results are known.

    A command that goes on in the background has a result without an exit code, which comes with
    another call or an event.
    """

    def __init__(self) -> None:
        self.running: dict[str, _Call] = {}
        """Commands in the background, by call."""
        self._open: dict[str, ToolUse] = {}
        self._processes: dict[str, str] = {}
        """Calls by the number of the process that they left in the background."""

    def take(self, payload: Line, at: int) -> _Call | None:
        """Take what a line tells of a call; the call, if it is over now."""
        if payload.get("type") == "item_completed":
            item = fields(payload.get("item"))
            payload = {**item, "call_id": item.get("id")}
        kind = payload.get("type")
        id_ = text(payload.get("call_id"))
        if kind in _CALLS:
            self._open[id_] = _call(payload)
        elif kind in _RESULTS and id_ in self._open:
            return self._ended(_Call(id_, self._open.pop(id_), at), payload.get("output"))
        elif kind in ("exec_command_end", "CommandExecution"):
            printed = joined(payload.get("aggregated_output") or payload.get("stdout"))
            return self._exited(id_, payload.get("exit_code"), printed)
        elif kind in ("patch_apply_end", "FileChange"):
            changes = fields(payload.get("changes"))
            names = [f"*** Update File: {text(name)}" for name in changes]
            edits = map(fields, changes.values())
            diffs = (text(edit.get("unified_diff") or edit.get("content")) for edit in edits)
            diff = "\n".join(diffs)
            inputs = {"input": "\n".join(names)}
            if id_ not in self._open:
                failed = payload.get("success") is False or payload.get("status") == "failed"
                result = joined(payload.get("stderr")) or joined(payload.get("stdout"))
                use = ToolUse("apply_patch", inputs, result, failed=failed, diff=diff)
                return _Call(id_, use, at)
            use = self._open[id_]
            use.tool = "apply_patch"
            use.inputs = inputs
            use.diff = diff
        return None

    def _ended(self, call: _Call, output: object) -> _Call | None:
        process = text(str(call.use.inputs.get("session_id", "")))
        code = call.use.exit_code
        header = _done(call.use, output)
        if call.use.exit_code is None:
            call.use.exit_code = code
            call.use.failed = bool(code)
        left = _RUNNING.search(header)
        if call.use.tool in SHELLS and left and call.use.exit_code is None:
            self._processes[left[1]] = call.id
            self.running[call.id] = call
            return None
        if call.use.tool != "write_stdin" or process not in self._processes:
            return call
        typed = text(call.use.inputs.get("chars")).strip()
        printed = f"> {typed}\n{call.use.result}" if typed else call.use.result
        exited = _EXITED.search(header)
        if exited:
            return self._exited(self._processes.pop(process), int(exited[1]), printed)
        waiting = self.running.get(self._processes[process])
        if waiting:
            _add(waiting.use, printed)
        return None if waiting else call

    def _exited(self, id_: str, code: object, output: str) -> _Call | None:
        """Note how a command ended: one in the background is over with that."""
        known = code if isinstance(code, int) and code >= 0 else None  # below 0 it was stopped
        call = self.running.pop(id_, None)
        use = call.use if call else self._open.get(id_)
        if use is not None:
            use.exit_code = known
            use.failed = bool(known)
        if call:
            _add(call.use, output)
        return call


def _add(use: ToolUse, output: str) -> None:
    """Add what a command printed since; of what is told in parts and once more, the whole."""
    if output not in use.result:
        whole = output.startswith(use.result[:_REPORT])
        use.result = output if whole else f"{use.result}\n{output}"


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


def _done(use: ToolUse, output: object) -> str:
    """Give a call its result, of which there were several forms; what stands above the output."""
    parsed = _parsed(output)
    values = fields(parsed)
    result = joined(parsed)
    header = ""
    code: object = None
    if values:
        result = joined(values.get("output") or values.get("content"))
        success = values.get("success")
        known = int(not success) if isinstance(success, bool) else None
        code = fields(values.get("metadata")).get("exit_code", known)
    elif result[:_REPORT].startswith(_REPORTS):
        # A patch that a command holds has its own report in that of the command.
        header, _, rest = result.partition(_OUTPUT)
        exited = _EXITED.search(header[:_REPORT]) or _EXITED.match(rest)
        code = int(exited[1]) if exited else None
        result = rest
    use.exit_code = code if isinstance(code, int) else None
    use.failed = bool(use.exit_code)
    use.result = result
    return header


def _parsed(value: object) -> object:
    """What a text of JSON holds, or the text itself."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value
