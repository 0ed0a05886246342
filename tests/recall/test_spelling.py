from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kinen import Memory, Query
from kinen.recall.spelling import is_english

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def memory(space: Path) -> Iterator[Memory]:
    (space / "a.md").write_text("# Paris\n\nThe kettle is in the postgresql cupboard in Paris.\n")
    settings = {"index.embedding_provider": "none"}
    with Memory.open(space, settings=settings) as memory:
        memory.sync()
        yield memory


@pytest.mark.parametrize(
    ("typed", "meant"), [("kettel", "kettle"), ("posgresql", "postgresql"), ("cupbord", "cupboard")]
)
def test_a_misspelled_word_is_corrected(memory: Memory, typed: str, meant: str) -> None:
    hits = memory.search(Query(typed))
    assert hits
    assert f"corrected: {typed} → {meant}" in hits.notes


@pytest.mark.parametrize("word", ["partitioned", "partition", "parish", "settle", "quantum"])
def test_an_english_word_is_never_replaced(memory: Memory, word: str) -> None:
    hits = memory.search(Query(word))
    assert not hits
    assert not [note for note in hits.notes if note.startswith("corrected")]


def test_an_english_word_that_looks_like_one_of_the_index_is_a_question(memory: Memory) -> None:
    hits = memory.search(Query("clipboard"))
    assert not hits
    assert "did you mean cupboard?" in hits.notes


def test_words_far_from_all_others_stay_as_they_are(memory: Memory) -> None:
    memory.sync()
    hits = memory.search(Query("xylophonist"))
    assert not hits
    assert not [note for note in hits.notes if "→" in note]


def test_one_corrected_word_of_a_long_question_is_no_reason_for_a_hit(
    memory: Memory, space: Path
) -> None:
    for number in range(120):
        (space / f"note-{number}.md").write_text(f"The gateway number {number} is open.\n")
    memory.sync()
    hits = memory.search(Query("xylophonist kettel zeppelin quantum banana", floor=True))
    assert "corrected: kettel → kettle" in hits.notes
    assert not hits
    assert memory.search(Query("kettel", floor=True))


def test_endings_do_not_hide_an_english_word() -> None:
    assert is_english("partitioned")
    assert is_english("tables")
    assert not is_english("posgresql")
