"""Past sessions of coding agents, in the shapes that their clients leave on disk."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest

from kinen import Memory
from kinen.agents.transcripts.find import Tally, sessions_in
from kinen.agents.transcripts.values import milliseconds
from kinen.ids import timed_id

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "gh" + "p_" + "a1B2c3D4e5F6" * 3
CWD = "/home/me/shop"


# A client each


def at(second: int) -> str:
    return f"2026-03-01T10:{second // 60:02}:{second % 60:02}.000Z"


class Claude:
    """Writes a transcript as Claude Code does."""

    def __init__(self, session: str = "s-1", cwd: str = CWD) -> None:
        self.session, self.cwd, self.lines, self.now = session, cwd, [], 0

    def line(self, kind: str, content: Any, **more: Any) -> Claude:
        self.now += 1
        self.lines.append(
            {
                "type": kind,
                "uuid": f"{self.session}-{self.now}",
                "sessionId": self.session,
                "timestamp": at(self.now),
                "cwd": self.cwd,
                "gitBranch": "main",
                "isSidechain": False,
                "message": {"role": kind, "content": content},
                **more,
            }
        )
        return self

    def ask(self, text: str, **more: Any) -> Claude:
        return self.line("user", text, **more)

    def say(self, text: str) -> Claude:
        return self.line("assistant", [{"type": "text", "text": text}])

    def use(
        self,
        tool: str,
        values: dict[str, Any],
        result: Any,
        *,
        error: bool = False,
        about: Any = None,
    ) -> Claude:
        call = f"toolu_{self.now}"
        self.line("assistant", [{"type": "tool_use", "id": call, "name": tool, "input": values}])
        block = {"type": "tool_result", "tool_use_id": call, "content": result, "is_error": error}
        return self.line("user", [block], toolUseResult=about)

    def write(self, folder: Path, name: str = "") -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name or self.session}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines))
        return path


def shop() -> Claude:
    """A session with a bit of everything."""
    patch = [{"oldStart": 3, "oldLines": 1, "newStart": 3, "newLines": 1, "lines": ["-a", "+b"]}]
    entry = Claude()
    entry.lines.append({"type": "file-history-snapshot", "messageId": "x", "snapshot": {}})
    entry.lines.append({"type": "progress", "sessionId": "s-1", "data": {"type": "hook_progress"}})
    entry.ask("Caveat: The messages below were generated", isMeta=True)
    entry.ask("<command-name>/clear</command-name>\n<command-args></command-args>")
    entry.ask("the cart forgets its coupon\n<system-reminder>be nice</system-reminder>")
    entry.line("assistant", [{"type": "thinking", "thinking": "hmm"}])
    entry.say("Let me look.")
    entry.use("Bash", {"command": "make test"}, "12 passed", about={"stdout": "12 passed"})
    entry.use("Bash", {"command": "make lint"}, "Exit code 2\nerror: unused import", error=True)
    entry.use(
        "Edit",
        {"file_path": f"{CWD}/src/cart.py", "old_string": "a", "new_string": "b"},
        "updated",
        about={"structuredPatch": patch},
    )
    entry.use("Write", {"file_path": f"{CWD}/new.py", "content": "x = 1\ny = 2"}, "created")
    entry.use("Read", {"file_path": f"{CWD}/src/cart.py"}, "the whole file")
    entry.use("Grep", {"pattern": "coupon"}, "many lines")
    entry.use(
        "Task",
        {"description": "look around", "subagent_type": "Explore"},
        [{"type": "text", "text": "it is in cart.py"}],
    )
    entry.line("assistant", [{"type": "text", "text": "from a subagent"}], isSidechain=True)
    entry.say("The coupon was lost in `merge()`.")
    return entry


@pytest.fixture
def memory(space: Path):
    with Memory.open(space) as opened:
        yield opened


def observations_of(memory: Memory, session: str = "") -> list[Any]:
    """The observations of the newest capsule, or of a session's."""
    capsules = memory.journal.entries("capsules", session=session)[0]
    return memory.journal.capsule(capsules[0].id)[1]


def test_a_session_of_claude_code_becomes_a_capsule_with_what_happened(memory, tmp_path) -> None:
    loaded = memory.transfer.import_transcripts(shop().write(tmp_path / "there"))
    assert loaded.added == {"observations": 10, "capsules": 1, "summaries": 1}
    assert not loaded.notes
    assert not loaded.ignored
    capsule = memory.journal.entries("capsules")[0][0]
    assert (capsule.type, capsule.status, capsule.intent) == (
        "session",
        "closed",
        "the cart forgets its coupon",
    )
    assert (capsule.scope.session, capsule.scope.agent) == ("s-1", "claude-code")
    assert (capsule.opened_at, capsule.closed_at) == (milliseconds(at(3)), milliseconds(at(21)))
    seen = observations_of(memory)
    assert [(element.kind, element.content) for element in seen] == [
        ("message", "the cart forgets its coupon"),
        ("message", "Let me look."),
        ("command", "$ make test\n12 passed"),
        ("error", "$ make lint\nExit code 2\nerror: unused import"),
        ("file_diff", "Tool: Edit\nFile: src/cart.py\n@@ -3,1 +3,1 @@\n-a\n+b"),
        ("file_diff", "Tool: Write\nFile: new.py\n+x = 1\n+y = 2"),
        ("tool_call", "Tool: Read\nFile: src/cart.py"),
        ("tool_call", "Tool: Grep\nPattern: coupon"),
        ("node_end", "Agent: Explore\nit is in cart.py"),
        ("message", "The coupon was lost in `merge()`."),
    ]
    assert [entry.provenance.get("role") for entry in seen if entry.kind == "message"] == [
        *("user", "assistant", "assistant")
    ]
    lint, edit = seen[3].provenance, seen[4]
    assert (lint["command"], lint["exitCode"], lint["hasError"]) == ("make lint", 2, True)
    assert (edit.files, edit.branch, edit.provenance["filePath"]) == (
        ("src/cart.py",),
        "main",
        "src/cart.py",
    )
    summary = memory.journal.capsule(capsule.id)[2][0]
    assert not summary.written
    assert "make lint" in summary.content


def test_importing_again_adds_nothing_and_a_session_that_grew_only_what_is_new(
    memory, tmp_path
) -> None:
    session = shop()
    path = session.write(tmp_path)
    memory.transfer.import_transcripts(path)
    for _ in range(2):
        again = memory.transfer.import_transcripts(path)
        assert not any(again.added.values())
        assert not any(again.replaced.values())
        assert again.skipped["observations"] == 10
    session.ask("and the voucher?").write(tmp_path)
    session.line(
        "assistant", [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]
    )
    session.write(tmp_path)
    grown = memory.transfer.import_transcripts(path)
    assert grown.added == {"observations": 1, "capsules": 0, "summaries": 0}
    session.line("user", [{"type": "tool_result", "tool_use_id": "t", "content": "cart.py"}])
    session.write(tmp_path)
    assert memory.transfer.import_transcripts(path).added["observations"] == 1
    capsule, seen, summaries = memory.journal.capsule(memory.journal.entries("capsules")[0][0].id)
    assert [entry.content for entry in seen[-2:]] == ["and the voucher?", "$ ls\ncart.py"]
    assert capsule.closed_at == seen[-1].ts
    assert len(summaries) == 1
    assert "12 events" in summaries[0].content


def test_a_transcript_in_a_folder_is_read_again_only_if_it_changed(
    memory, space, tmp_path, monkeypatch
) -> None:
    session = shop()
    path = session.write(tmp_path / "a")
    folder = path.parent

    def read() -> int:
        """How many observations an import of the folder read, new or not."""
        loaded = memory.transfer.import_transcripts(folder)
        unchanged = "transcripts unchanged since they were imported: 1" in loaded.notes
        count = loaded.added["observations"] + loaded.skipped["observations"]
        assert unchanged == (count == 0)
        return count

    assert memory.transfer.import_transcripts(folder, dry_run=True).added["observations"] == 10
    assert [read(), read(), read()] == [10, 0, 0]
    assert memory.transfer.import_transcripts(path).skipped["observations"] == 10  # it is named
    session.ask("and the voucher?").write(tmp_path / "a")
    assert [read(), read()] == [11, 0]
    about = path.stat()
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns + 1))
    assert [read(), read()] == [11, 0]
    path.write_text(f"{path.read_text()}broken")  # or just now being written
    assert [read(), read()] == [11, 11]
    session.write(tmp_path / "a")
    assert [read(), read()] == [11, 0]
    monkeypatch.setenv("KINEN_PRIVACY_EXCLUDE", "[secret]")
    with Memory.open(space) as other:
        assert other.transfer.import_transcripts(folder).skipped["observations"] == 11


def test_a_dry_run_counts_and_leaves_the_journal_as_it_was(memory, tmp_path) -> None:
    path = shop().write(tmp_path)
    assert memory.transfer.import_transcripts(path, dry_run=True).added["observations"] == 10
    assert memory.journal.entries("observations")[1] == memory.journal.entries("capsules")[1] == 0
    assert memory.transfer.import_transcripts(path).added["observations"] == 10


def test_the_same_transcript_gives_the_same_journal_in_another_home(
    space, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    path, bundles = shop().write(tmp_path), []
    for home in ("one", "two"):
        with Memory.open(space, home=tmp_path / home) as memory:
            memory.transfer.import_transcripts(path)
            memory.transfer.export(out := io.StringIO())
            bundles.append(out.getvalue())
    seal = re.compile('"digest": "[0-9a-f]{64}"')  # made with a key of the home
    assert seal.subn("", bundles[0]) == seal.subn("", bundles[1])


def test_a_ready_summary_becomes_the_summary_of_the_capsule(memory, tmp_path) -> None:
    session = shop()
    text = (
        "This session is being continued from a previous conversation.\n\nAnalysis:\nlong\n\n"
        "Summary:\n1. The coupon was mended.\n\n"
        "Please continue the conversation from where we left off."
    )
    session.ask(text, isCompactSummary=True).say("Going on.")
    memory.transfer.import_transcripts(session.write(tmp_path))
    _, seen, summaries = memory.journal.capsule(memory.journal.entries("capsules")[0][0].id)
    assert summaries[0].content == "1. The coupon was mended."
    assert summaries[-1].created_at > summaries[0].created_at
    assert "**Outcome**: The coupon was lost" in summaries[-1].content
    assert summaries[0].written
    assert not any("continued" in entry.content for entry in seen)


def test_what_was_typed_while_the_agent_worked_is_kept_once(memory, tmp_path) -> None:
    session = Claude().ask("first")
    for second, operation, text in (
        (10, "enqueue", "<task-notification>done</task-notification>\nRead the output file"),
        (11, "enqueue", "use the other coupon"),
        (12, "remove", ""),
        (13, "enqueue", "and push it"),
    ):
        line = {"type": "queue-operation", "operation": operation, "timestamp": at(second)}
        session.lines.append({**line, "sessionId": "s-1", "content": text})
    session.now = 20
    session.ask("and push it")
    memory.transfer.import_transcripts(session.write(tmp_path))
    assert [entry.content for entry in observations_of(memory)] == [
        "first",
        "use the other coupon",
        "and push it",
    ]


def test_what_a_machine_said_in_the_users_name_is_left_out(memory, tmp_path) -> None:
    session = Claude()
    for text in (
        "[Request interrupted by user for tool use]",
        "<local-command-stdout>ok</local-command-stdout>",
        "<kinen-memory>what kinen told</kinen-memory>",
        "<task-notification><summary>x</summary></task-notification>\nRead the output file",
    ):
        session.ask(text)
    session.ask("<command-name>/fix</command-name>\n<command-args>the login page</command-args>")
    session.ask("<kinen-memory>old</kinen-memory>and the logout")
    session.line("assistant", [{"type": "text", "text": "API Error"}], isApiErrorMessage=True)
    refused = "The user doesn't want to proceed with this tool use."
    session.use("Bash", {"command": "rm -rf x"}, refused, error=True)
    session.use("Bash", {"command": "rm y"}, f"{refused} the user said:\nkeep y", error=True)
    memory.transfer.import_transcripts(session.write(tmp_path))
    assert [entry.content for entry in observations_of(memory)] == [
        "/fix the login page",
        "and the logout",
        "keep y",
    ]


def test_kinens_own_tools_and_lists_of_things_to_do_are_left_out(memory, tmp_path) -> None:
    session = Claude().ask("what did we decide?")
    for tool in ("mcp__kinen__kinen_search", "mcp__plugin_kinen_kinen__kinen_recall", "TodoWrite"):
        session.use(tool, {"query": "decisions"}, "known already")
    for command in (
        "kinen search x",
        "cd /x && kinen recall",
        "uv run kinen status",
        ".venv/bin/kinen",
    ):
        session.use("Bash", {"command": command}, "known already")
    session.use("Bash", {"command": "grep kinen README.md"}, "a line")
    memory.transfer.import_transcripts(session.write(tmp_path))
    assert [entry.kind for entry in observations_of(memory)] == ["message", "command"]


def test_what_an_agent_in_the_background_found_is_kept(memory, tmp_path) -> None:
    session = Claude().ask("look")
    launched = {"status": "async_launched", "agentId": "a7"}
    inputs = {"description": "sub", "subagent_type": "Explore"}
    session.use("Agent", inputs, "launched", about=launched)
    note = "<task-id>a7</task-id><summary>Agent finished</summary><result>it is in b.py</result>"
    session.ask(f"<task-notification>{note}</task-notification>")
    memory.transfer.import_transcripts(session.write(tmp_path))
    assert [(entry.kind, entry.content) for entry in observations_of(memory)] == [
        ("message", "look"),
        ("node_end", "Agent: Explore\nit is in b.py"),
    ]


def test_lines_that_a_continued_session_copied_are_there_once(memory, tmp_path) -> None:
    first = shop()
    first.write(tmp_path, "a")
    second = Claude("s-2").ask("go on")
    copied = [{**line, "sessionId": "s-3"} for line in first.lines if "uuid" in line]
    second.lines = [*first.lines, *second.lines]
    second.write(tmp_path, "b")
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in copied))
    loaded = memory.transfer.import_transcripts(tmp_path)
    assert loaded.added == {"observations": 11, "capsules": 2, "summaries": 2}
    assert [element.content for element in observations_of(memory, "s-2")] == ["go on"]
    assert not any(memory.transfer.import_transcripts(tmp_path).added.values())


def test_things_of_one_millisecond_keep_their_order(memory, tmp_path) -> None:
    session = Claude()
    blocks = [{"type": "text", "text": f"thought {n}"} for n in range(30)]
    memory.transfer.import_transcripts(session.line("assistant", blocks).write(tmp_path))
    assert [entry.content for entry in observations_of(memory)] == [
        f"thought {n}" for n in range(30)
    ]
    ids = [timed_id(5, n, "key") for n in range(9)]
    assert ids == sorted(ids)
    assert {len(element) for element in ids} == {26}


# What is not to be added to


def test_a_session_that_was_recorded_live_is_left_alone(memory, tmp_path) -> None:
    scope = {"session": "s-1", "agent": "claude-code"}
    capsule = memory.journal.open_capsule("live", scope=scope)
    memory.observe("as it happened", scope=scope, capsule=capsule.id)
    loaded = memory.transfer.import_transcripts(shop().write(tmp_path))
    assert loaded.notes == ("sessions recorded as they happened: 1",)
    assert memory.journal.entries("observations")[1] == 1


def test_a_session_that_went_on_live_after_an_import_is_left_alone(memory, tmp_path) -> None:
    session = shop()
    path = session.write(tmp_path)
    memory.transfer.import_transcripts(path)
    memory.journal.open_capsule("resumed", scope={"session": "s-1"})
    session.ask("recorded by a hook too").write(tmp_path)
    assert not any(memory.transfer.import_transcripts(path).added.values())


def test_what_was_forgotten_or_redacted_stays_so(memory, tmp_path) -> None:
    session = shop()
    path = session.write(tmp_path)
    memory.transfer.import_transcripts(path)
    seen = observations_of(memory)
    memory.journal.forget(seen[1].ref)
    memory.journal.redact(seen[3].ref)
    session.say("more").write(tmp_path)
    again = memory.transfer.import_transcripts(path)
    assert (again.added["observations"], again.forgotten) == (1, 1)
    texts = [entry.content for entry in observations_of(memory)]
    assert "Let me look." not in texts
    assert "[redacted]" in texts
    memory.journal.forget(memory.journal.entries("capsules")[0][0].ref)
    session.say("and more").write(tmp_path)
    assert memory.transfer.import_transcripts(path).notes == ("sessions forgotten here: 1",)
    assert memory.journal.entries("observations")[1] == 0


def test_without_a_path_only_the_sessions_of_this_space_are_taken(memory, space, home) -> None:
    projects = home / ".claude" / "projects"
    Claude("here", str(space)).ask("one").write(projects / "a")
    Claude("below", str(space / "gone" / "folder")).ask("two").write(projects / "b")
    Claude("beside", f"{space}-other").ask("three").write(projects / "c")
    Claude("nowhere", "").ask("four").write(projects / "d")
    (projects / "e").mkdir()
    (projects / "e" / "x.jsonl").write_text('{"type":"summary","summary":"t","leafUuid":"u"}\n')
    loaded = memory.transfer.import_transcripts()
    assert {capsule.scope.session for capsule in memory.journal.entries("capsules")[0]} == {
        "here",
        "below",
    }
    assert loaded.notes == ("sessions of other folders: 2",)
    assert memory.transfer.import_transcripts(projects / "c").added["capsules"] == 1


def test_a_worktree_belongs_to_its_space_and_names_files_as_the_space_does(tmp_path, home) -> None:
    root, tree = tmp_path / "shop", tmp_path / "shop-fix"
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(tree)], check=True)
    session = Claude("s-1", str(tree)).ask("fix it")
    session.use("Read", {"file_path": str(tree / "src" / "cart.py")}, "text")
    session.write(home / ".claude" / "projects" / "x")
    with Memory.open(root) as memory:
        assert memory.transfer.import_transcripts().added["capsules"] == 1
        assert observations_of(memory)[1].files == ("src/cart.py",)


def test_secrets_are_masked_wherever_they_stand_and_whatever_is_cut(
    memory, space, tmp_path, home
) -> None:
    padding = "word " * 21
    session = Claude().ask(f"{padding} {SECRET} is the token")
    session.use(
        "Bash",
        {"command": f"curl -H 'Authorization: token {SECRET}' x"},
        f"{'x' * 980} {SECRET} {'y' * 9000}",
    )
    session.use(
        "Edit", {"file_path": "a.py", "old_string": "a", "new_string": f"T = '{SECRET}'"}, "ok"
    )
    session.use("mcp__x__y", {"token": SECRET}, "ok")
    session.ask(f"Summary:\n{SECRET}", isCompactSummary=True)
    loaded = memory.transfer.import_transcripts(session.write(tmp_path / "there"))
    assert loaded.masked >= 5
    assert len(observations_of(memory)[1].content) < 4200
    memory.close()
    data = b"".join(path.read_bytes() for path in (home / "kinen").rglob("*") if path.is_file())
    assert SECRET[:12].encode() not in data
    assert b"[masked:" in data


def test_paths_that_are_never_captured_are_not_imported_either(space, tmp_path) -> None:
    session = Claude().ask("look").use("Read", {"file_path": f"{CWD}/secrets/key.txt"}, "k")
    with Memory.open(space, settings={"privacy.exclude": ["secrets/**"]}) as memory:
        loaded = memory.transfer.import_transcripts(session.write(tmp_path))
        assert [entry.content for entry in observations_of(memory)] == ["look"]
        assert loaded.notes == ("observations of paths that are never captured: 1",)


# Other clients


def rollout(folder: Path, *payloads: tuple[str, dict[str, Any]], **meta: Any) -> Path:
    """A session of Codex."""
    about = {"id": "cx-1", "cwd": CWD, "source": "cli", **meta}
    about["git"] = {"branch": "dev", "repository_url": "git@example.org:me/shop.git"}
    lines = [
        {"timestamp": at(n), "type": kind, "payload": payload}
        for n, (kind, payload) in enumerate([("session_meta", about), *payloads])
    ]
    path = folder / "rollout-2026-03-01-cx-1.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def item(role: str, text: str) -> tuple[str, dict[str, Any]]:
    content = [{"type": f"{'input' if role == 'user' else 'output'}_text", "text": text}]
    return "response_item", {"type": "message", "role": role, "content": content}


def event(kind: str, text: str) -> tuple[str, dict[str, Any]]:
    return "event_msg", {"type": kind, "message": text}


def call(id_: str, name: str, values: Any, output: Any) -> list[tuple[str, dict[str, Any]]]:
    text = {"name": name, "arguments": json.dumps(values), "call_id": id_}
    return [
        ("response_item", {"type": "function_call", **text}),
        ("response_item", {"type": "function_call_output", "call_id": id_, "output": output}),
    ]


def test_a_rollout_of_codex_is_taken_with_each_text_once(memory, tmp_path) -> None:
    text = "# Context from my IDE setup:\n\n## My request for Codex:\nmend the cart"
    patch = "*** Begin Patch\n*** Update File: src/cart.py\n@@\n-a\n+b\n*** End Patch"
    done = json.dumps({"output": "ok\n", "metadata": {"exit_code": 0}})
    ran = "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 3\nOutput:\nno such file"
    changes = {f"{CWD}/b.py": {"type": "add", "unified_diff": "@@ -0,0 +1 @@\n+b"}}
    path = rollout(
        tmp_path,
        item("user", "<environment_context>\n<cwd>/x</cwd>\n</environment_context>"),
        item("user", text),
        event("user_message", text),
        ("turn_context", {"cwd": CWD}),
        event("agent_message", "On it."),
        ("event_msg", {"type": "token_count", "info": None}),
        item("assistant", "On it."),
        *call("c1", "shell", {"command": ["bash", "-lc", "make"]}, done),
        *call("c2", "exec_command", {"cmd": "cat x"}, ran),
        *call("c3", "shell", {"command": ["bash", "-lc", f"apply_patch <<'E'\n{patch}\nE"]}, done),
        (
            "event_msg",
            {"type": "patch_apply_end", "call_id": "p", "success": True, "changes": changes},
        ),
        *call("c4", "update_plan", {"plan": []}, "Plan updated"),
        (
            "response_item",
            {
                "type": "function_call",
                "namespace": "mcp__kinen",
                "name": "kinen_search",
                "arguments": "{}",
                "call_id": "c5",
            },
        ),
        ("response_item", {"type": "function_call_output", "call_id": "c5", "output": "known"}),
        event("user_message", "continue"),
        item("user", "continue"),
        item("user", "continue"),
        event("user_message", "continue"),
        ("something_new", {}),
    )
    loaded = memory.transfer.import_transcripts(path)
    assert [(element.kind, element.content) for element in observations_of(memory)] == [
        ("message", "mend the cart"),
        ("message", "On it."),
        ("command", "$ make\nok"),
        ("error", "$ cat x\nno such file"),
        ("file_diff", f"Tool: apply_patch\nFile: src/cart.py\n{patch}"),
        ("file_diff", "Tool: apply_patch\nFile: b.py\n@@ -0,0 +1 @@\n+b"),
        ("message", "continue"),
        ("message", "continue"),
    ]
    assert [entry.provenance.get("exitCode") for entry in observations_of(memory)][2:4] == [0, 3]
    assert observations_of(memory)[0].branch == "dev"
    assert loaded.ignored == {"something_new": 1}
    assert not any(memory.transfer.import_transcripts(path).added.values())


def test_a_command_that_codex_waits_for_is_one_event_with_all_it_printed(memory, tmp_path) -> None:
    head = "Chunk ID: 1\nProcess {}\nOutput:\n{}"
    runs = head.format("running with session ID 7", "")
    wait = {"session_id": 7, "chars": ""}
    served = {"exit_code": 0, "aggregated_output": "it serves\nand ends\n"}
    path = rollout(
        tmp_path,
        event("user_message", "test it"),
        *call("c1", "exec_command", {"cmd": "make test"}, f"{runs}one passed"),
        *call("c2", "write_stdin", wait, f"{runs}two passed"),
        *call("c3", "write_stdin", {**wait, "chars": "q"}, f"{runs}stopping"),
        *call("c4", "write_stdin", wait, head.format("exited with code 2", "three failed")),
        *call("c5", "exec_command", {"cmd": "make serve"}, f"{runs}it serves\n"),
        *call("c6", "write_stdin", wait, f"{runs}"),
        ("event_msg", {"type": "exec_command_end", "call_id": "c5", **served}),
        *call("c7", "write_stdin", wait, f"{runs}late"),
    )
    memory.transfer.import_transcripts(path)
    ran = [entry for entry in observations_of(memory) if "command" in entry.provenance]
    assert [(entry.kind, entry.content) for entry in ran] == [
        ("error", "$ make test\none passed\ntwo passed\n> q\nstopping\nthree failed"),
        ("command", "$ make serve\nit serves\nand ends"),
    ]


def test_a_rollout_belongs_to_the_space_of_the_same_remote_and_one_of_a_subagent_to_none(
    tmp_path, home
) -> None:
    root = tmp_path / "clone"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    remote = ["git", "-C", str(root), "remote", "add", "origin", "https://example.org/me/shop"]
    subprocess.run(remote, check=True)
    folder = home / ".codex" / "sessions" / "2026" / "03" / "01"
    folder.mkdir(parents=True)
    rollout(folder, event("user_message", "mend it"), cwd="/gone")
    with Memory.open(root) as memory:
        assert memory.transfer.import_transcripts().added["capsules"] == 1
    rollout(folder, event("user_message", "sub"), id="cx-2", source={"subagent": "review"})
    assert not list(sessions_in(str(folder)))


def gemini_messages() -> list[dict[str, Any]]:
    done = {"functionResponse": {"response": {"output": "Exit Code: 1\nfailed"}}}
    shell = {"id": "g1", "name": "run_shell_command", "args": {"command": "make"}, "result": [done]}
    shell |= {"status": "success", "timestamp": at(4)}
    edit = {
        "id": "g2",
        "name": "replace",
        "args": {"file_path": "src/cart.py"},
        "status": "success",
    }
    edit |= {"resultDisplay": {"fileDiff": "@@ -1 +1 @@\n-a\n+b"}, "timestamp": at(5)}
    waiting = {"id": "g3", "name": "replace", "args": {}, "status": "executing"}
    request = {
        "id": "m1",
        "timestamp": at(2),
        "type": "user",
        "content": [{"text": "a long prompt"}],
    }
    answer = {"id": "m2", "timestamp": at(3), "type": "gemini", "content": "Looking."}
    return [
        {"id": "m0", "timestamp": at(1), "type": "info", "content": "hello"},
        {**request, "displayContent": [{"text": "/init"}]},
        answer,
        {**answer, "toolCalls": [shell, edit, waiting]},
        {"id": "m4", "timestamp": at(9), "type": "user", "content": [{"text": "mend the cart"}]},
        {"id": "m5", "timestamp": at(10), "type": "hologram"},
    ]


GEMINI = [
    ("message", "/init"),
    ("message", "Looking."),
    ("error", "$ make\nExit Code: 1\nfailed"),
    ("file_diff", "Tool: replace\nFile: src/cart.py\n@@ -1 +1 @@\n-a\n+b"),
    ("message", "mend the cart"),
]


def test_a_chat_of_gemini_is_the_same_as_a_document_and_as_lines(memory, tmp_path) -> None:
    head = {"sessionId": "gm-1", "projectHash": "00", "startTime": at(0), "lastUpdated": at(9)}
    old, new = tmp_path / "session-2026-gm.json", tmp_path / "session-2026-gm.jsonl"
    old.write_text(json.dumps({**head, "messages": gemini_messages()}, indent=2))
    lines = [{**head, "kind": "main"}]
    for message in gemini_messages():
        lines += [message, {"$set": {"lastUpdated": message["timestamp"]}}]
    lines.append({"$set": {"messages": gemini_messages()[:2]}})
    new.write_text("".join(json.dumps(line) + "\n" for line in lines))
    loaded = memory.transfer.import_transcripts(old)
    assert [(entry.kind, entry.content) for entry in observations_of(memory)] == GEMINI
    assert loaded.ignored == {"hologram": 1}
    assert not any(memory.transfer.import_transcripts(new).added.values())


def test_a_chat_of_gemini_is_known_by_the_folder_that_it_notes_or_its_digest(
    memory, space, home
) -> None:
    from hashlib import sha256

    digest = sha256(str(space).encode()).hexdigest()
    for name, hashed, noted in (("a", digest, ""), ("b", "00", str(space)), ("c", "00", "")):
        chats = home / ".gemini" / "tmp" / name / "chats"
        chats.mkdir(parents=True)
        head = {"sessionId": name, "projectHash": hashed}
        text = "\n".join(map(json.dumps, [head, *gemini_messages()]))
        (chats / "session-1.jsonl").write_text(text)
        if noted:
            (chats.parent / ".project_root").write_text(noted)
    memory.transfer.import_transcripts()
    assert {capsule.scope.session for capsule in memory.journal.entries("capsules")[0]} == {
        "a",
        "b",
    }


def opencode(root: Path, directory: str) -> Path:
    """The storage of OpenCode, with a session, a subagent's and an answer that still grows."""
    now = milliseconds(at(0))

    def put(path: str, **entry: Any) -> None:
        file = root / f"{path}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(entry))

    about = {"directory": directory, "time": {"created": now}}
    put("session/p/ses_1", id="ses_1", **about)
    put("session/p/ses_2", id="ses_2", parentID="ses_1", **about)
    put("message/ses_2/msg_9", id="msg_9", role="user", time={"created": now})
    put("part/msg_9/prt_9", id="prt_9", type="text", text="from a subagent")
    put("message/ses_1/msg_1", id="msg_1", role="user", time={"created": now})
    put("part/msg_1/prt_1", id="prt_1", type="text", text="mend the cart")
    put("part/msg_1/prt_2", id="prt_2", type="text", text="injected", synthetic=True)
    put(
        "message/ses_1/msg_2",
        id="msg_2",
        role="assistant",
        time={"created": now + 5, "completed": now + 99},
    )
    put("part/msg_2/prt_3", id="prt_3", type="reasoning", text="hmm")
    state = {
        "status": "completed",
        "input": {"command": "make"},
        "output": "boom",
        "metadata": {"exit": 2},
    }
    put(
        "part/msg_2/prt_4",
        id="prt_4",
        type="tool",
        tool="bash",
        state={**state, "time": {"end": now + 7}},
    )
    state = {
        "status": "completed",
        "input": {"filePath": f"{directory}/a.py"},
        "metadata": {"diff": "-a\n+b"},
    }
    put(
        "part/msg_2/prt_5",
        id="prt_5",
        type="tool",
        tool="edit",
        state={**state, "time": {"end": now + 8}},
    )
    put("part/msg_2/prt_6", id="prt_6", type="text", text="Mended.", time={"start": now + 9})
    put("message/ses_1/msg_3", id="msg_3", role="assistant", time={"created": now + 100})
    put("part/msg_3/prt_7", id="prt_7", type="text", text="And no", time={"start": now + 101})
    put("part/msg_3/prt_8", id="prt_8", type="hologram")
    return root


def test_the_storage_of_opencode_is_taken_part_by_part(memory, space, home) -> None:
    root = opencode(home / ".local" / "share" / "opencode" / "storage", str(space))
    loaded = memory.transfer.import_transcripts()
    assert [(entry.kind, entry.content) for entry in observations_of(memory)] == [
        ("message", "mend the cart"),
        ("error", "$ make\nboom"),
        ("file_diff", "Tool: edit\nFile: a.py\n-a\n+b"),
        ("message", "Mended."),
    ]
    assert memory.journal.entries("capsules")[1] == 1
    assert loaded.ignored == {"hologram": 1}
    last = root / "message" / "ses_1" / "msg_3.json"
    now = milliseconds(at(0))
    last.write_text(
        json.dumps({"role": "assistant", "time": {"created": now + 100, "completed": now + 200}})
    )
    part = {
        "id": "prt_7",
        "type": "text",
        "text": "And now it holds.",
        "time": {"start": now + 101},
    }
    (root / "part" / "msg_3" / "prt_7.json").write_text(json.dumps(part))
    assert memory.transfer.import_transcripts(root).added["observations"] == 1
    assert observations_of(memory)[-1].content == "And now it holds."


# Whatever else lies there


def test_what_is_broken_is_said_and_the_rest_is_taken(memory, tmp_path) -> None:
    whole = shop().write(tmp_path, "whole").read_bytes()
    lines = whole.splitlines(keepends=True)
    (tmp_path / "cut.jsonl").write_bytes(whole.replace(b"s-1", b"s-2")[:-40])
    broken = [*lines[:8], b"\xff\xfe not json\n", b"[1, 2]\n", b"\n", *lines[8:]]
    (tmp_path / "broken.jsonl").write_bytes(b"".join(broken).replace(b"s-1", b"s-3"))
    (tmp_path / "empty.jsonl").write_bytes(b"")
    (tmp_path / "binary.jsonl").write_bytes(bytes(range(256)) * 50)
    (tmp_path / "other.jsonl").write_text('{"method": "session/update"}\n')
    chat = json.dumps({"sessionId": "g", "projectHash": "0", "messages": gemini_messages()})
    (tmp_path / "session-cut.json").write_text(chat[:-200])
    (tmp_path / "session-new.json").write_text('{"sessionId":"n","projectHash":"0","messages":[]}')
    (tmp_path / "session-list.json").write_text("[]")
    (tmp_path / "folder.jsonl").mkdir()
    loaded = memory.transfer.import_transcripts(tmp_path)
    assert loaded.added["capsules"] == 4
    assert loaded.added["observations"] == 10 + 9 + 10 + 2
    text = "\n".join(loaded.notes)
    assert f"{tmp_path}/empty.jsonl: empty" in text
    assert f"{tmp_path}/binary.jsonl: unrecognised transcript format" in text
    assert "more such files" in text
    tally = Tally()
    for past in sessions_in(str(tmp_path), tally):
        list(past.events())
    assert tally.broken[f"{tmp_path}/broken.jsonl"] == 2
    assert tally.broken[f"{tmp_path}/cut.jsonl"] == 1
    assert set(tally.strange) == {
        f"{tmp_path}/{name}"
        for name in ("empty.jsonl", "binary.jsonl", "other.jsonl", "session-list.json")
    }


def test_values_of_any_type_anywhere_do_no_harm(memory, tmp_path) -> None:
    odd = (None, 7, True, [], {}, "", [None], {"type": ["x"]}, "\ud800", "a\0b", "x" * 300, 1e400)
    session = shop()
    lines = list(session.lines)
    for n, value in enumerate(odd):
        for line in session.lines:
            for key in line:
                if key != "sessionId" or isinstance(value, str):
                    lines.append({**line, key: value, "uuid": f"{n}"})
            response = line.get("message", {}).get("content")
            for block in response if isinstance(response, list) else ():
                for key in block:
                    content = [{**block, key: value}]
                    lines.append({**line, "message": {"role": "user", "content": content}})
    session.lines = lines
    path = session.write(tmp_path)
    memory.transfer.import_transcripts(path)
    assert not any(memory.transfer.import_transcripts(path).added.values())


def test_a_line_that_is_too_long_is_left_out_and_the_next_is_taken(
    memory, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr("kinen.agents.transcripts.find.LONGEST", 1000)
    session = Claude().ask("before").say("x" * 5000).say("after")
    loaded = memory.transfer.import_transcripts(session.write(tmp_path))
    assert [entry.content for entry in observations_of(memory)] == ["before", "after"]
    assert "broken lines left out: 1" in loaded.notes[0]


def test_a_transcript_is_read_line_by_line_however_long_it_is(tmp_path) -> None:
    session = Claude().ask("go")
    for n in range(250):
        session.use("Bash", {"command": f"make {n}"}, "word " * 2000)
    path = session.write(tmp_path)
    assert path.stat().st_size > 2_500_000
    session.lines.clear()
    tracemalloc.start()
    counted = sum(1 for past in sessions_in(str(path)) for _ in past.events())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert counted == 251
    assert peak < 1_000_000


def test_a_path_that_is_not_there_is_an_error_that_says_so(memory) -> None:
    from kinen.errors import NotFound

    with pytest.raises(NotFound, match="no file or folder"):
        memory.transfer.import_transcripts("/nowhere/at/all")


def test_without_any_client_that_is_said(memory) -> None:
    assert memory.transfer.import_transcripts().notes == (
        "no sessions of agents on this machine: give the path of a transcript",
    )
