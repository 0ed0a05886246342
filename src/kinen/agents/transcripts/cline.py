"""Tasks of Cline and of Roo Code: what their panel showed; sessions of the Cline CLI: messages.

Both extensions store a task in a folder, with `ui_messages.json` in it: one list of what the user
and the agent said, each with its time. The CLI has `ID.messages.json` beside `ID.json`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial

from kinen.agents.tool_use import LONGEST_PATH, ToolUse
from kinen.agents.transcripts import blocks
from kinen.agents.transcripts.blocks import Message
from kinen.agents.transcripts.session import Event, Line, Past
from kinen.agents.transcripts.values import (
    elements,
    fields,
    joined,
    milliseconds,
    parsed,
    read_json,
    text,
)
from kinen.storage import regular

PANEL = "ui_messages.json"
MESSAGES = ".messages.json"
_ROO = "roo-cline"
_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_EXTENSIONS = ("saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline")
_USER = frozenset("task user_feedback user_feedback_diff".split())
_AGENT = frozenset("text completion_result".split())
_TOOLS = {
    "editedExistingFile": "replace_in_file",
    "appliedDiff": "replace_in_file",
    "newFileCreated": "write_to_file",
    "fileDeleted": "delete_file",
    "readFile": "read_file",
    "searchFiles": "search_files",
    "listFilesTopLevel": "list_files",
    "listFilesRecursive": "list_files",
    "listCodeDefinitionNames": "list_files",
    "updateTodoList": "update_todo_list",
}
"""What the panel calls a tool → its name."""
_FOLDER = ("# Current Working Directory (", "# Current Workspace Directory (")
"""What the folder of a task follows in its conversation."""
_HEAD = 1 << 20
"""Bytes of a conversation in which the folder of the task is looked for."""


def extension_tasks(cursor_data: str) -> Iterator[str]:
    """The folders of tasks of both extensions, in VS Code and in editors made of it."""
    top = os.path.dirname(os.path.dirname(cursor_data))
    for editor in _EDITORS:
        for extension in _EXTENSIONS:
            yield os.path.join(top, editor, "User", "globalStorage", extension, "tasks")


def is_task(path: str) -> bool:
    return os.path.basename(path) == PANEL


def is_session(path: str) -> bool:
    return path.endswith(MESSAGES)


def task(path: str, messages: Iterable[object]) -> Iterator[Past]:
    """The task of a folder, from the messages of its panel."""
    folder = os.path.dirname(os.path.abspath(path))
    agent = "roo" if _ROO in path else "cline"
    read = partial(_task_events, messages=messages)
    id_ = os.path.basename(folder)
    yield Past(agent, id_, path, read, cwd=_folder_of_task(folder, id_))


def session(path: str, messages: Iterable[object]) -> Iterator[Past]:
    """The session of the CLI in a file of messages; a subagent's is a part of another."""
    about = fields(read_json(path.removesuffix(MESSAGES) + ".json"))
    if about.get("is_subagent") or about.get("parent_session_id"):
        return
    id_ = os.path.basename(path).removesuffix(MESSAGES)
    cwd = text(about.get("cwd")) or text(about.get("workspace_root"))
    yield Past("cline", id_, path, partial(_session_events, messages=messages), cwd=cwd)


def _folder_of_task(folder: str, id_: str) -> str:
    """The folder a task worked in: beside it, in the list of tasks, or in its conversation."""
    workspace = text(fields(read_json(os.path.join(folder, "history_item.json"))).get("workspace"))
    if workspace:
        return workspace
    state = os.path.join(folder, "..", "..", "state", "taskHistory.json")
    for entry in map(fields, elements(read_json(state))):
        if entry.get("id") == id_:
            return text(entry.get("cwdOnTaskInitialization")) or text(entry.get("workspace"))
    conversation = ""
    with suppress(OSError):
        path = os.path.join(folder, "api_conversation_history.json")
        conversation = regular.read(path, _HEAD, cut=True).decode("utf-8", "replace")
    after = (conversation.partition(words)[2] for words in _FOLDER)
    return next((rest.partition(")")[0][:LONGEST_PATH] for rest in after if rest), "")


def _task_events(past: Past, messages: Iterable[object]) -> Iterator[Event]:
    """What happened in a task; the output of a command comes in messages after it."""
    command: tuple[str, int, list[str]] | None = None
    for number, entry in enumerate(map(fields, messages)):
        at = milliseconds(entry.get("ts"))
        if not at or entry.get("partial"):
            continue
        kind = text(entry.get("say")) or text(entry.get("ask"))
        if kind == "command_output" and command:
            command[2].append(joined(entry.get("text")))
            continue
        if command and kind in {"command", "text", "api_req_started", *_USER, *_AGENT}:
            yield from _command(past, *command)
            command = None
        if kind == "command":
            command = (joined(entry.get("text")), at, [])
            continue
        event = _task_event(past, kind, entry, first=number == 0)
        if event:
            yield event._replace(id=past.event_id(at, f"{past.id}:{at}:{kind}"), ts=at)
    if command:
        yield from _command(past, *command)


def _command(past: Past, line: str, at: int, output: list[str]) -> Iterator[Event]:
    event = past.tool_use(ToolUse("execute_command", {"command": line}, "\n".join(output)))
    if event:
        yield event._replace(id=past.event_id(at, f"{past.id}:{at}:command"), ts=at)


def _task_event(past: Past, kind: str, entry: Line, *, first: bool) -> Event | None:
    words = joined(entry.get("text"))
    if kind in _USER or (first and kind == "text"):  # a task begins with what the user typed
        return past.message("user", words)
    if kind in _AGENT:
        return past.message("assistant", words)
    if kind == "tool":
        about = parsed(words)
        name = text(about.get("tool"))
        inputs = {"path": text(about.get("path"))}
        if text(about.get("regex")):
            inputs["pattern"] = text(about["regex"])
        diff = text(about.get("diff")) or text(about.get("content"))
        return past.tool_use(ToolUse(_TOOLS.get(name, name), inputs, diff=diff))
    if kind in ("error", "diff_error"):
        return past.tool_use(ToolUse("cline", {}, words, failed=True))
    if kind == "use_mcp_server":
        about = parsed(words)
        name = f"mcp__{text(about.get('serverName'))}__{text(about.get('toolName'))}"
        return past.tool_use(ToolUse(name, parsed(joined(about.get("arguments")))))
    return None


def _session_events(past: Past, messages: Iterable[object]) -> Iterator[Event]:
    numbered = enumerate(map(fields, messages))
    yield from blocks.events(
        past,
        (
            Message(text(entry.get("role")), entry.get("content"), at, key)
            for number, entry in numbered
            if (at := milliseconds(entry.get("ts")))
            and (key := text(entry.get("id")) or f"{past.id}:{number}")
        ),
    )
