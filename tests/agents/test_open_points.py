"""Which failures and steps of earlier sessions the next one is told: those that are still open."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from agents.test_session_start import CLIENT, Day, failed, ran
from kinen import Memory
from sources.repositories import Repository

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Kinen = Callable[..., Any]

needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")


@pytest.fixture
def day(tmp_path: Path, run_hook: Callable[..., str]) -> Day:
    repo = Repository(tmp_path / "shop", "--template=")
    repo.commit("init", {"a.py": "1"})
    return Day(repo, run_hook)


class Client:
    """A client of its own process, which can be killed."""

    def __init__(self, day: Day, session: str) -> None:
        self.day = day
        self.session = session
        self.process = subprocess.Popen(
            [sys.executable, "-c", CLIENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def send(self, *events: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        for event in events:
            line = json.dumps(self.day.payload(**event, session=self.session))
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            self.process.stdout.readline()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


START = {"event": "SessionStart", "source": "startup"}


def asked(prompt: str) -> dict[str, Any]:
    return {"event": "UserPromptSubmit", "prompt": prompt}


def answered(text: str) -> dict[str, Any]:
    return {"event": "Stop", "last_assistant_message": text}


def summaries(day: Day) -> None:
    """Wait until the sessions that ended are summarised."""
    with Memory.open(day.root) as memory:
        while not memory.journal.entries("summaries")[0]:
            time.sleep(0.1)


PASSED = "Test Suites: 2 passed, 2 total\nTests: 9 passed, 9 total"
PIPED = ran("pytest -q 2>&1 | tail -5", "FAILED tests/test_net.py::test_retry\n1 failed, 8 passed")


@pytest.mark.parametrize(
    ("failure", "later", "open_"),
    [
        (PIPED, ran("pytest -q 2>&1 | tail -5", "9 passed in 0.1s"), False),
        (PIPED, ran("pytest -q 2>&1 | tail -5", "1 failed, 8 passed"), True),
        (PIPED, ran("pytest -q 2>&1 | tail -5", "collecting"), True),
        (failed("npm test", "1 failing"), ran("npm test 2>&1 | tail -20", PASSED), False),
        (failed("npm test", "1 failing"), ran("npm test && npm run lint", PASSED), False),
        (failed("npm test", "1 failing"), ran("npm test; echo done", "1 failing\ndone"), True),
        (failed("pytest -q tests/test_x.py", "1 failed"), ran("pytest -q", "40 passed"), False),
        (failed("pytest -q", "1 failed"), ran("pytest -q tests/test_x.py", "4 passed"), True),
        (failed("cd web && npm test", "1 failing"), ran("cd api && npm test", PASSED), True),
        (failed("cd web && npm test", "1 failing"), ran("cd web && npm test", PASSED), False),
        (failed("make parser", "error: x"), ran("make lexer", "ok"), True),
    ],
)
def test_a_failure_is_open_until_a_command_that_covers_it_succeeds(
    day: Day, failure: dict[str, Any], later: dict[str, Any], open_: bool
) -> None:
    day.session("s1", "Add retries", "Retries are added.", day.edit("net.py"), failure)
    assert "Failed: `" in day.start("n1")
    day.session("s2", "Go on with it", "It is done.", day.edit("net.py"), later)
    told = [line for line in day.start("n2").splitlines() if "Failed: `" in line]
    if failure is PIPED and open_ and "failed" in str(later):
        assert len(told) == 1  # by the session that failed last
    assert bool(told) is open_


def test_a_failure_of_one_branch_is_open_after_a_success_on_another(day: Day) -> None:
    day.session(
        "s1", "Fix it", "Login is fixed.", day.edit("a.py"), failed("pytest -q", "KeyError")
    )
    day.repo.git("checkout", "-q", "-b", "feature")
    day.session("s2", "Build it", "It is built.", day.edit("b.py"), ran("pytest -q", "9 passed"))
    assert "Failed: `pytest -q` (exit 1): KeyError" in day.start("n1")
    day.repo.git("checkout", "-q", "-")
    day.session("s3", "Again", "It works.", day.edit("a.py"), ran("pytest -q", "9 passed"))
    assert "Failed:" not in day.start("n2")


def test_the_absolute_path_of_the_project_is_its_folder(day: Day) -> None:
    broken = failed("pytest -q", "KeyError")
    day.session("s1", "Fix it", "Half of it is fixed.", day.edit("a.py"), broken)
    inner = ran(f"cd {day.root}/docs && pytest -q", "1 passed in 1s")
    day.session("s2", "Go on", "The docs are tested.", day.edit("a.py"), inner)
    assert "Failed: `pytest -q`" in day.start("n1")
    whole = ran(f"cd {day.root} && pytest -q", "9 passed in 1s")
    day.session("s3", "Go on", "Everything is tested.", day.edit("a.py"), whole)
    assert "Failed:" not in day.start("n2")


def test_a_step_that_is_ticked_off_is_done_whatever_it_says(day: Day) -> None:
    step = "The cache is not cleaned up; add a step that does it"
    day.session("s1", "Cache it", f"Cached.\n\nNext steps:\n\n- {step}", day.edit("a.py"))
    assert f"Next: {step}" in day.start("n1")
    day.session("s2", "go on", f"What was left:\n\n- [x] {step}", day.edit("a.py"))
    assert "Next:" not in day.start("n2")


def test_a_failure_is_put_right_also_if_hundreds_of_commands_followed(day: Day) -> None:
    day.session("s1", "Fix it", "Half fixed.", day.edit("a.py"), failed("make parser", "error: x"))
    day.session("s2", "Go on", "Parser is built.", day.edit("a.py"), ran("make parser", "ok"))
    with Memory.open(day.root) as memory:
        for number in range(320):
            about = {"command": f"ls {number}", "exitCode": 0}
            memory.observe(f"$ ls {number}\nok", kind="command", provenance=about)
    assert "Failed:" not in day.start("n1")


STEPS = [
    ("add tests for the refund importer of billing", "Rename the refund importer of billing"),
    (
        "delete the old user export table in production",
        "Explain how the user export table is filled",
    ),
    (
        "delete the old user export table in production",
        "Explain how to delete the old user export table in production",
    ),
    (
        "enable rate limiting on the login endpoint",
        "Write docs for the login endpoint rate limiting",
    ),
]


@pytest.mark.parametrize(("step", "request_"), STEPS)
def test_a_step_is_open_after_a_request_about_the_same_thing(
    day: Day, step: str, request_: str
) -> None:
    answer = f"First part is done.\n\nNext steps:\n- {step}\n- ask Dana about the release"
    day.session("s1", "Work on it", answer, day.edit("a.py"))
    day.session("s2", request_, "That is done now, see b.py.", day.edit("b.py"))
    assert f"Next: {step}" in day.start("n1")


TWO_STEPS = (
    "Import works.\n\nNext steps:\n- run the backfill on staging\n- translate the admin page"
)


@pytest.mark.parametrize(
    ("request_", "answer", "events", "left"),
    [
        (
            "do the next steps",
            "I ran the backfill on staging and translated the admin page.",
            (),
            (),
        ),
        (
            "Please run the backfill on staging",
            "It is through: 4,000 rows.",
            (),
            ("translate the admin page",),
        ),
        (
            "Run the backfill on staging",
            "The disk is full, nothing was written.",
            (failed("make backfill", "No space left on device"),),
            ("run the backfill on staging", "translate the admin page"),
        ),
        (
            "Look at the steps",
            "I did not run the backfill on staging. The admin page is translated.",
            (),
            ("run the backfill on staging",),
        ),
    ],
)
def test_a_step_is_done_by_a_request_that_was_fulfilled_or_an_outcome_that_says_so(
    day: Day, request_: str, answer: str, events: tuple[dict[str, Any], ...], left: tuple[str, ...]
) -> None:
    day.session("s1", "Look at it", TWO_STEPS, day.edit("a.py"))
    day.session("s2", request_, answer, day.edit("b.py"), *events)
    told = day.start("n1")
    steps = ("run the backfill on staging", "translate the admin page")
    assert tuple(step for step in steps if f"Next: {step}" in told) == left


@pytest.mark.parametrize(
    ("subject", "open_"),
    [
        ("docs: describe the billing API endpoints", True),
        ("docs: rate limiting of the billing API endpoints", True),
        ("feat: remove rate limiting of the billing API endpoints", True),
        ("feat(billing): add rate limiting to the API endpoints", False),
        ("feat: rate limiting for the billing API endpoints", False),
        ("Added rate limiting to billing API endpoints", False),
    ],
)
def test_a_step_is_done_by_a_commit_that_says_it(day: Day, subject: str, open_: bool) -> None:
    answer = "It is documented.\n\nNext steps:\n- add rate limiting to the billing API endpoints"
    day.session("s1", "Look at the billing API", answer, day.edit("a.py"))
    commit = ran(f"git commit -qam '{subject}'", f"[main 1f3c2ab] {subject}")
    day.session("s2", "Go on", "See the log.", lambda: day.commit(subject), commit)
    assert ("Next: add rate limiting" in day.start("n1")) is open_


@needs_proc
def test_a_session_killed_in_its_second_turn_is_stopped_before_and_after_its_summary(
    day: Day, kinen: Kinen
) -> None:
    client = Client(day, "k1")
    client.send(
        START,
        asked("Move logging to structlog"),
        day.edit("log.py"),
        answered("Structlog is in place in log.py."),
        asked("Now do the same for the worker"),
        day.edit("worker.py"),
        ran("pytest -q 2>&1 | tail -3", "FAILED tests/test_w.py::test_x - KeyError\n1 failed"),
    )
    client.kill()
    first = day.start("n1")
    summaries(day)
    for told in (first, day.start("n2"), kinen("handoff", cwd=day.root).out):
        assert "stopped in the middle: edited worker.py; `pytest -q` failed" in told
        assert "Before that: Structlog is in place in log.py." in told
        assert "Now do the same for the worker" in told


@needs_proc
@pytest.mark.parametrize(
    ("question", "reply", "next_"),
    [
        ("I moved two of five modules. Shall I go on with the rest?", "yes, go on", ""),
        (
            "Which approach should I take?\n\n1. recursive descent\n2. a Pratt parser",
            "the second one",
            "a Pratt parser",
        ),
        ("Two of five modules are moved.", "Fix tests", "Fix tests"),
    ],
)
def test_a_reply_that_was_not_answered_is_told_by_what_it_accepts(
    day: Day, question: str, reply: str, next_: str
) -> None:
    client = Client(day, "k1")
    client.send(START, asked("Write it"), day.edit("a.py"), answered(question))
    client.send(asked(reply), day.edit("b.py"))
    client.kill()
    first = day.start("n1")
    summaries(day)
    for told in (first, day.start("n2")):
        assert "stopped in the middle: edited b.py" in told
        steps = [line.strip("- ") for line in told.splitlines() if "Next: " in line]
        assert steps == ([f"Next: {next_}"] if next_ else [])


@needs_proc
def test_a_live_session_is_at_work_on_every_surface(day: Day, kinen: Kinen) -> None:
    client = Client(day, "k1")
    client.send(START, asked("Migrate the scheduler"), day.edit("a.py"))
    told = (
        day.start("n1"),
        kinen("handoff", cwd=day.root).out,
        kinen("session", "list", cwd=day.root).out,
        kinen("session", "show", "k1", cwd=day.root).out,
        kinen("standup", "--since", "2d", cwd=day.root).out,
    )
    client.kill()
    for text in told:
        assert "at work: " in text
        assert "stopped" not in text
    assert "stopped in the middle: edited a.py" in kinen("session", "list", cwd=day.root).out


def test_what_the_user_chose_is_a_decision_after_a_compaction(day: Day) -> None:
    day.start("s1")
    for event in (
        asked("Write the parser"),
        day.edit("parser.py"),
        answered("Lexer works. Which one?\n1. recursive descent\n2. a Pratt parser"),
        asked("the second one"),
        day.edit("pratt.py"),
        {"event": "PreCompact", "trigger": "auto"},
    ):
        day.send(**event, session="s1")
    summaries(day)
    own = day.start("s1", "compact").partition("## This session so far")[2].partition("##")[0]
    assert "Decided: Write the parser: a Pratt parser" in own
    assert "the second one" not in own
