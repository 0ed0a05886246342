"""Of two states of the same thing the newer holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinen import Memory
from kinen.recall import tiers
from kinen.recall.states import Source, States

if TYPE_CHECKING:
    from pathlib import Path


def _marked(old: str, *newer: str, session: str = "s") -> str:
    source = Source(old, "2026-01-01T10:00:00Z", "s")
    later = [
        Source(text, f"2026-01-01T1{place}:00:00Z", session) for place, text in enumerate(newer, 1)
    ]
    return States([source, *later]).marked(source)


def test_an_older_count_is_marked_with_the_newer_statement() -> None:
    text = _marked(
        "The server now has **55 tools** across 11 domains, described in the manual.",
        "All 58 tools across 12 domains are listed in tables.",
    )
    assert text.startswith("(superseded; later: All 58 tools across 12 domains")
    assert text.endswith("described in the manual.")


def test_a_sentence_that_says_nothing_but_an_older_count_is_left_out() -> None:
    text = _marked("All 130 tests pass. Coverage was the goal of it.", "All 187 tests pass.")
    assert text == "Coverage was the goal of it."


def test_the_newest_of_several_states_is_quoted() -> None:
    text = _marked(
        "There are 35 tools across 10 domains for the users of it.",
        "There are 55 tools across 11 domains now.",
        "There are 58 tools across 12 domains now.",
    )
    assert "58 tools" in text
    assert "55 tools" not in text


def test_a_count_that_still_holds_is_not_marked() -> None:
    old = "The server has 58 tools across 12 domains."
    assert (
        _marked(old, "It has 55 tools across 12 domains.", "All 58 tools across 12 domains.") == old
    )


def test_counts_of_other_things_are_no_newer_state() -> None:
    old = "All 386 tests pass with the whole suite of it."
    assert _marked(old, "All 18 tests pass.") == old, "a later run of some tests"
    qualified = "All 20 billing tests pass in the end."
    assert _marked(qualified, "All 187 tests pass.") == qualified
    assert _marked(old, "Added 400 new tests for the suite.") == old, "what was done"
    assert _marked("`a.py` has 12 open issues now.", "`b.py` has 14 open issues now.").startswith(
        "`a"
    )
    assert _marked("See RFC 6749 section 8.2 on names.", "See RFC 8693 section 2.1 on names.") == (
        "See RFC 6749 section 8.2 on names."
    )


def test_what_an_older_statement_keeps_and_a_newer_one_replaces_is_marked() -> None:
    old = "The form field `audience` remains the selector of the app for all callers."
    assert "superseded" in _marked(old, "Replaced the input `audience` with `github-app`.")
    assert _marked(old, "Replaced the input `resource` with `target`.") == old
    assert _marked(old, "Replaced the input `audience` with `app`.", session="other") == old


def test_an_announcement_is_left_out_once_its_outcome_is_told() -> None:
    old = "Let me fix the 2 failing settings tests. Settings fall back to the `.env` file."
    newer = "Fixed the 2 failing settings tests by passing `_env_file=None`."
    assert _marked(old, newer) == "Settings fall back to the `.env` file."
    assert _marked(old, "The weather is fine.") == old


def test_what_is_not_committed_is_told_by_the_newest_statement() -> None:
    old = "The fix of the size limit is not committed yet (3 modified files)."
    newer = "Pending changes, not committed yet: `scan.yml`."
    assert _marked(old, newer).startswith("(superseded; later: Pending changes")


def test_a_recall_marks_the_older_of_two_states(space: Path) -> None:
    said = [
        ("user", "Write the server and its manual."),
        ("assistant", "The server now has 55 tools across 11 domains, all in the manual."),
        ("user", "Add the ones for logs."),
        ("assistant", "Done. The server now has 58 tools across 12 domains, all in the manual."),
    ]
    with Memory.open(space, settings={"index.embedding_provider": "none"}) as memory:
        for place, (role, text) in enumerate(said):
            memory.observe(
                text,
                scope={"session": "s"},
                provenance={"role": role},
                at=1_767_000_000_000 + place,
            )
        memory.sync()
        shown = tiers.shown(memory.recall("how many tools does the server have across domains?"))
    older = next(line for line in shown.splitlines() if "55 tools" in line)
    assert "superseded; later: The server now has 58 tools" in older
