"""Lines of markdown are told apart by their first characters, as these expressions would."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from kinen.text import weight
from kinen.text.passages import blocks_of, fence_of, is_heading, is_item, is_lead_in, is_rule

HEADING = re.compile(r"\s{0,3}#{1,6}(\s|$)")
FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")
RULE = re.compile(r"\s{0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$")
BOLD = re.compile(r"(?:\*\*(?:(?!\*\*).)+\*\*|__(?:(?!__).)+__)[.:]?")
DELIMITER = re.compile(r"\s*(?:\|\s*)?:?-+:?\s*(?:\|\s*:?-+:?\s*)*(?:\|\s*)?$")
LINES = st.lists(
    st.sampled_from([*"#`~-*_+ \t12.):|a٣\u00a0", "**", "__", "###", "```", "    "]), max_size=9
).map("".join)


@given(LINES)
def test_a_line_is_what_its_expression_says(line: str) -> None:
    fence = FENCE.match(line)
    assert fence_of(line) == (fence[1] if fence else "")
    assert is_heading(line) == bool(HEADING.match(line))
    assert is_item(line) == bool(ITEM.match(line))
    assert is_rule(line) == bool(RULE.match(line))


@given(LINES)
def test_a_bold_line_leads_to_what_follows(line: str) -> None:
    stripped = line.strip()
    ends_in_colon = stripped.rstrip("*_` \t)").endswith(":") and not FENCE.match(stripped)
    assert is_lead_in(line) == bool(ends_in_colon or BOLD.fullmatch(stripped))


@given(LINES)
def test_a_table_has_a_line_of_dashes_below_its_header(line: str) -> None:
    kind = blocks_of(["a | b", line, "1 | 2"], 0, 3)[0].kind
    opens = not line.strip() or FENCE.match(line) or HEADING.match(line) or ITEM.match(line)
    assert (kind == "table") == bool(not opens and DELIMITER.match(line))


@given(st.lists(st.text(max_size=30), max_size=6))
def test_lines_weigh_together_what_they_weigh_apart(lines: list[str]) -> None:
    lines = [line.replace("\n", " ") for line in lines]
    assert weight("\n".join(lines)) == sum(map(weight, lines))
