"""Sessions in files of messages: Droid, Kimi, Grok Build, Antigravity, Goose, Amp and Continue.

The first five write lines, of which Kimi's and Grok's have pieces of a message; Amp and Continue
write a document for each session.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from hashlib import md5
from itertools import chain, groupby, islice

from kinen.agents.transcripts import blocks
from kinen.agents.transcripts.blocks import Message, function_calls, tool_call, tool_result
from kinen.agents.transcripts.databases import goose_content
from kinen.agents.transcripts.session import Event, Line, Past
from kinen.agents.transcripts.values import (
    elements,
    fields,
    joined,
    milliseconds,
    moment,
    parsed,
    read_json,
    text,
    uri_path,
)
from kinen.privacy.injected import without_blocks
from kinen.storage import regular

Counts = dict[str, int]
Piece = tuple[object, Message]
"""A part of a message: parts of one group that follow one another are one; None is no group."""

WHOLE = ("wire.jsonl", "updates.jsonl")
"""Where one of these is in a folder, it has the session, and other files repeat parts of it."""
REPEATED = "transcript_full.jsonl"
"""A file of Antigravity beside `transcript.jsonl`, which has all steps."""
LARGEST = 64 << 20
"""Bytes of a document."""
_AHEAD = 200
"""Lines in which the folder of a session is looked for."""
_SUBAGENT = "# Task Tool Invocation"
"""What the title of a session that Droid gave to a subagent begins with."""
_EXIT = re.compile(r"exited with code:? (-?\d{1,6})\b")
_HEADER = re.compile(r"\A\s{0,40}(?:(?:Created|Completed) At: [^\n]{0,60}\n\s{0,40}){0,2}")


def _past(
    agent: str,
    path: str,
    id_: str,
    messages: Iterable[Message],
    cwd: str,
    *,
    own_times: bool = True,
) -> Iterator[Past]:
    def read(past: Past) -> Iterator[Event]:
        return blocks.events(past, messages, own_times=own_times)

    yield Past(agent, id_, path, read, cwd=cwd)


def _merged(pieces: Iterable[Piece]) -> Iterator[Message]:
    """The messages, those that came in pieces in one."""
    for group, parts in groupby(pieces, key=lambda piece: piece[0]):
        if group is None:
            yield from (message for _, message in parts)
        else:
            messages = [message for _, message in parts]
            yield messages[0]._replace(content="".join(joined(part.content) for part in messages))


def _above(path: str, levels: int) -> str:
    """A folder above a file, 1 for the one that it is in."""
    return os.path.normpath(os.path.join(os.path.abspath(path), *[".."] * levels))


def is_droid(line: Line) -> bool:
    return line.get("type") == "session_start" and "id" in line


def droid(lines: Iterable[Line], path: str, _unknown: Counts) -> Iterator[Past]:
    """Droid (Factory): `sessions/FOLDER/ID.jsonl`, messages with the blocks of Anthropic's API."""
    lines = iter(lines)
    head = next(filter(is_droid, lines), {})
    if not text(head.get("title")).startswith(_SUBAGENT):
        messages = (
            Message(
                text(body.get("role")),
                body.get("content"),
                milliseconds(line.get("timestamp")),
                text(line.get("id")),
            )
            for line in lines
            if (body := fields(line.get("message")))
        )
        yield from _past("droid", path, text(head.get("id")), messages, text(head.get("cwd")))


def is_goose(line: Line) -> bool:
    return "working_dir" in line and "description" in line


def goose(lines: Iterable[Line], path: str, _unknown: Counts) -> Iterator[Past]:
    """Goose before its database: what the session is, then a line for each message."""
    lines = iter(lines)
    head = next(filter(is_goose, lines), {})
    messages = (
        Message(
            text(line.get("role")),
            goose_content(line.get("content")),
            moment(line.get("created")),
        )
        for line in lines
    )
    id_ = text(head.get("id")) or os.path.splitext(os.path.basename(path))[0]
    yield from _past("goose", path, id_, messages, text(head.get("working_dir")))


def is_kimi(line: Line) -> bool:
    return line.get("type") == "metadata" and "protocol_version" in line


def kimi(lines: Iterable[Line], path: str, _unknown: Counts) -> Iterator[Past]:
    """Kimi Code: `sessions/FOLDER/ID/agents/main/wire.jsonl`; Kimi CLI: `sessions/FOLDER/ID/…`."""
    agents = os.path.basename(_above(path, 2)) == "agents"
    if agents and os.path.basename(_above(path, 1)) != "main":
        return  # a subagent's
    folder = _above(path, 3 if agents else 1)
    yield from _past(
        "kimi", path, os.path.basename(folder), _merged(map(_kimi, lines)), _kimi_folder(folder)
    )


def _kimi_folder(session: str) -> str:
    """The folder of a session: beside it, in Kimi Code's index, or in Kimi CLI's list of them."""
    state = fields(read_json(os.path.join(session, "state.json")))
    if text(state.get("workDir")):
        return text(state["workDir"])
    home = os.path.normpath(os.path.join(session, "..", "..", ".."))
    index = regular.text(os.path.join(home, "session_index.jsonl"), LARGEST, "replace")
    for line in index.splitlines():
        if os.path.basename(session) in line:
            return text(parsed(line).get("workDir"))
    listed = elements(fields(read_json(os.path.join(home, "kimi.json"))).get("work_dirs"))
    folders = (text(fields(entry).get("path")) for entry in listed)
    name = os.path.basename(os.path.dirname(session))
    digests = ((md5(at.encode(), usedforsecurity=False).hexdigest(), at) for at in folders)
    return next((at for digest, at in digests if digest == name), "")


def _kimi(line: Line) -> Piece:
    """A line of either: Kimi CLI has the kind in `message`, Kimi Code in `type`."""
    about = fields(line.get("message"))
    if "payload" in about:
        at = moment(line.get("timestamp"))
        kind = text(about.get("type"))
        load = fields(about["payload"])
        if kind in ("TurnBegin", "SteerInput"):
            return None, Message("user", joined(load.get("user_input")), at)
        if kind == "ContentPart":
            return kind, _kimi_text(load, at)
        if kind == "ToolCall":
            return None, Message("assistant", [*function_calls([load])], at)
        if kind == "ToolResult":
            return None, _kimi_result(load.get("tool_call_id"), load.get("return_value"), at)
        return kind or "other", Message("", "", at)
    at = moment(line.get("time"))
    event = fields(line.get("event"))
    kind = text(line.get("type"))
    if kind == "context.append_message":
        by_user = fields(about.get("origin")).get("kind", "user") == "user"
        role = text(about.get("role"))
        return None, Message(role if by_user else "", joined(about.get("content")), at)
    if kind == "context.apply_compaction":
        return None, Message("summary", line.get("summary"), at)
    kind = text(event.get("type"))
    if kind == "content.part":
        return text(event.get("stepUuid")) or kind, _kimi_text(event.get("part"), at)
    if kind == "tool.call":
        call = tool_call(event.get("toolCallId"), event.get("name"), event.get("args"))
        return None, Message("assistant", [call], at)
    if kind == "tool.result":
        return None, _kimi_result(event.get("toolCallId"), event.get("result"), at)
    return kind, Message("", "", at)


def _kimi_text(part: object, at: int) -> Message:
    about = fields(part)
    return Message("assistant", text(about.get("text")) if about.get("type") == "text" else "", at)


def _kimi_result(id_: object, result: object, at: int) -> Message:
    about = fields(result)
    failed = about.get("isError") is True or about.get("is_error") is True
    output = joined(about.get("output")) or (joined(about.get("message")) if failed else "")
    return Message("tool", [tool_result(id_, output, failed=failed)], at)


def is_grok(line: Line) -> bool:
    return "sessionUpdate" in fields(fields(line.get("params")).get("update"))


def grok(lines: Iterable[Line], path: str, _unknown: Counts) -> Iterator[Past]:
    """Grok Build: `sessions/FOLDER/ID/updates.jsonl`, updates of the Agent Client Protocol."""
    about = fields(read_json(os.path.join(_above(path, 1), "summary.json")))
    info = fields(about.get("info"))
    if not text(about.get("session_kind")).startswith("subagent"):
        id_ = text(info.get("id")) or os.path.basename(_above(path, 1))
        messages = _merged(_grok_updates(lines))
        yield from _past("grok", path, id_, messages, text(info.get("cwd")))


def _grok_updates(lines: Iterable[Line]) -> Iterator[Piece]:
    """What is told; of a tool call once it is over, since each update has only what changed."""
    calls: dict[str, Line] = {}
    for line in lines:
        params = fields(line.get("params"))
        update = fields(params.get("update"))
        meta = fields(params.get("_meta"))
        at = moment(line.get("timestamp")) or moment(meta.get("agentTimestampMs"))
        kind = text(update.get("sessionUpdate"))
        if kind in ("user_message_chunk", "agent_message_chunk"):
            content = update.get("content")
            index = fields(update.get("_meta")).get("promptIndex", meta.get("promptId"))
            role = "user" if kind.startswith("user") else "assistant"
            yield (role, repr(index)), Message(role, joined([content]), at)
        elif kind in ("tool_call", "tool_call_update"):
            id_ = text(update.get("toolCallId"))
            calls[id_] = call = {**calls.pop(id_, {}), **update}
            if len(calls) > blocks.WAITING:
                del calls[next(iter(calls))]
            if call.get("status") in ("completed", "failed"):
                yield None, Message("assistant", _grok_call(calls.pop(id_)), at)
        else:
            yield kind, Message("", "", at)


def _grok_call(call: Line) -> list[Line]:
    """A call: the protocol has a kind and a title for people; an edit has both texts."""
    id_ = call.get("toolCallId")
    kind = text(call.get("kind"))
    title = text(call.get("title"))
    parts = [*map(fields, elements(call.get("content")))]
    inputs = dict(fields(call.get("rawInput")))
    inputs |= next((part for part in parts if part.get("type") == "diff"), {})
    if kind == "execute":
        inputs.setdefault("command", title)
    names = {"execute": "bash", "edit": "edit", "read": "read", "search": "grep"}
    words = joined([part.get("content") for part in parts]) or joined(call.get("rawOutput"))
    return [
        tool_call(id_, names.get(kind, title or kind), inputs),
        tool_result(id_, words, failed=call["status"] == "failed"),
    ]


def is_antigravity(line: Line) -> bool:
    return line.get("source") in ("USER_EXPLICIT", "MODEL") and "sessionId" not in line


def antigravity(lines: Iterable[Line], path: str, _unknown: Counts) -> Iterator[Past]:
    """Antigravity: `brain/ID/.system_generated/logs/transcript.jsonl`, a line for each step."""
    folder = _above(path, 3)
    rest = iter(lines)
    head = list(islice(rest, _AHEAD))
    calls = (call for line in head for call in elements(line.get("tool_calls")))
    folders = (text(_unquoted(fields(call).get("args")).get("Cwd")) for call in calls)
    cwd = _antigravity_folder(folder) or next(filter(None, folders), "")
    messages = _steps(chain(head, rest))
    yield from _past("antigravity", path, os.path.basename(folder), messages, cwd)


def _antigravity_folder(session: str) -> str:
    """The folder of a conversation, as the editor or the command-line client notes it."""
    cache = os.path.join(os.path.dirname(os.path.dirname(session)), "cache")
    id_ = os.path.basename(session)
    listed = fields(read_json(os.path.join(cache, "conversation_metadata.json")))
    about = fields(fields(fields(listed.get("conversations")).get(id_)).get("summary"))
    for uri in map(text, elements(about.get("WorkspaceURIs"))):
        return uri_path(uri)
    last = fields(read_json(os.path.join(cache, "last_conversations.json")))
    return next((folder for folder, named in last.items() if named == id_), "")


def _unquoted(inputs: object) -> Line:
    """The inputs of a call, some of which are JSON in a text."""
    items = {}
    for name, value in fields(inputs).items():
        quoted = isinstance(value, str) and value[:1] == value[-1:] == '"'
        items[name] = parsed(f'{{"value": {value}}}').get("value", value) if quoted else value
    return items


def _steps(lines: Iterable[Line]) -> Iterator[Message]:
    """The steps of a conversation. What a tool answered is a step after that with the call."""
    waiting: list[str] = []
    for number, line in enumerate(lines):
        at = milliseconds(line.get("created_at"))
        content = joined(line.get("content"))
        if line.get("source") == "USER_EXPLICIT":
            for name in ("ADDITIONAL_METADATA", "USER_SETTINGS_CHANGE"):
                content = without_blocks(content, name)
            words = content.strip().removeprefix("<USER_REQUEST>").removesuffix("</USER_REQUEST>")
            yield Message("user", words.strip(), at)
        elif line.get("source") == "MODEL":
            items: list[Line] = []
            kind = text(line.get("type"))
            if kind in ("", "PLANNER_RESPONSE"):
                items.append({"type": "text", "text": content})
            for place, call in enumerate(map(fields, elements(line.get("tool_calls")))):
                id_ = f"{number}:{place}"
                waiting = [*waiting[1 - blocks.WAITING :], id_]
                items.append(tool_call(id_, call.get("name"), _unquoted(call.get("args"))))
            if kind not in ("", "PLANNER_RESPONSE") and waiting:
                code = _EXIT.search(content)
                ended = int(code[1]) if code else None
                output = _HEADER.sub("", content, 1)
                items.append(tool_result(waiting.pop(0), output, code=ended))
            yield Message("assistant", items, at)


def is_amp(path: str) -> bool:
    name = os.path.basename(path)
    return name.startswith("T-") and name.endswith(".json")


def amp(path: str, broken: Counts) -> Iterator[Past]:
    """Amp: `threads/T-ID.json`, messages with blocks; those of the agent have no time."""
    thread = fields(read_json(path, LARGEST))
    messages = elements(thread.get("messages"))
    if not messages:
        broken[path] = 1
        return
    start = fields(fields(thread.get("env")).get("initial"))
    trees = (text(fields(tree).get("uri")) for tree in elements(start.get("trees")))
    cwd = text(start.get("cwd")) or uri_path(next(filter(None, trees), ""))
    created = milliseconds(thread.get("created"))
    opening = Message("", "", created)
    entries = map(_amp, map(fields, messages))
    yield from _past("amp", path, text(thread.get("id")), chain([opening], entries), cwd)


def _amp(message: Line) -> Message:
    items = []
    for block in map(fields, elements(message.get("content"))):
        if block.get("type") != "tool_result":
            items.append(block)
            continue
        run = fields(block.get("run"))
        result = run.get("result")
        about = fields(result)
        output = joined(about.get("output")) or joined(result) or joined(run.get("progress"))
        failed = run.get("status") in ("error", "cancelled", "rejected-by-user")
        reason = joined(fields(run.get("error")).get("message"))
        items.append(
            tool_result(
                block.get("toolUseID"),
                output or reason,
                failed=failed,
                code=about.get("exitCode"),
                diff=text(about.get("diff")),
            )
        )
    at = milliseconds(fields(message.get("meta")).get("sentAt"))
    return Message(text(message.get("role")), items, at)


def is_continue(path: str) -> bool:
    folder, name = os.path.split(os.path.abspath(path))
    return bool(re.fullmatch(r"[0-9a-fA-F-]{36}\.json", name)) and folder.endswith("sessions")


def continue_session(path: str, broken: Counts) -> Iterator[Past]:
    """Continue: `sessions/ID.json`; beside it is when it began, and nothing has another time."""
    session = fields(read_json(path, LARGEST))
    history = elements(session.get("history"))
    if not history:
        broken[path] = 1
        return
    id_ = text(session.get("sessionId")) or os.path.splitext(os.path.basename(path))[0]
    folder = text(session.get("workspaceDirectory"))
    listed = elements(read_json(os.path.join(_above(path, 1), "sessions.json"), LARGEST))
    about = next((row for row in map(fields, listed) if row.get("sessionId") == id_), {})
    start = text(about.get("dateCreated"))
    modified = milliseconds(os.stat(path).st_mtime * 1000)
    at = milliseconds(int(start)) if start.isdecimal() and len(start) < 16 else modified
    messages = chain.from_iterable(map(_continue, map(fields, history)))
    timed = (
        message._replace(at=modified if number else at) for number, message in enumerate(messages)
    )
    yield from _past("continue", path, id_, timed, uri_path(folder) or folder, own_times=False)


def _continue(item: Line) -> Iterator[Message]:
    message = fields(item.get("message"))
    role = text(message.get("role"))
    items: list[Line] = [{"type": "text", "text": message.get("content")}]
    if role == "tool":
        id_ = message.get("toolCallId")
        items = [tool_result(id_, joined(message.get("content")))]
    states = [*map(fields, elements(item.get("toolCallStates")))]
    calls = [state.get("toolCall") for state in states] or message.get("toolCalls")
    items += function_calls(calls)
    for state in states:
        output = (fields(part).get("content") for part in elements(state.get("output")))
        if state.get("status") in ("done", "errored", "canceled"):
            failed = state["status"] == "errored"
            words = "\n".join(filter(None, map(joined, output)))
            items.append(tool_result(state.get("toolCallId"), words, failed=failed))
    yield Message(role, items)
    if text(item.get("conversationSummary")):
        yield Message("summary", item["conversationSummary"])
