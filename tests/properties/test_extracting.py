from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kinen.distill.blocks import blocks, sentences
from kinen.distill.extract import extract
from kinen.model.journal import Digest, Passage
from kinen.text import estimate, excerpt

# No entrance lets a NUL or half an emoji through.
CHARACTERS = st.characters(codec="utf-8", exclude_characters="\0")
LINES = [
    "# The index",
    "## Next steps",
    "Ann: Hey! How are you? I moved the cache to disk. It works now. See you!",
    "The index is derived from 42 files. It is rebuilt in `src/index.py`, e.g. after v2.1.",
    "- **Fix:** the lock gets 1s. Commit a43f9c1 has it. Decision: we keep it.",
    "- [x] chosen",
    "1. first",
    "| a | b |",
    "|---|---|",
    "```py",
    "    return cache[key]",
    "> [!note] Decision",
    "> We use SQLite, since it is there.",
    "---",
    "===",
    "<!-- open",
    "<script>",
    "[index]: http://example.com",
    "* * *",
    "…",
    "Wo ist der Schlüssel? Im Schloß.",
    "索引はファイルから作られます。鍵はここです！",
    "\u2028\x0c\x1c and \t tabs",
    "wordwithoutend" * 60,
    "",
]
texts = st.one_of(
    st.lists(st.sampled_from(LINES), max_size=14).map("\n".join),
    st.text(CHARACTERS, max_size=120),
    st.lists(st.text(CHARACTERS, max_size=30) | st.sampled_from(LINES), max_size=8).map(" ".join),
)
passages = st.lists(
    st.builds(
        Passage,
        st.integers(0, 5).map("note:{}.md".format) | st.text(CHARACTERS, max_size=8),
        texts,
        st.sampled_from(["", "The index", "- # Caches\n---"]) | st.text(CHARACTERS, max_size=80),
        st.sampled_from(["", "2026-03-01T10:00:00.000Z", "2026-03-01T10:01:00.000Z", "yesterday"]),
    ),
    max_size=7,
)
questions = st.sampled_from(
    [
        *("", "what is the index derived from?", "when was the fix in March?", "a43f9c1?", "鍵は?"),
        *("who moved the cache?", "src/index.py", "what is it", "v2.1 decision"),
    ]
) | st.text(CHARACTERS, max_size=40)
budgets = st.integers(1, 300)


def squeezed(text: str) -> str:
    """Without spaces and the marks of lists and quotes, which a digest leaves out."""
    return re.sub(r"[\s>*+•-]", "", text)


def items(digest: Digest, given_: list[Passage]) -> list[tuple[str, list[str]]]:
    """Each cited ref with its lines, as a reader of the text finds them."""
    results: list[tuple[str, list[str]]] = []
    left = list(digest.sources)
    for line in digest.text.split("\n") if digest.text else ():
        if line.startswith("- "):
            cited = " ".join(f"[{left[0]}]".split())
            days = "|".join(re.escape(item.at[:10]) for item in given_ if item.ref == left[0])
            match = re.fullmatch(rf"- (?:(.*) )?{re.escape(cited)}(?: (?:{days}))?", line)
            assert match, (line, cited)
            results.append((left.pop(0), [match[1]] if match[1] is not None else []))
        else:
            assert line.startswith("  ") or not line
            results[-1][1].append(line.strip())
    assert not left
    return results


@given(questions, passages, budgets)
def test_a_digest_keeps_its_budget(question: str, given_: list[Passage], budget: int) -> None:
    digest = extract(question, given_, budget)
    assert digest.tokens_out == estimate(digest.text) <= budget
    assert digest.by == "extract"


@given(questions, passages, budgets)
def test_the_same_is_extracted_in_the_same_bytes(
    question: str, given_: list[Passage], budget: int
) -> None:
    assert extract(question, given_, budget) == extract(question, list(given_), budget)


@given(questions, passages, budgets)
def test_every_line_is_quoted_from_what_it_cites(
    question: str, given_: list[Passage], budget: int
) -> None:
    digest = extract(question, given_, budget)
    for ref, lines in items(digest, given_):
        own = [element for element in given_ if element.ref == ref]
        assert lines, ref
        for line in lines:
            message = [squeezed(entry.text) for entry in own]
            titles = [squeezed(excerpt(item.title, 60)) for item in own]
            parts = [squeezed(part) for part in line.split("…")]
            assert squeezed(line) in titles or any(
                all(part in text for part in parts) for text in message
            )


@given(questions, passages, budgets)
def test_nothing_breaks_out_of_its_place(question: str, given_: list[Passage], budget: int) -> None:
    digest = extract(question, given_, budget)
    tokens = MarkdownIt("commonmark").parse(digest.text)
    outer = [token.type for token in tokens if token.level == 0 and token.nesting >= 0]
    assert outer == ["bullet_list_open"] * bool(digest.sources)
    listed = [token for token in tokens if token.type == "list_item_open" and token.level == 1]
    assert len(listed) == len(digest.sources) == len(set(digest.sources))


@given(questions, passages)
def test_with_room_for_everything_everything_is_there(question: str, given_: list[Passage]) -> None:
    digest = extract(question, given_, 100_000)
    for entry in given_:
        for line in entry.text.split():
            assert line in digest.text
    assert set(digest.sources) == {item.ref for item in given_ if item.text.strip()}
    assert digest.notes == ()


@given(questions, passages, budgets)
def test_what_is_left_out_is_noted(question: str, given_: list[Passage], budget: int) -> None:
    digest = extract(question, given_, budget)
    whole = extract(question, given_, 100_000)
    assert bool(digest.notes) == (whole.tokens_out > budget)
    assert digest.tokens_in == whole.tokens_in


@given(texts)
def test_pieces_cover_their_block_in_order(text: str) -> None:
    for block in blocks(text):
        last = 0
        for start, end in block.spans:
            assert not block.text[last:start].strip()
            assert start < end
            last = end
        assert not block.text[last:].strip()
        assert squeezed(block.quoted(set(range(len(block.spans))))) == squeezed(block.text)


@given(texts)
def test_sentences_cover_their_text(text: str) -> None:
    spans = sentences(text)
    assert "".join(text[a:b] for a, b in spans).split() == text.split() or "".join(
        "".join(text[a:b] for a, b in spans).split()
    ) == "".join(text.split())
