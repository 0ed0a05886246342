"""Turns of Codex as its hooks, `notify` and its rollout report them: told once, as they ended."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import forked
from agents.test_hook_command import left_over
from kinen import Memory
from sources.repositories import Repository

if TYPE_CHECKING:
    from pathlib import Path

THREAD = "01a1eb40-e600-7480-af28-ac1651351ed6"
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 8\n*** End Patch"


class Codex:
    """A thread: what the client writes to its rollout, and the hooks that it runs."""

    def __init__(self, project: Path, home: Path) -> None:
        self.project = project
        folder = home / ".codex" / "sessions" / "2026" / "11" / "17"
        folder.mkdir(parents=True)
        self.rollout = folder / f"rollout-2026-11-17T20-44-21-{THREAD}.jsonl"
        self.second = 0
        self.prompts: list[str] = []
        self.write("session_meta", id=THREAD, cwd=str(project), source="exec")

    def write(self, type_: str, **payload: Any) -> None:
        self.second += 1
        at = f"2026-11-17T20:44:{self.second:02}.000Z"
        line = json.dumps({"timestamp": at, "type": type_, "payload": payload})
        with self.rollout.open("a") as file:
            file.write(f"{line}\n")

    def command(self, id_: str, line: str, output: str) -> None:
        """A call of the shell in the rollout, with the report of the tool."""
        call = {"call_id": id_, "name": "exec_command", "arguments": json.dumps({"cmd": line})}
        self.write("response_item", type="function_call", **call)
        self.write("response_item", type="function_call_output", call_id=id_, output=output)

    def item(self, type_: str, id_: str, **fields: Any) -> None:
        item = {"type": type_, "id": id_, **fields}
        self.write("event_msg", type="item_completed", thread_id=THREAD, item=item)

    def hook(self, event: str, **more: Any) -> None:
        about = {"session_id": THREAD, "transcript_path": str(self.rollout)}
        turn = {"turn_id": f"turn-{len(self.prompts)}"}
        self.run(
            stdin=json.dumps(
                {**about, **turn, "cwd": str(self.project), "hook_event_name": event, **more}
            )
        )

    def ran(self, id_: str, line: str, output: str) -> None:
        tool = {"tool_name": "Bash", "tool_input": {"command": line}, "tool_use_id": id_}
        self.hook("PostToolUse", **tool, tool_response=output)

    def prompt(self, text: str, *, hooked: bool = True) -> None:
        self.prompts.append(text)
        if hooked:
            self.hook("UserPromptSubmit", prompt=text)

    def notify(self, answer: str) -> None:
        event = {
            "type": "agent-turn-complete",
            "thread-id": THREAD,
            "turn-id": f"turn-{len(self.prompts)}",
            "cwd": str(self.project),
            "input-messages": self.prompts,
            "last-assistant-message": answer,
        }
        self.run("--notify", json.dumps(event))

    def stop(self, answer: str) -> None:
        self.hook("Stop", last_assistant_message=answer)
        self.notify(answer)

    def run(self, *words: str, stdin: str = "") -> None:
        line = ["hook", "codex", *words]
        done = forked.shared().run(line, self.project, stdin, dict(os.environ))
        assert (done.code, done.err) == (0, b"")


def observations(project: Path) -> list[Any]:
    assert left_over() == []
    with Memory.open(project) as memory:
        return list(reversed(memory.journal.entries("observations")[0]))


def show(project: Path) -> str:
    done = forked.shared().run(["session", "show"], project, "", dict(os.environ))
    assert done.code == 0
    return done.out.decode()


def test_a_thread_is_told_once_and_as_its_commands_ended(tmp_path: Path, home: Path) -> None:
    project = tmp_path / "shop"
    Repository(project).commit("init", {"a.py": "x = 1\n"})
    codex = Codex(project, home)
    codex.hook("SessionStart", source="startup")
    codex.prompt("Write the changelog")
    refused = "git commit -qm 'fix: x is 9' >/dev/null"
    codex.command("c1", refused, "Chunk ID: 1\nProcess exited with code 1\nOutput:\n")
    codex.ran("c1", refused, "")
    codex.command("c2", "make lint", "Chunk ID: 2\nProcess exited with code 0\nOutput:\nfine\n")
    codex.ran("c2", "make lint", "fine\n")
    patch = f"apply_patch <<'EOF'\n{PATCH}\nEOF"
    codex.command("c3", patch, "Wall time: 0 seconds\nOutput:\nExit code: 0\nOutput:\nSuccess.")
    # It goes on in the background, and ends after the turn.
    codex.command("c4", "make serve", "Chunk ID: 4\nProcess running with session ID 7\nOutput:\n")
    with codex.rollout.open("a") as file:
        file.write('{"timestamp": "2026-11-17T20:44:20Z", "type": "event_msg", "payl\n\0\n[]\n')
    codex.stop("The changelog is written in CHANGES.md now.")
    unknown = [entry for entry in observations(project) if "make serve" in entry.content]
    assert [entry.provenance.get("exitCode") for entry in unknown] == [None]

    codex.item("CommandExecution", "c4", exit_code=2, aggregated_output="no such port\n")
    codex.prompt("Now translate it")
    codex.stop("The translation is in CHANGES.de.md now.")
    codex.hook("SessionEnd", reason="other")
    assert left_over() == []
    codex.notify("The translation is in CHANGES.de.md now.")  # late: it opens nothing again

    entries = observations(project)
    assert [entry.content for entry in entries if entry.kind == "message"] == [
        "Write the changelog",
        "The changelog is written in CHANGES.md now.",
        "Now translate it",
        "The translation is in CHANGES.de.md now.",
    ]
    ended = {
        entry.provenance["command"]: (entry.kind, entry.provenance["exitCode"])
        for entry in entries
        if "command" in entry.provenance
    }
    expected = {refused: ("error", 1), "make lint": ("command", 0), "make serve": ("error", 2)}
    assert ended == expected
    (edit,) = [entry for entry in entries if entry.kind == "file_diff"]
    assert edit.files == ("a.py",)
    assert "-x = 1\n+x = 8" in edit.content
    with Memory.open(project) as memory:
        assert [capsule.status for capsule in memory.journal.entries("capsules")[0]] == ["closed"]
    shown = show(project)
    assert "CHANGES.de.md" in shown
    assert "not answered" not in shown
    assert "1 commit" not in shown
    assert "✗ make serve (exit 2)" in shown


def test_where_no_hook_ran_notify_and_the_rollout_tell_the_turn(tmp_path: Path, home: Path) -> None:
    project = tmp_path / "shop"
    Repository(project).commit("init", {"a.py": "x = 1\n"})
    codex = Codex(project, home)
    for n, prompt in enumerate(("We use Postgres.", "Add an index."), 1):
        codex.prompt(prompt, hooked=False)
        line = f"psql -f {n}.sql"
        codex.command(f"c{n}", line, f"Chunk ID: 1\nProcess exited with code {n}\nOutput:\n")
        codex.notify(f"Done as asked, step {n} of the work.")
        assert left_over() == []
    entries = observations(project)
    by_kind = {
        kind: [e.content for e in entries if e.kind == kind] for kind in ("message", "error")
    }
    assert by_kind["message"] == [
        "We use Postgres.",
        "Done as asked, step 1 of the work.",
        "Add an index.",
        "Done as asked, step 2 of the work.",
    ]
    assert by_kind["error"] == ["$ psql -f 1.sql", "$ psql -f 2.sql"]

    # What was forgotten does not come back with the next turn.
    with Memory.open(project) as memory:
        (capsule,) = memory.journal.entries("capsules")[0]
        memory.journal.forget(capsule.ref)
    codex.command("c9", "psql -l", "Chunk ID: 1\nProcess exited with code 1\nOutput:\n")
    codex.notify("Done as asked, step 2 of the work.")
    assert not any("psql" in entry.content for entry in observations(project))
    assert os.path.exists(codex.rollout)
