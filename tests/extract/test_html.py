from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinen.errors import Unreadable
from kinen.extract import html
from kinen.model.documents import Extract, Part

PATH = Path("a.html")


def read(markup: str) -> Extract:
    return html.extract(PATH, markup.encode())


def text(markup: str) -> str:
    return "\n====\n".join(part.text for part in read(markup).parts)


def test_sections_carry_the_headings_above_them() -> None:
    page_extract = read(
        "<title> My  page </title><p>Before.</p><h1>Auth</h1><p>Intro.</p><h2>Tokens</h2>"
        "<p>Short.</p><h3>Refresh</h3><p>Long.</p><h2>Keys <a href=#k>¶</a></h2><p>Rotate.</p>"
    )
    assert page_extract.title == "My page"
    assert page_extract.parts == (
        Part("Before."),
        Part("Intro.", "Auth"),
        Part("Short.", "Auth > Tokens"),
        Part("Long.", "Auth > Tokens > Refresh"),
        Part("Rotate.", "Auth > Keys"),
    )


def test_a_heading_over_nothing_is_still_said() -> None:
    assert read("<h1>A</h1><h2>B</h2><h2>C</h2><p>c").parts == (
        Part("B", "A > B"),
        Part("c", "A > C"),
    )
    assert read("<h1>Alone</h1>").parts == (Part("Alone", "Alone"),)
    assert read("<h1>Alone</h1>").title == "Alone"


def test_furniture_is_left_out() -> None:
    page = (
        "<header>Logo</header><nav>Menu</nav><p>The text.</p><aside>Ads</aside><form>Search"
        "</form><script>var x</script><style>p{}</style><noscript>Enable</noscript>"
        "<div role=navigation>Crumbs</div><div hidden>Secret</div><footer>Legal</footer>"
    )
    assert text(page) == "The text."


@pytest.mark.parametrize("tag", ["main", "article", "div role=main"])
def test_the_main_part_is_preferred(tag: str) -> None:
    end = tag.split(maxsplit=1)[0]
    page = f"<div>Cookies?</div><{tag}><header><h1>T</h1></header><p>All there is.</p></{end}>More"
    assert read(page).parts == (Part("All there is.", "T"),)


def test_teasers_beside_the_text_are_not_the_main_part() -> None:
    page = f"<p>{'The text itself. ' * 20}</p><article>Teaser</article>"
    assert "The text itself." in text(page)


def test_a_page_that_is_all_form_is_still_read() -> None:
    assert text("<form><p>Old framework.</p></form>") == "Old framework."


def test_code_keeps_its_lines_and_prose_does_not() -> None:
    page = (
        "<p>Some\n  <b>bold</b>\n prose</p><pre><code>def f():\n    <i>return</i> 1\n</code></pre>"
    )
    assert text(page) == "Some bold prose\n\ndef f():\n    return 1"


def test_lists_are_lines_with_dashes() -> None:
    page = "<ul><li>one<li><p>two</p><p>more</p><ol><li>deep<br>er</ol><li>three</ul><p>after"
    assert text(page) == "- one\n- two\n  more\n  - deep\n    er\n- three\n\nafter"


def test_tables_are_rows() -> None:
    page = (
        "<table><caption>Ports</caption><tr><th>name<th>number<tr><td>http<td><p>80</p>"
        "<tr><td>none<td></table>"
    )
    assert text(page) == "Ports\n\nname | number\nhttp | 80\nnone |"


def test_tables_that_lay_out_a_page_are_no_rows() -> None:
    page = "<table><tr><td>left<td><h1>T</h1><p>a</p><table><tr><td>x<td>y</table></table>"
    assert read(page).parts == (Part("left"), Part("a\n\nx | y", "T"))
    assert text("<table><tr><td>One.<br><br>Two.</table>") == "One.\n\nTwo."


def test_breaks_and_soft_hyphens() -> None:
    assert text("<p>a<br>b<br><br><br>hy&shy;phen&nbsp;ated &lt;x&gt;</p>") == (
        "a\nb\n\nhyphen ated <x>"
    )


@pytest.mark.parametrize(
    ("markup", "encoding"),
    [
        ("<meta charset=koi8-r><p>привет", "koi8-r"),
        ("<meta http-equiv=x content='text/html; charset=windows-1251'><p>привет", "cp1251"),
        ("<meta charset='ISO-8859-1'><p>“naïve”", "cp1252"),
        ("<?xml version='1.0' encoding='Shift_JIS'?><p>日本", "shift_jis"),
        ("<meta charset=utf-8><p>naïve", "cp1252"),
        ("<meta charset=unicode_escape><p>\\x41", "utf-8"),
        ("<meta charset=koi8-r><p>naïve", "utf-16"),
    ],
)
def test_the_charset_is_honoured(markup: str, encoding: str) -> None:
    expected = markup.partition("<p>")[2]
    assert html.extract(PATH, markup.encode(encoding)).parts[0].text == expected


def test_metadata_is_found() -> None:
    page_extract = read(
        "<meta name=description content=' About  it '><meta name=author content=Ada>"
        "<link rel=canonical href=https://example.org/a><p>x"
    )
    assert page_extract.metadata == {
        "description": "About it",
        "author": "Ada",
        "url": "https://example.org/a",
    }


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty file"),
        (b" \n", "empty file"),
        (b"<p></p><script>x</script>", "no text in it"),
        (b"\x00\x01<p>x", "binary file"),
        (b"<div>" * 200_000 + b"x", "damaged HTML: nested too deeply"),
    ],
)
def test_what_has_no_text_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable) as caught:
        html.extract(PATH, data)
    assert caught.value.message == reason


def test_many_unclosed_paragraphs_are_not_deep() -> None:
    assert text("<p>x" * 20_000).count("x") == 20_000
    assert text("<div>" * 3_000 + "x") == "x"


TAGS = "p div ul li ol table tr td th pre h1 h2 h3 br hr main article nav b title svg".split()
PIECES = [f"<{end}{tag}>" for tag in TAGS for end in ("", "/")] + [
    "text",
    " a\n b",
    "&amp;",
    "<!--",
]


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=40))
@settings(deadline=None)
def test_any_tags_are_read_or_refused(pieces: list[str]) -> None:
    try:
        page_extract = html.extract(PATH, "".join(pieces).encode("utf-8", "replace"))
    except Unreadable as error:
        assert error.message
    else:
        assert all(part.text.strip() for part in page_extract.parts)


@given(st.binary())
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        assert html.extract(PATH, data).parts
    except Unreadable as error:
        assert error.message
