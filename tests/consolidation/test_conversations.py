"""What a session gives without a model: labels, the user's own rules, and the user's choices."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen.consolidation.conversations import from_session
from kinen.model.journal import Observation, Summary
from kinen.text.choices import CHOOSING, ORDINALS, accepted, options, picked
from kinen.text.statements import rules_of

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
        ("Please from now on use pnpm here.", "Please from now on use pnpm here."),
        ("Bitte ab jetzt die Tests zuerst starten.", "Bitte ab jetzt die Tests zuerst starten."),
        ("From now on use pnpm for installs.", "From now on use pnpm for installs."),
        ("Niemals direkt auf main pushen.", "Niemals direkt auf main pushen."),
        ("Benutze immer pnpm für Installationen.", "Benutze immer pnpm für Installationen."),
        ("N'utilise jamais npm dans ce dépôt.", "N'utilise jamais npm dans ce dépôt."),
        ("Use pnpm, never npm", "Use pnpm, never npm"),
        ("Don't ever push without asking.", "Don't ever push without asking."),
        ("Always be explicit about types.", "Always be explicit about types."),
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
        "never mind the failing test, go on",
        "Always the same error, look at it",
        "Never tested this on Windows, can you try it there",
        "Immer der gleiche Fehler, schau mal",
        "Toujours la même erreur, regarde",
        "Tests pass locally, never on CI",
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
        ("yes, 3", "Redis"),
        ("I'd go with 3, thanks", "Redis"),
        ("use redis please", "Redis"),
        ("je prends la troisième", "Redis"),
        ("选3", "Redis"),
        ("3でお願いします", "Redis"),
        ("option 3 please, but keep the old one", "Redis (but keep the old one)"),
        ("3 because it is there", "Redis (because it is there)"),
    ],
)
def test_a_choice_is_kept_with_its_question(reply: str, option: str) -> None:
    assert drawn(("assistant", STORES), ("user", reply)) == [
        ("decision", f"Which store should the queue use? {option}")
    ]


@pytest.mark.parametrize(
    "reply",
    [
        *("yes", "ok", "no", "7", "is 2 safe?", "I need 2 tests and 3 pages", "go on with it"),
        *("not 2", "don't do 2", "skip 2", "all except 3", "anything but 1", "neither 1", "2 or 3"),
        *("2 is broken", "the first is bad", "in 2 days", "add 2 tests", "why is 2 needed"),
        *("not redis", "redis is wrong", "2, no wait", "1, 3", "nicht 2", "pas la deuxième"),
        *("не 2", "不要 2", "2はだめ", "2? no"),
    ],
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
    assert choice and choice.question == "Shall the old API stay for a year?"
    found = from_session([said("assistant", "Shall the API stay?"), said("user", "yes")])
    assert [(finding.content, finding.confidence) for finding in found] == [
        ("Shall the API stay? Yes.", 0.6)
    ]
    assert accepted("Done. All tests pass.", "great") is None


@pytest.mark.parametrize(
    "question",
    [
        "What is the name of the table?",
        "In which file is it?",
        "Shall I take Redis or SQLite?",
        "Wie heißt die Tabelle?",
        "Где лежит файл?",
        "用哪个表？",
    ],
)
def test_a_yes_accepts_no_question_that_asks_for_more(question: str) -> None:
    assert [
        reply for reply in ("sure", "ok", "ja", "да", "好的") if accepted(question, reply)
    ] == []


@pytest.mark.parametrize("end", ["All tests pass.", "Shall I commit it?", "Anything else?"])
def test_the_items_of_a_report_are_no_options(end: str) -> None:
    report = f"I changed two things:\n1. The lexer skips comments\n2. The parser is lazy\n\n{end}"
    for reply in ("2", "the second one", "2 is broken", "yes"):
        assert drawn(("assistant", report), ("user", reply)) == []


@pytest.mark.parametrize(
    ("request_", "offer", "decided"),
    [
        (
            "Which queue do we take for mails?",
            "Two candidates:\n1. RabbitMQ\n2. SQS\n\nWhich do you prefer?",
            "Which queue do we take for mails? RabbitMQ",
        ),
        (
            "Add paths for the tickets.",
            "Which?\n1. user/ticket\n2. ticket",
            "Add paths for the tickets: user/ticket",
        ),
        (
            "go on",
            "Two ways to end the sessions that stay open:\n1. a timeout\n2. a hook\n\nWhich one?",
            "Two ways to end the sessions that stay open: a timeout",
        ),
        (
            "Wie liefern wir die API aus?",
            "Es gibt zwei Wege:\n1. rollend\n2. blau und grün\n\nWelchen nehmen wir?",
            "Wie liefern wir die API aus? rollend",
        ),
    ],
)
def test_a_choice_says_what_it_is_about(request_: str, offer: str, decided: str) -> None:
    assert drawn(("user", request_), ("assistant", offer), ("user", "1")) == [("decision", decided)]


def test_a_choice_about_nothing_known_is_not_kept() -> None:
    offer = "Which?\n1. rolling deploys\n2. blue and green"
    assert drawn(("user", "ok"), ("assistant", offer), ("user", "1")) == []


def test_what_a_session_says_of_two_names_is_kept_of_both() -> None:
    said_of = "Decision: the importer of {} keeps the raw files for audits of customers"
    both = "\n\n".join(said_of.format(name) for name in ("Acme", "Bolt"))
    assert len(drawn(("user", "go"), ("assistant", both))) == 2


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


@given(
    st.dictionaries(st.sampled_from(["A", "B", "1", "2"]), st.text(max_size=8), max_size=3),
    st.lists(
        st.sampled_from([*ORDINALS, *CHOOSING, "A", "b", "1", "2", "not", ",", "?", "because"]),
        max_size=8,
    ).map(" ".join),
)
def test_any_reply_picks_an_option_that_was_offered_or_none(
    offered: dict[str, str], reply: str
) -> None:
    option, _ = picked(offered, reply)
    assert not option or option in offered.values()
