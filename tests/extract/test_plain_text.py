from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen.errors import Unreadable
from kinen.extract import outline
from kinen.model.documents import Extract, Part

PATH = Path("a.txt")


def test_text_is_kept_exactly() -> None:
    text = "  indented\n\n\ttabbed  \nlast"
    assert outline.extract(PATH, text.encode()) == Extract((Part(text, line=1),))


def test_only_windows_line_ends_are_changed() -> None:
    assert outline.extract(PATH, b"a\r\nb\rc\n").parts[0].text == "a\nb\rc\n"


@pytest.mark.parametrize("data", [b"", b" \r\n\t", b"\xef\xbb\xbf"])
def test_an_empty_file_says_so(data: bytes) -> None:
    with pytest.raises(Unreadable, match="empty file"):
        outline.extract(PATH, data)


@given(st.binary())
def test_any_bytes_are_text_or_unreadable(data: bytes) -> None:
    try:
        assert outline.extract(PATH, data).parts
    except Unreadable as error:
        assert error.message
