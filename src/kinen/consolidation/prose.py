"""Takes a message apart: its sentences, each with the heading, label and sentence before it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from kinen.markdown.sentences import parsed, plain, sentences

LONGEST_LABEL = 80
"""Characters of the label of a list item, or of a line that only announces what follows."""
_BOLD_LINE = re.compile(r"\*\*([^*\n]{1,120})\*\*:?$")
_LABEL = re.compile(
    r"\*\*(?P<label>[^*\n]{1,120})(?:\*\*\s{0,3}[:–—-]{1,2}\s{1,3}|:\*\*\s{1,3}|\*\*\s(?=\())"
)
_CAUSE = re.compile(r"(?P<label>(?:The )?(?:[Rr]oot )?[Cc]auses?|Lessons?(?: learned)?|Gotchas?): ")
"""A label that need not be bold: everything behind it explains something."""
_TICK = re.compile(r"\[[ xX]\]\s+")
_NUMBER = re.compile(r"(?i)^(?:step |phase |part )?\d{1,2}(?:\.\d{1,2})?[.):]?\s+")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as plain text, with what a reader has seen just before it."""

    text: str
    before: str = ""
    """The sentence before it in the same paragraph."""
    label: str = ""
    """The bold words that its list item begins with."""
    lead: str = ""
    """The line that announces the list it stands in."""
    heading: str = ""
    listed: bool = False


def read_sentences(markdown: str) -> Iterator[Sentence]:
    """The sentences of a text in its own words: no code blocks, quotations or tables."""
    heading = ""
    lead = ""
    apart = 0
    in_heading = False
    lists = 0
    for token in parsed(markdown.replace("’", "'")):
        if token.type in ("heading_open", "heading_close"):
            in_heading = token.nesting > 0
        elif token.type.startswith(("blockquote", "table")):
            apart += token.nesting
        elif token.type in ("bullet_list_open", "ordered_list_open"):
            lists += 1
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            lists -= 1
        elif token.type == "inline" and not apart:
            if in_heading:
                heading = _NUMBER.sub("", plain(token.content))
                lead = ""
                continue
            title = _title(token.content)
            if title and not lists:
                lead = title
                continue
            yield from _paragraph(token.content, heading, lead, listed=lists > 0)
            if not lists:
                lead = _announcement(token.content)


def items(statements: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    """Sentences by the paragraph or list item that they stand in."""
    item: list[Sentence] = []
    for sentence in statements:
        if item and not sentence.before:
            yield item
            item = []
        item.append(sentence)
    if item:
        yield item


def whole(item: Sequence[Sentence], longest: int) -> Sentence:
    """The sentences of an item as one, as many as `longest` characters hold."""
    text = item[0].text
    for sentence in item[1:]:
        longer = f"{text if text[-1] in '.!?:;' else text + '.'} {sentence.text}"
        if len(item[0].label) + len(longer) > longest:
            break
        text = longer
    return replace(item[0], text=text)


def _title(paragraph: str) -> str:
    """The words of a paragraph that is a heading in all but name: one bold line."""
    bold = _BOLD_LINE.match(paragraph.strip())
    return _NUMBER.sub("", plain(bold[1])).rstrip(":") if bold else ""


def _announcement(paragraph: str) -> str:
    """The last line of a paragraph if it announces what follows: it ends with a colon."""
    last = plain(paragraph.rstrip().rpartition("\n")[2])
    last = sentences(last)[-1] if last.endswith(":") else ""
    return last.rstrip(":") if len(last) <= LONGEST_LABEL else ""


def _paragraph(markdown: str, heading: str, lead: str, *, listed: bool) -> Iterator[Sentence]:
    text = _TICK.sub("", markdown, count=1) if listed else markdown
    bold = _LABEL.match(text) or _CAUSE.match(text)
    label = ""
    if bold and len(bold["label"]) <= LONGEST_LABEL:
        label = plain(bold["label"]).rstrip(":")
        text = text[bold.end() :]
    before = ""
    for sentence in sentences(text):
        yield Sentence(sentence, before, label, lead, heading, listed)
        before = sentence
