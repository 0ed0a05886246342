from __future__ import annotations

import calendar
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen import text
from kinen.errors import QueryError
from kinen.text import SignedPattern, closing, statements

NOON = calendar.timegm((2026, 3, 15, 12, 0, 0))


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("getUserName", ["get", "User", "Name"]),
        ("XMLHttpRequest", ["XML", "Http", "Request"]),
        ("utf8", ["utf", "8"]),
        ("HTTPServer2", ["HTTP", "Server", "2"]),
        ("plain", ["plain"]),
        ("README", ["README"]),
    ],
)
def test_identifiers_are_split_into_their_parts(word: str, parts: list[str]) -> None:
    assert text.parts(word) == parts


def test_words_that_decide_nothing_are_dropped_unless_they_are_all_there_is() -> None:
    assert text.terms("why did we drop the cache?") == ("drop", "cache")
    assert text.terms("what is it") == ("what", "is", "it")


def test_an_identifier_is_asked_for_whole_and_in_parts() -> None:
    assert text.terms("sweepExpiredSessions") == (
        "sweepexpiredsessions",
        "sweep",
        "expired",
        "sessions",
    )


def test_japanese_is_asked_for_in_pairs_of_characters() -> None:
    assert text.terms("日本語") == ("日本", "本語")
    assert "日 本 語" in text.identifier_parts("これは日本語です").replace("は ", "は ").replace(
        "で", "で"
    )


@given(st.text(max_size=400))
def test_terms_are_plain_words_whatever_is_typed(typed: str) -> None:
    results = text.terms(typed)
    assert len(results) <= 48
    assert all(term and '"' not in term for term in results)
    assert results == text.terms(typed)


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("2h", "2026-03-15T10:00:00.000Z"),
        ("3d", "2026-03-12T12:00:00.000Z"),
        ("1w", "2026-03-08T12:00:00.000Z"),
        ("2026-03-01T10:00Z", "2026-03-01T10:00:00.000Z"),
        ("2026-03-01T10:00:00+02:00", "2026-03-01T08:00:00.000Z"),
    ],
)
def test_time_phrases_become_utc(phrase: str, expected: str) -> None:
    assert text.parse_time(phrase, NOON) == expected


def test_days_begin_and_end_where_the_user_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert text.parse_time("today", NOON) == "2026-03-14T15:00:00.000Z"
        assert text.parse_time("yesterday", NOON) == "2026-03-13T15:00:00.000Z"
        assert text.parse_time("2026-03-01", NOON) == "2026-02-28T15:00:00.000Z"
        assert text.parse_time("2026-03-01", NOON, end=True) == "2026-03-01T14:59:59.999Z"
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("phrase", ["", "soon", "32.13.2026", "99999999999d", "-3d"])
def test_a_phrase_that_is_no_time_says_which_are(phrase: str) -> None:
    with pytest.raises(QueryError, match="yesterday"):
        text.parse_time(phrase, NOON)


@given(st.text(max_size=300), st.integers(10, 80))
def test_an_excerpt_is_one_line_within_its_limit(long: str, limit: int) -> None:
    output = text.excerpt(long, limit)
    assert len(output) <= limit
    assert "\n" not in output


@pytest.mark.parametrize(
    ("typed", "tokens"),
    [
        ("", 0),
        ("the quick brown fox", 4),
        ("日本語", 3),
        ("a.b", 4),
        ("\u00a0\u3000\n", 0),
    ],
)
def test_tokens_are_estimated(typed: str, tokens: int) -> None:
    assert abs(text.estimate(typed) - tokens) <= 1


@given(st.text(), st.text(), st.sampled_from(["\n", " ", "\n\n  "]))
def test_an_estimate_is_never_more_than_the_sum_of_its_pieces(one: str, two: str, gap: str) -> None:
    assert text.weight(one + gap + two) == text.weight(one) + text.weight(two)
    assert text.estimate(one + gap + two) <= text.estimate(one) + text.estimate(two)


def test_an_excerpt_has_no_full_stop_before_its_ellipsis() -> None:
    assert text.excerpt("The end of it. Then more words.", 18) == "The end of it…"
    assert text.excerpt("First, second", 9) == "First…"


@pytest.mark.parametrize(
    ("pattern", "signs"),
    [
        (pattern.pattern, pattern.signs)
        for module in (closing, statements)
        for pattern in vars(module).values()
        if isinstance(pattern, SignedPattern)
    ],
)
@given(data=st.data())
def test_what_an_expression_matches_has_one_of_its_signs(
    pattern: str, signs: tuple[str, ...], data: st.DataObject
) -> None:
    text = data.draw(st.from_regex(pattern))
    match = re.search(pattern, text.lower())
    assert match is None or any(sign in text.lower() for sign in signs)
