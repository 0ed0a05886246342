from __future__ import annotations

import json

import pytest

from kinen.model.documents import Link
from kinen.text.frontmatter import MAX_SIZE
from kinen.text.parse import Parsed, parse

ROUND = """---
date: 2025-12-03
started_at: 2025-12-03T09:16:39+01:00
ended_at: 14:30
artifact_type: round_foundation
kinen_session: kinen-resources
kinen_round: 1
status: in-progress
session: "[[20251203-01-kinen-resources]]"
aliases:
  - "kinen-resources - Round 01"
tags:
  - space/work
  - "#domain/architecture"
summary: What to index, and where
---

# Round 01: Foundation

Goals of the [[init|session]] and #type/round notes.

## Questions

### Q1.1: Which store?

- [x] **Option C: SQLite** ✅ 2025-12-13
- [ ] Option A: LanceDB, see [the paper](../resources/papers/lance%20db.md#speed)

> [!note] Answer
> SQLite, as [[rounds/02-search#Q2.1|Round 2, Q2.1]] shows.

| Decision | Round | Rationale |
|----------|-------|-----------|
| EPUB support | R1 | [[papers/epub\\|the paper]] |

```python
names = "[[not a link]]"
```
"""


def links(text: str) -> list[Link]:
    return list(parse(text).links)


def targets(text: str) -> list[str]:
    return [link.target for link in parse(text).links]


def kinds(parsed: Parsed) -> list[str]:
    return [block.kind for block in parsed.blocks]


def test_a_round_is_read_whole() -> None:
    parsed = parse(ROUND)
    assert parsed.title == "Round 01: Foundation"
    assert parsed.aliases == ("kinen-resources - Round 01",)
    assert parsed.tags == ("space/work", "domain/architecture", "type/round")
    assert parsed.summary == "What to index, and where"
    assert parsed.frontmatter["kinen_round"] == 1
    assert parsed.frontmatter_end == 16
    assert kinds(parsed) == [
        "heading",
        "paragraph",
        "heading",
        "heading",
        "list",
        "quote",
        "table",
        "fence",
    ]
    assert parsed.blocks[4].path == ("Round 01: Foundation", "Questions", "Q1.1: Which store?")


def test_links_of_a_round_with_their_lines() -> None:
    assert links(ROUND) == [
        Link("20251203-01-kinen-resources", line=9),
        Link("init", "session", line=20),
        Link("../resources/papers/lance db.md", "the paper", "speed", 27, wiki=False),
        Link("rounds/02-search", "Round 2, Q2.1", "Q2.1", 30),
        Link("papers/epub", "the paper", line=34),
    ]


@pytest.mark.parametrize(
    ("written", "link"),
    [
        ("[[x]]", Link("x", line=1)),
        ("[[x|shown]]", Link("x", "shown", line=1)),
        ("[[a/b#Heading one|shown]]", Link("a/b", "shown", "Heading one", 1)),
        ("![[photo.png|100]]", Link("photo.png", "100", line=1, embedded=True)),
        ("[[x#^block]]", Link("x", "", "^block", 1)),
        ("[[#Here]]", Link("", "", "Here", 1)),
        (r"[[x\|shown]]", Link("x", "shown", line=1)),
        ("[t](../a/b.md#h)", Link("../a/b.md", "t", "h", 1, wiki=False)),
        ("[t](<a b.md>)", Link("a b.md", "t", line=1, wiki=False)),
        ("[t](a%20b.md 'title')", Link("a b.md", "t", line=1, wiki=False)),
        ("[t](b.md?raw=1)", Link("b.md", "t", line=1, wiki=False)),
        ("![alt](img/a.png)", Link("img/a.png", "alt", line=1, embedded=True, wiki=False)),
        ("[t](/docs/x)", Link("/docs/x", "t", line=1, wiki=False)),
        ("[t][r]\n\n[r]: ../a.md", Link("../a.md", "t", line=1, wiki=False)),
        ("[r]\n\n[r]: <../a b.md>", Link("../a b.md", "r", line=1, wiki=False)),
        ("*see [**t**](a.md)*", Link("a.md", "**t**", line=1, wiki=False)),
        ("(see `code` and\n[[x]])", Link("x", line=2)),
        ("`a\nb` and\n[t](a.md)", Link("a.md", "t", line=3, wiki=False)),
        ("Title\nover [[x]]\n===", Link("x", line=2)),
    ],
)
def test_every_way_to_write_a_link(written: str, link: Link) -> None:
    assert links(written) == [link]


@pytest.mark.parametrize(
    "written",
    [
        "`[[x]]`",
        "``a ` [[x]]``",
        "```\n[[x]]\n```",
        "~~~md\n[t](a.md)\n",
        "    [[x]]",
        "<!-- [[x]] -->",
        "text <!-- [[x]]\n[t](a.md) --> text",
        r"\[[x]]",
        "[t](https://example.org)",
        "[t](mailto:a@example.org)",
        "[t](//example.org/a.md)",
        "[t](#heading)",
        "[t]()",
        "<https://example.org/[[x]]>",
        "[[https://example.org]]",
        "[[1]](https://example.org)",
        "[[]] [[|x]] [[a\nb]]",
        "> [!note] Answer",
        "- [x] done",
        "---\n# see: [[x]]\na: b\n---\n",
    ],
)
def test_what_is_no_link(written: str) -> None:
    assert links(written) == []


def test_an_image_that_links_counts_as_both() -> None:
    assert targets("[![shot](shot.png)](page.md)") == ["shot.png", "page.md"]


def test_a_block_is_its_exact_lines() -> None:
    text = "# A\n\npara\nmore\n\n- one\n\n  two\n- three\n\n\n***\n<div>\nx\n</div>\n"
    assert [(b.kind, b.start_line, b.end_line, b.text) for b in parse(text).blocks] == [
        ("heading", 1, 1, "# A"),
        ("paragraph", 3, 4, "para\nmore"),
        ("list", 6, 9, "- one\n\n  two\n- three"),
        ("rule", 12, 12, "***"),
        ("html", 13, 15, "<div>\nx\n</div>"),
    ]


def test_items_and_quoted_paragraphs_are_known() -> None:
    parsed = parse("- a\n- b\n  - c\n- d\n\n> p\n>\n> q")
    assert [block.parts for block in parsed.blocks] == [(1, 2, 4), (6, 8)]


def test_lines_without_a_token_are_blocks_too() -> None:
    parsed = parse("text [r]\n\n[r]: a.md\n[s]: b.md\n\nmore")
    assert [(b.kind, b.text) for b in parsed.blocks] == [
        ("paragraph", "text [r]"),
        ("paragraph", "[r]: a.md\n[s]: b.md"),
        ("paragraph", "more"),
    ]


def test_headings_nest_by_level() -> None:
    parsed = parse("# A\n## B\n#### C\nc\n## D\nd\n# E *em* `c` [[x|Y]] [t](u)\ne")
    assert [block.path for block in parsed.blocks if block.kind == "paragraph"] == [
        ("A", "B", "C"),
        ("A", "D"),
        ("E em c Y t",),
    ]


def test_headings_in_quotes_and_code_lead_nowhere() -> None:
    parsed = parse("# A\n\n> ## quoted\n\n```\n# code\n```\n\ntext")
    assert {block.path for block in parsed.blocks} == {("A",)}


@pytest.mark.parametrize("ends", ["\r\n", "\r", "\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_marks_change_nothing(ends: str, mark: str) -> None:
    assert parse(mark + ROUND.replace("\n", ends)) == parse(ROUND)


def test_dates_are_iso_and_odd_scalars_stay_text() -> None:
    parsed = parse(
        "---\na: 2025-12-03\nb: 2025-12-03 09:16:39\nc: 2025-02-30T10:00:00Z\nd: 14:30\n"
        "e: no\nf: 0123456\ng: 635e300\nh: true\ni: 4\nj: 1.5\nk:\nl: {x: [1, 2]}\n1: one\n---\n"
    )
    assert parsed.frontmatter == {
        "a": "2025-12-03",
        "b": "2025-12-03T09:16:39",
        "c": "2025-02-30T10:00:00Z",
        "d": "14:30",
        "e": "no",
        "f": "0123456",
        "g": "635e300",
        "h": True,
        "i": 4,
        "j": 1.5,
        "k": None,
        "l": {"x": [1, 2]},
        "1": "one",
    }


@pytest.mark.parametrize(
    ("written", "tags"),
    [
        ("tags: [a, b/c]", ("a", "b/c")),
        ("tags: a, b", ("a", "b")),
        ('tag: "#a #b"', ("a", "b")),
        ("tags:\n  - '#a'\n  -\n  - 2025\n  - a", ("a", "2025")),
        ("tags:", ()),
        ("tags: {a: b}", ()),
        ("tags: 7", ("7",)),
    ],
)
def test_tags_however_written(written: str, tags: tuple[str, ...]) -> None:
    assert parse(f"---\n{written}\n---\n").tags == tags


def test_tags_in_text_but_not_in_code_or_numbers() -> None:
    text = "#one and (#no) issue #42 C# a#b `#code` #two/sub/ [[x#y]] \\#esc\n\n# Head #three\n#été"
    assert parse(text).tags == ("one", "two/sub", "three", "été")


def test_aliases_as_text_or_list() -> None:
    assert parse("---\naliases: One, Two words\nalias: [3]\n---\n").aliases == (
        "One",
        "Two words",
        "3",
    )


def test_a_title_comes_from_frontmatter_then_the_first_h1() -> None:
    assert parse("---\ntitle: 2024\n---\n# H").title == "2024"
    assert parse("## Sub\n\ntext\n\nThe `main` H1\n===\n").title == "The main H1"
    assert parse("no heading").title == ""


def test_description_stands_in_for_a_summary() -> None:
    assert parse("---\ndescription: what it is\n---\n").summary == "what it is"


@pytest.mark.parametrize(
    "raw",
    [
        'title: "unclosed\nsession: "[[x]]"',
        "created: {{date}}",
        "a: b: c",
        "a: !!int nine",
        "a: !!python/object/apply:os.getcwd []",
        "a: \x07",
        "[" * 5_000,
        "- " * 5_000 + "a",
        "{a: " * 5_000 + "}" * 5_000,
        "a: &a [*a]",
        "a: &a [x, x]\n" + "".join(f"a{n}: &a [*a, *a, *a]\n" for n in range(20)).strip(),
        "a: " + "x" * MAX_SIZE,
    ],
)
def test_broken_frontmatter_is_reported_and_its_text_kept(raw: str) -> None:
    parsed = parse(f"---\n{raw}\n---\n# Title\n\ntext [[y]]\n")
    assert parsed.problem.startswith("frontmatter: ")
    assert parsed.frontmatter == {}
    assert parsed.title == "Title"
    assert parsed.blocks[0].text == f"---\n{raw}\n---"
    assert parsed.links[-1] == Link("y", line=len(parsed.lines) - 1)


def test_frontmatter_is_always_json() -> None:
    parsed = parse("---\na: !!binary aGk=\nb: !!set {x, y}\nc: !!float .nan\n? 2\n: z\n---\n")
    assert json.loads(json.dumps(parsed.frontmatter, allow_nan=False)) == parsed.frontmatter


@pytest.mark.parametrize(
    "text",
    [
        "---\nprose between two rules\n---\n",
        "---\n- a\n- b\n---\n",
        "---\ntitle: never closed\n",
        "\n---\ntitle: too late\n---\n",
        "--- \ntitle",
        "----\ntitle: x\n----\n",
    ],
)
def test_what_is_no_frontmatter_is_text(text: str) -> None:
    parsed = parse(text)
    assert (parsed.frontmatter, parsed.frontmatter_end, parsed.problem) == ({}, 0, "")
    assert parsed.blocks[-1].end_line == len(text.rstrip("\n").split("\n"))


def test_empty_frontmatter_is_fine() -> None:
    parsed = parse("---\n---\ntext")
    assert (parsed.frontmatter, parsed.frontmatter_end, parsed.problem) == ({}, 2, "")


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n", "\ufeff"])
def test_nothing_comes_of_nothing(text: str) -> None:
    assert parse(text).blocks == ()


def test_nul_bytes_are_replaced() -> None:
    assert parse("a\0b [[x]]").blocks[0].text == "a\ufffdb [[x]]"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("> " * 5_000 + "x", 0),
        ("\n".join("  " * n + "- x" for n in range(300)), 0),
        ("word " * 200_000, 0),
        ("x" * 1_000_000, 0),
        ("[" * 100_000, 0),
        ("[a](b.md) " + "[x " * 5_000, 1),
        ("![" * 5_000, 0),
        ("[[a]] " * 10_000, 10_000),
        ("[a](b.md)\n" * 5_000, 5_000),
        ("```\n" + "[[x]]\n" * 5_000, 0),
        (" ".join("`" * n for n in range(1, 300)), 0),
        ("<" * 20_000, 0),
        ("|a" * 2_000 + "|\n" + "|-" * 2_000 + "|\n|x|", 0),
        ("\ud800 [[x]]", 1),
    ],
)
def test_hostile_text_is_only_text(text: str, count: int) -> None:
    parsed = parse(text)
    assert len(parsed.links) == count
    assert parsed.blocks[-1].end_line == len(text.rstrip("\n").split("\n"))


def test_lines_are_right_in_a_paragraph_too_long_for_one_pass() -> None:
    parsed_links = links("word [[x]] word\n" * 4_000)
    assert [link.line for link in parsed_links] == list(range(1, 4_001))
