from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen.privacy.masking import (
    CHARACTERS,
    CLASSES,
    fold,
    mark_of,
    mask_keys,
    mask_private,
    spelled,
    unfold,
)

pieces = st.lists(st.sampled_from([*map(spelled, CLASSES), " ", "a", "[masked:", "é"]), max_size=8)


@given(pieces.map("".join))
def test_folding_and_unfolding_gives_the_text_back(text: str) -> None:
    assert unfold(fold(text)) == text


@pytest.mark.parametrize("name", CLASSES)
def test_a_mark_is_one_character_while_rules_are_applied(name: str) -> None:
    assert fold(f"a {spelled(name)} b") == f"a {CHARACTERS[name]} b"


@given(st.sampled_from(sorted(CHARACTERS.values())))
def test_a_text_cannot_bring_its_own_marks(character: str) -> None:
    assert fold(f"a{character}b") == "a\ufffdb"


def test_marks_are_counted_by_class() -> None:
    counts: dict[str, int] = {}
    mark_of(counts, "secret")
    mark_of(counts, "secret")
    assert counts == {"secret": 2}


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("a <private>b</private> c", "a [private] c"),
        ("a <private>b", "a [private]"),
        ("a <private>b <private>c</private> d</private> e", "a [private] e"),
        ("a `<private>` tag", "a `<private>` tag"),
        ("a </private> b", "a </private> b"),
    ],
)
def test_what_is_private_is_masked_to_the_matching_tag(text: str, masked: str) -> None:
    assert unfold(mask_private(text, {})) == masked


def test_a_private_key_is_masked_with_and_without_its_last_line() -> None:
    body = "\n".join(["MIIEpAIBAAKCAQEA7bq1" * 3] * 4)
    begin = "-----BEGIN RSA PRIVATE KEY-----"
    end = "-----END RSA PRIVATE KEY-----"
    whole = f"before\n{begin}\n{body}\n{end}\nafter"
    assert unfold(mask_keys(whole, {})) == "before\n[masked:private_key]\nafter"
    half = unfold(mask_keys(f"before\n{begin}\n{body}\n\nafter: the end.", {}))
    assert "MIIE" not in half
    assert half.startswith("before\n[masked:private_key]")
