from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from kinen.model.documents import Part
from kinen.model.records import Chunk
from kinen.text import estimate
from kinen.text.chunks import chunk_markdown, chunk_parts
from kinen.text.parse import parse, split_lines

samples = """
the index of memory, tokens. getUserName rate_limiter 2025-12-03 日本語の文章。 한국어 🎉 → naïve
https://example.org/a/b?c=d **bold** `code` [[rounds/01|R1]] (see) 0xdeadbeef ┌────────┐
"""
words = st.one_of(st.sampled_from(samples.split()), st.text(max_size=12))
sentences = st.lists(words, min_size=1, max_size=30).map(" ".join)
paragraphs = st.lists(sentences, min_size=1, max_size=4).map("\n".join)
headings = st.builds(lambda n, text: "#" * n + " " + text, st.integers(1, 6), sentences)
fences = paragraphs.map(lambda text: f"```python\n{text}\n```")
tables = st.lists(sentences, max_size=6).map(
    lambda rows: "| a | b |\n|---|---|\n" + "\n".join(f"| {row} | x |" for row in rows)
)
lists = st.lists(paragraphs, min_size=1, max_size=6).map(
    lambda items: "\n".join("- " + item.replace("\n", "\n  ") for item in items)
)
quotes = paragraphs.map(lambda text: "> [!note] Answer\n> " + text.replace("\n", "\n> "))
rules = st.sampled_from(["---", "***", "<!-- comment -->", "[r]: ../a.md", "<div>\n\ntext\n</div>"])
blocks = st.one_of(paragraphs, headings, fences, tables, lists, quotes, rules)
markdown = st.lists(blocks, max_size=8).map("\n\n".join) | st.text(max_size=400)
long_lines = st.lists(words, min_size=40, max_size=150).map(" ".join)
sizes = st.integers(8, 80)
unhurried = settings(deadline=None, max_examples=60)


def assert_well_formed(chunks: tuple[Chunk, ...], size: int) -> None:
    assert [chunk.n for chunk in chunks] == list(range(len(chunks)))
    assert all(chunk.text.strip() for chunk in chunks)
    assert all(estimate(chunk.text) <= size for chunk in chunks)


def assert_lines_are_right(chunks: tuple[Chunk, ...], lines: tuple[str, ...], size: int) -> None:
    for chunk in chunks:
        spanned = lines[chunk.start_line - 1 : chunk.end_line]
        if all(estimate(line) <= size for line in spanned):
            assert chunk.text == "\n".join(spanned)
        else:
            assert chunk.text in "\n".join(spanned)
    for before, after in pairwise(chunks):
        assert before.start_line <= after.start_line
        assert before.end_line <= after.end_line


def assert_all_in_order(chunks: tuple[Chunk, ...], text: str) -> None:
    """Only for chunks without overlap: what is between two of them is blank."""
    rest = text
    for chunk in chunks:
        between, results, rest = rest.partition(chunk.text)
        assert results
        assert not between.strip()
    assert not rest.strip()


@unhurried
@given(markdown | long_lines, sizes, st.integers(0, 80))
def test_markdown_chunks_cover_the_text_in_order(text: str, size: int, small: int) -> None:
    parsed = parse(text)
    chunks = chunk_markdown(parsed, "note:a.md", size=size, overlap=0, small=small)
    assert_well_formed(chunks, size)
    assert_lines_are_right(chunks, parsed.lines, size)
    body = "\n".join(parsed.lines[parsed.frontmatter_end if not parsed.problem else 0 :])
    assert_all_in_order(chunks, body)


@unhurried
@given(markdown | long_lines, sizes, st.integers(0, 100))
def test_markdown_chunks_with_overlap_keep_their_limits(text: str, size: int, overlap: int) -> None:
    parsed = parse(text)
    chunks = chunk_markdown(parsed, "note:a.md", size=size, overlap=overlap)
    assert_well_formed(chunks, size)
    assert_lines_are_right(chunks, parsed.lines, size)
    assert chunks == chunk_markdown(parse(text), "note:a.md", size=size, overlap=overlap)


@unhurried
@given(st.lists(markdown | long_lines, max_size=3), sizes, st.integers(0, 40), st.booleans())
def test_parts_keep_their_limits_pages_and_lines(
    texts: list[str], size: int, overlap: int, numbered: bool
) -> None:
    parts = [Part(text, f"p{n}", n, int(numbered)) for n, text in enumerate(texts, 1)]
    chunks = chunk_parts(parts, "resource:a.txt", size=size, overlap=overlap)
    assert_well_formed(chunks, size)
    assert [chunk.page for chunk in chunks] == sorted(chunk.page for chunk in chunks)
    for part in parts:
        own = tuple(chunk for chunk in chunks if chunk.page == part.page)
        assert all(chunk.heading == part.title for chunk in own)
        text = part.text.replace("\r\n", "\n").replace("\r", "\n")
        if numbered:
            assert_lines_are_right(own, tuple(text.split("\n")), size)
        else:
            assert all((chunk.start_line, chunk.end_line) == (0, 0) for chunk in own)
        if not overlap:
            assert_all_in_order(own, text)


@unhurried
@given(st.integers(1, 600), st.integers(1, 40), sizes, st.integers(1, 40), st.booleans())
def test_overlapping_chunks_lose_no_word(
    count: int, per_line: int, size: int, overlap: int, numbered: bool
) -> None:
    every = [f"word{n}" for n in range(count)]
    lines = [" ".join(every[n : n + per_line]) for n in range(0, count, per_line)]
    text = "\n".join(lines)
    parts = [Part(text, line=int(numbered))]
    for chunks in (
        chunk_parts(parts, "r", size=size, overlap=overlap),
        chunk_markdown(parse(text), "r", size=size, overlap=overlap),
    ):
        seen: dict[str, None] = {}
        for chunk in chunks:
            seen.update(dict.fromkeys(chunk.text.split()))
        assert list(seen) == every
        for before, after in pairwise(chunks):
            shared = set(before.text.split()) & set(after.text.split())
            assert estimate(" ".join(shared)) <= overlap


@unhurried
@given(markdown)
def test_blocks_are_their_lines_and_leave_none_out(text: str) -> None:
    parsed = parse(text)
    assert parsed.lines == split_lines(text)
    last = 0 if parsed.problem else parsed.frontmatter_end
    for block in parsed.blocks:
        assert block.text == "\n".join(parsed.lines[block.start_line - 1 : block.end_line])
        assert not "".join(parsed.lines[last : block.start_line - 1]).strip()
        last = block.end_line
    assert not "".join(parsed.lines[last:]).strip()


@unhurried
@given(markdown)
def test_links_stand_on_their_lines(text: str) -> None:
    parsed = parse("[[first]]\n\n" + text + "\n\n[[last]]\n")
    assert all(link.target in parsed.lines[link.line - 1] for link in parsed.links if link.wiki)
