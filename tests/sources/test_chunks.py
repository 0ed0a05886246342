from __future__ import annotations

from itertools import pairwise

import pytest

from kinen.model.documents import Part
from kinen.model.records import Chunk
from kinen.text import estimate
from kinen.text.chunks import chunk_markdown, chunk_parts
from kinen.text.parse import parse

PROSE = "The index is derived from the files, and a rebuild costs time but never knowledge. "


def chunks(text: str, **limits: int) -> tuple[Chunk, ...]:
    return chunk_markdown(parse(text), "note:a.md", **limits)


def texts(text: str, **limits: int) -> list[str]:
    return [chunk.text for chunk in chunks(text, **limits)]


def test_frontmatter_is_found_by_what_it_says_of_the_file() -> None:
    text = (
        "---\ntitle: Resources\nstatus: draft\naliases: [Files, Papers]\ntags: [domain/x, '#y']\n"
        "summary: Where papers live\n---\nText with #inline.\n"
    )
    first, second = chunks(text)
    assert first.text == "Resources\nWhere papers live\naliases: Files, Papers\ntags: domain/x, y"
    assert (first.n, first.start_line, first.end_line, first.heading) == (0, 1, 7, "")
    assert (second.n, second.start_line, second.text) == (1, 8, "Text with #inline.")


def test_frontmatter_that_says_nothing_is_no_chunk() -> None:
    assert texts("---\nstatus: draft\n---\n\ntext\n") == ["text"]


def test_frontmatter_too_long_for_one_chunk_is_cut() -> None:
    pieces = chunks(f"---\nsummary: {PROSE * 20}\n---\n", size=64)
    assert len(pieces) > 4
    assert {(chunk.start_line, chunk.end_line) for chunk in pieces} == {(1, 3)}


def test_broken_frontmatter_is_still_found() -> None:
    assert texts("---\ntitle: a: b\n---\n\ntext")[0].startswith("---\ntitle: a: b")


def test_a_title_goes_with_its_first_section() -> None:
    first, second = chunks("# Title\n\n## Auth\n\nTokens expire.\n\n## Store\n\nSQLite.\n")
    assert first.text == "# Title\n\n## Auth\n\nTokens expire."
    assert (first.heading, first.start_line, first.end_line) == ("Title > Auth", 1, 5)
    assert (second.heading, second.text) == ("Title > Store", "## Store\n\nSQLite.")


def test_an_empty_section_is_a_chunk_of_its_own() -> None:
    assert texts("## Empty\n\n## Next\n\ntext\n\n# Last") == [
        "## Empty",
        "## Next\n\ntext",
        "# Last",
    ]


def test_small_blocks_share_a_chunk_and_large_ones_stand_alone() -> None:
    large = PROSE * 4
    text = f"# A\n\none\n\ntwo\n\n{large}\n\nthree\n\n- four\n"
    assert texts(text, small=40) == ["# A\n\none\n\ntwo", large, "three\n\n- four"]


def test_a_heading_stays_with_a_large_first_block() -> None:
    large = PROSE * 4
    assert texts(f"# A\n\n{large}\n\ntext", small=40) == [f"# A\n\n{large}", "text"]


def test_sections_never_share_a_chunk() -> None:
    assert len(chunks("# A\n\na\n\n# B\n\nb\n\n# C\n\nc\n", small=500)) == 3


def test_rules_cling_to_what_stands_before_them() -> None:
    assert texts("---\n\n# A\n\ntext\n\n---\n\n# B\n\n---\n") == [
        "---\n\n# A\n\ntext\n\n---",
        "# B\n\n---",
    ]


def test_a_long_line_is_cut_after_sentences_with_overlap() -> None:
    pieces = chunks(f"# A\n\n{PROSE * 30}\n", size=100, overlap=30)
    assert pieces[0].text.startswith("# A\n\nThe index")
    assert (pieces[0].start_line, pieces[0].end_line) == (1, 3)
    assert all((chunk.start_line, chunk.end_line) == (3, 3) for chunk in pieces[1:])
    assert all(chunk.text.endswith("knowledge.") for chunk in pieces[:-1])
    assert all(chunk.text.startswith("The index") for chunk in pieces[1:])
    assert sum(chunk.text.count("knowledge") for chunk in pieces) > 30


def test_a_wrapped_paragraph_is_cut_between_lines() -> None:
    line = "some words of a paragraph that was wrapped by its author"
    lines = [f"{n} {line}" for n in range(60)]
    pieces = chunks("\n".join(lines), size=100, overlap=30)
    for chunk in pieces:
        assert chunk.text == "\n".join(lines[chunk.start_line - 1 : chunk.end_line])
    assert pieces[1].start_line == pieces[0].end_line - 1


def test_lists_are_cut_between_items() -> None:
    items = [f"- item {n}: {PROSE}\n  {PROSE}\n  - nested {n}" for n in range(12)]
    pieces = texts("\n".join(items), size=128)
    assert len(pieces) > 3
    assert all(text.startswith("- item") for text in pieces)
    assert "\n".join(pieces) == "\n".join(items)


@pytest.mark.parametrize(
    "block",
    [
        "| a | b |\n|---|---|\n" + "| some words | more words |\n" * 30,
        "```python\n" + "\n\n".join(f"def f{n}():\n    return {n}" for n in range(40)) + "\n```",
    ],
)
def test_tables_and_fences_are_whole_if_they_fit(block: str) -> None:
    block = block.strip()
    size = estimate(block)
    assert block in texts(f"## Heading\n\n{block}\n\ntext", size=size)
    assert f"## Heading\n\n{block}" in texts(f"## Heading\n\n{block}\n\ntext", size=size + 6)
    cut = texts(block, size=size // 3)
    assert len(cut) > 2
    assert [line for text in cut for line in text.split("\n") if line] == [
        line for line in block.split("\n") if line
    ]


def test_a_fence_is_cut_at_blank_lines_of_least_indentation() -> None:
    code = "\n\n".join(f"def f{n}():\n    a = {n}\n\n    return a" for n in range(30))
    cut = texts(f"```\n{code}\n```", size=100)
    assert all(text.startswith("def ") for text in cut[1:])


def test_one_monstrous_line_is_cut_by_characters() -> None:
    for line in ("x" * 5_000, "日本語" * 500, "aGk=" * 1_000, "한국어" * 300, "🎉" * 600):
        pieces = chunks(f"```\n{line}\n```", size=64)
        assert all(estimate(chunk.text) <= 64 for chunk in pieces)
        assert "".join(chunk.text for chunk in pieces).replace("\n", "") == f"```{line}```"


def test_sentences_without_spaces_are_known() -> None:
    pieces = texts("記憶は一度だけ書かれる。索引はそこから作られる。" * 30, size=100, overlap=0)
    assert all(text.endswith("。") for text in pieces)


def test_nothing_comes_of_nothing() -> None:
    assert chunks("\n\n") == ()
    assert chunk_parts([Part(""), Part(" \n\n ")], "r") == ()


def test_pages_never_share_a_chunk() -> None:
    parts = [Part("one\n\ntwo\n", "Intro", page=1), Part("three", "Intro", page=2)]
    assert chunk_parts(parts, "resource:a.pdf") == (
        Chunk("resource:a.pdf", 0, "one\n\ntwo", "Intro", page=1),
        Chunk("resource:a.pdf", 1, "three", "Intro", page=2),
    )


def test_paragraphs_of_a_chapter_are_packed_and_overlap_by_sentences() -> None:
    chapter = "\n\n".join(f"Paragraph {n} begins. {PROSE * 3}Paragraph {n} ends." for n in range(9))
    pieces = chunk_parts([Part(chapter, "Chapter 1")], "r", size=200, overlap=20)
    assert all(chunk.text.endswith("ends.") for chunk in pieces)
    for before, after in pairwise(pieces):
        assert after.text.split("\n")[0] in before.text
    assert all((chunk.start_line, chunk.end_line) == (0, 0) for chunk in pieces)


def test_plain_text_knows_its_lines() -> None:
    lines = [f"line {n} of a log" if n % 7 else "" for n in range(200)]
    pieces = chunk_parts([Part("\r\n".join(lines), line=10)], "r", size=64, overlap=16)
    for chunk in pieces:
        assert chunk.text == "\n".join(lines[chunk.start_line - 10 : chunk.end_line - 9])
    assert pieces[-1].end_line == 209


def test_code_is_cut_between_its_outermost_parts() -> None:
    part = "class C{n}:\n    def a(self):\n        return {n}\n\n    def b(self):\n        return 2"
    code = "\n\n\n".join(part.format(n=n) for n in range(30))
    pieces = chunk_parts([Part(code, line=1)], "r", size=128, overlap=0)
    assert all(chunk.text.startswith("class ") for chunk in pieces)


def test_the_same_text_gives_the_same_chunks() -> None:
    text = f"# A\n\n{PROSE * 40}\n\n- x\n- y\n"
    assert chunks(text) == chunks(text)
