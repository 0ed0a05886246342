"""Transcripts of coding agents as plain documents, read without kinen.

What kinen is measured against must not depend on what kinen imports: the BM25 baseline and the
check of the gold file read the same files with these few lines. A document is a message of the
user or the assistant, or the output of a tool below the command or path that the tool was given.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    Entry = dict[str, Any]

INPUTS = ("command", "cmd", "file_path", "filePath", "path", "pattern", "query", "url")
"""Inputs of a tool that say what it was used on."""


class Document(NamedTuple):
    """A message or a tool's output; `line` counts lines of a JSONL file, or messages."""

    session: str
    line: int
    role: str
    text: str
    at: str


def read(path: Path) -> list[Document]:
    """The documents of a transcript, in order; a ValueError for an unknown format."""
    content = path.read_bytes()
    if path.suffix == ".json":
        return list(_opencode(json.loads(content)))
    lines = [json.loads(line) for line in content.splitlines() if line.strip()]
    if any(line.get("type") == "session_meta" for line in lines[:5]):
        return list(_codex(lines))
    if "projectHash" in lines[0]:
        return list(_gemini(lines))
    if any("sessionId" in line and "uuid" in line for line in lines):
        return list(_claude(lines))
    raise ValueError(f"{path}: not a transcript of a known client")


def _claude(lines: list[Entry]) -> Iterator[Document]:
    heads: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if line.get("type") not in ("user", "assistant") or line.get("isSidechain"):
            continue
        content = line["message"]["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        session = line["sessionId"]
        at = line["timestamp"]
        message = "\n".join(part["text"] for part in parts if part["type"] == "text").strip()
        if message:
            yield Document(session, number, line["type"], message, at)
        for part in parts:
            if part["type"] == "tool_use":
                heads[part["id"]] = _head(part["name"], part["input"])
            elif part["type"] == "tool_result":
                output = f"{heads.get(part['tool_use_id'], '')}\n{_text(part.get('content'))}"
                yield Document(session, number, "tool", output.strip(), at)


def _codex(lines: list[Entry]) -> Iterator[Document]:
    session = next(line["payload"]["id"] for line in lines if line["type"] == "session_meta")
    heads: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        part = line.get("payload", {})
        kind = part.get("type", "")
        at = line.get("timestamp", "")
        if kind == "message" and part["role"] in ("user", "assistant"):
            yield Document(session, number, part["role"], _text(part["content"]), at)
        elif kind in ("function_call", "custom_tool_call"):
            values = part.get("arguments") or part.get("input") or ""
            heads[part["call_id"]] = _head(part["name"], _arguments(values))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            output = f"{heads.get(part['call_id'], '')}\n{_text(part.get('output'))}"
            yield Document(session, number, "tool", output.strip(), at)


def _gemini(lines: list[Entry]) -> Iterator[Document]:
    session = lines[0]["sessionId"]
    roles = {"user": "user", "gemini": "assistant"}
    for number, line in enumerate(lines, 1):
        role = roles.get(line.get("type", ""))
        if not role:
            continue
        message = _text(line.get("content")).strip()
        if message:
            yield Document(session, number, role, message, line["timestamp"])
        for call in line.get("toolCalls", []):
            output = f"{_head(call['name'], call['args'])}\n{_text(call.get('resultDisplay'))}"
            yield Document(session, number, "tool", output.strip(), line["timestamp"])


def _opencode(export: Entry) -> Iterator[Document]:
    session = export["info"]["id"]
    for number, message in enumerate(export["messages"], 1):
        about = message["info"]
        created = about.get("time", {}).get("created", 0) / 1000
        at = datetime.fromtimestamp(created, UTC).isoformat()
        for part in message["parts"]:
            if part["type"] == "text" and part["text"].strip():
                yield Document(session, number, about["role"], part["text"], at)
            elif part["type"] == "tool":
                state = part["state"]
                output = _text(state.get("output") or state.get("error"))
                head = _head(part["tool"], state.get("input") or {})
                yield Document(session, number, "tool", f"{head}\n{output}".strip(), at)


def _head(tool: str, entry: Entry) -> str:
    """The tool with what it was used on, on one line."""
    words = [entry[name] for name in INPUTS if name in entry]
    flat = (" ".join(map(str, word)) if isinstance(word, list) else str(word) for word in words)
    return " ".join([tool, *flat])


def _arguments(text: str) -> Entry:
    try:
        data = json.loads(text)
    except ValueError:
        return {"command": text}
    return data if isinstance(data, dict) else {"command": text}


def _text(content: Any) -> str:
    """Text of content that may be a string or a list of parts."""
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""
