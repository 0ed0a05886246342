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


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The limit of the red table is 40 rows.", "The limit of the blue table is 40 rows."),
        ("The limit of the red table is 40 rows.", "The limit of the red table is 50 rows."),
        ("The red table is used by both jobs.", "The red table is not used by both jobs."),
        ("Red has 5 rows and blue has 9 rows.", "Red has 9 rows and blue has 5 rows."),
        ("The red table is full. It is Monday.", "The red table is full."),
    ],
)
@pytest.mark.parametrize("kind", ["observation", "memory", "summary"])
def test_nothing_is_left_out_because_another_text_resembles_it(
    older: str, newer: str, kind: str
) -> None:
    both = [
        Candidate(hit(f"{kind}:a", "2026-01-01", 0.5), older),
        Candidate(hit(f"{kind}:b", "2026-01-02", 0.5), newer),
    ]
    assert folded(both) == both


def test_a_text_that_a_newer_one_has_word_by_word_is_left_out() -> None:
    both = [
        Candidate(hit("observation:a", "2026-01-01", 0.5), "The red table is full."),
        Candidate(hit("observation:b", "2026-01-02", 0.5), "So **the red table** is full!"),
    ]
    assert folded(both) == [both[1]._replace(copies=1)]


@pytest.mark.parametrize("kind", ["memory", "summary"])
def test_what_was_drawn_from_others_gives_way_to_them(kind: str) -> None:
    text = "the sessions of users are kept in Postgres because Redis lost them"
    both = [
        Candidate(hit(f"{kind}:a", "2026-01-02", 0.6), f"Outcome: {text}"),
        Candidate(hit("checkpoint:b", "2026-01-01", 0.5), text),
    ]
    assert [entry.hit.record.ref for entry in folded(both)] == ["checkpoint:b"]


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
