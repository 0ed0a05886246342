"""Headings of reStructuredText, AsciiDoc and Org."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen.errors import Unreadable
from kinen.extract import outline

RST = """\
=====
Guide
=====

Install
-------

Run pip.
More
-------

::

  Not a heading
  -------------

Use
---

Detail
~~~~~~
Text.
"""
ADOC = """\
= Manual
Ada

== Setup

Run make.

----
== not a heading
----

=== Deep
x

== End
"""
ORG = """\
intro
* One
** Two
text
#+begin_src sh
* not a heading
#+end_src
* Three
"""


@pytest.mark.parametrize(
    ("name", "text", "title", "sections"),
    [
        ("a.rst", RST, "Guide", [(1, "Guide > Install"), (17, "Guide > Use > Detail")]),
        (
            "a.adoc",
            ADOC,
            "Manual",
            [
                (1, "Manual"),
                (4, "Manual > Setup"),
                (12, "Manual > Setup > Deep"),
                (15, "Manual > End"),
            ],
        ),
        ("a.org", ORG, "One", [(1, ""), (2, "One > Two"), (8, "Three")]),
    ],
)
def test_sections_have_the_headings_above_them(
    name: str, text: str, title: str, sections: list[tuple[int, str]]
) -> None:
    extract = outline.extract(Path(name), text.encode())
    assert extract.title == title
    assert [(part.line, part.title) for part in extract.parts] == sections


@given(st.text(alphabet="=-~*# a\n`.", max_size=200), st.sampled_from(["a.rst", "a.adoc", "a.org"]))
def test_sections_are_the_whole_text_in_order(text: str, name: str) -> None:
    try:
        extract = outline.extract(Path(name), text.encode())
    except Unreadable:
        assert not text.strip()
        return
    lines = [line for line in text.split("\n") if line.strip()]
    parts = [line for part in extract.parts for line in part.text.split("\n") if line.strip()]
    assert parts == lines
    for part in extract.parts:
        assert text.split("\n")[part.line - 1] == part.text.split("\n")[0]


def test_many_headings_take_linear_time() -> None:
    text = "A\n-\n\n" * 100_000 + "= A\n" * 100_000
    for name in ("a.rst", "a.adoc", "a.org"):
        assert outline.extract(Path(name), text.encode()).parts
