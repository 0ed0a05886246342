"""Transcripts of Claude Code: lines of many kinds, of which two tell what was said and done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, groupby, islice

from kinen.agents import claude_code
from kinen.agents.tool_use import ToolUse
from kinen.agents.transcripts.session import Event, Line, Past, Ready
from kinen.agents.transcripts.values import count, elements, fields, joined, milliseconds, text
from kinen.privacy.injected import own_words

SKIPPED = frozenset(
    """progress system attachment queue-operation last-prompt cost-state tools-used api-request
    api-request-blob api-request-shape atis-latch mode permission-mode summary file-history-snapshot
    file-history-delta custom-title ai-title agent-name agent-color agent-setting pr-link
    worktree-state""".split()
)
"""Types of lines that are known, and tell nothing that the others do not."""
WAITING = 100
"""Calls that wait for their results; of more the oldest is forgotten."""
_HEAD = 100
"""Lines after which nobody expects to be told the folder of a session."""
_ENDS = (
    "\nIf you need specific details from before compaction",
    "\nPlease continue the conversation",
)


def is_claude(line: Line) -> bool:
    return "payload" not in line and (text(line.get("type")) in SKIPPED or "isSidechain" in line)


def sessions(lines: Iterable[Line], path: str, unknown: dict[str, int]) -> Iterator[Past]:
    """The sessions of a file, which are several where one was continued in it.

    One that nobody reads ends it: what follows is of the same folder.
    """
    told = (line for line in lines if text(line.get("sessionId")))
    for id_, run in groupby(told, lambda line: text(line["sessionId"])):
        rest = iter(run)
        head = list(islice(_until_folder(rest), _HEAD))
        cwd = next(filter(None, (text(line.get("cwd")) for line in head)), "")
        read = partial(_events, lines=chain(head, rest), unknown=unknown)
        past = Past("claude-code", id_, path, read, cwd=cwd)
        yield past
        if not past.taken:
            return


def _until_folder(lines: Iterable[Line]) -> Iterator[Line]:
    for line in lines:
        yield line
        if text(line.get("cwd")):
            return


def _events(past: Past, lines: Iterable[Line], unknown: dict[str, int]) -> Iterator[Event]:
    calls: dict[str, Line] = {}
    queued: dict[str, str] = {}
    at = 0
    for number, line in enumerate(lines):
        kind = text(line.get("type"))
        at = milliseconds(line.get("timestamp")) or at
        if kind == "queue-operation":
            # What was typed while the agent worked, and handed to it without a line of its own.
            words = own_words(joined(line.get("content")))
            if line.get("operation") == "enqueue" and words:
                queued[words] = f"{past.id}:queued:{line.get('timestamp')}"
            elif line.get("operation") == "remove" and queued and at:
                words = next(iter(queued))
                id_ = past.event_id(at, queued.pop(words))
                prompt = past.message("user", words)
                if prompt:
                    yield prompt._replace(id=id_, ts=at)
        elif kind not in ("user", "assistant"):
            if kind not in SKIPPED:
                count(unknown, kind)
        elif at and not (line.get("isMeta") or line.get("isSidechain")):
            key = text(line.get("uuid")) or f"{past.id}:{number}"
            for id_, event in _events_of(past, line, calls, key, at):
                queued.pop(event.content, None)
                yield event._replace(id=id_, ts=at, branch=text(line.get("gitBranch")))


def _events_of(
    past: Past, line: Line, calls: dict[str, Line], key: str, at: int
) -> Iterator[tuple[str, Event]]:
    """What a line tells, each thing with its id."""
    message = fields(line.get("message"))
    content = message.get("content")
    if line.get("isCompactSummary"):
        past.summaries.append(Ready(past.event_id(at, key), at, _summary(joined(content))))
        return
    if line.get("isApiErrorMessage") or message.get("model") == "<synthetic>":
        return
    blocks = elements(content) or [content]
    results = [block for block in blocks if fields(block).get("type") == "tool_result"]
    # The client's own object of a result: it is that of the line's only one.
    response = line.get("toolUseResult") if len(results) == 1 else None
    for number, block in enumerate(blocks):
        id_ = past.event_id(at, f"{key}:{number}")
        role = text(line["type"])
        event = _block(past, role, fields(block) or {"text": block}, calls, response)
        if event:
            yield id_, event


def _summary(compacted: str) -> str:
    """What a compaction left, without what it says to the agent."""
    for end in _ENDS:
        compacted = compacted.partition(end)[0]
    if "<summary>" in compacted:
        return compacted.partition("<summary>")[2].partition("</summary>")[0].strip()
    if compacted.startswith("This session is being continued"):
        compacted = compacted.partition("\n")[2]
    return (compacted.partition("\nSummary:\n")[2] or compacted).strip()


def _block(
    past: Past, role: str, block: Line, calls: dict[str, Line], response: object
) -> Event | None:
    kind = block.get("type", "text")
    if kind == "text":
        words = joined(block.get("text"))
        if words.startswith("<task-notification>"):
            task = words.partition("<task-id>")[2].partition("</task-id>")[0]
            rest = words.partition("</summary>")[2]
            result, closed, _ = rest.partition("<result>")[2].rpartition("</result>")
            if closed:
                return past.report(past.subagents.get(task, ""), result)
        return past.message(role, words)
    if kind == "tool_use":
        calls[text(block.get("id"))] = block
        if len(calls) > WAITING:
            del calls[next(iter(calls))]
    call = calls.pop(text(block.get("tool_use_id")), None) if kind == "tool_result" else None
    return _tool_use(past, call, block, response) if call else None


def _tool_use(past: Past, call: Line, block: Line, response: object) -> Event | None:
    """A call and its result, as the hook of the same tool use would have it."""
    tool = text(call.get("name"))
    inputs = fields(call.get("input"))
    result = joined(block.get("content"))
    if block.get("is_error") is True:
        if result.startswith(claude_code.REFUSED):
            return past.message("user", result.partition(claude_code.INSTEAD)[2])
        return past.tool_use(ToolUse(tool, inputs, result, failed=True))
    structured = isinstance(response, (dict, list)) and bool(response)
    past.subagents[text(fields(response).get("agentId"))] = text(inputs.get("subagent_type"))
    use = claude_code.tool_use(tool, inputs, response if structured else result)
    return past.tool_use(use) if use else None
