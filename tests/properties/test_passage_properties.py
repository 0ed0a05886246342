from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from kinen.recall.passages import GAP, is_numbered, passage_of
from kinen.text import estimate
from kinen.text.chunks import chunk_markdown
from kinen.text.parse import parse
from kinen.text.passages import LIMIT, passage
from properties.test_chunking import markdown, paragraphs

documents = st.lists(st.tuples(st.integers(0, 3), markdown | paragraphs), min_size=1, max_size=6)
limits = st.integers(20, LIMIT)
unhurried = settings(deadline=None, max_examples=80)


@st.composite
def matches(draw: st.DrawFn) -> tuple[list[str], list[int], int, int]:
    """Lines with their sections, and the first and last line of a match."""
    lines: list[str] = []
    sections: list[int] = []
    for number, (level, text) in enumerate(draw(documents)):
        heading = ["#" * level + " Heading"] if level else []
        added = [*heading, *text.split("\n")]
        lines += added
        sections += [number] * len(added)
    first = draw(st.integers(0, len(lines) - 1))
    last = draw(st.integers(first, min(first + 3, len(lines) - 1)))
    last = max(at for at in range(first, last + 1) if sections[at] == sections[first])
    return lines, sections, first, last


def text_of(lines: list[str], ranges: list[range]) -> str:
    return "\n".join("\n".join(lines[part.start : part.stop]) for part in ranges)


@given(matches(), limits)
@unhurried
def test_a_passage_contains_its_match(
    example: tuple[list[str], list[int], int, int], limit: int
) -> None:
    lines, sections, first, last = example
    ranges = passage(lines, sections, first, last, limit)
    assert any(part.start <= first and last < part.stop for part in ranges)


@given(matches(), limits)
@unhurried
def test_a_passage_is_whole_lines_in_order(
    example: tuple[list[str], list[int], int, int], limit: int
) -> None:
    lines, sections, first, last = example
    ranges = passage(lines, sections, first, last, limit)
    assert 1 <= len(ranges) <= 2
    assert all(0 <= part.start < part.stop <= len(lines) for part in ranges)
    assert all(item.stop < two.start for item, two in pairwise(ranges))


@given(matches(), limits)
@unhurried
def test_a_passage_is_within_the_limit_unless_the_match_alone_is_not(
    example: tuple[list[str], list[int], int, int], limit: int
) -> None:
    lines, sections, first, last = example
    ranges = passage(lines, sections, first, last, limit)
    match = "\n".join(lines[first : last + 1])
    assert estimate(text_of(lines, ranges)) <= max(limit, estimate(match))


@given(matches(), limits)
@unhurried
def test_a_passage_stays_in_its_section_unless_that_is_a_bare_heading(
    example: tuple[list[str], list[int], int, int], limit: int
) -> None:
    lines, sections, first, last = example
    ranges = passage(lines, sections, first, last, limit)
    entered = {sections[at] for part in ranges for at in part}
    own = [
        line for line, section in zip(lines, sections, strict=True) if section == sections[first]
    ]
    bare = not any(line.strip() and line.lstrip()[:1] not in "#-*_" for line in own)
    allowed = {sections[first]} | ({sections[first] + 1} if bare else set())
    assert entered <= allowed


@given(markdown, st.integers(0, 40), limits)
@unhurried
def test_the_passage_of_a_chunk_is_made_of_lines_of_its_file(
    text: str, at: int, limit: int
) -> None:
    parsed = parse(text)
    chunks = chunk_markdown(parsed, "note:a.md")
    if not chunks:
        return
    own = chunks[at % len(chunks)]
    if not is_numbered(own) or estimate(max(own.text.split("\n"), key=estimate)) > limit:
        return
    output, line = passage_of(own, chunks, ("index",), limit)
    assert own.start_line <= line <= own.end_line
    assert output.start_line <= line <= output.end_line
    assert estimate(output.text) <= limit + estimate(GAP)
    assert set(output.text.split("\n")) - {GAP} <= set(parsed.lines)
