"""How texts refer to issues, and which issues can be begun."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen.model.issues import Issue, ready, references

NOW = "2026-11-16T00:00:00.000Z"
KNOWN = {"bd-a1b2", "spotter-a0y", "spotter-a0y.4", "learning_agent-xu5g", "shop-pfwu"}


def ids(text: str) -> list[str]:
    return [name.id for name in references(text, KNOWN)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Fix login (#123)", ["123"]),
        ("see GH-9 and #0", ["9"]),
        ("SHOP-42: charge once", ["SHOP-42"]),
        ("bd-a1b2 is done", ["bd-a1b2"]),
        ("spotter-a0y.4 after spotter-a0y.", ["spotter-a0y.4", "spotter-a0y"]),
        ("Merge branch 'fix/bd-a1b2-login'", ["bd-a1b2"]),
        ("worktree-fixing-with-beads-learning_agent-xu5g", ["learning_agent-xu5g"]),
        ("BD-A1B2 in capitals", ["bd-a1b2"]),
        ("cd ~/trees/spotter-a0y; cat /srv/bd-a1b2/x.py; trees/bd-a1b2/y", []),
        ("Closes: a1b2, xu5g", ["bd-a1b2", "learning_agent-xu5g"]),
        ("close the review bead (pfwu)", ["shop-pfwu"]),
        ("blocked by a0y.4", ["spotter-a0y.4"]),
        ("follow-up issues #29-31", ["29", "30", "31"]),
        ("Merge pull request #39 from ann/4-wide-charts", ["39", "4"]),
    ],
)
def test_a_text_names_issues(text: str, expected: list[str]) -> None:
    assert ids(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fixes #12, see GH-14 and #14-15", ["12", "14", "14", "15"]),
        ("defects (shop-0911/0913/0916)", ["shop-0911", "shop-0913", "shop-0916"]),
        ("in shop-0911/0913/src, shop-0911/0999", []),
    ],
)
def test_an_issue_that_is_known_is_named_once(text: str, expected: list[str]) -> None:
    known = {"12", "14", "15", "shop-0911", "shop-0913", "shop-0916"}
    assert [name.id for name in references(text, known)] == expected


@pytest.mark.parametrize(
    "text",
    [
        "colour #123abc and #fff",
        "UTF-8, SHA-256, ISO-8601, RFC-2119, CVE-2024-1234, GPT-4, AES-128",
        "bd-zzzz is not known, bd-plan is a skill",
        "https://example.org/page#12",
        "version 1.2.3-4, foo#12, C#7",
        "bd-a1b2c is another word",
        "# 12 is a heading",
        "a1b2 without a word of the tracker, src/a1b2 fixed",
        "fix pfwu",
        "style='color: #333; background:#444'",
        "pages #3-9000",
    ],
)
def test_other_words_are_not_issues(text: str) -> None:
    assert ids(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Fixes #1, #2 and #3; see #4", [True, True, True, False]),
        ("Closes: bd-a1b2 (all done)", [True]),
        ("resolved SHOP-42", [True]),
        ("the prefix #12", [False]),
        ("refs #12", [False]),
    ],
)
def test_closing_words(text: str, expected: list[bool]) -> None:
    assert [name.closes for name in references(text, KNOWN)] == expected


@given(st.text(max_size=400))
def test_every_place_is_in_the_text_and_in_order(text: str) -> None:
    places = [name.start for name in references(text, KNOWN)]
    assert places == sorted(places)
    assert all(0 <= place < len(text) for place in places)


def issue(id_: str, *needs: tuple[str, str], status: str = "open", **more: object) -> Issue:
    return Issue(id_, id_, status, dependencies=needs, **more)  # type: ignore[arg-type]


def test_an_open_blocker_keeps_an_issue_back_and_a_closed_one_does_not() -> None:
    issues = [
        issue("a"),
        issue("b", ("a", "blocks")),
        issue("c", ("done", "blocks")),
        issue("done", status="closed"),
        issue("d", ("a", "related")),
        issue("e", ("gone", "blocks")),
    ]
    assert [item.id for item in ready(issues, NOW)] == ["a", "c", "d", "e"]


def test_a_child_of_a_blocked_parent_is_blocked_and_circles_end() -> None:
    issues = [
        issue("epic", ("first", "blocks")),
        issue("child", ("epic", "parent-child")),
        issue("first"),
        issue("x", ("y", "parent-child")),
        issue("y", ("x", "parent-child")),
    ]
    assert [item.id for item in ready(issues, NOW)] == ["first", "x", "y"]


def test_the_most_urgent_comes_first_and_deferred_ones_wait() -> None:
    issues = [
        issue("low", priority=3),
        issue("high", priority=0),
        issue("later", deferred="2030-01-01T00:00:00.000Z"),
        issue("going", status="in_progress"),
        issue("gate", type="gate"),
    ]
    assert [item.id for item in ready(issues, NOW)] == ["high", "low"]
