"""Stores of past sessions, written as their clients write them."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

CWD = "/home/me/shop"
START = 1_772_359_200_000
"""2026-03-01T10:00:00Z."""


PATCH = "*** Begin Patch\n*** Update File: src/cart.py\n@@\n-a\n+b\n*** End Patch"


def at(second: int) -> str:
    return f"2026-03-01T10:{second // 60:02}:{second % 60:02}.000Z"


def put(path: Path, *lines: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def copilot(folder: Path, *, cwd: str = CWD, id_: str = "co-1", version: int = 1) -> Path:
    number = 0

    def line(kind: str, **data: Any) -> dict[str, Any]:
        nonlocal number
        number += 1
        return {"type": kind, "data": data, "id": f"{id_}-{number}", "timestamp": at(number)}

    def call(name: str, inputs: Any, **outcome: Any) -> list[dict[str, Any]]:
        started = line("tool.execution_start", toolCallId=f"c{number}", toolName=name)
        started["data"] |= {"arguments": inputs, **outcome.pop("server", {})}
        done = {"toolCallId": started["data"]["toolCallId"], "success": True, **outcome}
        return [started, line("tool.execution_complete", **done)]

    context = {"cwd": cwd, "gitRoot": cwd, "branch": "dev", "repository": "me/shop"}
    failure = {"content": "no rule\n<shellId: 0 completed with exit code 2>"}
    return put(
        folder / id_ / "events.jsonl",
        line("session.start", sessionId=id_, version=version, context=context),
        line("system.message", role="system", content="You are an assistant"),
        line("user.message", content="the cart forgets its coupon"),
        line("assistant.message", content="", toolRequests=[{"name": "bash"}]),
        *call("bash", {"command": "make"}, result=failure, shellExecution={"exitCode": 2}),
        *call("apply_patch", PATCH, result={"content": "Done"}),
        *call("view", {"path": f"{cwd}/gone.py"}, success=False, error={"message": "no such path"}),
        *call("report_intent", {"intent": "Fixing"}, result={"content": "ok"}),
        *call(
            "kinen-search",
            {"query": "coupon"},
            server={"mcpServerName": "kinen", "mcpToolName": "kinen_search"},
            result={"content": "known already"},
        ),
        line("assistant.message", content="from a subagent", parentToolCallId="c9"),
        line("session.compaction_complete", summaryContent="The coupon is lost in merge()."),
        line("assistant.message", content="Fixed in merge()."),
        line("hologram.started"),
    )


COPILOT = [
    ("message", "the cart forgets its coupon"),
    ("error", "$ make\nno rule"),
    (
        "file_diff",
        f"Tool: apply_patch\nFile: src/cart.py\n{PATCH}",
    ),
    ("error", "Tool: view\nFile: gone.py\nno such path"),
    ("message", "Fixed in merge()."),
]


def qwen(folder: Path, *, cwd: str = CWD, id_: str = "qw-1") -> Path:
    number = 0

    def line(kind: str, *parts: Any, **more: Any) -> dict[str, Any]:
        nonlocal number
        number += 1
        about = {"uuid": f"{id_}-{number}", "parentUuid": None, "sessionId": id_, "cwd": cwd}
        about |= {"timestamp": at(number), "type": kind, "version": "0.24.4", "gitBranch": "dev"}
        return {**about, "message": {"role": kind, "parts": list(parts)}, **more}

    def call(name: str, inputs: Any, answer: Any, **result: Any) -> list[dict[str, Any]]:
        id_of_call = f"call_{number}"
        request = {"functionCall": {"id": id_of_call, "name": name, "args": inputs}}
        output = {"functionResponse": {"id": id_of_call, "name": name, "response": answer}}
        return [line("assistant", request), line("tool_result", output, toolCallResult=result)]

    failed = {"type": "shell_result", "exitCode": 2, "output": "no rule"}
    diff = "Index: cart.py\n====\n--- cart.py\n+++ cart.py\n@@ -1,1 +1,1 @@\n-a\n+b"
    edit = {"file_path": f"{cwd}/src/cart.py", "old_string": "a", "new_string": "b"}
    return put(
        folder / "chats" / f"{id_}.jsonl",
        line("user", {"text": "the cart forgets its coupon"}),
        {**line("system"), "systemPayload": {}, "subtype": "ui_telemetry"},
        line("assistant", {"text": "hmm", "thought": True}, {"text": "Let me look."}),
        *call(
            "run_shell_command",
            {"command": "make"},
            {"error": "Exit Code: 2"},
            status="error",
            resultDisplay=failed,
        ),
        *call(
            "edit", edit, {"output": "updated"}, status="success", resultDisplay={"fileDiff": diff}
        ),
        *call("mcp__kinen__kinen_search", {"query": "x"}, {"output": "known"}, status="success"),
        line("assistant", {"text": "Fixed in merge()."}),
        line("hologram"),
    )


QWEN = [
    ("message", "the cart forgets its coupon"),
    ("message", "Let me look."),
    ("error", "$ make\nno rule"),
    ("file_diff", "Tool: edit\nFile: src/cart.py\n@@ -1,1 +1,1 @@\n-a\n+b"),
    ("message", "Fixed in merge()."),
]


def pi(folder: Path, *, cwd: str = CWD, id_: str = "pi-1", version: int = 3) -> Path:
    number = 0

    def line(kind: str, **more: Any) -> dict[str, Any]:
        nonlocal number
        number += 1
        return {"type": kind, "id": f"{number:08x}", "timestamp": at(number), **more}

    def message(role: str, *content: Any, **more: Any) -> dict[str, Any]:
        return line("message", message={"role": role, "content": list(content), **more})

    def call(name: str, inputs: Any, answer: str, **outcome: Any) -> list[dict[str, Any]]:
        id_of_call = f"call_{number}"
        request = {"type": "toolCall", "id": id_of_call, "name": name, "arguments": inputs}
        about = {"toolCallId": id_of_call, "toolName": name, "isError": False, **outcome}
        return [message("assistant", request), message("toolResult", words(answer), **about)]

    def words(text: str) -> dict[str, str]:
        return {"type": "text", "text": text}

    patch = "--- cart.py\n+++ cart.py\n@@ -1,1 +1,1 @@\n-a\n+b\n"
    edit = {"path": f"{cwd}/src/cart.py", "edits": [{"oldText": "a", "newText": "b"}]}
    return put(
        folder / "--home-me-shop--" / f"2026-03-01_{id_}.jsonl",
        {**line("session"), "id": id_, "version": version, "cwd": cwd},
        line("model_change", provider="stub", modelId="m"),
        message("user", words("the cart forgets its coupon")),
        message("assistant", {"type": "thinking", "thinking": "hmm"}, words("Let me look.")),
        *call("bash", {"command": "make"}, "no rule\n\nCommand exited with code 2", isError=True),
        *call("edit", edit, "Successfully replaced", details={"diff": "+1 b", "patch": patch}),
        line("message", message={"role": "bashExecution", "command": "ls", "output": "cart.py"}),
        line("compaction", summary="The coupon is lost in merge()."),
        message("assistant", words("Fixed in merge().")),
        line("hologram"),
    )


PI = [
    ("message", "the cart forgets its coupon"),
    ("message", "Let me look."),
    ("error", "$ make\nno rule"),
    ("file_diff", "Tool: edit\nFile: src/cart.py\n@@ -1,1 +1,1 @@\n-a\n+b"),
    ("command", "$ ls\ncart.py"),
    ("message", "Fixed in merge()."),
]


def panel(folder: Path, id_: str = "1772359200000") -> Path:
    """A task as the panel of Cline or Roo Code showed it."""
    moment = 0

    def entry(kind: str, text: str, verb: str = "say", **more: Any) -> dict[str, Any]:
        nonlocal moment
        moment += 1000
        return {"ts": START + moment, "type": verb, verb: kind, "text": text, **more}

    def tool(**about: Any) -> dict[str, Any]:
        return entry("tool", json.dumps(about), "ask")

    messages = [
        entry("text", "the cart forgets its coupon"),
        entry("api_req_started", '{"tokensIn": 10}'),
        entry("text", "Let me l", partial=True),
        entry("text", "Let me look."),
        tool(tool="readFile", path="src/cart.py", content="/home/me/shop/src/cart.py"),
        entry("command", "make", "ask"),
        entry("command_output", "no rule"),
        entry("command_output", "to make target"),
        entry("api_req_started", "{}"),
        tool(tool="editedExistingFile", path="src/cart.py", diff="-a\n+b"),
        tool(tool="newFileCreated", path="new.py", content="x = 1"),
        tool(tool="updateTodoList", todos=[]),
        entry("user_feedback", "keep the old name"),
        entry("completion_result", "Fixed in merge()."),
        entry("completion_result", "", "ask"),
    ]
    path = folder / id_ / "ui_messages.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(messages))
    return path


PANEL = [
    ("message", "the cart forgets its coupon"),
    ("message", "Let me look."),
    ("tool_call", "Tool: read_file\nFile: src/cart.py"),
    ("command", "$ make\nno rule\nto make target"),
    ("file_diff", "Tool: replace_in_file\nFile: src/cart.py\n-a\n+b"),
    ("file_diff", "Tool: write_to_file\nFile: new.py\nx = 1"),
    ("message", "keep the old name"),
    ("message", "Fixed in merge()."),
]


def cline_session(folder: Path, *, cwd: str = CWD, id_: str = "1772359200000_abcde") -> Path:
    def use(number: int, name: str, inputs: Any) -> dict[str, Any]:
        return {"type": "tool_use", "id": f"t{number}", "name": name, "input": inputs}

    def result(number: int, content: Any, **more: Any) -> dict[str, Any]:
        return {"type": "tool_result", "tool_use_id": f"t{number}", "content": content, **more}

    contents: list[tuple[str, Any]] = [
        ("user", [{"type": "text", "text": "<task>the cart forgets its coupon</task>"}]),
        (
            "assistant",
            [{"type": "text", "text": "Let me look."}, use(1, "bash", {"command": "ls"})],
        ),
        ("user", [result(1, [{"type": "text", "text": "cart.py"}])]),
        ("assistant", [use(2, "edit", {"path": "cart.py", "old_text": "a", "new_text": "b"})]),
        ("user", [result(2, "no such text", is_error=True)]),
        ("assistant", "Gave up."),
    ]
    messages = [
        {"id": f"m{number}", "role": role, "content": content, "ts": START + number * 1000}
        for number, (role, content) in enumerate(contents, 1)
    ]
    path = folder / id_ / f"{id_}.messages.json"
    put(path.with_name(f"{id_}.json"), {"session_id": id_, "cwd": cwd})
    path.write_text(json.dumps({"version": 1, "messages": messages}))
    return path


CLINE_SESSION = [
    ("message", "the cart forgets its coupon"),
    ("message", "Let me look."),
    ("command", "$ ls\ncart.py"),
    ("error", "Tool: edit\nFile: cart.py\nno such text"),
    ("message", "Gave up."),
]

AIDER_HISTORY = """
# aider chat started at 2026-03-01 10:00:00

> Aider v0.86.2
> Model: stub with diff edit format

#### the cart forgets its coupon
#### after a merge

Let me fix `merge()`.

src/cart.py
```python
<<<<<<< SEARCH
a
=======
b
>>>>>>> REPLACE
```

That is all.

> Tokens: 1k sent, 100 received.
> Applied edit to src/cart.py
> Commit 1a2b3c4 fix: keep the coupon

# aider chat started at 2026-03-02 11:00:00

#### /add new.py

> Added new.py to the chat

#### what is left?

Nothing.
"""
AIDER = [
    ("message", "the cart forgets its coupon\nafter a merge"),
    ("message", "Let me fix `merge()`.\n\n\nThat is all."),
    ("file_diff", "Tool: edit\nFile: src/cart.py\n-a\n+b"),
]


def zed_thread(*, version: str = "0.3.0") -> dict[str, Any]:
    def result(id_: str, name: str, content: Any, **more: Any) -> dict[str, Any]:
        return {
            "tool_use_id": id_,
            "tool_name": name,
            "is_error": False,
            "content": content,
            **more,
        }

    def use(id_: str, name: str, inputs: Any) -> dict[str, Any]:
        return {"ToolUse": {"id": id_, "name": name, "input": inputs, "is_input_complete": True}}

    edit = {"path": "src/cart.py", "edits": [{"old_text": "a", "new_text": "b"}]}
    first = {
        "content": [
            {"Thinking": {"text": "hmm", "signature": None}},
            {"Text": "Let me look."},
            use("t1", "terminal", {"command": "make", "cd": "shop"}),
            use("t2", "edit_file", {"type": "json", "value": edit}),
            use("t3", "grep", {"regex": "coupon"}),
        ],
        "tool_results": {
            "t1": result("t1", "terminal", [{"Text": "no rule"}], is_error=True),
            "t2": result("t2", "edit_file", {"Text": "edited"}, output={"diff": "-a\n+b"}),
        },
    }
    git = {"remote_url": "https://example.org/me/shop", "current_branch": "dev"}
    tree = {"worktree_path": CWD, "git_state": git}
    return {
        "version": version,
        "title": "The cart",
        "updated_at": at(30),
        "initial_project_snapshot": {"worktree_snapshots": [tree], "timestamp": at(0)},
        "messages": [
            {"User": {"id": "u1", "content": [{"Text": "the cart forgets its coupon"}]}},
            {"Agent": first},
            "Resume",
            {"Agent": {"content": [{"Text": "Fixed in merge()."}], "tool_results": {}}},
        ],
    }


ZED = [
    ("message", "the cart forgets its coupon"),
    ("message", "Let me look."),
    ("error", "$ make\nno rule"),
    ("file_diff", "Tool: edit_file\nFile: src/cart.py\n-a\n+b"),
    ("message", "Fixed in merge()."),
]


def zed(
    path: Path, *threads: tuple[str, dict[str, Any]], kind: str = "zstd", cwd: str = CWD
) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path)
    db.execute(
        "CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT NOT NULL,"
        " updated_at TEXT NOT NULL, data_type TEXT NOT NULL, data BLOB NOT NULL,"
        " parent_id TEXT, folder_paths TEXT, folder_paths_order TEXT, created_at TEXT)"
    )
    for id_, thread in threads:
        data = json.dumps(thread).encode()
        if kind == "zstd":
            import zstandard

            data = zstandard.ZstdCompressor().compress(data)
        parent = "t-0" if id_.startswith("sub") else None
        row = (id_, "The cart", at(30), kind, data, parent, f"/another\n{cwd}", "1,0", at(0))
        db.execute("INSERT INTO threads VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    db.commit()
    db.close()
    return path


def cursor_database(path: Path, *, cwd: str = CWD, id_: str = "cu-1", **more: Any) -> Path:
    """A database of the editor with a conversation and one of a subagent."""

    def tool(name: str, inputs: Any, result: Any, status: str = "completed") -> dict[str, Any]:
        about = {"name": name, "rawArgs": json.dumps(inputs), "result": json.dumps(result)}
        return {"type": 2, "text": "", "toolFormerData": {**about, "status": status}}

    diff = {"diff": {"chunks": [{"diffString": "-a\n+b"}]}}
    bubbles = [
        {"type": 1, "text": "the cart forgets its coupon", "workspaceUris": [f"file://{cwd}"]},
        {"type": 2, "text": "", "thinking": {"text": "hmm"}},
        {"type": 2, "text": "Let me look."},
        tool("run_terminal_cmd", {"command": "make"}, {"output": "no rule", "exitCodeV2": 2}),
        tool("search_replace", {"file_path": "src/cart.py"}, diff),
        tool("todo_write", {"todos": []}, {}),
        tool("read_file", {"target_file": "src/cart.py"}, {"contents": "whole file"}),
        tool("run_terminal_cmd", {"command": "sleep 9"}, {}, "loading"),
        {"type": 2, "text": "Fixed in merge()."},
    ]
    rows: dict[str, Any] = {f"composerData:{id_}-sub": {"subagentInfo": {"id": id_}}}
    headers = [{"bubbleId": f"b{number}", "type": 2} for number in range(len(bubbles))]
    about = {"_v": 10, "composerId": id_, "createdAt": START, "createdOnBranch": "dev"}
    rows[f"composerData:{id_}"] = {**about, "fullConversationHeadersOnly": headers, **more}
    for number, bubble in enumerate(bubbles):
        about = {"_v": 3, "bubbleId": f"b{number}", "createdAt": at(number + 1)}
        rows[f"bubbleId:{id_}:b{number}"] = {**about, **bubble}
    return key_values(path, "cursorDiskKV", rows)


def key_values(path: Path, table: str, rows: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path)
    for name in ("ItemTable", "cursorDiskKV"):
        db.execute(f"CREATE TABLE IF NOT EXISTS {name} (key TEXT UNIQUE, value BLOB)")
    values = [(key, value if value is None else json.dumps(value)) for key, value in rows.items()]
    db.executemany(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", values)
    db.commit()
    db.close()
    return path


CURSOR = [
    ("message", "the cart forgets its coupon"),
    ("message", "Let me look."),
    ("error", "$ make\nno rule"),
    ("file_diff", "Tool: search_replace\nFile: src/cart.py\n-a\n+b"),
    ("tool_call", "Tool: read_file\nFile: src/cart.py"),
    ("message", "Fixed in merge()."),
]


def cursor_transcript(folder: Path, id_: str = "cu-1") -> Path:
    def line(role: str, *blocks: Any) -> dict[str, Any]:
        return {"role": role, "message": {"content": list(blocks)}}

    prompt = "<timestamp>now</timestamp>\n<user_query>\nthe cart forgets its coupon\n</user_query>"
    edit = {"path": f"{CWD}/src/cart.py", "old_string": "a", "new_string": "b"}
    return put(
        folder / "agent-transcripts" / id_ / f"{id_}.jsonl",
        line("user", {"type": "text", "text": prompt}),
        line(
            "assistant",
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "name": "Shell", "input": {"command": "make"}},
            {"type": "tool_use", "name": "StrReplace", "input": edit},
        ),
        {"type": "turn_ended", "status": "success"},
        line("assistant", {"type": "text", "text": "Fixed in merge()."}),
    )


CURSOR_TRANSCRIPT = [
    ("message", "the cart forgets its coupon"),
    ("message", "Let me look."),
    ("command", "$ make"),
    ("file_diff", f"Tool: StrReplace\nFile: {CWD}/src/cart.py\n-a\n+b"),
    ("message", "Fixed in merge()."),
]
