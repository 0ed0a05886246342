"""What the next session is told after a day of others: by the hook, as a client runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from kinen import Memory
from kinen.text import estimate
from sources.repositories import Repository

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Kinen = Callable[..., Any]

CLIENT = """
import json, subprocess, sys
for line in sys.stdin:
    done = subprocess.run([sys.executable, "-m", "kinen", "hook", "claude-code"],
                          input=line.encode(), capture_output=True)
    print(json.dumps(done.stdout.decode()), flush=True)
"""
"""A client: a process that runs a hook for each payload, until it is killed."""


class Day:
    """Sessions of a repository, one event after the other."""

    def __init__(self, repo: Repository, run_hook: Callable[..., str]) -> None:
        self.run_hook = run_hook
        self.repo = repo
        self.root = repo.root
        self.count = 0

    def payload(self, event: str, session: str, **more: Any) -> dict[str, Any]:
        self.count += 1
        return {
            "session_id": session,
            "transcript_path": f"{self.root}/.claude/{session}.jsonl",
            "cwd": str(self.root),
            "prompt_id": f"p{self.count}",
            "tool_use_id": f"t{self.count}",
            "hook_event_name": event,
            **more,
        }

    def send(self, event: str, session: str, agent: str = "claude-code", **more: Any) -> str:
        return self.run_hook(self.payload(event, session, **more), agent)

    def start(self, session: str, source: str = "startup", agent: str = "claude-code") -> str:
        printed = self.send("SessionStart", session, agent, source=source)
        return text_of(printed)

    def session(
        self, id_: str, prompt: str, answer: str, *events: dict[str, Any] | Callable[[], object]
    ) -> None:
        """A whole session; it is closed and summarised when this returns.

        A call among its events is what is done in between.
        """
        self.start(id_)
        self.send("UserPromptSubmit", id_, prompt=prompt)
        for event in events:
            if callable(event):
                event()
            else:
                self.send(**event, session=id_)
        self.send("Stop", id_, last_assistant_message=answer)
        self.run_hook("", "claude-code", "--close", id_, cwd=self.root)

    def commit(self, subject: str) -> None:
        now = f"{int(time.time())} +0000"  # as git does
        self.repo.commit(subject, {}, GIT_AUTHOR_DATE=now, GIT_COMMITTER_DATE=now)

    def edit(self, path: str) -> dict[str, Any]:
        inputs = {"file_path": f"{self.root}/{path}"}
        patch = {"structuredPatch": [{"lines": ["-a", "+b"]}]}
        return {
            "event": "PostToolUse",
            "tool_name": "Edit",
            "tool_input": inputs,
            "tool_response": patch,
        }


def ran(command: str, output: str = "") -> dict[str, Any]:
    return {
        "event": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": command},
        "tool_response": {"stdout": output, "stderr": ""},
    }


def failed(command: str, error: str) -> dict[str, Any]:
    return {
        "event": "PostToolUseFailure",
        "tool_name": "Bash",
        "tool_input": {"command": command},
        "error": f"Exit code 1\n{error}",
    }


def text_of(printed: str) -> str:
    if not printed:
        return ""
    return str(json.loads(printed)["hookSpecificOutput"]["additionalContext"])


@pytest.fixture
def day(tmp_path: Path, run_hook: Callable[..., str]) -> Day:
    repo = Repository(tmp_path / "shop", "--template=")
    repo.commit("init", {"a.py": "1"})
    return Day(repo, run_hook)


HALF_DONE = (
    "Half done: charges are migrated, refunds are not.\n\nNext steps:\n"
    "- map the invoice number in the refunds importer\n- run the backfill on staging"
)


def migrate(day: Day) -> None:
    edit = day.edit("billing/importer.py")
    test = failed("pytest -q tests/billing", "KeyError: 'invoice'")
    day.session("s1", "Migrate the billing importer", HALF_DONE, edit, test)


def test_half_done_work_is_told_until_it_is_done_and_questions_after_it_are_not(
    day: Day, kinen: Kinen
) -> None:
    migrate(day)
    for number, question in enumerate(("What does a.py do?", "thanks", "how do I quit vim")):
        day.session(f"t{number}", question, "Type :q. Shall I explain more?")
    brief = day.start("s5")
    for line in (
        "Next: map the invoice number in the refunds importer",
        "Next: run the backfill on staging",
        "Failed: `pytest -q tests/billing` (exit 1): KeyError: 'invoice'",
        "Half done: charges are migrated, refunds are not.",
        "Asked for: Migrate the billing importer",
        "claude-code",
        "Known here: 4 sessions",
    ):
        assert brief.count(line) >= 1, line
    assert "vim" not in brief
    assert "a.py do" not in brief
    handoff = kinen("handoff", cwd=day.root).out
    assert "vim" not in handoff
    assert "- run the backfill on staging" in handoff
    assert "KeyError: 'invoice'" in handoff

    fixed = (day.edit("billing/refunds.py"), ran("pytest -q tests/billing", "9 passed"))
    commit = ran(
        "git commit -qam 'fix: map the invoice number of refunds'",
        "[main 1f3c2ab] fix: map the invoice number of refunds",
    )
    day.session(
        "s6",
        "Go on with it",
        "Refunds are migrated with their invoice numbers.",
        *fixed,
        lambda: day.commit("fix: map the invoice number of refunds"),
        commit,
    )
    brief = day.start("s7")
    assert "Failed:" not in brief
    assert "Next: map the invoice" not in brief
    assert "Next: run the backfill on staging" in brief
    assert "Refunds are migrated with their invoice numbers." in brief
    with Memory.open(day.root) as memory:
        assert "Next: run the backfill on staging" in memory.journal.brief("new", "codex")


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")
def test_a_killed_session_is_told_as_stopped_with_what_it_did_and_a_live_one_as_at_work(
    day: Day, kinen: Kinen
) -> None:
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert client.stdin is not None
    assert client.stdout is not None
    for event in (
        {"event": "SessionStart", "source": "startup"},
        {"event": "UserPromptSubmit", "prompt": "Migrate the scheduler to cron"},
        day.edit("a.py"),
        failed("pytest -q", "SyntaxError: invalid syntax"),
    ):
        client.stdin.write(json.dumps(day.payload(**event, session="k1")) + "\n")
        client.stdin.flush()
        client.stdout.readline()
    working = day.start("s2")
    assert "at work: Migrate the scheduler to cron; edited a.py" in working
    assert "stopped" not in working
    client.kill()
    client.communicate()
    stopped = "stopped in the middle: edited a.py; `pytest -q` failed: SyntaxError: invalid syntax"
    assert stopped in day.start("s3")
    with Memory.open(day.root) as memory:
        while not memory.journal.entries("summaries")[0]:
            time.sleep(0.1)  # the start before has begun to close it
    brief = day.start("s4")
    assert stopped in brief
    assert "at work: Migrate" not in brief
    assert stopped in kinen("handoff", cwd=day.root).out


def test_all_typed_checkpoints_are_told_the_latest_first(day: Day) -> None:
    texts = [f"The {noun} stays in Postgres" for noun in ("queue", "cache", "index", "lock")]
    with Memory.open(day.root) as memory:
        for text in texts:
            memory.worklog.checkpoint(text, type="decision")
    brief = day.start("s1")
    places = [brief.index(text) for text in texts]
    assert places == sorted(places, reverse=True)


def test_the_budget_is_used_and_nothing_is_told_twice(day: Day) -> None:
    for number in range(8):
        name = f"module{number}"
        answer = (
            f"Rewrote {name} so that it streams its rows.\n\nNext steps:\n"
            f"- measure {name} on production data with ten million rows\n"
            f"- delete the old table that {name} wrote to"
        )
        day.session(f"s{number}", f"Rewrite {name}", answer, day.edit(f"{name}.py"))
    brief = day.start("next")
    assert 500 < estimate(brief) <= 600
    lines = [line.strip("- ") for line in brief.splitlines() if "odule" in line]
    assert len(lines) == len(set(lines))
    assert sum("measure module" in line for line in lines) >= 5


def test_after_a_compaction_a_session_gets_its_own_facts_back(day: Day) -> None:
    day.start("s1")
    prompt = "We decided to keep the lexer by hand instead of a generator."
    day.send("UserPromptSubmit", "s1", prompt=prompt)
    for event in (
        day.edit("parser.py"),
        ran("make lexer OPT=2", "ok"),
        failed("make parser", "error: unexpected token"),
    ):
        day.send(**event, session="s1")
    day.send("PreCompact", "s1", trigger="auto")
    with Memory.open(day.root) as memory:
        while not memory.journal.entries("summaries")[0]:
            time.sleep(0.1)
    brief = day.start("s1", "compact")
    own = brief.partition("## This session so far")[2].partition("##")[0]
    for text in ("keep the lexer by hand", "parser.py", "make lexer OPT=2", "unexpected token"):
        assert text in own, text


def test_a_subagent_gets_pins_rules_and_what_concerns_the_files_of_its_task(
    day: Day, kinen: Kinen
) -> None:
    migrate(day)
    kinen("pin", "Never touch b.py without asking Dana", cwd=day.root)
    kinen("checkpoint", "Amounts are integers of cents", "--type", "decision", cwd=day.root)
    with Memory.open(day.root) as memory:
        memory.worklog.checkpoint("Look at it again", next="split `tests/billing` by currency")
    use = {"type": "tool_use", "name": "Agent", "input": {"prompt": "Read tests/billing only."}}
    line = {"type": "assistant", "message": {"content": [use]}}
    transcript = day.root / ".claude" / "s2.jsonl"
    transcript.parent.mkdir()
    transcript.write_text(json.dumps(line) + "\n")
    day.start("s2")
    about = {"agent_id": "a1", "agent_type": "general-purpose"}
    text = text_of(day.send("SubagentStart", "s2", **about))
    assert "asking Dana" in text
    assert "integers of cents" in text
    assert "pytest -q tests/billing" in text
    assert "charges are migrated" not in text
    assert day.send("SubagentStart", "s2", agent_id="a2", agent_type="") == ""


@pytest.mark.parametrize(("agent", "again"), [("qwen", True), ("claude-code", False)])
def test_a_resumed_session_is_told_again_where_the_client_drops_what_it_was_told(
    day: Day, kinen: Kinen, agent: str, again: bool
) -> None:
    kinen("pin", "Never touch b.py without asking Dana", cwd=day.root)
    assert "asking Dana" in day.start("r1", agent=agent)
    assert ("asking Dana" in day.start("r1", "resume", agent)) is again
