"""Sessions of OpenCode: a file for each session, message and part; or one exported document."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial

from kinen.agents.tool_use import ToolUse
from kinen.agents.transcripts.session import Event, Line, Past, Ready
from kinen.agents.transcripts.values import (
    count,
    elements,
    fields,
    joined,
    milliseconds,
    read_json,
    text,
)

Counts = dict[str, int]


_KNOWN = frozenset(
    """text tool reasoning step-start step-finish snapshot patch file agent retry compaction
    subtask""".split()
)


def is_session(path: str) -> bool:
    """Whether a file is the session itself, with the messages where they should be."""
    name = os.path.basename(path)
    return name.startswith("ses_") and name.endswith(".json") and os.path.isdir(_messages(path))


def _messages(path: str) -> str:
    return os.path.join(os.path.dirname(os.path.abspath(path)), "..", "..", "message")


def sessions(path: str, unknown: Counts, broken: Counts) -> Iterator[Past]:
    """The session of a file; one with a parent is a subagent's."""
    about = _read(path, broken)
    if text(about.get("id")) and not about.get("parentID"):
        read = partial(_events, unknown=unknown, broken=broken)
        yield Past("opencode", text(about["id"]), path, read, cwd=text(about.get("directory")))


def is_export(line: Line) -> bool:
    """Whether a document begins as `opencode export` writes it: `info`, then `messages`."""
    about = fields(line.get("info"))
    return text(about.get("id")).startswith("ses_") and "parts" not in line


def exported(lines: Iterable[Line], path: str, unknown: Counts) -> Iterator[Past]:
    """The session of an exported document: what it says of itself, then its messages."""
    entries = iter(lines)
    about = fields(next(entries).get("info"))
    if about.get("parentID"):
        return  # a subagent's: its session tells what it came back with
    read = partial(_exported_events, messages=entries, unknown=unknown)
    yield Past("opencode", text(about.get("id")), path, read, cwd=text(about.get("directory")))


def _exported_events(past: Past, messages: Iterable[Line], unknown: Counts) -> Iterator[Event]:
    for number, entry in enumerate(messages):
        parts = enumerate(map(fields, elements(entry.get("parts"))))
        named = ((f"{number}:{n}", part) for n, part in parts)
        yield from _message_events(past, fields(entry.get("info")), named, unknown)


def _events(past: Past, unknown: Counts, broken: Counts) -> Iterator[Event]:
    folder = os.path.join(_messages(past.path), past.id)
    for name in _names(folder):
        about = _read(os.path.join(folder, name), broken)
        inside = os.path.join(_messages(past.path), "..", "part", name.removesuffix(".json"))
        parts = ((part, _read(os.path.join(inside, part), broken)) for part in _names(inside))
        yield from _message_events(past, about, parts, unknown)


def _message_events(
    past: Past, about: Line, parts: Iterable[tuple[str, Line]], unknown: Counts
) -> Iterator[Event]:
    """The events of one message; its parts come with a name for those that have no id."""
    at = milliseconds(_time(about, "created"))
    for name, part in parts if at else ():
        ended = _time(fields(part.get("state")), "end") or _time(part, "start")
        when = milliseconds(ended) or at
        id_ = past.event_id(when, text(part.get("id")) or name)
        event = _event(past, about, part, Ready(id_, when, joined(part.get("text"))))
        if event:
            yield event._replace(id=id_, ts=when)
        if part and text(part.get("type")) not in _KNOWN:
            count(unknown, part.get("type"))


def _event(past: Past, message: Line, part: Line, ready: Ready) -> Event | None:
    role = text(message.get("role"))
    over = role == "user" or _time(message, "completed")  # before that its text still grows
    if part.get("type") == "tool":
        use = _use(text(part.get("tool")), fields(part.get("state")))
        return past.tool_use(use) if use else None
    if part.get("type") != "text" or part.get("synthetic") or not over:
        return None
    if message.get("summary") is True:  # what a compaction left
        past.summaries.append(ready)
        return None
    return past.message(role, ready.content)


def _use(tool: str, state: Line) -> ToolUse | None:
    """A tool use, once it is over."""
    if state.get("status") not in ("completed", "error"):
        return None
    about = fields(state.get("metadata"))
    exit_code = about.get("exit")
    return ToolUse(
        tool,
        fields(state.get("input")),
        joined(state.get("output")) or joined(state.get("error")),
        failed=state.get("status") == "error",
        exit_code=exit_code if isinstance(exit_code, int) else 0,
        diff=text(about.get("diff")) or None,
    )


def _names(folder: str) -> list[str]:
    """The entries of a folder in the order in which they were made, as their names have it."""
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    except OSError:
        return []


def _read(path: str, broken: Counts) -> Line:
    entry = fields(read_json(path))
    if not entry:
        broken[path] = 1
    return entry


def _time(entry: Line, name: str) -> object:
    return fields(entry.get("time")).get(name)
