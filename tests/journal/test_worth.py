"""What is told of entries of any kind, in any number of tokens."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kinen.journal.brief import KINDS, Entry, attribution, brief
from kinen.text import estimate, iso, now

ENTRIES = st.builds(
    Entry,
    st.sampled_from(list(KINDS)),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=300),
    st.sampled_from(["", "summary:01M7PS16ABCD", "memory:7f24a33d", "checkpoint:.memories/a.md"]),
    st.sampled_from(["", "codex on main", "claude-code on feature by Dana"]),
    st.integers(0, 1_800_000_000_000),
    st.sampled_from(["", "one", "two"]),
)


@given(st.lists(ENTRIES, max_size=30), st.integers(200, 1200))
def test_a_brief_is_never_longer_than_its_budget(entries: list[Entry], budget: int) -> None:
    assert estimate(brief(entries, [], [], budget)) <= budget


def test_a_day_of_another_year_has_its_year() -> None:
    this_year = Entry("next", "a", "", "codex", round(now() * 1000))
    assert attribution(Entry("next", "a", "", "codex", 86_400_000)) == "2 Jan 1970 codex"
    assert iso(now())[:4] not in attribution(this_year)


def test_sessions_that_ended_in_one_second_are_told_apart() -> None:
    one, two = "summary:01M7PS16ABCDEFGH0000000001", "summary:01M7PS16ZYXWVUTS0000000002"
    entries = [
        Entry("next", "measure the queue", one, "codex", 1, one),
        Entry("next", "delete the old table", two, "codex", 2, two),
    ]
    text = brief(entries, [], [], 600)
    assert f"measure the queue [{one}]" in text
    assert f"delete the old table [{two}]" in text
