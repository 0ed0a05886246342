from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen.errors import Unreadable
from kinen.extract import outline
from kinen.extract.decode import DOCUMENTS, PAGES, decode, extractor_for, suffix_of


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"])))
def test_utf8_comes_back_as_it_was(text: str) -> None:
    assert decode(text.encode()) == text.removeprefix("\ufeff")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_decides(encoding: str) -> None:
    assert decode("naïve — 日本".encode(encoding)) == "naïve — 日本"
    assert decode(b"\xfe\xff" + "naïve".encode("utf-16-be"), charset="koi8-r") == "naïve"


def test_text_of_old_windows_is_understood() -> None:
    assert decode("Füße – “quoted”".encode("cp1252")) == "Füße – “quoted”"
    assert decode("Füße\x81".encode("latin-1")) == "Füße\x81"


def test_one_torn_character_does_not_spoil_the_rest() -> None:
    assert decode("größer, schöner, weiß".encode() + b"\xc3") == "größer, schöner, weiß\ufffd"


def test_a_declared_charset_is_used_and_an_unknown_one_is_not() -> None:
    assert decode("привет".encode("koi8-r"), charset="koi8-r") == "привет"
    assert decode("привет".encode(), charset="no-such") == "привет"


@pytest.mark.parametrize(
    "data", [b"a\0b", bytes(range(1, 256)), b"\xff\xfea\0\0\0", b"\x01\x02\x03\x04 text"]
)
def test_binary_is_refused(data: bytes) -> None:
    with pytest.raises(Unreadable, match="binary file"):
        decode(data)


def test_terminal_colours_and_form_feeds_are_text() -> None:
    assert decode(b"\x1b[31mred\x1b[0m\x0c\n") == "\x1b[31mred\x1b[0m\x0c\n"


@given(st.binary(), st.sampled_from(["", "koi8-r", "gbk", "shift_jis"]))
def test_any_bytes_are_text_or_unreadable(data: bytes, charset: str) -> None:
    try:
        assert "\0" not in decode(data, charset)
    except Unreadable as error:
        assert error.message == "binary file"


def test_a_document_has_the_extractor_of_its_suffix_and_all_else_is_plain_text() -> None:
    others = {".pdf": "pdf", ".epub": "epub", **dict.fromkeys(PAGES, "html")}
    for suffix in DOCUMENTS:
        module = getattr(extractor_for(f"notes/A{suffix.upper()}"), "__module__", "")
        assert module == f"kinen.extract.{others.get(suffix, 'outline')}"
    for name in ("a.py", "README", ".pdf", "a.pdf/b", "pdf", ""):
        assert extractor_for(name) is outline.extract


def test_the_suffix_is_that_of_the_name() -> None:
    assert [suffix_of(p) for p in ("a/b.MD", "a.md/b", ".md", "a.tar.gz")] == [".md", "", "", ".gz"]


def test_choosing_an_extractor_loads_only_that_one() -> None:
    code = (
        "import sys; from kinen.extract.decode import extractor_for; extractor_for('a.txt');"
        "print([m for m in ('pypdfium2', 'selectolax', 'zipfile', 'sqlite3') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
