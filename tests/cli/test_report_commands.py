"""`kinen standup` and `kinen handoff`: what was done, what is not pushed, what is broken."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from kinen import Memory
from kinen.memory.reports import Commits, standup_text
from sources.repositories import Repository

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Ask = Callable[..., Any]

SECRET = "gh" + "p_" + "a1B2c3D4e5F6" * 3
LONG_AGO = "2001-01-01"


pytestmark = pytest.mark.usefixtures("without_agents")


@pytest.fixture
def repo(space: Path) -> Repository:
    repository = Repository(space, "existing")
    repository.git("init", "-q", "-b", "main", "--template=")
    repository.commit("feat: begin", {"a.py": "1"})
    return repository


def worked(space: Path, session: str, intent: str, *steps: tuple[str, int, str], end: str) -> None:
    """A session with commands (line, exit code, output) and a closing message."""
    with Memory.open(space) as memory:
        scope = {"session": session, "agent": "claude-code"}
        capsule = memory.journal.open_capsule(intent, scope=scope)
        memory.observe(intent, kind="message", scope=scope, provenance={"role": "user"})
        for line, code, output in steps:
            about = {"command": line, "exitCode": code, "hasError": bool(code)}
            text = f"$ {line}\n{output}"
            memory.observe(text, kind="command", scope=scope, provenance=about)
        memory.observe(end, kind="message", scope=scope, provenance={"role": "assistant"})
        memory.journal.close_capsule(capsule.ref)


def test_commits_with_equal_subjects_are_folded(ask: Ask, repo: Repository) -> None:
    for n in range(18):
        repo.commit("chore: update the lock file", {"lock": str(n)})
    repo.commit("fix: sign once", {"a.py": "2"})
    for command in (("standup", "--since", LONG_AGO), ("handoff",)):
        out = ask(*command).out
        assert out.count("chore: update the lock file") == 1
        assert "- chore: update the lock file ×18 (" in out
    commits = json.loads(ask("standup", "--since", LONG_AGO, "--json").out)["commits"]
    assert [(commit["subject"], commit["count"]) for commit in commits] == [
        ("fix: sign once", 1),
        ("chore: update the lock file", 18),
        ("feat: begin", 1),
    ]


def test_a_standup_says_how_many_commits_it_leaves_out(repo: Repository) -> None:
    with Memory.open(repo.root) as memory:
        report = memory.reports.standup_report("")
    for number, last in ((30, "- fix: 29 (0000000)"), (31, "- and 1 more")):
        commits = tuple(Commits(f"{n:040}", f"fix: {n}", "", 1) for n in range(number))
        text = standup_text(replace(report, commits=commits))
        assert text.split("\n\n")[0].splitlines()[-1] == last
    commits = tuple(Commits(f"{n:040}", f"fix: {n}", "", 1) for n in range(300))
    assert "- and at least 270 more" in standup_text(replace(report, commits=commits))


def test_files_of_the_space_itself_are_no_changed_files(ask: Ask, repo: Repository) -> None:
    (repo.root / ".kinen").mkdir(exist_ok=True)
    (repo.root / ".kinen" / "config.yml").write_text("search:\n  limit: 5\n")
    (repo.root / "b.py").write_text("1")
    assert "- 1 changed: b.py\n" in ask("handoff").out
    for n in range(40):
        (repo.root / f"c{n}.py").write_text("1")
    assert " and 31 more\n" in ask("handoff").out
    report = json.loads(ask("handoff", "--json").out)
    assert (report["changed_count"], len(report["changed"])) == (41, 30)


def test_commits_that_no_remote_branch_has_are_named(ask: Ask, repo: Repository) -> None:
    assert "Not pushed" not in ask("handoff").out  # there is no remote branch at all
    repo.git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert "Not pushed" not in ask("handoff").out
    repo.commit("fix: sign once", {"a.py": "2"})
    repo.commit("test: sign once", {"b.py": "2"})
    for command in (("standup", "--since", LONG_AGO), ("handoff",)):
        out = ask(*command).out
        section = out.partition("## Not pushed\n")[2].partition("\n\n")[0].splitlines()
        assert [line.partition(" (")[0] for line in section] == [
            "- test: sign once",
            "- fix: sign once",
        ]
    data = json.loads(ask("handoff", "--json").out)["not_pushed"]
    assert [item["subject"] for item in data] == ["test: sign once", "fix: sign once"]
    repo.git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert "Not pushed" not in ask("handoff").out


def test_an_error_that_a_later_session_solved_is_not_told(ask: Ask, space: Path) -> None:
    failed = ("pytest -q", 1, "E  ImportError: no module named clock\n1 failed")
    denied = ("git push", 128, "fatal: could not read from remote repository")
    worked(space, "s1", "Try it", failed, denied, end="The tests fail, and nothing is pushed yet.")
    assert "ImportError: no module named clock" in ask("handoff").out
    worked(space, "s2", "Mend it", ("pytest -q", 0, "12 passed"), end="The tests pass again now.")
    out = ask("standup").out
    assert "ImportError" not in out
    assert "## Unresolved errors\n- `git push` (exit 128): fatal: could not read" in out
    errors = json.loads(ask("standup", "--json").out)["errors"]
    assert [error["text"].partition(" (")[0] for error in errors] == ["`git push`"]
    assert errors[0]["ref"].startswith("observation:")
    handoff = ask("handoff").out
    assert "ImportError" not in handoff
    assert "- `git push` (exit 128): fatal: could not read" in handoff  # nobody pushed since


def test_decisions_come_from_checkpoints_and_memories_each_once(ask: Ask, space: Path) -> None:
    decision = ("--type", "decision", "--decision", "keep sessions in Postgres, Redis loses them")
    ask("checkpoint", "Stores", *decision)
    ask("consolidate")
    assert json.loads(ask("memories", "list", "--json").out)["memories"]
    decisions = json.loads(ask("handoff", "--json").out)["decisions"]
    assert [entry["text"] for entry in decisions] == ["keep sessions in Postgres, Redis loses them"]
    ask("checkpoint", "one", "--type", "decision", "--decision", "sign cookies with Ed25519")
    for n in range(4):
        ask("checkpoint", f"more {n}")
    texts = [item["text"] for item in json.loads(ask("handoff", "--json").out)["decisions"]]
    assert any("keep sessions in Postgres" in text for text in texts)


def test_a_report_needs_no_index(ask: Ask, repo: Repository, space: Path) -> None:
    worked(space, "s1", "Fix the flaky limiter test", end="The limiter waits for the clock now.")
    assert "feat: begin" in ask("handoff").out
    with Memory.open(space) as memory:
        assert not os.path.exists(os.path.join(memory.space.data, "index.db"))


def test_what_was_hidden_or_looks_like_a_secret_is_not_told(ask: Ask, repo: Repository) -> None:
    repo.commit("fix: hide me", {"a.py": "2"})
    sha = repo.git("rev-parse", "HEAD")
    repo.commit(f"fix: use {SECRET} \x1b[31m", {"a.py": "3"})
    repo.commit("fix: odd \x1c\x1e\x1f\x85\u2028 signs", {"a.py": "4"})
    ask("index", "--no-embed")
    ask("forget", f"commit:{sha}")
    out = ask("handoff").out
    assert "fix: odd " in out
    assert "hide me" not in out
    assert SECRET not in out
    assert "\x1b" not in out


def test_reports_of_all_spaces_are_headed_by_their_names(
    ask: Ask, space: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    silent = tmp_path / "silent"
    for root in (other, silent):
        (root / ".kinen").mkdir(parents=True)
        ask("space", "add", str(root))
    ask("checkpoint", "Tokens rotate now")
    ask("checkpoint", "The parser is linear now", cwd=other)
    for command in ("standup", "handoff"):
        out = ask(command, "--space", "all").out
        heads = [line for line in out.splitlines() if line.startswith("# ")]
        assert sorted(heads) == ["# other", "# space"]
        assert "Tokens rotate now" in out
        assert "The parser is linear now" in out
        data = json.loads(ask(command, "--space", "all", "--json").out)["spaces"]
        assert sorted(item["space"] for item in data) == ["other", "space"]
        two = ask(command, "--space", "other", "--space", "silent").out
        assert [line for line in two.splitlines() if line.startswith("# ")] == ["# other"]
    nothing = ask("standup", "--space", "silent", "--space", "silent", "--json")
    assert nothing.code == 1
    empty = ask("memories", "list", "--space", "other", "--space", "silent").err
    assert empty.startswith("note: other, silent: no memories")
    assert ask("standup", "--space", "nowhere").code == 2
