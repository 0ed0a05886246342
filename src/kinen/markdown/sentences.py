"""Sentences of prose: what is said, whether for certain, and whether it stands on its own."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

from kinen.text import STOP_WORDS, excerpt, terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from markdown_it.token import Token

LONGEST = 500
"""Characters of a finding: more is not read, and would not be one thing."""
_MOST_INLINE = 8000
"""Characters that are freed of their markup at once."""
REASONS = ("rationale", "reason", "reasoning", "why", "because", "justification")
_WRAPPED = range(58, 111)
"""How long lines are that an editor or a habit broke, and not the end of a thought."""

_WIKI = re.compile(r"!?\[\[([^\[\]\n]+)\]\](?!\()")
_MARKS = re.compile(
    "[\u2600-\u27bf\u2b00-\u2bff\ufe0f\u231a-\u23ff\U0001f000-\U0001faff]"
    r"+(?:\s*\d{4}-\d{2}-\d{2})?"
)
_STOPS = re.compile(r"(?<=[^.][.!?])[\"')\]]*\s+")
_SHORTENED = re.compile(r"(?:\b(?:e\.g|i\.e|[Vv]s|cf|etc|approx|resp)|\b[A-Za-z0-9])\.$")
_LABEL = re.compile(r"\*\*(?P<label>[^*\n]{1,40}?):?\*\*:?[ \t]*")
_UNSURE = re.compile(
    r"\.\.\.|…|\b(?:maybe|perhaps|probably|possibly|presumably|might|seems?|appears?|likely|unsure"
    r"|not sure|no idea|not convinced|could|may be|tbd|to be (?:decided|defined)|undecided"
    r"|for now|too early|no strong|thoughts|(?:do not|don'?t) (?:know|think)"
    r"|i (?:guess|suppose|wonder|think|believe)|can also|consider(?:ing)?"
    r"|would (?:be|also|like)|need to (?:look|find|see|think|explore)|explor(?:e|ing))\b",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"^(?:(?:ok|okay|yes|yeah|yep|no|good|great|so|and|also|then|now|but|well|indeed)\b[\s,.!]*)*"
    r"(?:please|pls|(?:can|could|would|will) you|let me|(?:tell|show) me|have a look|go ahead"
    r"|i(?:'d| would) like|i (?:want|need)|look|see|try|check|explore|advise|what|why|how|where"
    r"|when|which|who|is|are|do|does|did|should|shall|can|could|would|will"
    r"|let'?s (?!use|go with|keep|stick|switch|move|drop|avoid|adopt|rename|make|store|put|not use"
    r"|default|stay|target|support|skip|start with))\b",
    re.IGNORECASE,
)
_POINTING = re.compile(
    r"\b(?:it|this|that|these|those|them|they|he|she|here|there|above|below|former|latter|same"
    r"|such|previous|earlier)\b",
    re.IGNORECASE,
)
_SAYING_LITTLE = frozenset(
    """always never please make sure ensure use using used want need like good great fine ok okay
    yes yeah no option options choice agree agreed sounds sound looks look right perfect thing
    things way stuff also now first let lets go going ahead instead rather prefer remember decide
    decided actually well still get got keep done work works working try better best new old don
    doesn isn won didn ll re ve d s t m""".split()
)


def plain(markdown: str) -> str:
    """A stretch of markdown as words on one line: no markup but that of code, no link targets."""
    markdown = markdown[:_MOST_INLINE]
    markdown = _WIKI.sub(lambda link: re.split(r"\\?\|", link[1])[-1].lstrip("#"), markdown)
    # an underscore is part of a name far more often than emphasis
    tokens = _inline().parseInline(markdown.replace("_", "\ue000"))[0].children or ()
    words = "".join(map(_words, tokens)).replace("\ue000", "_")
    return " ".join(_MARKS.sub(" ", words).split())


def _words(token: Token) -> str:
    if token.type == "code_inline":
        return f"`{token.content}`"
    if token.type == "image":
        return token.content
    return token.content if token.type == "text" else " " if token.type.endswith("break") else ""


@cache
def _inline() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("strikethrough")


@cache
def _block() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def parsed(markdown: str) -> list[Token]:
    """The blocks of a text, their words as written; none where the parser gives up."""
    try:
        return _block().parse(markdown)
    except (IndexError, RuntimeError):
        return []


def paragraphs(markdown: str) -> Iterator[str]:
    """What a text says in its own words: no code, no quotation, no table, no heading."""
    apart = 0
    for token in parsed(markdown):
        if token.type.startswith(("blockquote", "table", "heading")):
            apart += token.nesting
        elif token.type == "inline" and not apart:
            yield token.content


def sentences(text: str, *, wrapped: bool = False) -> list[str]:
    """The sentences of a paragraph; a line of its own is one, unless lines are merely broken."""
    lines = text.split("\n")
    broken = wrapped or all(len(line) in _WRAPPED for line in lines[:-1])
    found: list[str] = []
    for line in [" ".join(lines)] if broken else lines:
        piece = ""
        for part in _STOPS.split(plain(line)):
            piece = f"{piece} {part}".strip()
            if not _SHORTENED.search(piece):
                found.append(piece)
                piece = ""
        found.append(piece)
    return [sentence for sentence in found if sentence]


def labelled(paragraph: str) -> tuple[str, str]:
    """The label that a paragraph begins with in bold, in small letters, and the rest."""
    bold = _LABEL.match(paragraph)
    return (bold["label"].strip().lower(), paragraph[bold.end() :]) if bold else ("", paragraph)


def is_certain(sentence: str) -> bool:
    """Whether it is neither a question nor a doubt."""
    return not ("?" in sentence[-3:] or _UNSURE.search(sentence))


def is_sure(sentence: str) -> bool:
    """Whether it states something: nor is it a request."""
    return is_certain(sentence) and not _ASKING.match(sentence)


def weight(sentence: str) -> int:
    """How many words of it say something."""
    return sum(term not in _SAYING_LITTLE for term in terms(sentence))


def stands_alone(sentence: str, least: int = 2) -> bool:
    """Whether somebody who was not there knows what it is about."""
    pointing = len(_POINTING.findall(sentence))
    return weight(sentence) >= least + 2 * min(pointing, 2)


def told(topic: str, choice: str, reason: str = "") -> str:
    """One line that says it all: `topic: choice, because reason`."""
    topic, choice = (topic, choice.strip()) if choice.strip() else ("", topic)
    reason = reason.strip().rstrip(".")
    if reason:
        first = reason.split(" ", 1)[0]
        reason = reason[:1].lower() + reason[1:] if first.lower() in STOP_WORDS else reason
        choice = f"{choice.rstrip('.')}, because {reason.removeprefix('because ')}"
    if topic and topic.lower() != choice.lower():
        choice = f"{topic} {choice}" if topic.endswith("?") else f"{topic}: {choice}"
    return excerpt(choice, LONGEST)


def joined(parts: Iterable[str]) -> str:
    """Sentences one after the other, each with its stop."""
    return " ".join(part if part[-1] in ".!?:;…" else f"{part}." for part in parts if part)
