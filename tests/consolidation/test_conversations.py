"""What a session gives without a model: labels, the user's own rules, and the user's choices."""

from __future__ import annotations

from itertools import count

import pytest

from kinen.consolidation.conversations import from_session, rules_of
from kinen.journal.choices import accepted, options
from kinen.model.journal import Observation, Summary

_ids = count(1)
STORES = """Which store should the queue use?

1. **SQLite** - one file
2. **PostgreSQL** - a server
3. Redis"""


def said(role: str, text: str) -> Observation:
    n = next(_ids)
    return Observation(f"o{n}", "message", text, 1_767_261_600_000 + n, provenance={"role": role})


def drawn(*turns: tuple[str, str], strategy: str = "hybrid") -> list[tuple[str, str]]:
    found = from_session([said(*turn) for turn in turns], (), strategy)
    return [(finding.type, finding.content) for finding in found if finding.confidence >= 0.7]


@pytest.mark.parametrize(
    ("prompt", "rule"),
    [
        ("Never push to main without a review.", "Never push to main without a review."),
        ("no, never `bun link` a session version", "never `bun link` a session version"),
        ("When reading json output, always use jq", "When reading json output, always use jq"),
        ("Please always run the linter first.", "Please always run the linter first."),
        ("From now on use pnpm for installs.", "From now on use pnpm for installs."),
        ("Niemals direkt auf main pushen.", "Niemals direkt auf main pushen."),
        ("Benutze immer pnpm für Installationen.", "Benutze immer pnpm für Installationen."),
        ("N'utilise jamais npm dans ce dépôt.", "N'utilise jamais npm dans ce dépôt."),
        ("Usa siempre pnpm para instalar.", "Usa siempre pnpm para instalar."),
        ("Nunca faça push direto na main.", "Nunca faça push direto na main."),
        ("Никогда не пушь прямо в main.", "Никогда не пушь прямо в main."),
        ("永远不要直接推送到主分支。", "永远不要直接推送到主分支。"),
        ("必ずテストを先に実行してください。", "必ずテストを先に実行してください。"),
    ],
)
def test_a_standing_rule_of_the_user_is_kept(prompt: str, rule: str) -> None:
    assert drawn(("user", f"Fix the build. {prompt}" if prompt.isascii() else prompt))[-1:] == [
        ("pattern", rule)
    ]


@pytest.mark.parametrize(
    "prompt",
    [
        "why does it never work?",
        "The tests always fail on CI.",
        "never mind",
        "It has never been that slow before.",
        "> Never push to main without a review.",
        "# Rules\n\nNever push to main without a review.",
        "Das ist noch nie passiert bei uns.",
        "Never push to main without a review. " * 60,
    ],
)
def test_a_story_a_question_and_a_template_are_no_rule(prompt: str) -> None:
    assert list(rules_of(prompt)) == []


@pytest.mark.parametrize(
    ("reply", "option"),
    [
        ("2", "PostgreSQL - a server"),
        ("option 2 please", "PostgreSQL - a server"),
        ("the second one", "PostgreSQL - a server"),
        ("let's go with 1", "SQLite - one file"),
        ("den zweiten bitte", "PostgreSQL - a server"),
        ("la tercera", "Redis"),
        ("第二个", "PostgreSQL - a server"),
        ("redis", "Redis"),
        ("the last", "Redis"),
    ],
)
def test_a_choice_is_kept_with_its_question(reply: str, option: str) -> None:
    assert drawn(("assistant", STORES), ("user", reply)) == [
        ("decision", f"Which store should the queue use? {option}")
    ]


@pytest.mark.parametrize(
    "reply", ["yes", "ok", "no", "7", "is 2 safe?", "I need 2 tests and 3 pages", "go on with it"]
)
def test_a_reply_that_picks_nothing_decides_nothing(reply: str) -> None:
    assert accepted(STORES, reply) is None
    assert drawn(("assistant", STORES), ("user", reply)) == []


def test_letters_are_options_and_an_article_is_none() -> None:
    offer = "How should it start?\n\n- **Option A: by hand**\n- **Option B: on demand**"
    assert options(offer) == {"A": "by hand", "B": "on demand"}
    for reply in ("B", "b)", "option B", "B, thanks"):
        choice = accepted(offer, reply)
        assert choice and choice.option == "on demand", reply
    assert accepted(offer, "I think a better way exists") is None


def test_a_mere_yes_accepts_the_question_and_stays_below_what_is_kept() -> None:
    choice = accepted("I can do that.\n\nShall the old API stay for a year?", "ja, bitte")
    assert choice and choice.text == "Shall the old API stay for a year?"
    found = from_session([said("assistant", "Shall the API stay?"), said("user", "yes")])
    assert [(finding.content, finding.confidence) for finding in found] == [
        ("Shall the API stay? Yes.", 0.6)
    ]
    assert accepted("Done. All tests pass.", "great") is None


def test_an_agent_is_heard_only_where_it_labels_in_its_last_message() -> None:
    prose = "The root cause was a stale socket. We must always close it. I decided to use SQLite."
    assert drawn(("user", "go"), ("assistant", prose)) == []
    label = "Decision: the pool closes stale sockets"
    assert drawn(("user", "go"), ("assistant", label), ("assistant", "Done.")) == []
    assert drawn(("user", "go"), ("assistant", f"Done.\n\n{label}")) == [
        ("decision", "the pool closes stale sockets")
    ]


@pytest.mark.parametrize(
    ("strategy", "heard"),
    [("user_only", ["pattern"]), ("assistant_only", ["lesson"]), ("hybrid", ["pattern", "lesson"])],
)
def test_the_strategy_says_whose_words_count(strategy: str, heard: list[str]) -> None:
    turns = (
        ("user", "Never push to main without a review."),
        ("assistant", "Lesson: the hook of `main` runs on every push"),
    )
    assert [type_ for type_, _ in drawn(*turns, strategy=strategy)] == heard


def test_the_labelled_headings_of_a_compaction_count() -> None:
    text = (
        "1. Primary Request and Intent:\n   - The user asked for a pool\n"
        "2. Errors and fixes:\n   - Wrong path: fixed it\n"
        "3. Key Decisions:\n   - The pool closes stale sockets\n"
    )
    summary = Summary("s1", "c1", text, 1_767_261_600_000)
    found = from_session([], [summary])
    assert [(finding.type, finding.content) for finding in found] == [
        ("decision", "The pool closes stale sockets")
    ]
