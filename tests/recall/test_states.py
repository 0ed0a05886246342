"""Of two states of the same thing the newer holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinen import Memory
from kinen.recall import tiers
from kinen.recall.states import Source, States

if TYPE_CHECKING:
    from pathlib import Path


def _current(old: str, *newer: str, session: str = "s", shown: bool = False) -> str:
    source = Source(old, "2026-01-01T10:00:00Z", "s", shown)
    later = [
        Source(text, f"2026-01-01T1{place}:00:00Z", session, shown)
        for place, text in enumerate(newer, 1)
    ]
    return States([source, *later]).current(source)


def test_the_newer_statement_stands_in_place_of_an_older_count() -> None:
    old = "The server now has **55 tools** across 11 domains. They are in the manual."
    newer = "All 58 tools across 12 domains are listed in tables."
    assert _current(old, newer) == f"Later: {newer} They are in the manual."


def test_a_newer_statement_that_may_be_shown_itself_is_not_quoted() -> None:
    old = "The server now has **55 tools** across 11 domains. They are in the manual."
    newer = "All 58 tools across 12 domains are listed in tables."
    assert _current(old, newer, shown=True) == "They are in the manual."


def test_a_newer_statement_is_quoted_once() -> None:
    old = "- There are 55 tools across 11 domains here.\n- So 55 tools across 11 domains it is."
    newer = "All 58 tools across 12 domains are listed in tables."
    assert _current(old, newer).count("58 tools") == 1


def test_a_sentence_that_a_margin_broke_is_one_statement() -> None:
    old = (
        "This is the first version of the server, which comes with 35 tools\n"
        "across 10 domains of the service.\nIt uses one client."
    )
    text = _current(old, "All 58 tools across 12 domains are listed in tables.")
    assert "35 tools" not in text
    assert text.endswith("It uses one client.")


def test_a_sentence_that_says_nothing_but_an_older_count_is_left_out() -> None:
    text = _current("All 130 tests pass. Coverage was the goal of it.", "All 187 tests pass.")
    assert text == "Coverage was the goal of it."


def test_the_newest_of_several_states_is_quoted() -> None:
    text = _current(
        "There are 35 tools across 10 domains for the users of it.",
        "There are 55 tools across 11 domains now.",
        "There are 58 tools across 12 domains now.",
    )
    assert "58 tools" in text
    assert "55 tools" not in text


def test_a_count_that_still_holds_stays() -> None:
    old = "The server has 58 tools across 12 domains."
    newer = ("It has 55 tools across 12 domains.", "All 58 tools across 12 domains.")
    assert _current(old, *newer) == old


def test_counts_of_other_things_are_no_newer_state() -> None:
    old = "All 386 tests pass with the whole suite of it."
    assert _current(old, "All 18 tests pass.") == old, "a later run of some tests"
    qualified = "All 20 billing tests pass in the end."
    assert _current(qualified, "All 187 tests pass.") == qualified
    assert _current(old, "Added 400 new tests for the suite.") == old, "what was done"
    assert _current("`a.py` has 12 open issues now.", "`b.py` has 14 open issues now.").startswith(
        "`a"
    )
    assert _current("See RFC 6749 section 8.2 on names.", "See RFC 8693 section 2.1 on names.") == (
        "See RFC 6749 section 8.2 on names."
    )


def test_what_an_older_statement_keeps_and_a_newer_one_replaces_is_current() -> None:
    old = "The form field `audience` remains the selector of the app for all callers."
    newer = "Replaced the input `audience` with `github-app`."
    assert _current(old, newer) == "Later: Replaced the input audience with github-app."
    assert _current(old, "Replaced the input `resource` with `target`.") == old
    assert _current(old, "Replaced the input `audience` with `app`.", session="other") == old


def test_an_announcement_is_left_out_once_its_outcome_is_told() -> None:
    old = "Let me fix the 2 failing settings tests. Settings fall back to the `.env` file."
    newer = "Fixed the 2 failing settings tests by passing `_env_file=None`."
    assert _current(old, newer) == "Settings fall back to the `.env` file."
    assert _current(old, "The weather is fine.") == old


def test_what_is_not_committed_is_told_by_the_newest_statement() -> None:
    old = "The fix of the size limit is not committed yet (3 modified files)."
    newer = "Pending changes, not committed yet: `scan.yml`."
    assert _current(old, newer) == "Later: Pending changes, not committed yet: scan.yml."


def _recalled(space: Path, values: list[tuple[str, str]], question: str) -> str:
    with Memory.open(space, settings={"index.embedding_provider": "none"}) as memory:
        for place, (role, text) in enumerate(values):
            memory.observe(
                text,
                scope={"session": "s"},
                provenance={"role": role},
                at=1_767_000_000_000 + place,
            )
        memory.sync()
        return tiers.shown(memory.recall(question))


def test_a_recall_has_the_newer_of_two_states(space: Path) -> None:
    message = [
        ("user", "Write the server and its manual."),
        ("assistant", "The server now has 55 tools across 11 domains, all in the manual."),
        ("user", "Add the ones for logs."),
        ("assistant", "Done. The server now has 58 tools across 12 domains, all in the manual."),
    ]
    recalled = _recalled(space, message, "how many tools does the server have across domains?")
    assert "58 tools" in recalled
    assert "55 tools" not in recalled


def test_a_recall_has_no_problem_that_a_request_put_right(space: Path) -> None:
    message = [
        ("user", "Uploads get a route.\n\nProblem: the size limit of 5 MB breaks uploads."),
        ("assistant", "The size limit of uploads is 100 MB now, of other routes 5 MB."),
    ]
    output = _recalled(space, message, "what is the size limit of uploads?")
    assert "100 MB now" in output
    assert "breaks uploads" not in output
    recalled = _recalled(space, [], "why was the size limit of uploads a problem?")
    assert "breaks uploads" in recalled


def test_a_version_that_a_file_no_longer_has_is_old_in_every_sentence() -> None:
    old = (
        "They differed.\n\nSolved by one `go 1.23` everywhere.\n\ngo.mod:3 is set to `go 1.23`.\n\n"
        "The image has go 1.22."
    )
    newer = Source("Updated the version in go.mod:3 to `go 1.24`.", "2026-01-02", "b", shown=True)
    text = States([newer]).current(Source(old, "2026-01-01", "a"), versions=True)
    assert text.split() == "They differed. The image has go 1.22.".split()
