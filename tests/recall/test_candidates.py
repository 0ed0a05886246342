"""What comes first in a recall, besides how well it fits."""

from __future__ import annotations

import pytest

from kinen.model.records import Chunk, Hit, Record, Vote
from kinen.recall.candidates import (
    Candidate,
    asks_outcome,
    folded,
    in_order,
    may_answer,
    without_passing,
)


def hit(ref: str, at: str, score: float, text: str = "some words that explain") -> Hit:
    kind = ref.partition(":")[0]
    metadata = {"event": "message", "role": "assistant"} if kind == "observation" else {}
    record = Record(ref=ref, kind=kind, title="", at=at, metadata=metadata)
    chunk = Chunk(ref, 0, text)
    return Hit(record, chunk, score, (Vote("fulltext", 1, score, score),))


@pytest.mark.parametrize(
    "question",
    [
        "Did we finish the migration?",
        "What comes next?",
        "With how many passing tests did it end?",
        "Is everything pushed?",
        "What was not yet committed?",
    ],
)
def test_a_question_for_the_state_of_things_asks_for_an_outcome(question: str) -> None:
    assert asks_outcome(question)


@pytest.mark.parametrize(
    "question",
    ["Which status does the server send?", "Why did the test fail?", "Which port is used?"],
)
def test_a_question_for_a_fact_does_not(question: str) -> None:
    assert not asks_outcome(question)


def test_the_newest_summary_comes_first_where_an_outcome_is_asked() -> None:
    hits = [
        hit("observation:a", "2026-01-03", 0.6),
        hit("summary:old", "2026-01-01", 0.5),
        hit("summary:new", "2026-01-02", 0.5),
    ]
    refs = [entry.record.ref for entry in in_order(hits, "Did we finish it?")]
    assert refs == ["summary:new", "summary:old", "observation:a"]
    other = [item.record.ref for item in in_order(hits, "Why does it fail?")]
    assert other[0] == "observation:a"


def test_votes_add_up_to_the_score() -> None:
    for item in in_order([hit("summary:a", "2026-01-01", 0.5)], "Is it done?"):
        assert item.score == pytest.approx(sum(vote.share for vote in item.votes))
        assert {vote.retriever for vote in item.votes} == {"fulltext", "worth", "outcome"}


def test_without_a_question_the_order_stays() -> None:
    hits = [hit("observation:a", "2026-01-03", 0.1), hit("summary:b", "2026-01-01", 0.9)]
    assert in_order(hits, " ") == hits


def test_nothing_is_folded_that_differs_in_a_word_of_the_question() -> None:
    text = "one long sentence names store table row key column index query vector number word {}"
    both = [
        Candidate(hit("observation:a", "2026-01-01", 0.5), text.format("red")),
        Candidate(hit("observation:b", "2026-01-02", 0.5), text.format("blue")),
    ]
    assert [item.copies for item in folded(both)] == [1]
    assert len(folded(both, "is it red?")) == 2


def test_a_memory_gives_way_to_what_it_was_drawn_from() -> None:
    text = "the sessions of users are kept in Postgres because Redis lost them"
    both = [
        Candidate(hit("memory:a", "2026-01-02", 0.6), text),
        Candidate(hit("checkpoint:b", "2026-01-01", 0.5), text),
    ]
    assert [entry.hit.record.ref for entry in folded(both, "sessions")] == ["checkpoint:b"]


@pytest.mark.parametrize(
    "line",
    [
        "Task 4 is in progress.",
        "Review: pending",
        "| Task 4 | pending |",
        "**Pending**: the release",
        "The approval is still pending.",
        "Three remaining tasks wait for the schema.",
        "- [ ] TODO: the release",
        "I am waiting for the build.",
    ],
)
def test_lines_that_held_for_a_while_go(line: str) -> None:
    assert without_passing(f"Fixed the leak.\n{line}") == "Fixed the leak."


@pytest.mark.parametrize(
    "line",
    [
        "The tree reused a stale pending load after the selection changed.",
        "The worker flushes the remaining bytes and closes the file.",
        "A todo is stored with the list that it belongs to.",
        "A client waiting for a lock gives up after a second.",
    ],
)
def test_a_word_of_the_domain_is_no_state(line: str) -> None:
    assert without_passing(line) == line


@pytest.mark.parametrize("line", ["We cover 35 of roughly 120 endpoints.", "12 of 15 tests pass."])
def test_a_part_of_a_whole_held_for_a_while(line: str) -> None:
    assert without_passing(f"Fixed the leak.\n{line}") == "Fixed the leak."


@pytest.mark.parametrize(
    "line", ["All 6/6 tests pass.", "On 03/12 it was moved.", "Section 4 of RFC 6749 says so."]
)
def test_a_whole_a_date_and_a_chapter_stay(line: str) -> None:
    assert without_passing(line) == line


def test_how_something_works_is_told_by_what_explains_it_not_by_steps_on_the_way() -> None:
    explains = "It appends each part to a buffer and writes a line when one is complete."
    hits = [
        hit("observation:step", "2026-01-01", 0.6, "`Node` has a `stream`. Let me verify the API."),
        hit("observation:end", "2026-01-02", 0.5, explains),
    ]
    refs = [entry.record.ref for entry in in_order(hits, "how does the streaming work")]
    assert refs == ["observation:end", "observation:step"]
    assert in_order(hits, "Which class has a stream?")[0].record.ref == "observation:step"


@pytest.mark.parametrize(
    ("question", "ref", "needed"),
    [
        ("What comes next?", "summary:a", True),
        ("Why does it fail?", "summary:a", False),
        ("Why does it fail?", "observation:a", True),
        ("Why does it fail?", "note:a.md", False),
    ],
)
def test_what_may_answer_though_its_words_are_others(question: str, ref: str, needed: bool) -> None:
    assert may_answer(question, hit(ref, "2026-01-01", 0.1)) is needed
