from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinen.index.writer import embedded_text
from kinen.text import estimate, words
from kinen.text.reading import LONGEST, reading, without_markup


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("## Tokens and *keys*", "Tokens and keys"),
        ("- [ ] rotate the `api_key`", "rotate the api_key"),
        ("3. see [the guide](https://example.org/a/b?c=d#e) first", "see the guide first"),
        ("![[diagram.png]] of [[auth/tokens|tokens]]", "diagram.png of tokens"),
        ("at https://example.org/very/long/path?x=1 now", "at example.org now"),
        ("| `name` | default |", "name default"),
        ("|:---|---:|", ""),
        ("> a <b>quote</b> <!-- hidden --> here", "a quote here"),
        ("snake_case and 2 * 3", "snake_case and 2 3"),
        ("Mira: it was cold, wasn't it?", "Mira: it was cold, wasn't it?"),
    ],
)
def test_a_line_is_read_without_its_markup(line: str, read: str) -> None:
    assert without_markup(line) == read


def test_of_a_long_list_the_beginning_of_each_item_is_read() -> None:
    items = [f"- item {n} begins here and goes on about other things at length" for n in range(12)]
    read = reading("Lead-in:\n\n" + "\n".join(items))
    assert estimate(read) <= LONGEST + estimate("Lead-in:")
    assert all(f"item {n} begins" in read for n in range(12))


def test_of_long_code_the_first_lines_are_read() -> None:
    code = "\n".join(f"    value_{n} = compute({n})" for n in range(60))
    read = reading(f"Run it:\n\n```python\ndef main():\n{code}\n```\n\nThen stop.")
    assert read.startswith("Run it:\ndef main():")
    assert "value_59" not in read
    assert read.endswith("Then stop.")


def test_prose_is_read_whole() -> None:
    text = "A sentence about the kettle, and what it is made of. " * 60
    assert reading(text) == " ".join(text.split())


def test_only_markdown_is_read_without_markup() -> None:
    code = "def f(a, *args):\n    return a ** 2"
    assert embedded_text("src/f.py", code) == code
    assert embedded_text("", "**kept** as it is") == "**kept** as it is"
    assert embedded_text("Notes/F.MD", "**bold**") == "bold"


@given(st.text(max_size=300))
@settings(deadline=None)
def test_nothing_is_read_that_is_not_there_and_something_always_is(text: str) -> None:
    read = reading(text)
    assert bool(read) == bool(text)
    assert set(words(read)) <= set(words(text)) | {""}


@pytest.mark.parametrize(
    "mark", ["[", "![", "[[", "<", "*", "`", "- ", "> ", "|", "https://", "# "]
)
def test_hostile_lines_are_read_in_time_that_grows_with_their_length(mark: str) -> None:
    def cost(size: int) -> float:
        began = time.process_time()
        reading(mark * size)
        return time.process_time() - began

    cost(1000)
    assert cost(40_000) < 40 * max(cost(4_000), 0.002)
