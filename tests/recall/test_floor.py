"""Whether anything is known about a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen import Memory
from kinen.model.records import Chunk, Hit, Hits, Query, Record, Vote
from kinen.recall.floor import (
    CLOSE,
    FAIR,
    LEAST_CHUNKS,
    STRONG,
    Yardstick,
    is_known,
    strength,
    unknown_note,
    with_chances,
    without_weak,
)

if TYPE_CHECKING:
    from pathlib import Path

COUNTS = st.dictionaries(st.text(min_size=1), st.integers(0, 3), max_size=8)


def near(cosine: float) -> list[Hit]:
    record = Record("note:a.md", "note", "a")
    return [Hit(record, Chunk("note:a.md", 0, "text"), 0.5, (Vote("semantic", 1, cosine, 0.5),))]


@pytest.mark.parametrize(
    ("counts", "hits", "known"),
    [
        ({"capital": 0, "france": 0}, near(0.18), False),
        ({"decide": 4, "kafka": 0, "consumer": 2, "groups": 1}, near(0.15), False),
        ({"stickers": 0, "nothing": 0}, near(0.41), True),  # by meaning
        ({"gqc-7": 3, "state": 9}, near(0.12), True),  # every word is there
        ({"capital": 0, "france": 0, "train": 1}, [], False),  # without vectors
        ({"capital": 0, "server": 7}, [], True),
    ],
)
def test_what_is_known(counts: dict[str, int], hits: list[Hit], known: bool) -> None:
    assert is_known(counts, hits, LEAST_CHUNKS) is known


@given(COUNTS, st.integers(0, LEAST_CHUNKS - 1))
def test_in_a_small_space_a_word_or_a_close_hit_is_enough(
    counts: dict[str, int], chunks: int
) -> None:
    close = [hit._replace(strength=CLOSE) for hit in near(0.0)]
    assert is_known({**counts, "tea": 1}, near(0.0), chunks)
    assert is_known(counts, close, chunks)
    assert not is_known({"flibbertigibbet": 0}, near(0.0), chunks)


@pytest.mark.parametrize(
    ("text", "strong"),
    [
        ("The server keeps the sessions of all who are signed in.", True),
        ("def keep(session): return sessions.add(session)", True),
        ("Der Server behält die Sitzungen von allen, die angemeldet sind.", False),
        ("サーバーはログインしている全員のセッションを保持します。", False),
        ("يحتفظ الخادم بجلسات كل من سجّل الدخول.", False),
    ],
)
def test_words_that_lead_are_strong_in_english_only(text: str, strong: bool) -> None:
    scores = (0.9, 0.6)
    hits = tuple(
        Hit(
            Record(f"note:{n}.md", "note", "a"),
            Chunk(f"note:{n}.md", 0, text),
            score,
            (Vote("fulltext", n + 1, score, score),),
            strength=CLOSE,
        )
        for n, score in enumerate(scores)
    )
    first, second = with_chances(Hits(hits, Query("sessions"), "fulltext"), 10_000)
    assert (first.strength >= STRONG) is strong
    assert first.strength >= FAIR > second.strength >= CLOSE


@given(st.lists(st.integers(0, 100)))
def test_weak_hits_are_left_out_beside_a_strong_one(strengths: list[int]) -> None:
    hits = tuple(near(0.0)[0]._replace(strength=number) for number in strengths)
    rest = [hit.strength for hit in without_weak(Hits(hits, Query("tea"), "hybrid"))]
    if max(strengths, default=0) < STRONG:
        assert rest == strengths
    else:
        assert rest == [number for number in strengths if number >= CLOSE]


@pytest.mark.parametrize("missing", [False, True])
def test_a_hit_of_full_text_is_close_in_a_ranking_of_ranks(missing: bool) -> None:
    yardstick = Yardstick("rrf", 1000)
    yardstick.by_place = True
    yardstick.words_missing = missing
    far = Vote("semantic", 9, 0.1, 0.1)
    assert strength((far,), yardstick) < CLOSE
    word = Vote("fulltext", 1, 7.0, 0.5)
    for votes in ((far, word), (word,)):  # near in meaning, and not among the nearest
        assert (strength(votes, yardstick) < CLOSE) is missing
        assert strength(votes, yardstick) <= CLOSE


@given(COUNTS)
def test_the_remark_names_words_that_are_nowhere(counts: dict[str, int]) -> None:
    note = unknown_note(counts)
    assert note.startswith("nothing is known about this")
    assert ("no entry has" in note) is any(not count for count in counts.values())


def test_a_weak_hit_stays_where_it_is_needed_for_what_it_is() -> None:
    hits = [near(0.0)[0]._replace(strength=number) for number in (80, 20, 10)]
    chosen = without_weak(Hits(hits, Query("tea"), "hybrid"), lambda hit: hit.strength == 10)
    assert [hit.strength for hit in chosen] == [80, 10]


@pytest.mark.parametrize("mode", ["hybrid", "fulltext"])
def test_two_exact_words_in_a_space_of_two_notes_are_strong(tmp_path: Path, mode: str) -> None:
    (tmp_path / "space" / ".kinen").mkdir(parents=True)
    notes = {
        "tea": "# Tea\n\nThe kettle whistles when the water boils.",
        "garage": "# Garage\n\nThe spare key hangs behind the left shelf.",
    }
    for name, text in notes.items():
        (tmp_path / "space" / f"{name}.md").write_text(text)
    with Memory.open(tmp_path / "space", home=tmp_path / "home") as memory:
        memory.sync()
        (hit, *others) = memory.search(Query("spare key", mode=mode, floor=True))
        assert hit.record.path == "garage.md"
        assert hit.strength >= STRONG
        assert all(other.strength < CLOSE for other in others)
        assert not memory.search(Query("spare tyre", mode="hybrid", floor=True))[1:]


def test_several_words_count_less_the_larger_the_index_is() -> None:
    least = [Yardstick("hybrid", chunks).worded for chunks in (1, 2, 8, 100, 300, 100_000)]
    assert least == sorted(least, reverse=True)
    assert least[1] >= STRONG
    assert least[-1] == CLOSE
