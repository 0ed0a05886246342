"""No text on its way to an agent has a tag or a voice that its client would take for its own."""

from __future__ import annotations

import json
import re
from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinen.model import kinds
from kinen.privacy.injected import own_words, without_blocks, without_injected
from kinen.privacy.quote import EXACT, HARNESS, MARK, NAMES, marked, open_end, quoted

if TYPE_CHECKING:
    from collections.abc import Callable

KNOWN = (
    kinds.MEMORY,
    *kinds.REMINDERS,
    *kinds.WRAPPERS,
    *kinds.MACHINE,
    *HARNESS,
)
OPENINGS = (
    "<",
    "</",
    "< ",
    "< / ",
    "<\n",
    "</\t",
    "&lt;",
    "&LT;/",
    "&#60;",
    "&#x3C;",
    "\\u003c",
    "\\x3C",
)
ENDS = (">", " >", "/>", ' id="1">', "\n>", "&gt;", "\\u003e", "", " a=b c=d>")
VOICES = (*kinds.VOICES, "[INST]", "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<<SYS>>")
CODE = (
    *("<div>", '<div class="x">', "</p>", "<Skill />", "Vec<Skill>", "Array<ToolUse>", "a < b"),
    *("vector<session_context> x;", "Option<tool_result>", "<T extends User>", "f <| x |> g"),
    *(
        "#include <system_error>",
        "x <- y",
        "a<<b",
        "<!-- system -->",
        "<SystemReminder>",
        "&lt;p&gt;",
    ),
    *(
        "the kinen-memory tag",
        "system-reminder",
        "the Human: a person",
        "User: ada",
        "System: Linux",
    ),
    *('{"task_id": 1}', "[Request] interrupted", "a human: no", "<reminder>", "List<Human> h", "<"),
    *("template<typename skill_t>", "if (a<system && b>c)", "x[INSTANCE]", "\\u0041", "&amp;"),
)
plain = st.text(st.characters(blacklist_categories=("Cs",)), max_size=12)


CASES = (str.lower, str.upper, str.title)
SEPARATORS = ("", "-", "_", " ")


def spelled(name: str, opening: str, end: str, case: Callable[[str], str], separator: str) -> str:
    """A tag as a client writes it, or as a model would still read it."""
    if name in EXACT:
        word, opening = name, re.sub(r"\s", "", opening)
    else:
        word = case(re.sub("[-_ ]", separator, name) if separator else name)
    return f"{opening}{word}{end}" if separator != " " else f"{opening}{word}>"


tags = st.builds(spelled, *map(st.sampled_from, (KNOWN, OPENINGS, ENDS, CASES, SEPARATORS)))
texts = st.lists(
    st.one_of(plain, tags, st.sampled_from(VOICES), st.sampled_from(CODE), st.just("\n")),
    max_size=8,
).map("".join)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
@pytest.mark.parametrize("separator", SEPARATORS)
def test_a_tag_in_any_spelling_becomes_a_quoted_one(
    case: Callable[[str], str], separator: str
) -> None:
    for name, opening, end in product(KNOWN, OPENINGS, ENDS):
        tag = spelled(name, opening, end, case, separator)
        text = quoted(f"before {tag} after")
        assert MARK in text, tag
        assert text.replace(MARK, "") == f"before {tag} after"


@given(texts)
def test_of_any_text_nothing_is_left_that_a_client_removes_or_obeys(text: str) -> None:
    shown = quoted(text)
    assert shown.replace(MARK, "") == text.replace(MARK, "")
    assert quoted(shown) == shown
    low = shown.lower()
    for name in KNOWN:
        if name not in EXACT:
            assert not re.search(rf"(?<!\w)<{name}>", low)
            assert f"</{name}>" not in low
            assert without_blocks(shown, name) == shown
    assert not re.search(r"<[|]\w+[|]>", shown)
    assert not re.search(r"(?m)^[ \t]{0,30}(Human:|Assistant:|\[Request interrupted)", shown)
    block = marked(text)
    assert without_injected(block) == ""


@given(st.lists(st.one_of(plain, st.sampled_from(CODE)), max_size=8).map(" ".join))
def test_text_without_such_tags_is_unchanged(text: str) -> None:
    words = re.sub(r"[^a-z0-9]+", "-", text.lower())
    if not any(name in words for name in NAMES) and "[inst" not in words:
        assert quoted(text) == text or re.search(r"(?m)^\s*(Human|Assistant):", text)


@pytest.mark.parametrize("code", CODE)
def test_code_and_prose_stay_as_they_are(code: str) -> None:
    assert quoted(code) == code
    assert quoted(f"x {code} y") == f"x {code} y"


@pytest.mark.parametrize("voice", VOICES)
def test_a_line_that_speaks_for_somebody_else_is_quoted(voice: str) -> None:
    text = quoted(f"a note\n  {voice} do this")
    assert MARK in text
    assert own_words(text) == text.strip()


@given(texts)
def test_json_stays_json_with_the_same_values_but_for_the_mark(text: str) -> None:
    written = json.dumps({"text": text, "list": [text]}, ensure_ascii=False)
    values = json.loads(quoted(written))
    assert values["text"].replace(MARK, "") == text.replace(MARK, "")
    for name in ("system-reminder", "kinen-memory"):
        assert f"<{name}>" not in values["text"].lower()


@given(st.sampled_from(("<", "</", "< /", "<  ")), st.sampled_from(("\n", " \n", "\n\n", "")))
def test_a_tag_in_two_pieces_is_quoted_in_the_second(opening: str, blank: str) -> None:
    begun = ""
    for piece in (f"text {opening}", blank):
        begun = open_end(begun + piece)
    second = quoted(begun + "system-reminder>")[len(begun) :]
    assert second == f"{MARK}system-reminder>"
    assert open_end("a < b") == open_end("text") == ""
