"""Transcripts of Claude Code: lines of many kinds, of which two tell what was said and done."""

from __future__ import annotations

from functools import partial
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING, Any

from kinen.agents.deeds import Use, deed, message, report
from kinen.agents.session import (
    Event,
    Past,
    Ready,
    count,
    elements,
    fields,
    joined,
    milliseconds,
    text,
)
from kinen.privacy.injected import own_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Line = dict[str, Any]

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
_REFUSED, _INSTEAD = "The user doesn't want to", "the user said:\n"
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
            yield from _queued(past, line, queued, at)
        elif kind not in ("user", "assistant"):
            if kind not in SKIPPED:
                count(unknown, kind)
        elif at and not (line.get("isMeta") or line.get("isSidechain")):
            key = text(line.get("uuid")) or f"{past.id}:{number}"
            for id_, event in _told(past, line, calls, key, at):
                queued.pop(event.content, None)
                yield event._replace(id=id_, ts=at, branch=text(line.get("gitBranch")))


def _queued(past: Past, line: Line, queued: dict[str, str], at: int) -> Iterator[Event]:
    """What was typed while the agent worked, and handed to it without a line of its own."""
    typed = own_words(joined(line.get("content")))
    if line.get("operation") == "enqueue" and typed:
        queued[typed] = f"{past.id}:queued:{line.get('timestamp')}"
    elif line.get("operation") == "remove" and queued and at:
        typed = next(iter(queued))
        id_, event = past.named(at, queued.pop(typed)), message("user", typed)
        if event:
            yield event._replace(id=id_, ts=at)


def _told(
    past: Past, line: Line, calls: dict[str, Line], key: str, at: int
) -> Iterator[tuple[str, Event]]:
    """What a line tells, each thing with its id."""
    said = fields(line.get("message"))
    content = said.get("content")
    if line.get("isCompactSummary"):
        past.summaries.append(Ready(past.named(at, key), at, _summary(joined(content))))
        return
    if line.get("isApiErrorMessage") or said.get("model") == "<synthetic>":
        return
    for number, block in enumerate(elements(content) or [content]):
        id_ = past.named(at, f"{key}:{number}")
        event = _block(past, line, fields(block) or {"text": block}, calls)
        if event:
            yield id_, event


def _summary(told: str) -> str:
    """What a compaction left, without what it says to the agent."""
    for end in _ENDS:
        told = told.partition(end)[0]
    if "<summary>" in told:
        return told.partition("<summary>")[2].partition("</summary>")[0].strip()
    if told.startswith("This session is being continued"):
        told = told.partition("\n")[2]
    return (told.partition("\nSummary:\n")[2] or told).strip()


def _block(past: Past, line: Line, block: Line, calls: dict[str, Line]) -> Event | None:
    kind = block.get("type", "text")
    if kind == "text":
        return _said(text(line["type"]), joined(block.get("text")))
    if kind == "tool_use":
        calls[text(block.get("id"))] = block
        if len(calls) > WAITING:
            del calls[next(iter(calls))]
    call = calls.pop(text(block.get("tool_use_id")), None) if kind == "tool_result" else None
    return _done(call, block, fields(line.get("toolUseResult")), past.cwd) if call else None


def _said(role: str, told: str) -> Event | None:
    if told.startswith("<task-notification>"):
        summary, _, rest = told.partition("<summary>")[2].partition("</summary>")
        result, closed, _ = rest.partition("<result>")[2].rpartition("</result>")
        if closed:
            return report(f"{summary}\n\n{result}", {"hasError": False})
    return message(role, told)


def _done(call: Line, block: Line, about: Line, cwd: str) -> Event | None:
    """A call and its result."""
    result, failed = joined(block.get("content")), block.get("is_error") is True
    if failed and result.startswith(_REFUSED):
        return message("user", result.partition(_INSTEAD)[2])
    if about.get("status") == "async_launched":
        return None  # what comes of it is told later
    diff = _diff(elements(about.get("structuredPatch")))
    use = Use(text(call.get("name")), fields(call.get("input")), result, failed, None, diff)
    return deed(use, cwd)


def _diff(hunks: list[Any]) -> str:
    lines: list[str] = []
    for hunk in map(fields, hunks):
        old, new = (
            f"{hunk.get(f'{one}Start')},{hunk.get(f'{one}Lines')}" for one in ("old", "new")
        )
        lines += [f"@@ -{old} +{new} @@", *map(text, elements(hunk.get("lines")))]
    return "\n".join(lines)
