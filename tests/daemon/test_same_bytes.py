"""What the daemon answers is what a process finds by itself, to the byte."""

from __future__ import annotations

import json
import os
import shutil
import signal
from typing import TYPE_CHECKING, Any

import pytest

from kinen import Memory
from kinen.ipc import client

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from daemon.conftest import Running

LINES = [
    ["search", "--hybrid", "why did we drop redis"],
    ["search", "--hybrid", "why did we drop redis", "--json"],
    ["search", "--hybrid", "--explain", "-C", "1", "parcel labels"],
    ["search", "--hybrid", "-l", "queue"],
    ["search", "--fulltext", 'rate-limiter OR NEAR( "x*', "-n", "3"],
    ["search", "--semantic", "something slow", "--json", "-n", "4"],
    ["search", "--mode", "rrf", "queue", "--type", "rounds,notes"],
    ["search", "--fulltext", "zzzzqqqq"],
    ["search", "--hybrid", "-n", "2", "café 日本 😀 user's"],
    ["search", "--hybrid", "queue", "--since", "2020-01-01", "--path", "sessions", "--tag", "nope"],
    ["search", "--hybrid", "queue", "--min-score", "0.4", "--kind", "error"],
    ["search", "--hybrid", "quantum zebra banana"],
    ["search", "--hybrid", "quantum zebra banana", "--min-score", "0", "-n", "2"],
    ["search", "--hybrid", "queue", "-l", "-0"],
    ["search", "--hybrid", "queue", "--jsonl", "-n", "2", "--meta", "status=complete"],
    ["search", "--hybrid", "--type", "commits", "--kind", "fix", "queue"],
    ["recall", "--hybrid", "why did we drop redis"],
    ["recall", "--hybrid", "queue", "--json", "-n", "3"],
    ["recall", "--hybrid", "--full", "--budget", "300", "labels"],
    ["recall"],
]
WRONG = [
    ["search", "--type", "nonsense", "queue"],
    ["search", "queue", "--since", "whenever"],
    ["search", "queue", "--limit", "-3"],
    ["search", "--semantic", "--fulltext", "queue"],
    ["recall", "queue", "--limit", "-1"],
]


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers of the daemon are counted here: a busy machine must not lose one."""
    monkeypatch.setenv("KINEN_SIGN_MS", "120000")


@pytest.fixture
def parcelry(demo_space: Path, tmp_path: Path) -> Path:
    root = tmp_path / "parcelry"
    shutil.copytree(demo_space, root)
    return root


def all_of(kinen: Callable[..., Any], lines: list[list[str]], cwd: Path) -> list[Any]:
    ran = [kinen(*line, cwd=cwd) for line in lines]
    return [(item.code, item.out, item.err) for item in ran]


def test_every_line_prints_the_same_with_and_without_it(
    parcelry: Path, kinen: Callable[..., Any], daemon: Running
) -> None:
    kinen("index", cwd=parcelry)
    kinen("log", "the queue was stuck behind redis", "--session", "s1", cwd=parcelry)
    alone = all_of(kinen, [*LINES, *WRONG], parcelry)
    assert {code for code, _, _ in alone[: len(LINES)]} == {0, 1}
    assert {code for code, _, _ in alone[len(LINES) :]} == {2}
    daemon.start()
    daemon.settled(parcelry)
    before = daemon.state()["answered"]
    request = all_of(kinen, LINES, parcelry)
    assert daemon.state()["answered"] - before == len(LINES)  # all of them were its answers
    assert request == alone[: len(LINES)]
    assert all_of(kinen, WRONG, parcelry) == alone[len(LINES) :]


def test_a_search_of_a_named_space_and_from_a_folder_below_is_answered_too(
    parcelry: Path, tmp_path: Path, kinen: Callable[..., Any], daemon: Running
) -> None:
    kinen("index", cwd=parcelry)
    lines = [["search", "--hybrid", "queue", "-n", "2"]]
    elsewhere = [[*lines[0], "--space", "parcelry"]]
    below = all_of(kinen, lines, parcelry / "sessions")
    outside = all_of(kinen, elsewhere, tmp_path)
    assert below != outside  # paths are relative to the folder, or absolute
    daemon.start()
    daemon.settled(parcelry)
    assert all_of(kinen, lines, parcelry / "sessions") == below
    assert all_of(kinen, elsewhere, tmp_path) == outside
    assert daemon.state()["answered"] == 2


def test_settings_of_ones_own_are_kept_to_oneself(
    parcelry: Path, kinen: Callable[..., Any], daemon: Running, home: Path
) -> None:
    kinen("index", cwd=parcelry)
    daemon.start()
    daemon.settled(parcelry)
    few = kinen("search", "--hybrid", "-l", "redis", cwd=parcelry, KINEN_SEARCH_DEFAULT_LIMIT="1")
    assert len(few.out.splitlines()) == 1
    other = home / "other.yml"
    other.write_text("search:\n  default_limit: 2\n")
    two = kinen("search", "--hybrid", "redis", "--json", cwd=parcelry, KINEN_CONFIG=str(other))
    assert len(json.loads(two.out)["results"]) == 2
    assert daemon.state()["answered"] == 1  # the vector of the first question, which is the same


def test_another_version_is_not_asked_and_a_newer_one_takes_over(
    daemon: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.start()
    for version in ("0.0.1", "99.0.0"):
        assert daemon.state()
        with monkeypatch.context() as patch:
            patch.setattr("kinen.__version__", version)
            answer = client.ask(str(daemon.home), "GET /v1/health")
        assert answer is not None and answer.code == 409
    daemon.end()
    assert "replaced by kinen 99.0.0" in (daemon.home / "daemon.json").read_text()


def test_a_long_lived_process_loads_no_model_and_finds_the_same(
    parcelry: Path, daemon: Running
) -> None:
    questions = ("what made parcels late", "who may print labels")
    with Memory.open(parcelry) as memory:
        memory.sync()
        first, second = ([*memory.search(question)] for question in questions)
    daemon.start()
    daemon.settled(parcelry)
    with Memory.open(parcelry) as memory:
        assert [*memory.search(questions[0])] == first
        embedder: Any = memory.core.embedder
        assert not embedder._own.loaded
        daemon.end()
        assert [*memory.search(questions[1])] == second
        assert embedder._own.loaded


def test_an_agent_is_told_the_same_on_its_prompt(
    parcelry: Path, kinen: Callable[..., Any], daemon: Running
) -> None:
    kinen("config", "set", "hooks.inject_on_prompt", "true", cwd=parcelry)
    kinen("index", cwd=parcelry)
    message = {"hook_event_name": "UserPromptSubmit", "cwd": str(parcelry)}
    message["prompt"] = "why was redis dropped for sessions in postgres?"

    def hook_output(session: str) -> str:
        payload = json.dumps({**message, "session_id": session})
        return str(kinen("hook", "claude-code", stdin=payload, cwd=parcelry).out)

    alone = hook_output("s9")
    assert "Possibly relevant" in alone
    daemon.start()
    daemon.settled(parcelry)
    assert hook_output("s10") == alone
    assert daemon.state()["answered"] == 1
    assert hook_output("s10") == ""  # it has that already


def test_a_daemon_that_hangs_costs_a_moment_and_nothing_else(
    parcelry: Path, kinen: Callable[..., Any], daemon: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KINEN_SIGN_MS")
    kinen("index", cwd=parcelry)
    line = ["search", "--hybrid", "queue", "-n", "2"]
    alone = all_of(kinen, [line], parcelry)
    pid = daemon.start()
    daemon.settled(parcelry)
    os.kill(pid, signal.SIGSTOP)
    try:
        assert all_of(kinen, [line], parcelry) == alone
    finally:
        os.kill(pid, signal.SIGCONT)
    assert all_of(kinen, [line], parcelry) == alone
