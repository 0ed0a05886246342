from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kinen.text.parse import light_table

CELLS = st.sampled_from(["plain", "[[link]]", "#tag", "[a](b)", "", "1 < 2", r"a \| b"])
ROWS = st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def parsers() -> tuple[MarkdownIt, MarkdownIt]:
    usual = MarkdownIt("commonmark").enable("table")
    light = MarkdownIt("commonmark").enable("table")
    light.block.ruler.at("table", light_table, {"alt": ["paragraph", "reference"]})
    return usual, light


@given(ROWS)
def test_cells_with_links_and_tags_stay_and_others_take_no_token(
    parsers: tuple[MarkdownIt, MarkdownIt], rows: list[list[str]]
) -> None:
    lines = ["| left | right |", "|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
    usual, light = (parser.parse("\n".join(lines) + "\n\nafter [[this]]\n") for parser in parsers)
    linking = [
        token.content
        for token in usual
        if token.type == "inline" and ("[" in token.content or "#" in token.content)
    ]
    inline = [token.content for token in light if token.type == "inline"]
    assert [content for content in inline if "[" in content or "#" in content] == linking
    assert not [token for token in light if token.type.startswith(("td_", "th_"))]
    assert {token.type for token in light} >= {"table_open", "table_close", "paragraph_open"}
