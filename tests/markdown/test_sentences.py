from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen.text import sentences as prose

words = st.lists(
    st.sampled_from("we dropped the cache because reads were slow".split()), min_size=1
)


@pytest.mark.parametrize(
    ("markdown", "words"),
    [
        ("**Use** `WAL` with [SQLite](https://sqlite.org)", "Use `WAL` with SQLite"),
        ("see [[notes/cache|the cache]]", "see the cache"),
        ("a snake_case_name stays", "a snake_case_name stays"),
        ("✅ done\nand pushed", "✅ done and pushed"),
        ("~~old~~ new", "old new"),
    ],
)
def test_inline_markdown_becomes_words(markdown: str, words: str) -> None:
    assert prose.plain(markdown) == words


def test_an_abbreviation_does_not_end_a_sentence() -> None:
    text = "Use a queue, e.g. Redis. It is quick, i.e. fast enough."
    assert [*prose.sentences(text)] == [
        "Use a queue, e.g. Redis.",
        "It is quick, i.e. fast enough.",
    ]


def test_a_quotation_ends_a_sentence_only_before_a_new_one() -> None:
    assert [*prose.sentences('It says "No rows yet." to the reader.')] == [
        'It says "No rows yet." to the reader.'
    ]
    assert [*prose.sentences('It says "No rows yet." Then it ends. (So far.) All')] == [
        'It says "No rows yet."',
        "Then it ends.",
        "(So far.)",
        "All",
    ]


def test_a_line_ends_a_sentence_unless_an_editor_wrapped_it() -> None:
    assert [*prose.sentences("Drop the cache\nKeep the queue")] == [
        "Drop the cache",
        "Keep the queue",
    ]
    long = "The cache was dropped because nobody could say when an entry in it\nwas still valid."
    assert [*prose.sentences(long)] == [long.replace("\n", " ")]


@given(st.lists(words.map(" ".join), min_size=1, max_size=6))
def test_sentences_with_full_stops_are_told_apart(parts: list[str]) -> None:
    whole = [f"{part.capitalize()}." for part in parts]
    assert [*prose.sentences(" ".join(whole))] == whole


@given(st.text(max_size=300))
def test_any_text_has_sentences_of_its_own_words(text: str) -> None:
    for sentence in prose.sentences(text):
        assert sentence == " ".join(sentence.split())
        assert sentence


def test_code_quotations_tables_and_headings_are_not_prose() -> None:
    markdown = (
        "# Cache\n\nDropped.\n\n> quoted\n\n```\ncode\n```\n\n| a |\n|---|\n| b |\n\n- listed\n"
    )
    assert list(prose.paragraphs(markdown)) == ["Dropped.", "listed"]


@pytest.mark.parametrize(
    "sentence", ["Should we drop it?", "It probably works", "Maybe use WAL", "I think it is fine"]
)
def test_questions_and_guesses_are_not_certain(sentence: str) -> None:
    assert not prose.is_certain(sentence)
    assert prose.is_certain("SQLite runs in WAL mode")


@pytest.mark.parametrize("sentence", ["please run the tests", "ok, can you drop it", "Let me look"])
def test_a_request_is_no_statement(sentence: str) -> None:
    assert not prose.is_sure(sentence)
    assert prose.is_sure("let's use PostgreSQL for the sessions")


def test_a_sentence_that_points_elsewhere_does_not_stand_alone() -> None:
    assert not prose.stands_alone("it works like that now")
    assert prose.stands_alone("PostgreSQL stores the login sessions")


def test_a_statement_joins_topic_choice_and_reason() -> None:
    assert prose.statement("Storage", "SQLite.", "It needs no server.") == (
        "Storage: SQLite, because it needs no server"
    )
    assert prose.statement("Storage", "") == "Storage"
    assert prose.statement("Which store?", "SQLite") == "Which store? SQLite"
    assert prose.joined(["One", "", "Two!"]) == "One. Two!"


def test_a_label_is_the_bold_beginning() -> None:
    assert prose.labelled("**Why:** reads were slow") == ("why", "reads were slow")
    assert prose.labelled("no label") == ("", "no label")


@given(st.text(st.characters(exclude_characters="\\`*[]<&~\0\ue000", exclude_categories=["Cs"])))
def test_text_without_markup_reads_as_beside_markup(text: str) -> None:
    assert prose.plain(f"{text} **x**") == f"{prose.plain(text)} x".strip()
