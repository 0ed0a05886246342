from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen import Memory, Query
from kinen.recall.wording import read_wording, run_strength, telling_runs
from kinen.text import contains, longest_run

if TYPE_CHECKING:
    from pathlib import Path

WORDS = st.lists(st.sampled_from(["tea", "pot", "is", "on", "the", "table"]), max_size=12)


def test_quotes_are_required_and_a_minus_excludes() -> None:
    wording = read_wording('why is "the kettle" cold -copper')
    assert wording.text == "why is the kettle cold"
    assert wording.required == ("the kettle",)
    assert wording.excluded == ("copper",)


def test_options_of_commands_hyphens_and_lone_quotes_are_text() -> None:
    for text in ("ls -la fails", "rate-limiter", "a - b", 'a 5" pipe', "x --verbose", "-copper"):
        assert read_wording(text) == (text, (), ())


def test_a_phrase_is_found_across_lines_case_and_markup() -> None:
    assert contains("The **copper** kettle\n  whistles.", "copper kettle whistles")
    assert contains("call f(x) now", "f(x)")
    assert not contains("call f.x now", "f(x)")
    assert not contains("the kettle of copper", "copper kettle")


@given(WORDS, WORDS)
def test_the_longest_run_is_the_one_a_plain_search_finds(
    question: list[str], text: list[str]
) -> None:
    slow = 0
    for start in range(len(question)):
        for end in range(start + 1, len(question) + 1):
            part = question[start:end]
            inside = any(text[at : at + len(part)] == part for at in range(len(text)))
            slow = max(slow, len(part) if inside else 0)
    assert longest_run(question, text) == slow


def test_runs_of_function_words_tell_nothing() -> None:
    assert telling_runs("what is it that we are") == []
    assert ("kettle", "was", "cold") in telling_runs("the kettle was cold")


def test_strength_is_the_share_of_the_question_said_word_by_word() -> None:
    assert run_strength("the copper kettle is cold", "The copper kettle is cold.") == 1.0
    assert run_strength("the copper kettle is cold", "a copper kettle is here") == 0.6
    assert run_strength("the copper kettle is cold", "copper and kettle") == 0.0


def test_a_question_that_was_asked_before_is_not_its_answer(space: Path) -> None:
    (space / "tokens.md").write_text("# Tokens\n\nRefresh tokens rotate every hour.\n")
    with Memory.open(space, settings={"index.embedding_provider": "none"}) as memory:
        memory.observe("Ask: how do refresh tokens rotate", provenance={"role": "user"})
        hits = memory.search("how do refresh tokens rotate")
        votes = {hit.record.kind: [vote.retriever for vote in hit.votes] for hit in hits}
        assert "phrase" not in votes["observation"]


def test_quoted_words_are_a_condition_and_a_minus_excludes(space: Path) -> None:
    (space / "a.md").write_text("# A\n\nThe copper kettle is on.\n")
    (space / "b.md").write_text("# B\n\nThe kettle of copper is cold.\n")
    with Memory.open(space, settings={"index.embedding_provider": "none"}) as memory:
        memory.sync()
        assert [hit.record.path for hit in memory.search('"copper kettle"')] == ["a.md"]
        assert [hit.record.path for hit in memory.search("kettle -cold")] == ["a.md"]
        first = memory.search("the kettle of copper")[0]
        assert first.record.path == "b.md"
        assert sum(vote.share for vote in first.votes) == pytest.approx(first.score)


def test_keywords_stay_first_beside_a_run_of_words(space: Path, write) -> None:
    write("a.md", "# Kettle\n\nThe kettle boils water for tea.\n")
    write("b.md", "# Boiler\n\nHot water comes from a boiler; so does steam for a cup of tea.\n")
    write("c.md", "# Notes\n\nOnly the word kettle.\n")
    with Memory.open(space) as memory:
        memory.sync()
        query = Query("kettle boils water for", mode="keyword-first", limit=9)
        hits = list(memory.search(query))
    worded = [any(vote.retriever == "fulltext" for vote in hit.votes) for hit in hits]
    assert hits[0].record.path == "a.md"
    assert worded == sorted(worded, reverse=True)
