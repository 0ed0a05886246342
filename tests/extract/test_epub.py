from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinen.errors import Unreadable
from kinen.extract import epub
from kinen.model.documents import Extract, Part

PATH = Path("a.epub")
CONTAINER = """<?xml version="1.0"?><container><rootfiles>
<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/>
</rootfiles></container>"""
OPF = """<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:title id="t">A Book &amp; more</dc:title><dc:creator>Ada</dc:creator>
<dc:creator>Bob</dc:creator><dc:language>en</dc:language><meta name="cover" content="c"/></metadata>
<manifest><item id="nav" href="nav.xhtml" properties="nav"/><item id="two" href="b%20two.xhtml"/>
<item id="one" href="text/a.xhtml"/><item id="ncx" href="toc.ncx"
media-type="application/x-dtbncx+xml"/><item id="gone" href="gone.xhtml"/>
<item id="out" href="../../../../etc/passwd"/></manifest>
<spine toc="ncx"><itemref idref="nav"/><itemref idref="one"/><itemref idref="two"/>
<itemref idref="gone"/><itemref idref="out"/><itemref idref="unknown"/></spine></package>"""
NAV = """<html><body><nav epub:type="toc"><h1>Contents</h1><ol>
<li><a href="text/a.xhtml">Chapter One</a></li></ol></nav>
<nav epub:type="page-list"><a href="text/a.xhtml#p1">1</a></nav></body></html>"""
NCX = """<ncx><docTitle><text>A Book</text></docTitle><navMap><navPoint id="n1">
<navLabel><text>Chapter Two: the End</text></navLabel><content src="b%20two.xhtml#x"/>
</navPoint></navMap></ncx>"""
ONE = """<?xml version="1.0"?><html><head><title/></head><body><p>It be\u00adgan.</p>
<h2>Later</h2><p>It went on.<a id="n"/></p><aside>A footnote.</aside></body></html>"""
TWO = "<html><head><title>x</title></head><body><h1>Chapter Two</h1><p>It ended.</p></body></html>"
BOOK = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": CONTAINER,
    "OEBPS/book.opf": OPF,
    "OEBPS/nav.xhtml": NAV,
    "OEBPS/toc.ncx": NCX,
    "OEBPS/text/a.xhtml": ONE,
    "OEBPS/b two.xhtml": TWO,
}
ENCRYPTION = """<encryption><enc:EncryptedData><enc:EncryptionMethod Algorithm="{}"/>
<enc:CipherData><enc:CipherReference URI="{}"/></enc:CipherData></enc:EncryptedData></encryption>"""


def packed(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def read(changes: dict[str, str] | None = None, without: tuple[str, ...] = ()) -> Extract:
    files = {k: v for k, v in (BOOK | (changes or {})).items() if k not in without}
    return epub.extract(PATH, packed(files))


def test_chapters_come_in_reading_order_with_their_titles() -> None:
    book = read()
    assert book.parts == (
        Part("It began.", "Chapter One"),
        Part("It went on.\n\nA footnote.", "Chapter One > Later"),
        Part("It ended.", "Chapter Two"),
    )
    assert book.title == "A Book & more"
    assert book.metadata == {"creator": "Ada, Bob", "language": "en"}


def test_old_books_have_their_titles_in_the_ncx() -> None:
    book = read(without=("OEBPS/nav.xhtml",))
    assert [part.title for part in book.parts] == ["", "Later", "Chapter Two: the End"]


def test_several_chapters_in_one_file_keep_their_own_headings() -> None:
    entries = '<a href="text/a.xhtml#1">I</a><a href="text/a.xhtml#2">II</a>'
    book = read(
        {
            "OEBPS/nav.xhtml": f"<nav>{entries}</nav>",
            "OEBPS/text/a.xhtml": "<h2>I</h2><p>a</p><h2>II</h2><p>b</p>",
            "OEBPS/b two.xhtml": "<p>still the second</p>",
        }
    )
    assert [part.title for part in book.parts] == ["I", "II", "II"]


def test_a_book_without_container_or_package_is_read_all_the_same() -> None:
    assert read(without=("META-INF/container.xml",)) == read()
    bare = read(without=("META-INF/container.xml", "OEBPS/book.opf"))
    assert [part.text for part in bare.parts][:1] == ["It ended."]
    spineless = read({"OEBPS/book.opf": OPF.replace("itemref", "nothing")})
    assert [part.text for part in spineless.parts][:1] == ["It ended."]


def test_entities_are_not_expanded() -> None:
    levels = "".join(f'<!ENTITY x{n} "{f"&x{n - 1};" * 10}">' for n in range(1, 12))
    bomb = f'<!DOCTYPE p [<!ENTITY x0 "ha">{levels}<!ENTITY f SYSTEM "file:///etc/passwd">]>'
    book = read({"OEBPS/b two.xhtml": f"{bomb}<html><body><p>A &x11; &f; B</p></body></html>"})
    text = " ".join(part.text for part in book.parts)
    assert "B" in text
    assert "root:" not in text
    assert len(text) < 5_000


def test_hidden_chapters_are_named_as_such() -> None:
    aes = "http://www.w3.org/2001/04/xmlenc#aes128-cbc"
    chapter = {"META-INF/encryption.xml": ENCRYPTION.format(aes, "OEBPS/text/a.xhtml")}
    book = read(chapter)
    assert [part.text for part in book.parts] == ["It ended."]
    assert book.metadata is not None
    assert book.metadata["note"] == "1 of 5 chapters are encrypted"
    with pytest.raises(Unreadable, match=r"encrypted EPUB \(DRM\)"):
        read(chapter, without=("OEBPS/b two.xhtml",))


def test_obfuscated_fonts_hide_nothing() -> None:
    font = ENCRYPTION.format("http://www.idpf.org/2008/embedding", "OEBPS/text/a.xhtml")
    assert read({"META-INF/encryption.xml": font}) == read()


def test_a_bomb_is_not_unpacked() -> None:
    with pytest.raises(Unreadable, match="too large when unpacked"):
        read({"OEBPS/text/a.xhtml": "<p>" + " " * 5_000_000})


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty file"),
        (b"PK\x03\x04 not really", "damaged EPUB: not a zip file"),
        (packed({"a.txt": "x"}), "damaged EPUB: no chapters in it"),
        (packed({"a.html": "<img src=a>"}), "no text in it (only images?)"),
    ],
)
def test_what_has_no_text_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable) as caught:
        epub.extract(PATH, data)
    assert caught.value.message == reason


WHOLE = packed(BOOK)
CHANGES = st.lists(st.tuples(st.integers(0, len(WHOLE)), st.binary(max_size=4)), max_size=5)


@given(st.one_of(st.just(len(WHOLE)), st.integers(0, len(WHOLE))), CHANGES)
@settings(deadline=None, max_examples=300)
def test_torn_files_are_read_or_refused(length: int, changes: list[tuple[int, bytes]]) -> None:
    data = bytearray(WHOLE[:length])
    for at, new in changes:
        data[at : at + len(new)] = new
    try:
        assert epub.extract(PATH, bytes(data)).parts
    except Unreadable as error:
        assert error.message


@given(st.sampled_from(sorted(BOOK)), st.text("<>/=\"' abhrefid:&;#.", max_size=60))
@settings(deadline=None)
def test_any_content_is_read_or_refused(name: str, content: str) -> None:
    try:
        assert read({name: content}).parts
    except Unreadable as error:
        assert error.message


@given(st.binary())
def test_any_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(Unreadable):
        epub.extract(PATH, data)
