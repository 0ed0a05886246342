"""Folding findings: twice is once, in any order, and nothing is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from kinen.consolidation.fold import fold, tick
from kinen.model.journal import Clock, Finding, Learned

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

THRESHOLD = 0.7
things = st.sampled_from(["Redis", "PostgreSQL", "SQLite", "tabs", "jq 1.7", "LanceDB"])
ends = st.sampled_from(["", " for sessions", " for the job queue", " in tests", " when cold"])
contents = st.one_of(
    st.builds("Use {}{}".format, things, ends),
    st.builds("We use {}{}, because it is there".format, things, ends),
    st.builds("Never use {}{}".format, things, ends),
    st.builds("Use {} instead of {}{}".format, things, things, ends),
    st.builds("We no longer need {}{}".format, things, ends),
)
topics = st.sampled_from(["", "", "Session store", "Which store for cold sessions?", "Tooling"])
sources = st.sampled_from(
    ["round:sessions/a/rounds/01.md", "round:sessions/a/rounds/02.md", "commit:abc", "note:x.md"]
)
findings = st.lists(
    st.builds(
        lambda type_, topic, content, sure, source, day: Finding(
            type_,
            f"{topic}: {content}" if topic else content,
            sure,
            (source,),
            f"2026-01-0{day}T00:00:00.000Z",
            topic,
        ),
        st.sampled_from(["decision", "decision", "pattern", "insight"]),
        topics,
        contents,
        st.sampled_from([0.5, 0.7, 0.85, 1.0]),
        sources,
        st.integers(1, 4),
    ),
    max_size=14,
)


def after(values: Iterable[Learned], learned: Iterable[Learned]) -> list[Learned]:
    """What is known once something was learned."""
    return list({value.id: value for value in (*values, *learned)}.values())


@given(findings)
def test_folding_twice_is_folding_once(found: list[Finding]) -> None:
    once = fold(found, threshold=THRESHOLD).learned
    assert fold(found, once, threshold=THRESHOLD).learned == ()


@given(findings, st.randoms(use_true_random=False))
def test_the_order_of_findings_and_of_what_is_known_does_not_matter(
    found: list[Finding], random: Random
) -> None:
    existing = list(fold(found[::2], threshold=THRESHOLD).learned)
    expected = fold(found, existing, threshold=THRESHOLD)
    random.shuffle(existing)
    random.shuffle(found)
    assert fold(found, existing, threshold=THRESHOLD) == expected


@given(findings, st.integers(0, 14))
def test_nothing_is_lost(found: list[Finding], cut: int) -> None:
    memories: list[Learned] = []
    for batch in (found[:cut], found[cut:]):
        memories = after(memories, fold(batch, memories, threshold=THRESHOLD).learned)
    for result in found:
        names = [memory for memory in memories if {*result.sources} <= {*memory.derived_from}]
        assert bool(names) or result.confidence < THRESHOLD
    sure = [match for match in found if match.confidence >= THRESHOLD]
    assert {memory.content for memory in memories} <= {item.content for item in sure}
    assert {ref for memory in memories for ref in memory.derived_from} <= {
        ref for entry in sure for ref in entry.sources
    }


@given(findings, st.integers(0, 14))
def test_what_supersedes_is_there_and_never_in_a_circle(found: list[Finding], cut: int) -> None:
    memories: list[Learned] = []
    for batch in (found[:cut], found[cut:], found):
        memories = after(memories, fold(batch, memories, threshold=THRESHOLD).learned)
    by_id = {memory.id: memory for memory in memories}
    for item in memories:
        seen: set[str] = set()
        while item.superseded_by:
            assert item.id not in seen
            seen.add(item.id)
            item = by_id[item.superseded_by]


@settings(max_examples=50)
@given(findings, st.integers(0, 14))
def test_folding_everything_comes_to_rest_however_it_came_in(
    found: list[Finding], cut: int
) -> None:
    memories: list[Learned] = []
    for batch in (found[cut:], found[:cut], found):
        memories = after(memories, fold(batch, memories, threshold=THRESHOLD).learned)
    assert fold(found, memories, threshold=THRESHOLD).learned == ()


@given(findings, st.sets(sources))
def test_reading_some_records_again_changes_nothing(found: list[Finding], some: set[str]) -> None:
    memories = fold(found, threshold=THRESHOLD).learned
    again = [result for result in found if some.issuperset(result.sources)]
    assert fold(again, memories, threshold=THRESHOLD).learned == ()


met = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=40)


@given(met, st.floats(0.1, 5))
def test_the_clock_counts_what_it_was_told_and_no_more(
    told: list[tuple[float, float]], threshold: float
) -> None:
    clock, total = Clock(), 0.0
    for similarity, precision in told:
        total += precision * (1 - similarity) ** 2
        before = clock
        clock, due = tick(clock, similarity, precision, threshold)
        assert due == (clock.epoch == before.epoch + 1)
        assert due == (clock.accumulated == 0.0 < total) or not total
        assert 0 <= clock.accumulated <= threshold
        total = clock.accumulated
