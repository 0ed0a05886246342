from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from kinen.characters import storable, visible, visible_line

anything = st.text(st.characters())  # lone surrogates included


@given(anything)
def test_storable_text_encodes_and_keeps_everything_else(text: str) -> None:
    stored = storable(text)
    stored.encode()
    assert storable(stored) == stored
    if not any(0xD800 <= ord(character) < 0xE000 for character in text):
        assert stored == text


def test_half_an_emoji_becomes_one_replacement_character() -> None:
    assert storable("fix \ud83d X") == "fix \ufffd X"
    assert storable("\udcff") == "\ufffd"
    assert storable("caf\u00e9 \U0001f600") == "caf\u00e9 \U0001f600"


def test_two_halves_that_meet_are_one_emoji() -> None:
    assert storable("\ud83d\ude00") == "\U0001f600"


@given(anything)
def test_nothing_visible_controls_a_terminal(text: str) -> None:
    output = visible(text)
    assert not [c for c in output if unicodedata.category(c) == "Cc" and c not in "\n\t"]
    assert visible(output) == output
    assert not [c for c in visible_line(text) if unicodedata.category(c) == "Cc"]


def test_escapes_are_spelled_out() -> None:
    assert visible("\x1b]0;owned\x07") == "\\x1b]0;owned\\x07"
    assert visible("\x9b2J") == "\\x9b2J"
    assert visible("abc\u202edef") == "abc\\u202edef"
    assert visible("one\r\ntwo\rthree") == "one\ntwo\\rthree"


def test_plain_text_in_any_script_stays() -> None:
    for text in ("plain\n\ttext", "naïve", "日本語", "👩‍👩‍👧", "नमस्ते"):
        assert visible(text) == text


def test_a_line_stays_a_line() -> None:
    assert visible_line("a\nb\tc") == "a\\nb\\tc"
