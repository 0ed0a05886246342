from __future__ import annotations

import functools
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen.model.kinds import EVENTS
from kinen.sources.journal.documents import Event, segmented

sizes = st.sampled_from([0, 1, 20, 60, 100, 150, 300, 1200])
events = st.lists(
    st.builds(
        lambda kind, tokens, key, user: Event("", kind, tokens, key, user and kind == "message"),
        st.sampled_from(EVENTS),
        sizes,
        st.sampled_from(["", "", "a", "b", "c"]),
        st.booleans(),
    ),
    max_size=60,
).map(lambda results: [item._replace(id=str(n)) for n, item in enumerate(results)])
limits = st.fixed_dictionaries({"threshold": st.integers(0, 300), "most": st.integers(1, 1500)})
Limits = dict[str, int]


def cut(found: Iterable[Event], **given_: int) -> list[int]:
    return list(segmented(found, **given_))


def user_message(tokens: int) -> Event:
    return Event("", "message", tokens, user=True)


def answer(tokens: int, kind: str = "message", key: str = "") -> Event:
    return Event("", kind, tokens, key)


@given(events, limits)
def test_every_event_has_a_segment_and_none_is_left_out(found: list[Event], given_: Limits) -> None:
    numbers = cut(found, **given_)
    assert len(numbers) == len(found)
    assert numbers[:1] in ([], [0])
    assert all(after - before in (0, 1) for before, after in pairwise(numbers))
    assert cut(iter(found), **given_) == numbers


@given(events, limits, st.integers(0, 60))
def test_growth_touches_only_the_last_segment(found: list[Event], given_: Limits, k: int) -> None:
    assert cut(found[:k], **given_) == cut(found, **given_)[:k]


@given(events, limits)
def test_a_stream_is_cut_alike_from_the_start_of_any_segment_on(
    found: list[Event], given_: Limits
) -> None:
    numbers = cut(found, **given_)
    for first in {numbers.index(number) for number in numbers}:
        rest = [number - numbers[first] for number in numbers[first:]]
        assert cut(found[first:], **given_) == rest


@given(events, limits)
def test_a_segment_exceeds_its_limits_only_for_an_exchange_or_a_result(
    found: list[Event], given_: Limits
) -> None:
    segments: dict[int, list[Event]] = {}
    for number, event in zip(cut(found, **given_), found, strict=True):
        segments.setdefault(number, []).append(event)
    for segment in segments.values():
        for n, event in enumerate(segment[1:], 1):
            before = segment[:n]
            if event.user and before[-1].kind in ("tool_call", "node_start"):
                continue  # its result may yet follow
            if event.user:
                assert sum(item.tokens for item in before if item.user) < given_["threshold"]
            if sum(entry.tokens for entry in segment[: n + 1]) > given_["most"]:
                tied = {element.key for element in before} if event.key else {before[-1].key, ""}
                assert event.key in tied
                assert event.key or event.kind.startswith("node_") or before[-1].kind == "tool_call"


@given(events, limits)
def test_a_cut_has_a_reason(found: list[Event], given_: Limits) -> None:
    numbers = cut(found, **given_)
    for n in range(1, len(found)):
        if numbers[n] == numbers[n - 1]:
            continue
        before = found[numbers.index(numbers[n - 1]) : n]
        full = sum(item.tokens for item in before) + found[n].tokens > given_["most"]
        heard = sum(element.tokens for element in before if element.user) >= given_["threshold"]
        assert (found[n].user and heard) or full
        if not (found[n].user and heard):
            assert not found[n].key or found[n].key not in {entry.key for entry in before}


cut_ = functools.partial(cut, threshold=200, most=1000)


def test_of_nothing_there_are_no_segments() -> None:
    assert cut_([]) == []


def test_the_user_opens_a_segment_once_enough_was_said() -> None:
    exchange = [
        user_message(120),
        answer(80),
        user_message(90),
        answer(40),
        answer(30),
        user_message(10),
        answer(10),
    ]
    assert cut_(exchange) == [0, 0, 0, 0, 0, 1, 1]


def test_a_user_who_interrupts_a_call_does_not_part_it_from_its_result() -> None:
    call, result = Event("1", "tool_call", 9, "k"), Event("3", "error", 9, "k")
    message = [Event("0", "message", 300, user=True), Event("2", "message", 300, user=True)]
    assert cut_([message[0], call, message[1], result]) == [0, 0, 0, 0]


def test_only_the_words_of_the_user_count_towards_the_threshold() -> None:
    assert cut_(
        [user_message(10), answer(400), user_message(10), answer(400), user_message(10)]
    ) == [0, 0, 0, 0, 0]


def test_a_segment_is_cut_before_what_would_exceed_it() -> None:
    assert cut_([user_message(10), answer(900), answer(90), answer(1)]) == [0, 0, 0, 1]
    assert cut_([answer(5000), answer(1)]) == [0, 1]


@pytest.mark.parametrize(
    "together",
    [
        [answer(600, "tool_call", "t1"), answer(9000, "command", "t1")],
        [answer(600, "tool_call", "t1"), answer(9, "tool_call", "t2"), answer(900, "error", "t1")],
        [answer(600, "tool_call"), answer(900, "error")],
        [answer(600, "node_start"), answer(300, "message"), answer(900, "node_end")],
        [
            answer(600, "node_start", "n"),
            answer(900, "node_output", "n"),
            answer(9, "node_end", "n"),
        ],
    ],
)
def test_a_result_stays_with_its_call(together: list[Event]) -> None:
    assert cut_(together) == [0] * len(together)
    assert cut_([*together, answer(300)]) == [*[0] * len(together), 1]


@pytest.mark.parametrize(
    "apart",
    [
        [answer(600, "tool_call", "t1"), answer(900, "command", "t2")],
        [answer(600, "tool_call", "t1"), answer(900, "error")],
        [answer(600, "message"), answer(900, "error")],
        [answer(600, "node_start", "n"), answer(900, "node_end", "m")],
    ],
)
def test_what_is_no_result_does_not_stay(apart: list[Event]) -> None:
    assert cut_(apart) == [0, 1]
