"""Every agent with hooks or a plugin: a session in its own payloads, read by its description."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kinen import Memory
from kinen.agents.client import clients, load
from kinen.agents.translate import event_name
from kinen.hooks import command
from kinen.hooks.command import HANDLERS

PAYLOADS = Path(__file__).parent / "payloads"
AGENTS = {name: client for name, client in clients().items() if client.events}
RECORDED = sorted(path.stem for path in PAYLOADS.glob("*.jsonl"))
SECRET = "SECRETLY KNOWN"
"""What kinen itself answered in the fixtures."""
LAST = ("error", "message")
DRIVER = """
import json, os, sys
from kinen.hooks import command, payload
from kinen.journal import write

def spawn(session, task="", wait=False):  # no process in the background
    spawned.append((session.agent, session.id if task == "--close" else ""))


command._spawn = spawn
spawned = []
answers = []
for line in sys.stdin:
    agent, event, body = json.loads(line)
    if event == "--notify":
        answers.append(command._notified(body, agent))
    else:
        answers.append(command.handled(body, agent, event))
    while write.open_connections:
        write.open_connections.pop().close()
print(json.dumps([answers, spawned]))
"""


def lines(agent: str, space: Path, session: str = "") -> list[tuple[str, str, dict[str, Any]]]:
    """The fixtures of an agent in a space, of another session if one is named."""
    transcript = space.parent / "events.jsonl"
    entry = {
        "type": "assistant.message",
        "id": "e1",
        "data": {"content": "It waits for its bucket."},
    }
    transcript.write_text(json.dumps(entry) + "\n" + json.dumps({"type": "session.end"}) + "\n")
    text = (PAYLOADS / f"{agent}.jsonl").read_text()
    text = text.replace("ROOT", str(space)).replace("TRANSCRIPT", str(transcript))
    read = [json.loads(line) for line in text.splitlines()]
    events = [(agent, line["event"], line["payload"]) for line in read]
    if session:
        fields = ("session_id", "sessionId", "conversation_id", "thread-id")
        for _, _, payload in events:
            payload.update({name: session for name in fields if name in payload})
    return events


def replay(
    events: list[tuple[str, str, dict[str, Any]]], **env: str
) -> tuple[list[str], list[list[str]]]:
    """What each hook printed, and the processes that they started in the background."""
    ran = subprocess.run(
        [sys.executable, "-c", DRIVER],
        input="\n".join(map(json.dumps, events)),
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    answers, spawned = json.loads(ran.stdout)
    return answers, spawned


def recorded(space: Path) -> list[Any]:
    with Memory.open(space) as memory:
        return list(reversed(memory.journal.entries("observations")[0]))


def test_every_agent_with_events_has_fixtures() -> None:
    # The payloads of Claude Code are in test_hooks.py and test_hook_import_parity.py.
    assert sorted(set(AGENTS) - {"claude-code"}) == RECORDED


def test_an_answer_that_is_written_after_the_end_of_its_turn_is_recorded(
    space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "FLUSHED", 60)
    ((_, _, stop),) = [event for event in lines("copilot", space) if "Stop" in event[1]]
    transcript = space.parent / "events.jsonl"
    written = transcript.read_text()
    transcript.write_text('{"type": "user.message", "data": {"content": "Why?"}}\n')
    whole = space.parent / "whole.jsonl"
    whole.write_text(written)
    late = threading.Timer(0.1, lambda: whole.replace(transcript))
    late.start()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(stop).encode())))
    monkeypatch.chdir(space)
    assert command.main(["copilot", "agentStop"]) == 0
    late.join()
    assert [entry.content for entry in recorded(space)] == ["It waits for its bucket."]


@pytest.mark.parametrize("agent", RECORDED)
def test_a_session_is_recorded_by_the_shared_rules(agent: str, space: Path) -> None:
    events = lines(agent, space)
    answers, spawned = replay(events)
    entries = recorded(space)
    assert {entry.scope.agent for entry in entries} == {agent}
    assert len({entry.capsule for entry in entries}) == 1
    prompt, command, edit, error, answer = entries
    assert (prompt.kind, prompt.content) == ("message", "Why does the limiter sleep?")
    assert prompt.provenance["role"] == "user"
    assert (command.kind, command.content) == ("command", "$ echo hello\nhello")
    assert edit.kind == "file_diff"
    assert edit.files == ("notes.txt",)
    assert "+abd" in edit.content
    assert error.kind == "error"
    if agent != "codex":  # its hooks have no exit codes: the fixture has a tool that failed
        assert error.content == "$ make\nExit code 2\nno rule"
        assert (command.provenance["exitCode"], error.provenance["exitCode"]) == (0, 2)
    else:
        assert "exitCode" not in command.provenance
    assert (answer.kind, answer.content) == ("message", "It waits for its bucket.")
    assert SECRET not in str(entries)
    ended = [body for _, event, body in events if "nd" in event or "End" in str(body)]
    closed = [words for words in spawned if words[1]]
    assert len(closed) == bool(ended)
    assert not any(answers)  # there is nothing to tell yet


@pytest.mark.parametrize("agent", RECORDED)
def test_an_event_that_comes_twice_is_recorded_once(agent: str, space: Path) -> None:
    events = lines(agent, space)
    stable = [event for event in events if event[2].get("at") is None or "tool_use_id" in event[2]]
    replay(stable)
    once = [entry.id for entry in recorded(space)]
    replay(stable)
    assert [entry.id for entry in recorded(space)] == once


@pytest.mark.parametrize("agent", RECORDED)
def test_what_is_known_is_told_at_the_start_in_the_form_of_the_client(
    agent: str, space: Path
) -> None:
    with Memory.open(space) as memory:
        memory.journal.pin(memory.observe("Deploys are on Mondays only").ref, "keep in mind")
    answers, _ = replay(lines(agent, space)[:1])
    form = load(agent).answer
    if form == "text":
        assert answers[0].startswith("<kinen-memory>")
        output = answers[0]
    else:
        answer = json.loads(answers[0])
        output = answer.get("additionalContext") or answer.get("additional_context")
        if form == "claude":
            assert answer["hookSpecificOutput"]["hookEventName"] == "SessionStart"
            output = answer["hookSpecificOutput"]["additionalContext"]
    assert "Mondays only" in output


def test_the_hooks_of_claude_code_that_copilot_runs_are_of_copilot_and_once(space: Path) -> None:
    own = lines("copilot", space)
    borrowed = []
    for _, event, body in own:
        claude = {"sessionStart": "SessionStart", "userPromptSubmitted": "UserPromptSubmit"}
        claude |= {"postToolUse": "PostToolUse", "agentStop": "Stop", "sessionEnd": "SessionEnd"}
        moment = body["timestamp"] / 1000
        payload = {"hook_event_name": claude[event], "session_id": body["sessionId"]}
        payload |= {"cwd": body["cwd"], "timestamp": iso(moment)}
        names = {"toolName": "tool_name", "toolArgs": "tool_input", "prompt": "prompt"}
        names |= {"transcriptPath": "transcript_path", "source": "source"}
        payload |= {names[key]: body[key] for key in names if key in body}
        if payload.get("tool_name") == "bash":
            payload["tool_name"] = "Bash"
        if "toolResult" in body:
            text = body["toolResult"]["textResultForLlm"]
            payload["tool_result"] = {"result_type": "success", "text_result_for_llm": text}
        borrowed.append(("claude-code", "", payload))
    both = [event for pair in zip(own, borrowed, strict=True) for event in pair]
    replay(both, COPILOT_CLI="1")
    assert len(recorded(space)) == 5
    assert {entry.scope.agent for entry in recorded(space)} == {"copilot"}


CLAUDE = {
    "sessionStart": "SessionStart",
    "beforeSubmitPrompt": "UserPromptSubmit",
    "postToolUse": "PostToolUse",
    "postToolUseFailure": "PostToolUseFailure",
    "afterAgentResponse": "Stop",
    "sessionEnd": "SessionEnd",
}


@pytest.mark.parametrize("names", [{}, CLAUDE], ids=["own names", "names of Claude Code"])
def test_the_hooks_of_claude_code_that_cursor_runs_are_of_cursor_and_once(
    space: Path, names: dict[str, str]
) -> None:
    with Memory.open(space) as memory:
        memory.journal.pin(memory.observe("Deploys are on Mondays only").ref, "keep in mind")
    both = []
    for agent, event, body in lines("cursor", space):
        name = body["hook_event_name"]
        both.append((agent, event, body))
        both.append(("claude-code", "", {**body, "hook_event_name": names.get(name, name)}))
    answers, spawned = replay(both)
    entries = [entry for entry in recorded(space) if entry.scope.session]
    assert [entry.kind for entry in entries] == ["message", "command", "file_diff", *LAST]
    assert {entry.scope.agent for entry in entries} == {"cursor"}
    assert len({entry.capsule for entry in entries}) == 1
    assert sum("Mondays only" in answer for answer in answers) == 1
    assert {tuple(words) for words in spawned if words[1]} == {("cursor", entries[0].scope.session)}


def test_an_edit_that_failed_in_copilot_is_an_error(space: Path) -> None:
    body = {"sessionId": "s", "timestamp": 1772359204000, "cwd": str(space), "toolName": "edit"}
    body["toolArgs"] = {"path": f"{space}/notes.txt", "old_str": "zzz", "new_str": "abd"}
    replay([("copilot", "postToolUseFailure", {**body, "error": "No match found"})])
    (entry,) = recorded(space)
    assert entry.kind == "error"
    assert "No match found" in entry.content


def iso(moment: float) -> str:
    from kinen.text import iso

    return iso(moment)


def test_a_claude_code_that_another_agent_started_is_itself(space: Path) -> None:
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(space)}
    prompt |= {"transcript_path": "/home/dev/.claude/projects/x/s.jsonl", "prompt": "Go on."}
    replay([("claude-code", "", {**prompt, "prompt_id": "p"})], COPILOT_CLI="1")
    assert [entry.scope.agent for entry in recorded(space)] == ["claude-code"]


def test_every_event_of_a_description_has_a_handler() -> None:
    for client in AGENTS.values():
        for event in (*client.events, *client.before_tools):
            assert event_name(client, event) in HANDLERS, (client.name, event)
        assert set(client.told_at) <= set(HANDLERS)


def test_a_description_refuses_a_field_that_there_is_not() -> None:
    from kinen.agents.client import Client

    with pytest.raises(TypeError, match="hoook"):
        Client("x", "X", hoook={})


FOUR = ("claude-code", "codex", "gemini", "opencode")


def session_of(agent: str, space: Path, session: str) -> list[tuple[str, str, dict[str, Any]]]:
    if agent != "claude-code":
        return lines(agent, space, session)
    base = {"session_id": session, "cwd": str(space), "prompt_id": f"{session}-p"}
    ran = {"tool_name": "Bash", "tool_input": {"command": "echo hello"}, "tool_use_id": session}
    bodies = (
        {"hook_event_name": "SessionStart", "source": "startup"},
        {"hook_event_name": "UserPromptSubmit", "prompt": "Why does the limiter sleep?"},
        {"hook_event_name": "PostToolUse", **ran, "tool_response": {"stdout": "hello"}},
        {"hook_event_name": "Stop", "last_assistant_message": "It waits for its bucket."},
        {"hook_event_name": "SessionEnd"},
    )
    return [(agent, "", {**base, **body}) for body in bodies]


def test_four_agents_at_the_same_time_lose_nothing(space: Path) -> None:
    sessions = [(agent, f"{agent}-{n}") for n in range(3) for agent in FOUR]
    with ThreadPoolExecutor(4) as pool:
        runs = [
            pool.submit(replay, [*map(renamed(session), session_of(agent, space, session))])
            for agent, session in sessions
        ]
        for run in runs:
            run.result()
    counts: dict[str, int] = {}
    for entry in recorded(space):
        counts[entry.scope.session] = counts.get(entry.scope.session, 0) + 1
    expected = {session: 3 if agent == "claude-code" else 5 for agent, session in sessions}
    assert counts == expected


def renamed(session: str) -> Any:
    """Gives tool uses ids of their session: the fixtures of an agent all have the same."""

    def change(event: tuple[str, str, dict[str, Any]]) -> tuple[str, str, dict[str, Any]]:
        agent, name, body = event
        ids = {key: f"{session}-{body[key]}" for key in ("tool_use_id", "turn_id") if key in body}
        if "turn-id" in body:
            ids["turn-id"] = f"{session}-{body['turn-id']}"
        return agent, name, {**body, **ids}

    return change


def test_each_agent_is_told_what_the_others_did(space: Path) -> None:
    tasks = {
        "claude-code": "Weigh the parcels twice",
        "codex": "Move the sessions to Postgres",
        "gemini": "Rotate the tokens hourly",
        "opencode": "Rename the limiter",
    }
    subprocess.run(["git", "init", "-q", "-b", "main", space], check=True)
    for agent, task in tasks.items():
        begun = [*map(renamed(agent), session_of(agent, space, agent))]
        for _, _, body in begun:
            if "prompt" in body:
                body["prompt"] = task
            if "input-messages" in body:
                body["input-messages"] = [task]
        answers, _ = replay(begun[:-1])  # nobody has closed it yet
        text = answers[0].replace("\\n", "\n")
        earlier = list(tasks)[: list(tasks).index(agent)]
        for other in earlier:
            assert text.count(tasks[other]) == 1, text
            assert f"{other} on main" in text
        assert task not in text
    agent, event, body = session_of("opencode", space, "opencode")[0]
    again, _ = replay([(agent, event, {**body, "source": "resume"})])
    assert not any(task in again[0] for task in tasks.values())
