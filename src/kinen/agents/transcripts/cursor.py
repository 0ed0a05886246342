"""Sessions of Cursor: the editor's database, and the transcripts of its agent.

`state.vscdb` has a row for each conversation and one for each message, or bubble, with the tools
and their results. The transcripts below `~/.cursor/projects` have neither times nor results, so a
conversation that the database has, too, is read from there.
"""

from __future__ import annotations

import os
import re
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice

from kinen.agents.tool_use import ToolUse
from kinen.agents.transcripts import blocks
from kinen.agents.transcripts.blocks import Message, typed
from kinen.agents.transcripts.session import Event, Line, Past
from kinen.agents.transcripts.values import (
    LONGEST,
    elements,
    fields,
    joined,
    milliseconds,
    parsed,
    read_json,
    text,
    uri_path,
)
from kinen.errors import StoreError, UnsafeFile
from kinen.paths import user_folder
from kinen.storage.foreign import has_columns, read_only

DATABASE = "state.vscdb"
_ROLES = {1: "user", 2: "assistant"}
_HEAD = 20
"""Bubbles in which the folder of a conversation is looked for."""
_WORKSPACES = 1_000
"""Workspaces that are looked into for the folder of a conversation."""
_EMPTY_STATE = 2
"""Characters of the state of a conversation without messages."""
_DONE = ("completed", "error")
_BETWEEN = ("composerData:", "composerData;")
"""The keys of all conversations: from the first on, before the second."""
_CONVERSATIONS = (
    "SELECT key, value FROM cursorDiskKV WHERE key >= ? AND key < ? AND length(value) < ?"
)
_BUBBLE = "SELECT value FROM cursorDiskKV WHERE key = ? AND length(value) < ?"
_LIST = "SELECT value FROM ItemTable WHERE key = 'composer.composerData' AND length(value) < ?"


def is_database(path: str) -> bool:
    return os.path.basename(path) == DATABASE


def user_data(env: Mapping[str, str]) -> str:
    """The folder with the settings and databases of the editor."""
    home = user_folder(env)
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "Cursor", "User")
    if sys.platform == "win32":
        return os.path.join(env.get("APPDATA") or home, "Cursor", "User")
    config = env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return os.path.join(config, "Cursor", "User")


def database(env: Mapping[str, str]) -> str:
    return os.path.join(user_data(env), "globalStorage", DATABASE)


def project_name(folder: str) -> str:
    """The name of a project's folder in `~/.cursor/projects`: other characters become hyphens."""
    return re.sub(r"[^A-Za-z0-9]+", "-", folder).strip("-")


def sessions(path: str, strange: dict[str, str], broken: dict[str, int]) -> Iterator[Past]:
    """The conversations of a database; those of subagents are part of others."""
    with read_only(path, "nothing was imported") as db:
        if not has_columns(db, "cursorDiskKV", "key value"):
            strange[path] = "not a database of Cursor's conversations"
            return
        workspaces: dict[str, str] | None = None
        for key, value in db.execute(_CONVERSATIONS, (*_BETWEEN, LONGEST)):
            about = parsed(value)
            if not about and value is not None:
                broken[path] = broken.get(path, 0) + 1
            if about.get("subagentInfo") or about.get("isBestOfNSubcomposer"):
                continue
            id_ = key.partition(":")[2]
            bubbles = partial(_bubbles, db, id_, about)
            if next(bubbles(), None) is None:
                if len(text(about.get("conversationState"))) > _EMPTY_STATE:
                    version = text(str(about.get("_v")))[:40]
                    strange[path] = f"Cursor wrote version {version}, which this kinen cannot read"
                continue
            # The folder of the conversation, from itself or from one of its first messages.
            uri = fields(fields(about.get("workspaceIdentifier")).get("uri"))
            cwd = text(uri.get("fsPath")) or text(uri.get("path"))
            for bubble in islice(bubbles(), 0 if cwd else _HEAD):
                uris = elements(bubble.get("workspaceUris"))
                cwd = text(bubble.get("workspaceProjectDir")) or (
                    uri_path(text(uris[0])) if uris else ""
                )
                if cwd:
                    break
            if not cwd:
                workspaces = _workspaces(path) if workspaces is None else workspaces
                cwd = workspaces.get(id_, "")
            yield Past("cursor", id_, path, partial(_events, about, bubbles), cwd=cwd)


def _bubbles(db: sqlite3.Connection, id_: str, about: Line) -> Iterator[Line]:
    """The messages of a conversation: in rows of their own, in older versions inside of it."""
    headers = elements(about.get("fullConversationHeadersOnly"))
    for header in map(fields, headers):
        key = f"bubbleId:{id_}:{text(header.get('bubbleId'))}"
        row = db.execute(_BUBBLE, (key, LONGEST)).fetchone()
        bubble = parsed(row[0]) if row else {}
        if bubble:
            yield bubble
    if not headers:
        yield from map(fields, elements(about.get("conversation")))


def _workspaces(path: str) -> dict[str, str]:
    """The folders of conversations, by id, as the databases of workspaces have them."""
    top = os.path.join(os.path.dirname(path), "..", "workspaceStorage")
    folders: dict[str, str] = {}
    for name in sorted(os.listdir(top))[:_WORKSPACES] if os.path.isdir(top) else ():
        folder = uri_path(
            text(fields(read_json(os.path.join(top, name, "workspace.json"))).get("folder"))
        )
        for id_ in _listed(os.path.join(top, name, DATABASE)) if folder else ():
            folders[id_] = folder
    return folders


def _listed(path: str) -> Iterator[str]:
    """The ids of the conversations of a workspace."""
    try:
        with read_only(path, "nothing was imported") as db:
            row = db.execute(_LIST, (LONGEST,)).fetchone()
    except (OSError, sqlite3.Error, StoreError, UnsafeFile):
        return
    composers = elements(parsed(row[0]).get("allComposers")) if row else []
    yield from (text(fields(composer).get("composerId")) for composer in composers)


def _events(about: Line, bubbles: Callable[[], Iterator[Line]], past: Past) -> Iterator[Event]:
    at = milliseconds(about.get("createdAt"))
    branch = text(about.get("createdOnBranch"))
    for number, bubble in enumerate(bubbles()):
        at = milliseconds(bubble.get("createdAt")) or at
        id_ = past.event_id(at, f"{past.id}:{text(bubble.get('bubbleId')) or number}")
        tool = fields(bubble.get("toolFormerData"))
        kind = bubble.get("type")
        role = _ROLES.get(kind, "") if isinstance(kind, int) else ""
        event = None
        if tool and tool.get("status") in _DONE:
            event = past.tool_use(_use(tool))
        elif role and not tool:
            words = joined(bubble.get("text"))
            event = past.message(role, typed(words) if role == "user" else words)
        if event and at:
            yield event._replace(id=id_, ts=at, branch=branch)


def _use(tool: Line) -> ToolUse:
    """A tool use; its inputs and its result are JSON in a text."""
    inputs = parsed(tool.get("rawArgs")) or parsed(tool.get("params"))
    result = parsed(tool.get("result"))
    output = joined(result.get("output")) or joined(result.get("contents"))
    code = result.get("exitCodeV2", result.get("exitCode"))
    failed = tool.get("status") == "error"
    chunks = elements(fields(result.get("diff")).get("chunks"))
    texts = [text(fields(chunk).get("diffString")) for chunk in chunks]
    return ToolUse(
        text(tool.get("name")),
        inputs,
        (joined(parsed(tool.get("error")).get("modelVisibleErrorMessage")) if failed else "")
        or output
        or (joined(tool.get("result")) if not result else ""),
        failed=failed,
        exit_code=code if isinstance(code, int) else None,
        diff="\n".join(texts) if any(texts) else None,
    )


def is_cursor(line: Line) -> bool:
    """Whether a line is a message of a transcript, which has a role, content and nothing else."""
    content = fields(line.get("message")).get("content")
    return line.get("role") in _ROLES.values() and isinstance(content, list) and "type" not in line


def transcript(lines: Iterable[Line], path: str, _unknown: dict[str, int]) -> Iterator[Past]:
    """The session of a transcript, unless the editor's database has it."""
    id_ = os.path.splitext(os.path.basename(path))[0]
    if _in_database(id_):
        return
    parts = os.path.abspath(path).split(os.sep)
    place = parts.index("agent-transcripts") if "agent-transcripts" in parts else 0
    at = milliseconds(os.stat(path).st_mtime * 1000)
    read = partial(_transcript_events, lines, at)
    yield Past("cursor", id_, path, read, project=project_name(parts[place - 1]) if place else "")


def _in_database(id_: str) -> bool:
    path = database(os.environ)
    if not os.path.isfile(path):
        return False
    try:
        with read_only(path, "nothing was imported") as db:
            row = db.execute(_BUBBLE, (f"composerData:{id_}", LONGEST)).fetchone()
    except (OSError, sqlite3.Error, StoreError, UnsafeFile):
        return False
    return bool(row) and bool(elements(parsed(row[0]).get("fullConversationHeadersOnly")))


def _transcript_events(lines: Iterable[Line], at: int, past: Past) -> Iterator[Event]:
    messages = (
        Message(text(line.get("role")), fields(line.get("message")).get("content"), at)
        for line in lines
    )
    yield from blocks.events(past, messages, results=False, own_times=False)
