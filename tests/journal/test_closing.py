"""Closing messages: their result in a number of tokens, and what they leave to do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen.text import estimate
from kinen.text.closing import (
    condensed,
    ends_in_step,
    first_lines,
    left_points,
    listed_points,
    next_points,
    results_first,
)
from kinen.text.statements import spoken

LONG = """All tasks complete. Here's a summary of the changes:

## Server

- Added `send_delta(panel, delta)`, which sends one message for each piece of text
- Renamed the queue so that its name says what it holds, and moved it into a module of its own
- Removed the old polling loop, which nobody needed any more since the queue wakes its readers

## Client

- Shows a cursor while text arrives, and hides it when the reader scrolls up
- Keeps the last hundred lines of each panel, the rest is on disk

```python
send_delta(1, "x")
```

### Verification
- `make test`: 129 tests pass (6 new)
- pushed to origin/stream
"""


@given(st.text(alphabet="ab -*#.:\n`✓日", max_size=400), st.integers(1, 200))
def test_a_condensed_message_never_costs_more_than_it_may(text: str, tokens: int) -> None:
    assert estimate(condensed(text, tokens)) <= tokens


@given(st.integers(60, 140))
def test_the_result_and_each_part_stay_when_details_go(tokens: int) -> None:
    text = condensed(LONG, tokens)
    assert text.startswith("All tasks complete.")
    assert "129 tests pass" in text
    assert "pushed to origin/stream" in text
    assert "send_delta(1" not in text


def test_every_part_has_a_word_before_one_has_two() -> None:
    text = condensed(LONG, 90)
    assert "send_delta(panel" in text
    assert "Shows a cursor" in text
    assert "polling loop" not in text


def test_a_short_message_stays_whole_without_its_announcements() -> None:
    assert condensed("Fixed the leak. Let me check the tests now.", 50) == "Fixed the leak."


def test_a_lead_in_without_its_list_is_left_out() -> None:
    assert condensed("Done: it works.\n\nThe changes are:\n\n```\nx\n```", 50) == "Done: it works."


def test_a_list_below_an_open_lead_in_is_one_point_with_its_items() -> None:
    text = "All good.\n\nCurrent pending changes (not committed yet):\n\n- `a.yml`\n- `b.mjs`\n"
    assert next_points(text) == ["Current pending changes (not committed yet): `a.yml`, `b.mjs`"]


def test_items_that_speak_for_themselves_are_points_each() -> None:
    steps = "1. Deploy the service first\n2. Release the action after it"
    text = f"## Next steps\n\n{steps}\n\n## Files\n- a"
    points = ["Deploy the service first", "Release the action after it"]
    assert listed_points(text) == points
    assert next_points(text) == points


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("## Nächste Schritte\n\nIn dieser Reihenfolge:\n\n1. Eine Spalte für Steuern", 1),
        ("**Próximos pasos**\n- Añadir una columna fiscal\n- Exportar las notas de crédito", 2),
        ("Осталось: измерить память при перестройке.", 1),
        ("已经完成。\n\n**待办：**\n1、在登录页面显示等待时间\n2、拒绝一千次时通知团队", 2),
        ("- [x] 壊れたダンプを見つける\n- [ ] 毎週日曜日に復元を実行する", 1),
        ("Pronto.\n\n## Em aberto\n\nFalta medir a memória da reconstrução.", 1),
        ("C'est fait. Dois-je aussi supprimer la position des photos ?", 1),
        (
            "## Next steps\n\n1. Write the page on it,\n   with a picture\n2. Ask for a review",
            2,
        ),
        ("## Offene Punkte\n\n- Keine\n", 0),
        ("```\n## Next steps\n- [ ] an example of a list in code\n```\nDone with the page.", 0),
        ("## Next.js\n\n- The page is rendered on the server now", 0),
        ("Die Änderungen sind:\n- der Export schreibt Semikolons\n- die Tests laufen durch", 0),
    ],
)
def test_what_is_next_is_known_by_its_place_in_any_language(text: str, points: int) -> None:
    assert len(next_points(text)) == points


def test_an_offer_is_left_to_the_user() -> None:
    text = "Done. If you want, I can commit this README update right now."
    assert next_points(text) == ["If you want, I can commit this README update right now."]


def test_a_word_that_only_sounds_open_is_no_point() -> None:
    assert not next_points("- `flush()` emits any remaining partial content as a final line")
    assert not next_points("All pushed, nothing left to do.")
    assert not next_points("Waiting on completion.")
    assert not next_points("Still waiting for the background task to finish.")
    assert not next_points("Idle and waiting for team-lead's next assignment.")
    assert not next_points("The remaining tasks belong to other team members.")
    assert not next_points("Let me check the list for remaining work.")
    assert next_points("Let me know which of the remaining tasks you want.")
    assert not next_points("Selecting another item could leave the editor waiting on a promise.")
    assert not next_points("If a load is pending, the provider returns the old item.")
    assert not next_points("Yes, if you want the darker colors.")
    assert not next_points("One commit with the research todo and its references.")
    assert next_points("TODO: the release notes of the second part.")
    assert next_points("The release is waiting on a review.")
    assert next_points("The review of the schema is pending.")
    assert next_points("Waiting for your approval of the schema.")
    assert not next_points("Ready for your next review run.")


def test_figures_and_links_of_results_come_first_after_a_short_first_line() -> None:
    link = "- PR: https://example.org/pull/13"
    title = "- The page has a title."
    short = "Done, pushed as asked."
    assert results_first(f"{short}\n{title}\n{link}").splitlines() == [short, link, title]
    long = f"Done, {'pushed as asked and ' * 5}more."
    assert results_first(f"{long}\n{title}\n{link}").splitlines() == [link, long, title]


def test_a_detail_is_not_told_without_the_point_above_it() -> None:
    points = [f"- **#{n}** `change number {n}`\n  - Draft, all checks passing." for n in range(20)]
    lines = condensed("There are open pull requests.\n" + "\n".join(points), 60).splitlines()
    assert lines[1].startswith("- **#0**")


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("I will now run the tests.", True),
        ("The board is built. I will now exit, the other tasks are for the next agent.", False),
        ("All my tasks are done. I'll wait for the team lead to assign more work.", False),
    ],
)
def test_the_end_of_the_work_is_not_a_step(text: str, step: bool) -> None:
    assert ends_in_step(text) is step


def test_a_colon_at_the_end_announces_something_in_any_language() -> None:
    assert ends_in_step("我需要搜尋更準確的文檔：")
    assert not ends_in_step("文檔已完成。")


@given(st.text())
def test_no_line_is_lost_where_results_come_first(text: str) -> None:
    lines = results_first(text).splitlines()
    assert sorted(filter(None, lines)) == sorted(filter(None, text.splitlines()))


def test_what_stands_below_a_verification_is_a_result() -> None:
    details = "\n".join(f"- Updated the module number {n} in a few words" for n in range(30))
    checks = "Verification passed:\n- service: `typecheck`, `lint`\n- action: `bundle`"
    text = condensed(f"Implemented it.\n{details}\n\n{checks}", 60)
    assert "`typecheck`" in text
    assert "`bundle`" in text


def test_a_tag_around_a_message_is_no_line_of_it() -> None:
    assert (
        condensed("<proposed_plan>\nReplace the cap.\n</proposed_plan>", 60) == "Replace the cap."
    )


def test_an_offer_that_was_not_taken_up_is_not_left_to_do() -> None:
    text = "Remaining work is to deploy the service. If you want, I can draft the notes."
    assert left_points(text) == ["Remaining work is to deploy the service."]


def test_a_word_of_the_domain_or_of_a_commit_is_nothing_to_do() -> None:
    assert (
        next_points("Other status: leave the credentials pending, since they are ambiguous.") == []
    )
    assert next_points("- `ee31c74` Fix follow-up tag sync after branch bootstrap") == []
    assert next_points("The review of the second part is still pending.") != []


def test_a_text_begins_with_whole_lines_and_sentences() -> None:
    body = "The copy follows a link. So it wrote through it. " + "And so on and on. " * 40
    assert first_lines(["fix: replace the target", "", body], 24) == (
        "fix: replace the target\n\nThe copy follows a link. So it wrote through it."
    )
    led = ["fix: replace the target", "The copy follows a link. So it did this:", ""]
    assert first_lines(led, 60) == "fix: replace the target\nThe copy follows a link."
    assert first_lines(["bump x", "- [Notes](" + "a" * 400 + ")"], 30) == "bump x"


@pytest.mark.parametrize(
    ("tokens", "ending"), [(58, "two methods: `append()`, `flush()`"), (50, "two methods …")]
)
def test_a_point_has_the_names_of_its_details_or_no_colon(tokens: int, ending: str) -> None:
    message = (
        "Everything is in place.\n"
        "1. **`app.rs`** — Added the `agent_buffers: [String; 3]` field and two methods:\n"
        "   - `append()` — accumulates the text that arrives and flushes the lines of it\n"
        "   - `flush()` — emits whatever is left of the last line when the stream ends\n"
        "2. **`agent.rs`** — Shows the line in progress with a cursor at its end."
    )
    text = condensed(message, tokens)
    assert estimate(text) <= tokens
    assert text.splitlines()[1].endswith(ending)


def test_pasted_git_status_is_not_the_result() -> None:
    pasted = """On branch main
Your branch is up to date with 'origin/main'.

Changes not staged for commit:
  (use "git add <file>..." to update what will be committed)
\tmodified:   src/cart.py

no changes added to commit (use "git add" and/or "git commit -a")

The coupon survives a reload now. On branch main the tests pass."""
    result = condensed(pasted, 200)
    assert result == "The coupon survives a reload now. On branch main the tests pass."


def test_a_line_drawn_across_is_no_text() -> None:
    ruler = "\u2500" * 40
    text = f"All 12 tests pass.\n\n`★ Insight {ruler}`\nThe cache is shared by all.\n`{ruler}`"
    assert condensed(text, 60) == "All 12 tests pass.\nThe cache is shared by all."
    assert list(spoken(text)) == ["All 12 tests pass.", "The cache is shared by all."]


def test_an_answer_begins_with_what_it_says() -> None:
    text = "Good catch — my framing was sloppy. The cache is shared by all worktrees."
    assert condensed(text, 60) == "The cache is shared by all worktrees."
    text = "That's a really sound architectural instinct. The cache is shared by all worktrees."
    assert condensed(text, 60) == "The cache is shared by all worktrees."


def test_the_first_lines_do_not_end_in_a_label() -> None:
    lines = ["**Outcome**: All done.", "**Next**", "- Push the branch and open a pull request."]
    assert first_lines(lines, 12) == "**Outcome**: All done."


def test_what_a_message_lists_as_left_is_all_that_is_left() -> None:
    text = (
        "Renumbered the remaining steps of the guide. If you'd like me to split the commit, say so."
        "\n\n**Remaining**\n\n1. Measure the import\n2. Delete the old table"
    )
    assert next_points(text) == ["Measure the import", "Delete the old table"]


@pytest.mark.parametrize(
    "text",
    [
        "An order is pending until the bank confirms it.",
        "The remaining work is done by the nightly job `settle_orders`.",
        "You need to sign each request with the key of the client.",
        "When a payment is still pending, the worker tries again.",
        "The worker waits when a job is pending.",
        "`abc1234f` is not pushed.",
        "Still waiting for the agents.",
        "Let me check what is still missing.",
        "No, not yet pushed.",
    ],
)
def test_what_explains_reports_or_answers_is_not_left_to_do(text: str) -> None:
    assert next_points(text) == []
