"""`kinen hook claude-code` stores what users and tools wrote whole, quickly, without secrets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from resource import RUSAGE_CHILDREN, getrusage
from typing import TYPE_CHECKING, Any

import pytest

from kinen import Memory

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def space(tmp_path: Path) -> Path:
    (tmp_path / "space" / ".kinen").mkdir(parents=True)
    return tmp_path / "space"


def run_hook(space: Path, event: str, **more: Any) -> float:
    """Runs the hook in a process of its own; returns the seconds of CPU that it took."""
    payload = {"session_id": "s1", "cwd": str(space), "hook_event_name": event, **more}
    before = getrusage(RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "kinen", "hook", "claude-code"],
        input=json.dumps(payload).encode(),
        cwd=space,
        env=dict(os.environ),
        capture_output=True,
        check=True,
    )
    after = getrusage(RUSAGE_CHILDREN)
    assert done.stderr == b""
    return after.ru_utime - before.ru_utime


def stored(space: Path) -> list[str]:
    with Memory.open(space) as memory:
        return [entry.content for entry in memory.journal.entries("observations")[0]]


def bash(space: Path, output: str) -> float:
    return run_hook(
        space,
        "PostToolUse",
        tool_name="Bash",
        tool_input={"command": "cat log"},
        tool_use_id="t1",
        tool_response={"stdout": output, "stderr": ""},
    )


@pytest.mark.parametrize(
    "prompt",
    [
        "Why does Claude Code print <system-reminder> in my log? It should not, fix it.",
        "rename the <kinen-memory> tag. Then run the tests.",
        "the `<system-reminder>` tag ends with `</system-reminder>`, document both",
        "</system-reminder> stands alone in the log, and <system-reminder> follows. Why?",
        "<task-notification> is shown to users, hide it",
        "what is <ide_opened_file> good for? and <command-name>?",
    ],
)
def test_a_prompt_that_mentions_a_tag_is_kept_whole(space: Path, prompt: str) -> None:
    run_hook(space, "UserPromptSubmit", prompt=prompt, prompt_id="p1")
    assert stored(space) == [prompt]


def test_complete_blocks_of_the_client_are_left_out_of_a_prompt(space: Path) -> None:
    prompt = (
        "<ide_opened_file>a.py</ide_opened_file>fix it <system-reminder>be quick</system-reminder>"
        "<kinen-memory>\nknown\n</kinen-memory>now"
    )
    run_hook(space, "UserPromptSubmit", prompt=prompt, prompt_id="p1")
    assert stored(space) == ["fix it now"]


def test_output_with_an_unclosed_tag_hides_nothing(space: Path) -> None:
    bash(space, "one\n<kinen-memory>\ntwo\n<system-reminder>\nthree")
    (text,) = stored(space)
    assert text.splitlines()[1:] == ["one", "<kinen-memory>", "two", "<system-reminder>", "three"]


def test_code_that_compares_passwords_is_kept_as_it_is(space: Path) -> None:
    code = "if password == expected_password:\n    while token == next_token2:\n        pass"
    bash(space, code)
    (text,) = stored(space)
    assert text.endswith(code)


@pytest.mark.parametrize(
    "prompt",
    [
        "use postgres://app:{}/x@db:5432/shop",
        "das Passwort lautet {}",
        "htpasswd -b users ada {}",
        'keep <private reason="x">{}</private> out',
        'variable "db_password" {{ default = "{}" }}',
    ],
)
def test_a_secret_of_any_known_shape_never_reaches_the_journal(space: Path, prompt: str) -> None:
    secret = "Som" + "mer2031"
    run_hook(space, "UserPromptSubmit", prompt=prompt.format(secret), prompt_id="p1")
    (text,) = stored(space)
    assert secret not in text


@pytest.mark.parametrize("word", ["token=", "token==", "a=b ", "<system-reminder>"])
def test_hostile_output_costs_a_hook_hardly_more_than_plain_output(space: Path, word: str) -> None:
    plain = min(bash(space, "plain text\n" * 3_000) for _ in range(3))
    hostile = min(bash(space, word * (30_000 // len(word))) for _ in range(3))
    assert hostile < 3 * plain + 0.05


def test_a_hostile_command_line_costs_a_hook_hardly_more_than_a_plain_one(space: Path) -> None:
    def run(command: str) -> float:
        values = {"command": command}
        call = {"tool_name": "Bash", "tool_input": values, "tool_use_id": "t", "tool_response": ""}
        return run_hook(space, "PostToolUse", **call)

    plain = min(run("echo " * 8_000) for _ in range(3))
    hostile = min(run("a=b " * 8_000 + "kinen") for _ in range(3))
    assert hostile < 3 * plain + 0.05
