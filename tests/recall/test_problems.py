"""What was wrong at the time, and whether something was done about it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen.recall.problems import MARK, Repairs, asks_problem, without_problems
from kinen.recall.states import Source

FINDING = "- **High (valid):** the global cap in `src/index.ts` can break uploads."
REQUEST = "Problem: the global cap breaks upload routes that accept large payloads."


def _marked(text: str, later: str, *, request: bool = False, session: str = "s") -> str:
    old = Source(text, "2026-01-01T10:00:00Z", "s")
    new = Source(later, "2026-01-01T11:00:00Z", session)
    return Repairs([old, new]).marked(old, request=request)


@pytest.mark.parametrize(
    "later",
    [
        "The cap depends on the route.\n- Updated `src/index.ts`: uploads have their own.",
        "Fixed: `src/index.ts` has no cap for uploads.",
    ],
)
def test_a_finding_is_marked_once_its_file_was_changed(later: str) -> None:
    text = _marked(FINDING, later)
    assert text.startswith(f"- {MARK} **High (valid):** the global cap")
    assert "Later: " in text


def test_a_problem_of_a_request_is_marked_once_a_report_repeats_its_words() -> None:
    later = "I fixed the cap: upload routes accept large payloads again."
    assert _marked(REQUEST, later, request=True) == f"{MARK} {REQUEST} Later: {later}"


def test_a_report_that_may_be_shown_itself_is_not_quoted() -> None:
    old = Source(FINDING, "2026-01-01T10:00:00Z", "s")
    new = Source("Fixed `src/index.ts`.", "2026-01-01T11:00:00Z", "s", shown=True)
    marked = Repairs([old, new]).marked(old, request=False)
    assert marked == FINDING.replace("- ", f"- {MARK} ", 1)


@pytest.mark.parametrize(
    "later",
    [
        "Updated `src/other.ts`: uploads have their own cap.",
        "I did not change `src/index.ts`.",
        "Let me fix `src/index.ts` so that uploads are no longer changed.",
        "- **High:** the global cap in `src/index.ts` was removed.",
        "The tests pass.",
    ],
)
def test_a_finding_stays_where_nothing_was_done_about_it(later: str) -> None:
    assert _marked(FINDING, later) == FINDING


def test_another_session_and_an_earlier_report_mark_nothing() -> None:
    assert _marked(FINDING, "Fixed `src/index.ts`.", session="t") == FINDING
    earlier = Source("Fixed `src/index.ts`.", "2026-01-01T09:00:00Z", "s")
    finding = Source(FINDING, "2026-01-01T10:00:00Z", "s")
    assert Repairs([earlier, finding]).marked(finding, request=False) == FINDING


_LINES = st.lists(
    st.sampled_from([FINDING, REQUEST, "- Low: `a.py` is slow", "It works.", "", "# Findings"])
)


@given(lines=_LINES, later=st.sampled_from(["Fixed `src/index.ts` and `a.py`.", "It works."]))
def test_a_mark_takes_nothing_away(lines: list[str], later: str) -> None:
    text = _marked("\n".join(lines), later)
    bare = [line.partition(" Later: ")[0].replace(f"{MARK} ", "") for line in text.splitlines()]
    plain = _marked("\n".join(lines), "It works.").splitlines()
    assert bare == plain


def test_findings_of_a_review_are_left_out() -> None:
    review = "Two findings:\n- **High (valid):** the cap breaks uploads.\n- Highlights are kept."
    assert without_problems(review, request=False) == "Two findings:\n- Highlights are kept."


def test_only_a_request_says_what_is_wrong_before_it_is_put_right() -> None:
    text = "Fix the cap.\n**Problem:** it breaks uploads."
    assert without_problems(text, request=True) == "Fix the cap."
    assert without_problems(text, request=False) == text


@pytest.mark.parametrize("question", ["Why did it stop?", "What was wrong with the cap?"])
def test_a_question_may_ask_for_a_problem(question: str) -> None:
    assert asks_problem(question)
    assert not asks_problem("Which routes accept uploads?")
