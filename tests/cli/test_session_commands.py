"""`kinen session list|show` as a person or a script uses it: one notion of a session."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from kinen import Memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Ask = Callable[..., Any]

SECRET = "gh" + "p_" + "a1B2c3D4e5F6" * 3
ESCAPE = "\x1b[31mred"


pytestmark = pytest.mark.usefixtures("without_agents")


def transcript(folder: Path, name: str, day: str, lines: list[dict[str, Any]]) -> Path:
    """A transcript of Claude Code: roles and contents, a second apart."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.jsonl"
    with path.open("w") as file:
        for n, message in enumerate(lines):
            line = {"type": message["role"], "uuid": f"{name}{n}", "sessionId": name, "cwd": "/x"}
            line |= {"timestamp": f"{day}T10:{n // 60:02}:{n % 60:02}Z", "isSidechain": False}
            file.write(json.dumps({**line, "message": message}) + "\n")
    return path


def used(id_: str, tool: str, **values: Any) -> dict[str, Any]:
    use = {"type": "tool_use", "id": id_, "name": tool, "input": values}
    return {"role": "assistant", "content": [use]}


def result(id_: str, text: str, *, error: bool = False) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": id_, "content": text, "is_error": error}
    return {"role": "user", "content": [block]}


def talk() -> list[dict[str, Any]]:
    """A session: a failing test, edits of one file, the test again, and a closing message."""
    lines = [{"role": "user", "content": "Fix the flaky limiter test, please."}]
    lines += [used("a", "Bash", command="pytest -q tests/test_limiter.py")]
    lines += [result("a", "Exit code 1\nE  AssertionError: slept twice\n1 failed", error=True)]
    for n in range(3):
        lines += [used(f"e{n}", "Edit", file_path="src/limiter.py", old_string="a", new_string="b")]
        lines += [result(f"e{n}", "ok")]
    lines += [used("r", "Read", file_path="src/clock.py"), result("r", "1\tclock")]
    lines += [used("s", "Read", file_path="src/sleep.py"), result("s", "1\tsleep")]
    lines += [used("b", "Bash", command="pytest -q tests/test_limiter.py"), result("b", "1 passed")]
    closing = "The limiter waits for the clock now, and its test passes. Next: bump the version."
    return [*lines, {"role": "assistant", "content": closing}]


def recorded(
    run_hook: Callable[..., str], space: Path, session: str, *events: dict[str, Any]
) -> None:
    """A session as hooks record it."""
    for event in events:
        payload = {"session_id": session, "cwd": str(space), "transcript_path": "/x.jsonl", **event}
        run_hook(payload, cwd=space)


def test_recorded_imported_and_hand_kept_sessions_are_listed_alike(
    ask: Ask, run_hook: Callable[..., str], space: Path, tmp_path: Path
) -> None:
    path = transcript(tmp_path / "past", "fa812bfe-1", "2026-03-01", talk())
    ask("import", "transcripts", str(path))
    prompt = {"hook_event_name": "UserPromptSubmit", "prompt": "Why is the build slow?"}
    recorded(
        run_hook, space, "live-1", {"hook_event_name": "SessionStart", "source": "startup"}, prompt
    )
    ask("session", "new", "Where sessions live")
    listed = ask("session", "list")
    assert listed.code == 0
    head, *lines = listed.out.splitlines()
    assert head.split() == [
        *("ID", "DATE", "AGENT", "TIME", "PROMPTS", "EDITS", "COMMANDS", "ERRORS", "SESSION")
    ]
    assert len(lines) == 3
    assert "by hand" in lines[0] + lines[1]
    assert any("claude-code" in line and "Why is the build slow?" in line for line in lines)
    assert "2026-03-01" in lines[-1]
    assert "Fix the flaky limiter test, please. → The limiter waits for the clock now" in lines[-1]
    assert [*lines[-1].split("  ")[0:1]] != [""]
    kinds = [
        session["kind"] for session in json.loads(ask("session", "list", "--json").out)["sessions"]
    ]
    assert sorted(kinds) == ["agent", "agent", "folder"]
    assert "fa812bfe-1" in ask("list", "capsules").out


def test_a_session_is_shown_as_a_timeline(ask: Ask, tmp_path: Path) -> None:
    ask("import", "transcripts", str(transcript(tmp_path / "p", "fa812bfe", "2026-03-01", talk())))
    out = ask("session", "show", "last").out
    lines = [line[7:] for line in out.splitlines()]
    marks = [line for line in lines if line[:2] in ("> ", "✗ ", "✎ ", "✓ ", "· ")]
    assert marks == [
        "> Fix the flaky limiter test, please.",
        "✗ pytest -q tests/test_limiter.py (exit 1)",
        "✎ src/limiter.py ×3",
        "✓ looked at clock.py, sleep.py ×2",
        "✓ pytest -q tests/test_limiter.py",
    ]
    assert "AssertionError: slept twice" in out
    assert "1 passed" in out
    assert "Outcome\n  The limiter waits for the clock now, and its test passes." in out
    for name in ("fa81", "fa812bfe", ""):
        assert ask("session", "show", *filter(None, [name])).out == out
    id_ = json.loads(ask("session", "list", "--json").out)["sessions"][0]["id"]
    assert ask("session", "show", id_.lower()).out == out


def test_a_timeline_is_narrowed_to_what_is_asked_for(ask: Ask, tmp_path: Path) -> None:
    ask("import", "transcripts", str(transcript(tmp_path / "p", "fa812bfe", "2026-03-01", talk())))

    def steps(*words: str) -> list[str]:
        data = json.loads(ask("session", "show", "last", "--json", *words).out)
        return [f"{step['kind']} {step['count']}" for step in data["steps"]]

    assert steps("--only", "prompts") == ["prompt 1"]
    assert steps("--only", "edits", "--only", "errors") == ["command 1", "edit 3"]
    assert steps("--only", "messages") == ["message 1"]
    assert steps("--file", "limiter.py") == ["edit 3"]
    assert steps("--failed") == ["command 1"]
    assert "src/limiter.py" not in ask("session", "show", "last", "--only", "commands").out
    assert "no step of this session matches" in ask("session", "show", "--file", "nowhere.py").out
    assert ask("session", "show", "--only", "odd").code == 2


def test_a_long_session_is_one_page_that_says_how_to_see_the_rest(
    ask: Ask, space: Path, tmp_path: Path
) -> None:
    lines: list[dict[str, Any]] = []
    for n in range(40):
        lines.append({"role": "user", "content": f"Do part {n} of the work now."})
        for k in range(12):
            lines.append(used(f"{n}-{k}", "Bash", command=f"make part-{n}-{k}"))
            lines.append(result(f"{n}-{k}", "done"))
        lines.append({"role": "assistant", "content": f"Part {n} is there and it is tested."})
    ask("import", "transcripts", str(transcript(tmp_path / "p", "long", "2026-03-01", lines)))
    output = ask("session", "show").out.splitlines()
    assert len(output) <= 100
    assert "Do part 0 of" in "\n".join(output)
    assert "Do part 39 of" in "\n".join(output)
    assert "more steps: `kinen session show " in output[-1]
    command = output[-1].split("`")[1].split()[1:]
    full = ask(*command).out
    assert all(f"make part-{n}-{k}" in full for n in range(40) for k in range(12))
    assert len(json.loads(ask("session", "show", "--json").out)["steps"]) == 40 * 14


def test_a_timeline_masks_secrets_and_spells_out_control_characters(ask: Ask, space: Path) -> None:
    with Memory.open(space) as memory:
        memory.journal.open_capsule(f"try {ESCAPE}", scope={"session": "s1"})
        memory.observe(f"use {SECRET} {ESCAPE}", kind="message", scope={"session": "s1"})
        about = {"command": f"curl {ESCAPE}", "exitCode": 1, "toolName": "Bash"}
        text = f"$ curl {ESCAPE}\nerror: {ESCAPE}"
        memory.observe(text, kind="command", scope={"session": "s1"}, provenance=about)
    for words in ((), ("--full",), ("--json",)):
        out = ask("session", "show", *words).out
        assert SECRET not in out
        assert "\x1b" not in out
    assert "\x1b" not in ask("session", "list").out


def test_what_was_redacted_is_not_in_a_timeline(ask: Ask, space: Path) -> None:
    with Memory.open(space) as memory:
        memory.journal.open_capsule("look", scope={"session": "s1"})
        entry = memory.observe("a word to keep in mind", scope={"session": "s1"})
        gone = memory.observe("a word to forget", scope={"session": "s1"})
        memory.journal.redact(gone.ref)
        timeline = memory.sessions.timeline("s1")
    assert [step.ref for step in timeline.steps] == [entry.ref]


def test_an_ambiguous_session_is_refused(ask: Ask, tmp_path: Path) -> None:
    for name in ("fa81-one", "fa81-two"):
        ask("import", "transcripts", str(transcript(tmp_path / "p", name, "2026-03-01", talk())))
    ran = ask("session", "show", "fa81")
    assert (ran.code, ran.out) == (2, "")
    assert "give more of the id" in ran.err
    assert ask("session", "show", "fa81-o").code == 0


def test_a_session_that_worked_elsewhere_has_a_context_too(
    ask: Ask, space: Path, tmp_path: Path
) -> None:
    subprocess.run(["git", "init", "-q", str(space)], check=True)
    edit = used("x", "Edit", file_path="/elsewhere/a.py", old_string="a", new_string="b")
    lines = [*talk()[:1], edit, result("x", "ok"), *talk()[1:]]
    ask("import", "transcripts", str(transcript(tmp_path / "p", "away", "2026-03-01", lines)))
    ran = ask("context", "--session", "away")
    assert ran.code == 0, ran.err
    assert "The limiter waits for the clock now" in ran.out
