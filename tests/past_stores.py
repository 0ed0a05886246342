"""Stores of past sessions, written as their clients write them."""

from __future__ import annotations

import hashlib
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


ASKED = "the cart forgets its coupon"
SOLVED = "Fixed in merge()."


def droid(folder: Path, *, cwd: str = CWD, id_: str = "dr-1", title: str = ASKED) -> Path:
    def line(second: int, role: str, *content: Any) -> dict[str, Any]:
        message = {"role": role, "content": list(content)}
        about = {"type": "message", "id": f"{id_}-{second}", "timestamp": at(second)}
        return {**about, "message": message}

    def call(second: int, name: str, inputs: Any, answer: str, **more: Any) -> list[dict[str, Any]]:
        use = {"type": "tool_use", "id": f"t{second}", "name": name, "input": inputs}
        result = {"type": "tool_result", "tool_use_id": f"t{second}", "content": answer, **more}
        return [line(second, "assistant", use), line(second, "user", result)]

    def words(text: str) -> dict[str, str]:
        return {"type": "text", "text": text}

    reminder = words("<system-reminder>Today is Sunday.</system-reminder>")
    edit = {"file_path": f"{cwd}/src/cart.py", "old_str": "a", "new_str": "b"}
    return put(
        folder / "-home-me-shop" / f"{id_}.jsonl",
        {"type": "session_start", "id": id_, "title": title, "version": 2, "cwd": cwd},
        line(1, "user", reminder, words(ASKED)),
        line(2, "assistant", {"type": "thinking", "thinking": "hmm"}, words("Let me look.")),
        *call(3, "Execute", {"command": "make"}, "Error: Exit code 2\nno rule", is_error=True),
        *call(4, "Edit", edit, "edited"),
        *call(5, "kinen___kinen_search", {"query": "coupon"}, "known"),
        line(6, "assistant", words(SOLVED)),
        {"type": "todo_state", "id": "x"},
    )


DROID = [
    ("message", ASKED),
    ("message", "Let me look."),
    ("error", "$ make\nExit code 2\nno rule"),
    ("file_diff", "Tool: Edit\nFile: src/cart.py\n-a\n+b"),
    ("message", SOLVED),
]


def kimi(folder: Path, *, cwd: str = CWD, id_: str = "ki-1", agent: str = "main") -> Path:
    number = 0

    def line(kind: str, **more: Any) -> dict[str, Any]:
        nonlocal number
        number += 1
        return {"type": kind, **more, "time": START + number * 1000}

    def event(kind: str, **more: Any) -> dict[str, Any]:
        return line("context.append_loop_event", event={"type": kind, "stepUuid": "s1", **more})

    def call(name: str, args: Any, output: Any, **more: Any) -> list[dict[str, Any]]:
        id_of_call = f"c{number}"
        used = event("tool.call", toolCallId=id_of_call, name=name, args=args)
        result = {"output": output, **more}
        return [used, event("tool.result", toolCallId=id_of_call, result=result)]

    def message(text: str, origin: str = "user") -> dict[str, Any]:
        content = [{"type": "text", "text": text}]
        about = {"role": "user", "content": content, "origin": {"kind": origin}}
        return line("context.append_message", message=about)

    def part(text: str, kind: str = "text") -> dict[str, Any]:
        return event("content.part", part={"type": kind, "text": text})

    session = folder / "wd_shop_0123456789ab" / id_
    put(session / "state.json", {"title": ASKED, "workDir": cwd})
    edit = {"path": f"{cwd}/src/cart.py", "old_string": "a", "new_string": "b"}
    return put(
        session / "agents" / agent / "wire.jsonl",
        {"type": "metadata", "protocol_version": "1.4", "created_at": START},
        line("turn.prompt", input=[], origin={"kind": "user"}),
        message(ASKED),
        message("You are in plan mode", "injection"),
        event("step.begin"),
        part("hmm", "think"),
        part("Let me "),
        part("look."),
        *call("Bash", {"command": "make"}, "no rule", isError=True),
        *call("Edit", edit, [{"type": "text", "text": "ok"}]),
        *call("mcp__kinen__kinen_search", {"query": "coupon"}, "known"),
        line("context.apply_compaction", summary="The coupon is lost in merge()."),
        part(SOLVED),
        line("hologram"),
    )


KIMI = [
    ("message", ASKED),
    ("message", "Let me look."),
    ("error", "$ make\nno rule"),
    ("file_diff", "Tool: Edit\nFile: src/cart.py\n-a\n+b"),
    ("message", SOLVED),
]


def kimi_cli(share: Path, *, cwd: str = CWD, id_: str = "kc-1") -> Path:
    number = 0

    def line(kind: str, **payload: Any) -> dict[str, Any]:
        nonlocal number
        number += 1
        message = {"type": kind, "payload": payload}
        return {"timestamp": START / 1000 + number, "message": message}

    def call(name: str, arguments: Any, **value: Any) -> list[dict[str, Any]]:
        function = {"name": name, "arguments": json.dumps(arguments)}
        used = line("ToolCall", type="function", id=f"c{number}", function=function)
        return [used, line("ToolResult", tool_call_id=f"c{number - 1}", return_value=value)]

    digest = hashlib.md5(cwd.encode(), usedforsecurity=False).hexdigest()
    share.mkdir(parents=True, exist_ok=True)
    (share / "kimi.json").write_text(json.dumps({"work_dirs": [{"path": cwd}]}))
    put(share / "sessions" / digest / id_ / "context.jsonl", {"role": "user", "content": "again"})
    edit = {"path": f"{cwd}/src/cart.py", "edit": {"old": "a", "new": "b"}}
    return put(
        share / "sessions" / digest / id_ / "wire.jsonl",
        {"type": "metadata", "protocol_version": "1.2"},
        line("TurnBegin", user_input=[{"type": "text", "text": ASKED}]),
        line("StepBegin", n=1),
        line("ContentPart", type="think", think="hmm"),
        line("ContentPart", type="text", text="Let me look."),
        *call("Shell", {"command": "make"}, is_error=True, output="", message="no rule"),
        *call("StrReplaceFile", edit, is_error=False, output="ok"),
        line("ContentPart", type="text", text=SOLVED),
        line("TurnEnd"),
    )


KIMI_CLI = [*KIMI[:3], (KIMI[3][0], KIMI[3][1].replace("Edit", "StrReplaceFile")), KIMI[4]]


def grok(folder: Path, *, cwd: str = CWD, id_: str = "gr-1", kind: str = "") -> Path:
    number = 0

    def line(update: str, meta: Any = None, **more: Any) -> dict[str, Any]:
        nonlocal number
        number += 1
        about = {"sessionUpdate": update, **more, "_meta": meta or {}}
        params = {"sessionId": id_, "update": about, "_meta": {"promptId": "p-1"}}
        return {"timestamp": START // 1000 + number, "method": "session/update", "params": params}

    def said(kind: str, text: str, **meta: Any) -> dict[str, Any]:
        return line(f"{kind}_message_chunk", meta, content={"type": "text", "text": text})

    def call(kind: str, title: str, status: str, *content: Any, **more: Any) -> list[Any]:
        id_of_call = f"c{number}"
        start = line("tool_call", toolCallId=id_of_call, title=title, kind=kind, **more)
        end = line("tool_call_update", toolCallId=id_of_call, status=status, content=list(content))
        return [start, end]

    def output(text: str) -> dict[str, Any]:
        return {"type": "content", "content": {"type": "text", "text": text}}

    session = folder / "%2Fhome%2Fme%2Fshop" / id_
    info = {"id": id_, "cwd": cwd}
    put(session / "summary.json", {"info": info, "generated_title": ASKED, "session_kind": kind})
    put(session / "chat_history.jsonl", {"role": "user", "content": "the same again"})
    diff = {"type": "diff", "path": f"{cwd}/src/cart.py", "oldText": "a", "newText": "b"}
    return put(
        session / "updates.jsonl",
        said("user", ASKED, promptIndex=0),
        line("agent_thought_chunk", content={"type": "text", "text": "hmm"}),
        said("agent", "Let me "),
        said("agent", "look."),
        *call("execute", "make", "failed", output("no rule")),
        *call("edit", "cart.py", "completed", diff),
        *call("other", "mcp__kinen__kinen_search", "completed", output("known")),
        said("agent", SOLVED),
        line("hologram"),
    )


GROK = [*KIMI[:3], (KIMI[3][0], KIMI[3][1].replace("Edit", "edit")), KIMI[4]]


def antigravity(folder: Path, *, cwd: str = CWD, id_: str = "ag-1") -> Path:
    number = 0

    def step(source: str, kind: str, content: str, *calls: Any) -> dict[str, Any]:
        nonlocal number
        number += 1
        about = {"step_index": number, "source": source, "type": kind, "status": "DONE"}
        return {**about, "created_at": at(number), "content": content, "tool_calls": list(calls)}

    def call(name: str, **args: Any) -> dict[str, Any]:
        return {"name": name, "args": {key: json.dumps(value) for key, value in args.items()}}

    request = (
        f"<USER_REQUEST>\n{ASKED}\n</USER_REQUEST>\n"
        "<ADDITIONAL_METADATA>\nThe local time is now.\n</ADDITIONAL_METADATA>"
    )
    begun = "Created At: 2026-03-01T10:00:03Z\nCompleted At: 2026-03-01T10:00:04Z\n"
    ran = f"{begun}The command exited with code 2.\nOutput:\nno rule"
    run = call("run_command", CommandLine="make", Cwd=cwd)
    edit = call(
        "replace_file_content",
        TargetFile=f"{cwd}/src/cart.py",
        TargetContent="a",
        ReplacementContent="b",
    )
    logs = folder / "brain" / id_ / ".system_generated" / "logs"
    put(logs / "transcript_full.jsonl", step("MODEL", "PLANNER_RESPONSE", "only the end"))
    return put(
        logs / "transcript.jsonl",
        step("USER_EXPLICIT", "USER_INPUT", request),
        step("MODEL", "PLANNER_RESPONSE", "Let me look.", run),
        step("MODEL", "RUN_COMMAND", ran),
        step("SYSTEM", "EPHEMERAL_MESSAGE", "be quick"),
        step("MODEL", "PLANNER_RESPONSE", "", edit),
        step("MODEL", "CODE_ACTION", f"{begun}edited"),
        step("MODEL", "PLANNER_RESPONSE", SOLVED),
    )


ANTIGRAVITY = [
    *KIMI[:2],
    ("error", "$ make\nThe command exited with code 2.\nOutput:\nno rule"),
    ("file_diff", "Tool: replace_file_content\nFile: src/cart.py\n-a\n+b"),
    KIMI[4],
]


def goose_rows(cwd: str) -> list[tuple[str, list[Any]]]:
    """Messages of Goose: who, and blocks."""

    def words(text: str) -> dict[str, str]:
        return {"type": "text", "text": text}

    def call(id_: str, name: str, arguments: Any, answer: str, **more: Any) -> list[Any]:
        used = {"status": "success", "value": {"name": name, "arguments": arguments}}
        value = {"content": [words(answer)], **more}
        request = {"type": "toolRequest", "id": id_, "toolCall": used}
        result = {"status": "success", "value": value}
        response = {"type": "toolResponse", "id": id_, "toolResult": result}
        return [("assistant", [request]), ("user", [response])]

    path = f"{cwd}/src/cart.py"
    shell = {"structuredContent": {"stdout": "", "stderr": "no rule", "exit_code": 2}}
    return [
        ("user", [words(ASKED)]),
        ("assistant", [{"type": "thinking", "thinking": "hmm"}, words("Let me look.")]),
        *call("c1", "developer__shell", {"command": "make"}, "no rule", **shell),
        *call("c2", "developer__edit", {"path": path, "before": "a", "after": "b"}, "ok"),
        *call("c3", "kinen__kinen_search", {"query": "coupon"}, "known"),
        ("assistant", [words(SOLVED)]),
    ]


def goose_lines(folder: Path, *, cwd: str = CWD, id_: str = "go-1") -> Path:
    lines = [
        {"role": role, "created": START // 1000 + number, "content": content}
        for number, (role, content) in enumerate(goose_rows(cwd))
    ]
    head = {"id": id_, "description": ASKED, "working_dir": cwd, "message_count": len(lines)}
    return put(folder / f"{id_}.jsonl", head, *lines)


GOOSE = [*KIMI[:3], (KIMI[3][0], KIMI[3][1].replace("Edit", "developer__edit")), KIMI[4]]


def database(path: Path, **tables: list[dict[str, Any]]) -> Path:
    """A database with tables of the columns that their rows have."""
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path)
    for name, rows in tables.items():
        columns = list(dict.fromkeys(key for row in rows for key in row))
        db.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
        for row in rows:
            marks = ", ".join("?" * len(row))
            db.execute(f"INSERT INTO {name} ({', '.join(row)}) VALUES ({marks})", [*row.values()])
    db.commit()
    db.close()
    return path


def goose(folder: Path, *, cwd: str = CWD, id_: str = "go-2") -> Path:
    session = {"id": id_, "session_type": "user", "working_dir": cwd, "description": ASKED}
    rows = [("user", [{"type": "text", "text": "compacted"}]), *goose_rows(cwd)]
    messages = [
        {"id": number, "message_id": f"m{number}", "session_id": id_, "role": role}
        | {"content_json": json.dumps(content), "created_timestamp": START // 1000 + number}
        | {"metadata_json": json.dumps({"userVisible": number > 0, "agentVisible": True})}
        for number, (role, content) in enumerate(rows)
    ]
    part = {**session, "id": "part", "session_type": "sub_agent"}
    return database(folder / "sessions.db", sessions=[session, part], messages=messages)


def hermes(folder: Path, *, cwd: str = CWD, id_: str = "he-1") -> Path:
    def call(name: str, inputs: Any) -> dict[str, Any]:
        function = {"name": name, "arguments": json.dumps(inputs)}
        return {"tool_calls": json.dumps([{"id": f"c-{name}", "function": function}])}

    patch = {"path": f"{cwd}/src/cart.py", "old_string": "a", "new_string": "b"}
    rows: list[dict[str, Any]] = [
        {"role": "user", "content": ASKED},
        {"role": "user", "content": "undone", "active": 0},
        {"role": "assistant", "content": "Let me look.", **call("terminal", {"command": "make"})},
        {"role": "tool", "content": "no rule", "tool_call_id": "c-terminal"},
        {"role": "assistant", "content": None, **call("patch", patch)},
        {"role": "tool", "content": "ok", "tool_call_id": "c-patch"},
        {"role": "user", "content": "The coupon is lost in merge().", "_compressed_summary": 1},
        {"role": "assistant", "content": SOLVED},
    ]
    first = {"tool_calls": None, "tool_call_id": None, "active": 1, "_compressed_summary": 0}
    messages = [
        {"id": number, "session_id": id_, "timestamp": START / 1000 + number} | first | row
        for number, row in enumerate(rows)
    ]
    session = {"id": id_, "source": "cli", "started_at": START / 1000, "cwd": cwd}
    session |= {"git_branch": "dev", "model_config": "{}"}
    part = {**session, "id": "part", "model_config": json.dumps({"_delegate_from": id_})}
    return database(folder / "state.db", sessions=[session, part], messages=messages)


HERMES = [
    *KIMI[:2],
    ("command", "$ make\nno rule"),
    (KIMI[3][0], KIMI[3][1].replace("Edit", "patch")),
    KIMI[4],
]


def crush(project: Path, *, id_: str = "cr-1") -> Path:
    def call(name: str, inputs: Any, answer: str, **more: Any) -> list[tuple[str, list[Any]]]:
        data = {"id": f"c-{name}", "name": name, "input": json.dumps(inputs), "finished": True}
        result = {"tool_call_id": f"c-{name}", "name": name, "content": answer, **more}
        used = [{"type": "tool_call", "data": data}, {"type": "finish", "data": {}}]
        return [("assistant", used), ("tool", [{"type": "tool_result", "data": result}])]

    def words(text: str) -> dict[str, Any]:
        return {"type": "text", "data": {"text": text}}

    edit = {"file_path": f"{project}/src/cart.py", "old_string": "a", "new_string": "b"}
    shell = {"command": "ls", "output": "cart.py", "exit_code": 0}
    rows: list[tuple[str, list[Any]]] = [
        ("user", [words(ASKED)]),
        ("assistant", [{"type": "reasoning", "data": {"thinking": "hmm"}}, words("Let me look.")]),
        *call("bash", {"command": "make"}, "Exit code 2\nno rule", is_error=True),
        *call("edit", edit, "ok"),
        *call("mcp_kinen_kinen_search", {"query": "coupon"}, "known"),
        ("user", [{"type": "shell_command", "data": shell}]),
        ("assistant", [words("The coupon is lost in merge().")]),
        ("assistant", [words(SOLVED)]),
    ]
    messages = [
        {"id": f"m{number}", "session_id": id_, "role": role, "parts": json.dumps(parts)}
        | {"created_at": START // 1000 + number, "is_summary_message": int("lost in" in str(parts))}
        for number, (role, parts) in enumerate(rows)
    ]
    session = {"id": id_, "parent_session_id": None, "title": ASKED, "message_count": len(rows)}
    part = {**session, "id": "part", "parent_session_id": id_}
    return database(project / ".crush" / "crush.db", sessions=[session, part], messages=messages)


CRUSH = [
    *KIMI[:2],
    ("error", "$ make\nExit code 2\nno rule"),
    (KIMI[3][0], KIMI[3][1].replace("Edit", "edit")),
    ("command", "$ ls\ncart.py"),
    KIMI[4],
]


def grok_cli(folder: Path, *, cwd: str = CWD, id_: str = "gc-1") -> Path:
    def call(name: str, inputs: Any, **value: Any) -> list[tuple[str, Any]]:
        about = {"toolCallId": f"c-{name}", "toolName": name}
        output = {"type": "json", "value": value}
        used = {"type": "tool-call", **about, "input": inputs}
        return [
            ("assistant", [used]),
            ("tool", [{"type": "tool-result", **about, "output": output}]),
        ]

    edit = {"path": f"{cwd}/src/cart.py", "old_string": "a", "new_string": "b"}
    rows: list[tuple[str, Any]] = [
        ("system", "You are Grok"),
        ("user", ASKED),
        (
            "assistant",
            [{"type": "reasoning", "text": "hmm"}, {"type": "text", "text": "Let me look."}],
        ),
        *call("bash", {"command": "make"}, success=False, error="no rule"),
        *call("edit_file", edit, success=True, output="ok", diff="@@ -1 +1 @@\n-a\n+b"),
        ("assistant", SOLVED),
    ]
    messages = [
        {"session_id": id_, "seq": number, "role": role, "created_at": at(number + 1)}
        | {"message_json": json.dumps({"role": role, "content": content})}
        for number, (role, content) in enumerate(rows)
    ]
    session = {"id": id_, "workspace_id": "w", "cwd_at_start": cwd, "cwd_last": cwd}
    return database(folder / "grok.db", sessions=[session], messages=messages)


GROK_CLI = [
    *KIMI[:3],
    ("file_diff", "Tool: edit_file\nFile: src/cart.py\n@@ -1 +1 @@\n-a\n+b"),
    KIMI[4],
]


def amp(folder: Path, *, cwd: str = CWD, id_: str = "T-1") -> Path:
    def words(text: str) -> dict[str, str]:
        return {"type": "text", "text": text}

    def call(id_: str, name: str, inputs: Any, **run: Any) -> list[dict[str, Any]]:
        use = {"type": "tool_use", "id": id_, "name": name, "input": inputs}
        result = {"type": "tool_result", "toolUseID": id_, "run": {"status": "done", **run}}
        return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]

    edit = {"path": f"{cwd}/src/cart.py", "old_str": "a", "new_str": "b"}
    messages = [
        {"role": "user", "content": [words(ASKED)], "meta": {"sentAt": START + 1000}},
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "hmm"}, words("Let me look.")],
        },
        *call("c1", "Bash", {"cmd": "make"}, result={"output": "no rule", "exitCode": 2}),
        *call("c2", "edit_file", edit, result="@@ -1 +1 @@"),
        *call("c3", "mcp__kinen__kinen_search", {"query": "coupon"}, result="known"),
        {"role": "assistant", "content": [words(SOLVED)]},
    ]
    env = {"initial": {"trees": [{"displayName": "shop", "uri": f"file://{cwd}"}]}}
    thread = {"v": 9, "id": id_, "created": START, "title": ASKED, "messages": messages, "env": env}
    return put(folder / f"{id_}.json", thread)


AMP = [*KIMI[:3], (KIMI[3][0], KIMI[3][1].replace("Edit", "edit_file")), KIMI[4]]


CONTINUE_ID = "0b0f8a2e-0000-4000-8000-00000000000a"


def continued(folder: Path, *, cwd: str = CWD, id_: str = CONTINUE_ID) -> Path:
    def call(id_: str, name: str, args: Any, status: str, output: str) -> dict[str, Any]:
        function = {"name": name, "arguments": json.dumps(args)}
        used = {"id": id_, "type": "function", "function": function}
        state = {"toolCallId": id_, "toolCall": used, "status": status, "parsedArgs": args}
        state["output"] = [{"name": "result", "description": "", "content": output}]
        message = {"role": "assistant", "content": "", "toolCalls": [used]}
        return {"message": message, "contextItems": [], "toolCallStates": [state]}

    def said(role: str, content: Any, **more: Any) -> dict[str, Any]:
        return {"message": {"role": role, "content": content, **more}, "contextItems": []}

    edit = {"filepath": "src/cart.py", "old_string": "a", "new_string": "b"}
    history = [
        said("user", [{"type": "text", "text": ASKED}]),
        said("thinking", "hmm"),
        said("assistant", "Let me look."),
        call("c1", "run_terminal_command", {"command": "make"}, "errored", "no rule"),
        said("tool", "no rule", toolCallId="c1"),
        call("c2", "single_find_and_replace", edit, "done", "ok"),
        {**said("assistant", SOLVED), "conversationSummary": "The coupon is lost in merge()."},
    ]
    session = {"sessionId": id_, "title": ASKED, "workspaceDirectory": cwd, "history": history}
    listed = {"sessionId": id_, "dateCreated": str(START), "workspaceDirectory": cwd}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sessions.json").write_text(json.dumps([listed]))
    return put(folder / f"{id_}.json", session)


CONTINUED = [
    *KIMI[:3],
    (KIMI[3][0], KIMI[3][1].replace("Edit", "single_find_and_replace")),
    KIMI[4],
]
