"""Sessions in databases: Goose, Hermes, Crush and the Grok CLI keep one row for each message."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from functools import partial

from kinen.agents.transcripts import blocks
from kinen.agents.transcripts.blocks import Message, function_calls, tool_call, tool_result
from kinen.agents.transcripts.session import Event, Line, Past
from kinen.agents.transcripts.values import (
    elements,
    fields,
    joined,
    moment,
    parsed,
    parsed_list,
    text,
)
from kinen.model.tuples import NamedTuple
from kinen.storage.foreign import has_columns, read_only

NAMES = ("sessions.db", "state.db", "crush.db", "grok.db")
LARGEST = 64 << 20
"""Bytes of a row; a session with a longer one is left out."""
_FOLDERS = ("working_dir", "cwd", "cwd_last")
"""Columns with the folder of a session."""


class _Database(NamedTuple):
    """How a client stores its sessions."""

    agent: str
    sessions: str
    """Columns that its table of sessions has, and no other client's."""
    messages: str
    order: str
    is_part: Callable[[Line], object]
    """Whether a session is a part of another, such as a subagent's."""
    message: Callable[[Line], Message]


def is_database(path: str) -> bool:
    return os.path.basename(path) in NAMES


def sessions(path: str, strange: dict[str, str], broken: dict[str, int]) -> Iterator[Past]:
    """The sessions of a database, those of subagents left out."""
    with read_only(path, "nothing was imported") as db:
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST)
        kinds = (
            kind
            for kind in _DATABASES
            if has_columns(db, "sessions", kind.sessions)
            and has_columns(db, "messages", kind.messages)
        )
        kind = next(kinds, None)
        if kind is None:
            strange[path] = "not a database of sessions that kinen reads"
            return
        for row in list(_rows(db, "SELECT * FROM sessions ORDER BY id")):
            if text(row.get("id")) and not kind.is_part(row):
                read = partial(_events, db=db, kind=kind, row=row, path=path, broken=broken)
                # Crush keeps its database in a folder of the project.
                data = os.path.dirname(os.path.abspath(path))
                beside = os.path.dirname(data) if os.path.basename(data) == ".crush" else ""
                cwd = next((folder for name in _FOLDERS if (folder := text(row.get(name)))), beside)
                yield Past(kind.agent, text(row["id"]), path, read, cwd=cwd)


def _rows(db: sqlite3.Connection, query: str, *values: object) -> Iterator[Line]:
    rows = db.execute(query, values)
    names = [column[0] for column in rows.description]
    for row in rows:
        yield dict(zip(names, row, strict=True))


def _events(
    past: Past,
    db: sqlite3.Connection,
    kind: _Database,
    row: Line,
    path: str,
    broken: dict[str, int],
) -> Iterator[Event]:
    query = f"SELECT * FROM messages WHERE session_id = ? ORDER BY {kind.order}"  # noqa: S608
    messages = map(kind.message, _rows(db, query, row["id"]))
    named = (message._replace(key=f"{past.id}:{message.key}") for message in messages)
    try:
        yield from blocks.events(past, named, branch=text(row.get("git_branch")))
    except sqlite3.DataError:  # a row that is too long
        broken[path] = broken.get(path, 0) + 1


def _goose(row: Line) -> Message:
    about = parsed(row.get("metadata_json"))
    role = "" if about.get("userVisible") is False else text(row.get("role"))
    return Message(
        role,
        goose_content(parsed_list(row.get("content_json"))),
        moment(row.get("created_timestamp")),
        text(row.get("message_id")),
    )


def goose_content(content: object) -> list[Line]:
    """The blocks of a message of Goose, whose calls and results say whether they are valid."""
    items = []
    for block in map(fields, elements(content)):
        call = fields(fields(block.get("toolCall")).get("value"))
        result = fields(block.get("toolResult"))
        if call:
            name = text(call.get("name"))
            inputs = fields(call.get("arguments"))
            if name.endswith("text_editor") and inputs.get("command") == "view":
                name = "view"
            items.append(tool_call(block.get("id"), name, inputs))
        elif result:
            value = result.get("value")
            answer = fields(value)
            shell = fields(answer.get("structuredContent"))
            items.append(
                tool_result(
                    block.get("id"),
                    joined(answer.get("content") or value) or joined(result.get("error")),
                    failed=result.get("status") == "error" or answer.get("isError") is True,
                    code=shell.get("exit_code"),
                )
            )
        else:
            items.append(block)
    return items


def _hermes(row: Line) -> Message:
    role = text(row.get("role"))
    content: object = row.get("content")
    if row.get("_compressed_summary") == 1:
        role = "summary"
    elif row.get("display_kind") == "hidden" or (
        row.get("active") == 0 and row.get("compacted") != 1
    ):
        role = ""
    elif role == "tool":
        content = [tool_result(row.get("tool_call_id"), joined(content))]
    elif row.get("tool_calls"):
        words = {"type": "text", "text": joined(content)}
        content = [words, *function_calls(parsed_list(row["tool_calls"]))]
    return Message(role, content, moment(row.get("timestamp")), f"{row.get('id')}")


def _crush(row: Line) -> Message:
    items = []
    for part in map(fields, parsed_list(row.get("parts"))):
        data = fields(part.get("data"))
        match part.get("type"):
            case "tool_call":
                items.append(tool_call(data.get("id"), data.get("name"), data.get("input")))
            case "tool_result":
                failed = data.get("is_error") is True
                id_ = data.get("tool_call_id")
                items.append(tool_result(id_, joined(data.get("content")), failed=failed))
            case "shell_command":  # what the user ran
                id_ = f"shell:{len(items)}"
                output = joined(data.get("output"))
                items.append(tool_call(id_, "bash", {"command": data.get("command")}))
                items.append(tool_result(id_, output, code=data.get("exit_code")))
            case "text":
                items.append({"type": "text", "text": data.get("text")})
    role = "summary" if row.get("is_summary_message") == 1 else text(row.get("role"))
    return Message(role, items, moment(row.get("created_at")), text(row.get("id")))


def _grok(row: Line) -> Message:
    content = parsed(row.get("message_json")).get("content")
    items: list[Line] = []
    for part in map(fields, elements(content)):
        id_ = part.get("toolCallId")
        if part.get("type") == "tool-call":
            items.append(tool_call(id_, part.get("toolName"), part.get("input")))
        elif part.get("type") == "tool-result":
            output = fields(part.get("output"))
            value = output.get("value")
            answer = fields(value)
            failed = text(output.get("type")).startswith("error") or answer.get("success") is False
            words = joined(answer.get("output")) or joined(answer.get("error")) or joined(value)
            items.append(tool_result(id_, words, failed=failed, diff=text(answer.get("diff"))))
        else:
            items.append(part)
    at = moment(row.get("created_at"))
    return Message(text(row.get("role")), items or content, at, f"{row.get('seq')}")


_DATABASES = (
    _Database(
        "goose",
        "id working_dir",
        "id session_id role content_json created_timestamp",
        "created_timestamp, id",
        lambda row: text(row.get("session_type")) in ("sub_agent", "hidden"),
        _goose,
    ),
    _Database(
        "hermes",
        "id source started_at",
        "id session_id role content tool_calls tool_call_id timestamp",
        "timestamp, id",
        lambda row: "_delegate_from" in parsed(row.get("model_config")),
        _hermes,
    ),
    _Database(
        "crush",
        "id parent_session_id title message_count",
        "id session_id role parts created_at",
        "created_at, rowid",
        lambda row: row.get("parent_session_id"),
        _crush,
    ),
    _Database(
        "grok",
        "id workspace_id cwd_last",
        "session_id seq role message_json created_at",
        "seq",
        lambda _: False,
        _grok,
    ),
)
