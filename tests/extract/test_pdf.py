from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from hashlib import md5
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinen.errors import Unreadable
from kinen.extract import pdf
from kinen.model.documents import Part

PATH = Path("a.pdf")
PADDING = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")


def rc4(key: bytes, data: bytes) -> bytes:
    box, j, out = list(range(256)), 0, bytearray()
    for i in range(256):
        j = (j + box[i] + key[i % len(key)]) % 256
        box[i], box[j] = box[j], box[i]
    i = j = 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + box[i]) % 256
        box[i], box[j] = box[j], box[i]
        out.append(byte ^ box[(box[i] + box[j]) % 256])
    return bytes(out)


class Maker:
    """Writes a small PDF by hand, with a password if there is one."""

    def __init__(self, password: str | None = None) -> None:
        self.objects: list[bytes] = []
        self.key = b""
        self.trailer = b""
        if password is not None:
            owner = bytes(32)
            padded = (password.encode() + PADDING)[:32]
            self.key = md5(padded + owner + b"\xfc\xff\xff\xff" + b"0123456789abcdef").digest()[:5]
            number = self.add(
                b"<</Filter/Standard/V 1/R 2/P -4/O<%s>/U<%s>>>"
                % (owner.hex().encode(), rc4(self.key, PADDING).hex().encode())
            )
            identity = b"0123456789abcdef".hex().encode()
            self.trailer = b"/Encrypt %d 0 R/ID[<%s><%s>]" % (number, identity, identity)

    def add(self, body: bytes) -> int:
        self.objects.append(body)
        return len(self.objects)

    def stream(self, content: bytes) -> int:
        if self.key:
            number = len(self.objects) + 1
            key = md5(self.key + number.to_bytes(3, "little") + b"\0\0").digest()[:10]
            content = rc4(key, content)
        return self.add(b"<</Length %d>>stream\n%s\nendstream" % (len(content), content))

    def finished(self, root: int) -> bytes:
        out, offsets = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"), []
        for number, body in enumerate(self.objects, 1):
            offsets.append(len(out))
            out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
        start = len(out)
        out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(offsets) + 1)
        out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
        out += b"trailer<</Size %d/Root %d 0 R%s>>\n" % (len(offsets) + 1, root, self.trailer)
        return bytes(out + b"startxref\n%d\n%%%%EOF\n" % start)


def pdf_with(
    *pages: str, title: str = "", outline: str = "", password: str | None = None, copies: int = 1
) -> bytes:
    """A PDF with these pages of text, each line where it stands."""
    maker = Maker(password)
    font = maker.add(b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>")
    tree = len(maker.objects) + 2 * len(pages) + 1
    kids = []
    for page in pages:
        lines = [
            b"(%s) Tj T*" % re.sub(r"([()\\])", r"\\\1", line).encode("cp1252")
            for line in page.splitlines()
        ]
        content = maker.stream(b"BT /F 12 Tf 14 TL 72 720 Td %s ET" % b" ".join(lines))
        kids.append(
            maker.add(
                b"<</Type/Page/Parent %d 0 R/MediaBox[0 0 612 792]/Contents %d 0 R"
                b"/Resources<</Font<</F %d 0 R>>>>>>" % (tree, content, font)
            )
        )
    references = b" ".join(b"%d 0 R" % kid for kid in kids * copies)
    maker.add(b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(kids) * copies, references))
    extra = b""
    if outline:
        entry = len(maker.objects) + 2
        extra = b"/Outlines %d 0 R" % maker.add(b"<</First %d 0 R/Last %d 0 R>>" % (entry, entry))
        target = outline.encode(), entry - 1, kids[-1]
        maker.add(b"<</Title(%s)/Parent %d 0 R/Dest[%d 0 R/Fit]>>" % target)
    if title:
        maker.trailer += b"/Info %d 0 R" % maker.add(b"<</Title(%s)>>" % title.encode())
    return maker.finished(maker.add(b"<</Type/Catalog/Pages %d 0 R%s>>" % (tree, extra)))


def test_every_page_with_text_is_a_part_with_its_number() -> None:
    document = pdf.extract(PATH, pdf_with("first page\nsecond line", "", "third (page)"))
    assert document.parts == (
        Part("first page\nsecond line", page=1),
        Part("third (page)", page=3),
    )
    assert document.metadata == {"pages": 3}


def test_words_broken_at_line_ends_are_whole_again() -> None:
    document = pdf.extract(
        PATH, pdf_with("an exam-\nple of a long-\nterm thing", "the long-term view")
    )
    assert document.parts[0].text == "an example of a long-term thing"


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("a\r\nb\rc", "a\nb\nc"),
        ("inter\x02nation-\nal", "international"),
        ("Jean-\nPaul in 1999-\n2001", "Jean-Paul in 1999-2001"),
        ("a list:\n- one\n-\ntwo", "a list:\n- one\n-\ntwo"),
        ("of\ufb01ce \ufb02ow\u00adchart\0", "office flowchart"),
        ("end  \n\n\n\n\nof \n", "end\n\nof"),
        ("\x02 alone", "- alone"),
    ],
)
def test_repairs(page: str, expected: str) -> None:
    assert pdf.repair([page]) == [expected]


def test_a_long_run_of_letters_is_repaired_at_once() -> None:
    page = "x" * 300_000
    assert pdf.repair([page]) == [page]


def test_title_and_outline_are_found() -> None:
    document = pdf.extract(PATH, pdf_with("one", "two", title="On Memory", outline="Second"))
    assert document.title == "On Memory"
    assert document.metadata == {
        "pages": 2,
        "outline": [{"title": "Second", "level": 0, "page": 2}],
    }


@pytest.mark.parametrize("title", ["untitled", "Microsoft Word - report.doc", "paper.dvi"])
def test_a_title_made_by_a_program_is_none(title: str) -> None:
    assert pdf.extract(PATH, pdf_with("text", title=title)).title == ""


def test_a_password_is_asked_for_and_an_empty_one_is_not() -> None:
    assert pdf.extract(PATH, pdf_with("open to all", password="")).parts[0].text == "open to all"
    with pytest.raises(Unreadable, match="encrypted PDF: needs a password"):
        pdf.extract(PATH, pdf_with("for few", password="secret"))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty file"),
        (b"not a PDF at all", "damaged PDF: no PDF header"),
        (b"%PDF-1.4\n", "damaged PDF: its structure cannot be read"),
        (pdf_with(""), "no text in it"),
        (pdf_with(), "damaged PDF: its structure cannot be read"),
        (
            pdf_with("gone").replace(b"/Type/Page/", b"/Type/Gone/"),
            "damaged PDF: no page can be read",
        ),
    ],
)
def test_what_has_no_text_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable) as caught:
        pdf.extract(PATH, data)
    assert caught.value.message.startswith(reason)


def test_a_very_long_document_is_read_up_to_the_limit() -> None:
    document = pdf.extract(PATH, pdf_with("same", copies=pdf.MAX_PAGES + 1))
    assert document.parts[-1] == Part("same", page=pdf.MAX_PAGES)
    assert document.metadata is not None
    assert document.metadata["note"] == "only the first 5000 of 5001 pages were read"


def test_threads_take_turns() -> None:
    documents = [pdf_with(*(f"document {n} page {page}" for page in range(20))) for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        document = list(pool.map(lambda data: pdf.extract(PATH, data), documents * 3))
    assert document == [pdf.extract(PATH, data) for data in documents] * 3


WHOLE = pdf_with("some text\nto be torn", "more", title="Torn", outline="Part")


@given(st.integers(0, len(WHOLE)), st.lists(st.tuples(st.integers(0, 3000), st.binary(max_size=4))))
@settings(deadline=None)
def test_torn_files_are_read_or_refused(length: int, changes: list[tuple[int, bytes]]) -> None:
    data = bytearray(WHOLE[:length])
    for at, new in changes:
        data[at : at + len(new)] = new
    try:
        assert pdf.extract(PATH, bytes(data)).parts
    except Unreadable as error:
        assert error.message


@given(st.binary())
@settings(deadline=None)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with pytest.raises(Unreadable):
        pdf.extract(PATH, b"%PDF-1.7\n" + data)
