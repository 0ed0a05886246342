"""Threads of Zed's agent: `threads.db`, each thread as one JSON document, mostly compressed.

A thread has a time of its own and none for its messages.
"""

from __future__ import annotations

import importlib
import io
import json
import os
from collections.abc import Iterator
from functools import partial
from typing import Any

from kinen.agents.tool_use import ToolUse
from kinen.agents.transcripts.session import Event, Line, Past
from kinen.agents.transcripts.values import elements, fields, joined, milliseconds, text
from kinen.space.repository import normalise_origin
from kinen.storage.foreign import has_columns, read_only

Message = tuple[str, list[Line], Line]
"""The role, the blocks and the results of a message."""

DATABASE = "threads.db"
VERSIONS = ("0.2.0", "0.3.0")
LARGEST = 64 << 20
"""Bytes of a thread once it is decompressed."""
_COLUMNS = "id updated_at data_type data"
_OPTIONAL = ("parent_id", "folder_paths", "folder_paths_order", "created_at")


def is_threads(path: str) -> bool:
    return os.path.basename(path) == DATABASE


def sessions(path: str, strange: dict[str, str], broken: dict[str, int]) -> Iterator[Past]:
    """The threads of a database, those of subagents left out."""
    with read_only(path, "nothing was imported") as db:
        if not has_columns(db, "threads", _COLUMNS):
            strange[path] = "not a database of Zed's threads"
            return
        present = [name for name in _OPTIONAL if has_columns(db, "threads", name)]
        columns = [*_COLUMNS.split(), *present]
        query = f"SELECT {', '.join(columns)} FROM threads ORDER BY updated_at, id"  # noqa: S608
        for row in db.execute(query):
            entry = dict(zip(columns, row, strict=True))
            if not entry.get("parent_id"):
                yield from _session(path, entry, strange, broken)


def _session(
    path: str, row: Line, strange: dict[str, str], broken: dict[str, int]
) -> Iterator[Past]:
    thread, problem = _thread(row)
    if problem:
        strange[path] = problem
    elif not thread:
        broken[path] = broken.get(path, 0) + 1
    elif thread.get("version") not in VERSIONS:
        version = text(thread.get("version"))[:40] or "without a number"
        strange[path] = f"Zed wrote a thread in version {version}, which this kinen cannot read"
    else:
        snapshot = fields(thread.get("initial_project_snapshot"))
        trees = elements(snapshot.get("worktree_snapshots"))
        tree = fields(trees[0]) if trees else {}
        git = fields(tree.get("git_state"))
        # The first folder of a thread; they are stored by name, with their order beside them.
        folders = text(row.get("folder_paths")).split("\n")
        order = text(row.get("folder_paths_order")).partition(",")[0]
        first = int(order) if order.isdecimal() and len(order) < 4 else 0
        yield Past(
            "zed",
            text(row["id"]),
            path,
            partial(_events, thread=thread, row=row, branch=text(git.get("current_branch"))),
            cwd=(folders[first] if first < len(folders) else folders[0])
            or text(tree.get("worktree_path")),
            origin=normalise_origin(text(git.get("remote_url"))),
        )


def _thread(row: Line) -> tuple[Line, str]:
    """The document of a thread, and why it cannot be read; both empty if it is damaged."""
    data = row["data"] if isinstance(row["data"], bytes) else text(row["data"]).encode()
    if row["data_type"] == "zstd":
        unpacked = _decompressed(data)
        if unpacked is None:
            return {}, "threads are compressed: pip install 'kinen[zed]' and import again"
        data = unpacked
    elif row["data_type"] != "json":
        kind = text(row["data_type"])[:40]
        return {}, f"threads are stored as {kind!r}, which this kinen cannot read"
    try:
        return fields(json.loads(data)), ""
    except (ValueError, RecursionError):
        return {}, ""


def _decompressed(data: bytes) -> bytes | None:
    """What Zstandard data holds, empty if it is damaged or too large; None without a decoder."""
    for name in ("compression.zstd", "zstandard"):
        try:
            decoder: Any = importlib.import_module(name)
        except ImportError:
            continue
        try:
            with decoder.open(io.BytesIO(data), "rb") as file:
                unpacked: bytes = file.read(LARGEST + 1)
        except (OSError, EOFError, decoder.ZstdError):
            return b""
        return unpacked if len(unpacked) <= LARGEST else b""
    return None


def _events(past: Past, thread: Line, row: Line, branch: str) -> Iterator[Event]:
    updated = milliseconds(row["updated_at"]) or milliseconds(thread.get("updated_at"))
    created = milliseconds(row.get("created_at"))
    at = created or updated
    for number, message in enumerate(elements(thread.get("messages"))):
        role, blocks, results = _message(message)
        for place, block in enumerate(blocks):
            use = fields(block.get("ToolUse"))
            result = fields(results.get(text(use.get("id"))))
            if "Text" in block and role in ("user", "assistant"):
                event = past.message(role, joined(block["Text"]))
            elif "ToolUse" in block and result:
                event = past.tool_use(_use(use, result))
            else:
                continue
            id_ = past.event_id(created, f"{past.id}:{number}:{place}")
            if event and at:
                yield event._replace(id=id_, ts=at, branch=branch)
                at = updated


def _message(message: object) -> Message:
    """A message of either version: named by its role, or with a field for it."""
    entry = fields(message)
    for name, role in (("User", "user"), ("Agent", "assistant")):
        if name in entry:
            body = fields(entry[name])
            return (
                role,
                [*map(fields, elements(body.get("content")))],
                fields(body.get("tool_results")),
            )
    uses = [{"ToolUse": use} for use in elements(entry.get("tool_uses"))]
    segments = [{"Text": fields(part).get("text")} for part in elements(entry.get("segments"))]
    results = {
        text(fields(result).get("tool_use_id")): result
        for result in elements(entry.get("tool_results"))
    }
    return text(entry.get("role")), [*segments, *uses], results


def _use(use: Line, result: Line) -> ToolUse:
    inputs = fields(use.get("input"))
    if inputs.get("type") == "json" and "value" in inputs:
        inputs = fields(inputs["value"])
    content = result.get("content")
    texts = [fields(part).get("Text") for part in elements(content) or [content]]
    output = fields(result.get("output"))
    return ToolUse(
        text(use.get("name")),
        inputs,
        "\n".join(filter(None, map(joined, texts))),
        failed=result.get("is_error") is True,
        diff=text(output.get("diff")) or None,
    )
