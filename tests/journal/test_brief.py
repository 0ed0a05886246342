"""What an agent is told of the last session fits its room, and every part has a share of it."""

from __future__ import annotations

from kinen.text import estimate
from kinen.text.shorten import excerpt_at, for_the_next, trimmed, without_cut


def test_a_short_summary_is_told_whole() -> None:
    text = "**Outcome**: it works\n**Next**\n- ship it"
    assert for_the_next(text, 500) == text


def test_details_go_before_points_and_the_last_line_stays() -> None:
    lines = ["Done:", *(f"- point {n}" for n in range(3)), "  - a detail " * 40, "29 tests pass"]
    assert trimmed(lines, 40) == [*lines[:4], lines[5]]
    many = [*(f"- point {n} of many more points" for n in range(90)), "29 tests pass"]
    short = trimmed(many, 60)
    assert short[0] == many[0]
    assert short[-1] == "29 tests pass"
    assert sum(map(estimate, short)) <= 62


def test_a_lead_in_goes_with_its_details() -> None:
    lines = ["- The README has:", "  - " + "a detail " * 60, "- The page has a title."]
    assert trimmed(lines, 20) == ["- The page has a title."]


def test_of_each_list_the_first_items_stay() -> None:
    lines = [
        "Server:",
        *(f"- change {n} of the server in a few words" for n in range(9)),
        "Client:",
        *(f"- change {n} of the client in a few words" for n in range(9)),
        "29 tests pass",
    ]
    short = trimmed(lines, 80)
    assert "- change 0 of the client in a few words" in short
    assert "- change 8 of the server in a few words" not in short
    assert short[-1] == "29 tests pass"
    assert sum(map(estimate, short)) <= 80


def test_results_stay_when_points_before_them_go() -> None:
    lines = [
        "All tasks complete.",
        *(f"{n}. **file_{n}.py**: added a helper that does one thing well" for n in range(1, 9)),
        "- `cargo check`: compiles",
        "- `cargo test`: 129 tests pass",
    ]
    short = trimmed(lines, 60)
    assert short[-1] == "- `cargo test`: 129 tests pass"
    assert short[1] == lines[1]
    assert sum(map(estimate, short)) <= 60


def test_counts_of_what_is_not_shown_are_not_shown_either() -> None:
    summary = (
        "**Intent**: harden it\n112 observations, 2026-03-16T00:20Z to 2026-03-16T01:05Z\n\n"
        "**Outcome**: it is hardened\n\n**Decided**\n- skip the cap\n- and 4 more"
    )
    assert for_the_next(summary, 200) == (
        "**Outcome**: it is hardened\n**Decided**\n- skip the cap\n**Intent**: harden it"
    )


def test_a_part_that_does_not_fit_leaves_no_heading() -> None:
    outcome = "**Outcome**: " + "the cap holds " * 20
    summary = f"{outcome}\n**Decided**\n- {'a long decision ' * 30}\n**Files**: `a.py`"
    text = for_the_next(summary, 100)
    assert "**Decided**" not in text
    assert "**Files**: `a.py`" in text


def test_a_line_that_is_cut_does_not_end_with_a_lead_in() -> None:
    line = "Done — the discussion is written down in: `docs/review-phases.md`; It has: the limits"
    path = "Done — the discussion is written down in: `docs/review-phases.md`…"
    assert [excerpt_at(line, width) for width in (45, 50)] == [path, path]
    link = f"It is done. See here: https://example.org/{'x' * 90} for more"
    assert excerpt_at(link, 30) == "It is done. …"


def test_statements_that_were_cut_are_left_to_their_messages() -> None:
    summary = "**Outcome**: All green.\nThe build failed because…; It runs now.\nThe rest was…"
    assert without_cut(summary) == "**Outcome**: All green.\nIt runs now."
    assert without_cut("Nothing but a beginning…") == "Nothing but a beginning…"


def test_an_outcome_keeps_its_label_and_its_result_before_files_in_bold() -> None:
    first = "**Outcome**: 52/52 tests pass. Here's a summary of what changed:"
    assert trimmed([first, "**`src/a.ts`**", "- `show` opens a terminal"], 60)[0] == first
    alone = trimmed([first, "Everything else is as it was before."], 60)
    assert alone == ["**Outcome**: 52/52 tests pass.", "Everything else is as it was before."]
