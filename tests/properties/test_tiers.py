from __future__ import annotations

import re
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kinen.errors import QueryError
from kinen.model.journal import Item, Recall
from kinen.recall.tiers import item, shown, tiers
from kinen.text import estimate

samples = [
    "# Pinned",
    "```py\ncode",
    "| a | b |\n|---|---|",
    "- one\n- two",
    "<!-- open",
    "naïve 日本",
]
texts = st.one_of(
    st.sampled_from(samples),
    st.text(max_size=60),
    st.lists(st.sampled_from("the index is derived\n\n from 42 files ## > * `".split(" "))).map(
        " ".join
    ),
)
refs = st.integers(0, 12).map("note:{}.md".format) | st.text(max_size=8)
times = st.sampled_from(["", "2026-03-01T10:00:00.000Z", "yesterday"])


def items(tier: str, most: int) -> st.SearchStrategy[list[Item]]:
    entry = st.builds(
        lambda ref, text, at, score: item(tier, ref, text, at=at, score=score),
        refs,
        texts,
        times,
        st.floats(0, 1),
    )
    return st.lists(entry, max_size=most)


budgets = st.integers(1, 400)
inputs = st.tuples(items("pins", 4), items("hits", 12))
Inputs = tuple[list[Item], list[Item]]


def recalled(budget: int, given_: Inputs) -> Recall:
    pins, hits = given_
    return tiers("why", budget, pins, hits, ["full text only"])


@given(budgets, inputs)
def test_a_recall_always_keeps_its_budget(budget: int, given_: Inputs) -> None:
    recall = recalled(budget, given_)
    assert recall.tokens <= budget
    assert estimate(shown(recall)) <= budget


@given(budgets, inputs)
def test_a_recall_costs_no_less_than_it_shows(budget: int, given_: Inputs) -> None:
    recall = recalled(budget, given_)
    assert estimate(shown(recall)) <= recall.tokens
    assert all(estimate(entry.text) <= entry.tokens for entry in recall.items)


@given(budgets, inputs)
def test_everything_is_shown_or_dropped_once_and_in_order(budget: int, given_: Inputs) -> None:
    pins, hits = given_
    recall = recalled(budget, given_)
    every = [*pins, *hits]
    output = [(entry.tier, entry.ref, entry.tokens) for entry in recall.items]
    output += [(element.tier, element.ref, element.tokens) for element in recall.dropped]
    assert sorted(output) == sorted((one.tier, one.ref, one.tokens) for one in every)
    for value in (recall.items, recall.dropped):
        left = iter((one.tier, one.ref, one.tokens) for one in every)
        assert all((one.tier, one.ref, one.tokens) in left for one in value)
    assert len({one.ref for one in recall.items}) == len(recall.items)


@given(budgets, inputs)
def test_what_was_dropped_for_its_size_would_not_have_fitted(budget: int, given_: Inputs) -> None:
    pins, hits = given_
    recall = recalled(budget, given_)
    first = [value for value in recall.items if value.tier == "pins"]
    chosen = [one for one in recall.items if one.tier == "hits"]
    if len(first) < len({pin.ref for pin in pins}):
        return  # a pin that had no room leaves some to the hits
    over = [
        element
        for element in recall.dropped
        if element.reason == "over budget" and element.tier == "hits"
    ]
    left = {entry.ref: entry.tokens for entry in reversed(over)}
    assert not left.keys() & {one.ref for one in recall.items}
    spent = recalled(10**9, (pins, chosen)).tokens
    message = estimate(f"_{len(hits)} more left out_") + (0 if chosen else estimate("## Related"))
    assert all(spent + tokens + message > budget for tokens in left.values())


@given(budgets, inputs)
def test_the_budget_that_is_proposed_suffices(budget: int, given_: Inputs) -> None:
    proposed = re.search(r"\((\d+) would do\)_$", shown(recalled(budget, given_)))
    if proposed:
        again = recalled(int(proposed[1]), given_)
        assert "over budget" not in [entry.reason for entry in again.dropped]


@given(budgets, inputs)
def test_the_same_is_recalled_in_the_same_bytes(budget: int, given_: Inputs) -> None:
    assert recalled(budget, given_) == recalled(budget, given_)
    assert shown(recalled(budget, given_)) == shown(recalled(budget, given_))


@given(budgets, inputs)
def test_no_item_breaks_out_of_its_place(budget: int, given_: Inputs) -> None:
    recall = recalled(budget, given_)
    tokens = MarkdownIt("commonmark").parse(shown(recall))
    outer = [token.type for token in tokens if token.level == 0 and token.nesting >= 0]
    expected: list[str] = []
    for _ in groupby(recall.items, lambda entry: entry.tier):
        expected += ["heading_open", "bullet_list_open"]
    remark = shown(recall).endswith("_") and "left out" in shown(recall).splitlines()[-1]
    assert outer == expected + ["paragraph_open"] * remark
    listed = [token for token in tokens if token.type == "list_item_open" and token.level == 1]
    assert len(listed) == len(recall.items)


@given(budgets)
def test_of_nothing_nothing_is_recalled(budget: int) -> None:
    recall = tiers("why", budget, [], [])
    assert recall == Recall("why", (), (), budget, 0)
    assert shown(recall) == ""


@pytest.mark.parametrize("budget", [0, -1])
def test_a_budget_for_nothing_is_refused(budget: int) -> None:
    with pytest.raises(QueryError, match="budget"):
        tiers("why", budget, [], [])


def test_a_recall_reads_like_this() -> None:
    pins = [item("pins", "note:rules.md", "Never force-push.")]
    message = "observation:01KH97XN320008AXYP740FAMJ7"
    hits = [
        item("hits", message, "It is a known bug.", at="2026-03-01T10:00:00.000Z"),
        item("hits", "note:a.md#1", "The kettle is on.", at="2026-03-02T08:30:12.000Z"),
        item("hits", "note:rules.md", "Never force-push."),
        item("hits", "note:b.md#0", "tea " * 600),
        item("hits", "note:a.md#1", "The kettle is on."),
        item("hits", "note:c.md#4", "## Milk\n\n```sh\npour\n```"),
    ]
    recall = tiers("tea?", 200, pins, hits)
    assert shown(recall) == (
        "## Pinned\n"
        "- Never force-push. [note:rules.md]\n"
        "\n"
        "## Related\n"
        "- It is a known bug. [01KH97XN320008] 2026-03-01\n"
        "- The kettle is on. [note:a.md#1] 2026-03-02\n"
        "- [note:c.md#4]\n"
        "  ## Milk\n"
        "\n"
        "  ```sh\n"
        "  pour\n"
        "  ```\n"
        "\n"
        "_1 more left out: 506 tokens over the budget of 200 (1000 would do)_"
    )
    assert [(entry.ref, entry.reason) for entry in recall.dropped] == [
        ("note:rules.md", "already pinned"),
        ("note:b.md#0", "over budget"),
        ("note:a.md#1", "shown already"),
    ]


def test_pins_without_room_are_left_out_and_counted() -> None:
    pins = [item("pins", "note:a.md", "tea " * 60), item("pins", "note:b.md", "milk")]
    recall = tiers("tea?", 50, pins, [])
    assert [entry.ref for entry in recall.items] == ["note:b.md"]
    assert [element.reason for element in recall.dropped] == ["over budget"]
    assert "1 more left out" in shown(recall)
