"""Reports of several sessions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kinen import Memory
from kinen.memory.reports import (
    SAME,
    SessionReport,
    _block,
    _story,
    _with_intents_once,
    standup_text,
)
from sources.repositories import Repository

if TYPE_CHECKING:
    from pathlib import Path


def session(number: int, outcome: str, *earlier: str) -> SessionReport:
    return SessionReport(
        ref=f"capsule:{number}",
        id=str(number),
        at=f"2026-03-0{number}T10:00:00.000Z",
        agent="",
        open=False,
        intent="",
        outcome=outcome,
        next=(),
        state="",
        earlier=earlier,
        decided=(),
        learned=(),
    )


def test_a_short_outcome_is_told_with_what_came_before_it() -> None:
    earlier = "All tests ignore the global config of git now."
    text = _story(session(1, "Committed as `2f730b7`.", earlier, "Fixed the order."), 300, False)
    assert f"→ Committed as `2f730b7`. {earlier}" in text
    assert "Fixed the order" not in text


def test_a_prompt_that_began_several_sessions_is_told_once() -> None:
    prompt = "You work through the tickets of the board, one after the other."
    first, second, other = (
        replace(session(n, f"Ticket {n} is done, all tests pass."), intent=intent)
        for n, intent in ((3, prompt), (2, prompt), (1, "Fix the menu."))
    )
    shown = _with_intents_once([first, second, other])
    assert [report.intent for report in shown] == [prompt, SAME, "Fix the menu."]
    assert [report.outcome for report in shown] == [first.outcome, second.outcome, other.outcome]


def test_a_handoff_leaves_out_answers_to_what_is_not_there() -> None:
    earlier = (
        "That avoids the narrow layout.",
        "That is done: 31 tests passed.",
        "Fixed the menu.",
    )
    text = _block(session(1, "The page is published.", *earlier), 100)
    assert "narrow layout" not in text
    assert "- Before that: That is done: 31 tests passed." in text
    assert "- Before that: Fixed the menu." in text


def test_the_points_of_an_outcome_are_told_apart() -> None:
    text = _story(
        session(1, "All 99 tests pass:\n\n- `dsl.py` parses\n- `engine.py` runs"), 300, False
    )
    assert "→ All 99 tests pass: `dsl.py` parses; `engine.py` runs" in text


def test_sessions_without_an_answer_are_left_out_but_for_the_latest(space: Path) -> None:
    with Memory.open(space) as memory:
        for name, answer in (("old", ""), ("good", "The coupon is kept now."), ("last", "")):
            scope = {"session": name, "agent": "codex"}
            capsule = memory.journal.open_capsule(f"ask {name}", scope=scope)
            memory.observe(f"Please look at {name}.", scope=scope, provenance={"role": "user"})
            if answer:
                memory.observe(answer, scope=scope, provenance={"role": "assistant"})
            memory.journal.close_capsule(capsule.ref)
        text = standup_text(memory.reports.standup_report("2000-01-01T00:00:00+00:00"))
    assert "The coupon is kept now." in text
    assert "→ not answered: Please look at last." in text
    assert "next: Please look" not in text
    assert "ask old" not in text


def test_commits_of_bots_come_last(tmp_path: Path) -> None:
    repo = Repository(tmp_path / "repo")
    repo.commit("feat: sign cookies", {"auth.py": "1"})
    repo.commit("docs: list sponsors", {"README.md": "1"}, GIT_AUTHOR_NAME="robot[bot]")
    with Memory.open(repo.root) as memory:
        report = memory.reports.standup_report("2000-01-01T00:00:00+00:00")
    subjects = [group.subject for group in report.commits]
    assert subjects == ["feat: sign cookies", "docs: list sponsors"]
