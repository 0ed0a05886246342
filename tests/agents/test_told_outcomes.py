"""What comes of a session is told once, by what it did, and alike on every surface."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agents.test_open_points import asked, day
from agents.test_session_start import Day, failed, ran, text_of
from kinen import Memory

if TYPE_CHECKING:
    from collections.abc import Callable

    Kinen = Callable[..., Any]

__all__ = ["day"]

STEP = "map the invoice number in the refunds importer"
OTHER = "run the backfill on staging"


@pytest.mark.parametrize(
    "steps",
    [
        f"Next steps:\n1. {STEP}\n2. {OTHER}",
        f"Next steps:\n- {STEP}\n- {OTHER}",
        f"## Remaining\n- [ ] {STEP}\n- [ ] {OTHER}",
        f"Next: {STEP}\n\nNext: {OTHER}",
    ],
)
def test_a_step_is_told_once_in_whatever_form_it_was_written(
    day: Day, kinen: Kinen, steps: str
) -> None:
    day.session("s1", "Migrate it", f"Charges are migrated.\n\n{steps}", day.edit("a.py"))
    for told in (day.start("n1"), kinen("handoff", cwd=day.root).out):
        assert told.count(STEP) == 1
        assert told.count(OTHER) == 1
        assert told.count("Charges are migrated.") == 1
        assert "Next steps:" not in told


def test_a_step_within_a_paragraph_is_open_and_told_once(day: Day, kinen: Kinen) -> None:
    answer = f"Half done: charges are migrated, refunds still fail. Next: {STEP}."
    day.session("s1", "Migrate the billing importer", answer, day.edit("a.py"))
    told = day.start("n1")
    assert f"Next: {STEP}" in told
    assert "Half done: charges are migrated, refunds still fail." in told
    assert told.count(STEP) == 1
    assert kinen("handoff", cwd=day.root).out.count(STEP) == 1


def test_all_empty_boxes_are_steps(day: Day) -> None:
    boxes = "- [ ] strings with escapes\n- [x] numbers\n- [ ] nested blocks\n- [ ] docs"
    day.session("s1", "Fix it", f"The parser reads tokens.\n\n## Remaining\n{boxes}", day.edit("p"))
    told = day.start("n1")
    for step in ("strings with escapes", "nested blocks", "docs"):
        assert f"Next: {step}" in told
    assert "Next: numbers" not in told


def test_a_decision_stands_once_in_a_handoff(day: Day, kinen: Kinen) -> None:
    decision = "Tokens live 15 minutes because phones are lost"
    answer = f"The tokens rotate now.\n\n**Decision:** {decision}."
    day.session("s1", "Decide on tokens", answer, day.edit("auth.py"))
    kinen("checkpoint", decision, "--type", "decision", cwd=day.root)
    for told in (kinen("handoff", cwd=day.root).out, day.start("n1")):
        assert told.count(decision) == 1
        assert "The tokens rotate now." in told


def test_lines_with_different_labels_are_both_told(day: Day) -> None:
    answer = (
        "Two files changed:\n- a.py: reads the whole file now\n- b.py: reads the whole file now"
    )
    day.session("s1", "Change both", answer, day.edit("a.py"), day.edit("b.py"))
    told = day.start("n1")
    assert "a.py: reads the whole file now" in told
    assert "b.py: reads the whole file now" in told


def test_the_last_session_is_the_latest_on_every_surface(day: Day, kinen: Kinen) -> None:
    day.session("s1", "Fix the typo in the readme", "The typo is fixed.", day.edit("README.md"))
    day.repo.git("checkout", "-q", "-b", "feature")
    day.session("s2", "Build the payment", "The payment is built.", day.edit("pay.py"))
    day.repo.git("checkout", "-q", "-")
    day.session("s3", "how do I quit vim", "Type :q.")
    with Memory.open(day.root) as memory:
        brief = memory.journal.brief("n2", "codex")
    handoff = kinen("handoff", cwd=day.root).out
    for told in (day.start("n1"), brief):
        last = told.partition("## Last session")[2].partition("##")[0]
        assert "The payment is built." in last
        assert "The typo is fixed." not in last
    assert handoff.index("The payment is built.") < handoff.index("The typo is fixed.")


def test_memories_about_the_files_in_play_are_told_with_who_saved_them(
    day: Day, kinen: Kinen
) -> None:
    with Memory.open(day.root) as memory:
        memory.consolidation.remember(
            "Mails go through the outbox", files=["src/mailer.py"], scope={"agent": "codex"}
        )
        for number in range(45):
            text = f"Component {number} keeps its rows in table rows_{number * 3}"
            memory.consolidation.remember(text, files=[f"src/c{number}.py"])
    day.session("s1", "Work on the retries", "Retries are there.", day.edit("src/mailer.py"))
    told = day.start("n1")
    line = next(line for line in told.splitlines() if "Mails go through the outbox" in line)
    assert line.endswith(" codex")


def test_a_subagent_gets_saved_rules_those_about_the_files_of_its_task_first(
    day: Day, kinen: Kinen
) -> None:
    with Memory.open(day.root) as memory:
        save = memory.consolidation.remember
        save("Rule: every migration is reversible", files=["db/migrate.py"])
        save("Users are keyed by mail address", files=["db/migrate.py"])
        save("Rule: never use npm in this repository")
        save("The cache keeps its rows for two days", files=["src/cache.py"])
    prompt = "Add a migration in db/migrate.py for the users table"
    use = {"type": "tool_use", "name": "Agent", "input": {"prompt": prompt}}
    transcript = day.root / ".claude" / "s2.jsonl"
    transcript.parent.mkdir()
    line = {"type": "assistant", "message": {"content": [use]}}
    transcript.write_text(json.dumps(line) + "\n")
    day.start("s2")
    told = text_of(day.send("SubagentStart", "s2", agent_id="a1", agent_type="general-purpose"))
    about = max(told.index("every migration is reversible"), told.index("Users are keyed"))
    assert about < told.index("never use npm")
    assert "The cache keeps" not in told


def turns(day: Day, session: str, *said: tuple[str, str, tuple[dict[str, Any], ...]]) -> None:
    """A session of several requests; it is not closed."""
    day.start(session)
    for prompt, answer, events in said:
        for event in (asked(prompt), *events):
            day.send(**event, session=session)
        day.send("Stop", session, last_assistant_message=answer)


CACHE = "Added an LRU cache of 100 rows to the reader."
COLD = "It fails because the cache is cold. Not fixed yet."


@pytest.mark.parametrize(
    ("said", "outcome", "not_told"),
    [
        ((("Add a cache", CACHE, True), ("ok push", "Pushed.", False)), CACHE, "not finished"),
        ((("Add a cache", CACHE, True), ("thanks", "Done.", False)), CACHE, "not finished"),
        (
            (("Add a cache", CACHE, True), ("commit", "Committed as `b01e5547`.", False)),
            CACHE,
            "b01e5547",
        ),
        ((("Fix tests", "All tests pass.", True),), "edited a.py: All tests pass.", ""),
        ((("Finish", "Commit created.", True),), "edited a.py: Commit created.", ""),
        ((("Please document", "Documented.", True),), "edited a.py: Documented.", ""),
        (
            (("Why does it fail?", COLD, True), ("Go on", "Done: cache warmed.", False)),
            "Done: cache warmed.",
            "Not fixed yet",
        ),
        (
            (("Why does it fail?", COLD, True), ("Go on", "Done: cache warmed.", True)),
            "Done: cache warmed.",
            "Not fixed yet",
        ),
    ],
)
def test_a_remark_on_the_work_is_not_its_outcome(
    day: Day, kinen: Kinen, said: tuple[tuple[str, str, bool], ...], outcome: str, not_told: str
) -> None:
    edit = (day.edit("a.py"),)
    turns(day, "s1", *((prompt, text, edit if edits else ()) for prompt, text, edits in said))
    for words in (("session", "list"), ("standup", "--since", "2d"), ("handoff",)):
        told = kinen(*words, cwd=day.root).out
        assert outcome in told, words
        assert not not_told or not_told not in told, words


def test_a_commit_is_the_outcome_where_nothing_else_is_said(day: Day, kinen: Kinen) -> None:
    commit = ran("git commit -qam 'feat: cache of rows'", "[main 1f3c2ab] feat: cache of rows")
    answer = "Commit created successfully."
    events = (lambda: day.commit("feat: cache of rows"), commit)
    day.session("s1", "Finish it", answer, day.edit("a.py"), *events)
    assert "committed feat: cache of rows" in kinen("session", "list", cwd=day.root).out


PROSE = (
    "`-count=1` disables the cache of results. You want to actually run the test each time to"
    " verify the integration. The next step of the pipeline reads the file. An order is pending"
    " until it is paid; the remaining work is done by the nightly job. Once you have logged in,"
    " the token is stored. The amount needs to be an integer."
)


def test_nothing_is_left_to_do_by_prose_about_how_something_works(day: Day, kinen: Kinen) -> None:
    day.session("s1", "Look at caching", PROSE, day.edit("c.py"), failed("make x", "error: y"))
    assert "Next: " not in day.start("n1")
    assert "next: " not in kinen("standup", "--since", "2d", cwd=day.root).out
    left = "The worker still needs to be ported."
    day.session("s2", "Port it", f"Both readers are ported. {left}", day.edit("d.py"))
    assert f"Next: {left}" in day.start("n2")
