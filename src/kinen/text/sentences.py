"""Sentences of prose: splitting, certainty, and whether one can be understood alone."""

from __future__ import annotations

from kinen.model.late import cache, lru_cache
from kinen.text import STOP_WORDS, excerpt, lazy_pattern, terms, words
from kinen.text.links import show_wiki_links

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

AROUND = 240
"""Characters of a sentence around a link."""
_ITEM = lazy_pattern(r"\s*(?:[-*+>|#]|\d+[.)])")
LONGEST = 500
"""Characters of a statement."""
_MOST_INLINE = 8000
"""Characters of a stretch whose markup is removed; the rest is dropped."""
RULER = "\u2500" * 5
"""Drawn across a line, as `★ Insight ─────` in the answers of some agents: no text."""
_WRAPPED = range(58, 111)
"""Lengths of lines that were wrapped by an editor and do not end a sentence."""

_TASK_DATE = lazy_pattern(
    "[\u2600-\u27bf\u2b00-\u2bff\ufe0f\u231a-\u23ff\U0001f000-\U0001faff]"
    r"+\s*\d{4}-\d{2}-\d{2}"
)
"""A date of a task with the symbol that says what it is of, as Obsidian writes it."""
_CODE_SPAN = lazy_pattern(r"(`[^`\n]{1,300}`)")
_MARKUP = frozenset("\\`*[]<&~\0\ue000")
"""Text without these characters has no inline markup."""
_STOPS = lazy_pattern(
    r"\s(?:(?<=[^.][.!?]\s)\s*"
    r"|(?:(?<=[^.][.!?][\"')\]]\s)|(?<=[^.][.!?][\"')\]]{2}\s))\s*(?![a-z]))"
)
"""The space after a sentence; it begins with the space, which `re` looks for faster."""
_ABBREVIATION = lazy_pattern(r"(?:\b(?:e\.g|i\.e|[Vv]s|cf|etc|approx|resp)|\b[A-Za-z0-9])\.$")
"""Ends a text, in its last eight characters."""
_WORD = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff]{1,2}|[^\W_]+(?:['’-][^\W_]+)*")
_LABEL = lazy_pattern(r"\*\*(?P<label>[^*\n]{1,40}?):?\*\*:?[ \t]*")
_UNSURE = lazy_pattern(
    r"\.\.\.|…|\b(?:maybe|perhaps|probably|possibly|presumably|might|seems?|appears?|likely|unsure"
    r"|not sure|no idea|not convinced|could|may be|tbd|to be (?:decided|defined)|undecided"
    r"|for now|too early|no strong|thoughts|(?:do not|don'?t) (?:know|think)"
    r"|i (?:guess|suppose|wonder|think|believe)|can also|consider(?:ing)?"
    r"|would (?:be|also|like)|need to (?:look|find|see|think|explore)|explor(?:e|ing))\b"
)
_REQUEST = lazy_pattern(
    r"(?i)^(?:(?:ok|okay|yes|yeah|yep|no|good|great|so|and|also|then|now|but|well|indeed)\b[\s,.!]*)*"
    r"(?:please|pls|(?:can|could|would|will) you|let me|(?:tell|show) me|have a look|go ahead"
    r"|i(?:'d| would) like|i (?:want|need)|look|see|try|check|explore|advise|what|why|how|where"
    r"|when|which|who|is|are|do|does|did|should|shall|can|could|would|will"
    r"|let'?s (?!use|go with|keep|stick|switch|move|drop|avoid|adopt|rename|make|store|put|not use"
    r"|default|stay|target|support|skip|start with))\b"
)
_POINTING = lazy_pattern(
    r"(?i)\b(?:it|this|that|these|those|them|they|he|she|here|there|above|below|former|latter|same"
    r"|such|previous|earlier)\b"
)
_FILLERS = frozenset(
    """always never please make sure ensure use using used want need like good great fine ok okay
    yes yeah no option options choice agree agreed sounds sound looks look right perfect thing
    things way stuff also now first let lets go going ahead instead rather prefer remember decide
    decided actually well still get got keep done work works working try better best new old don
    doesn isn won didn ll re ve d s t m""".split()
)


@lru_cache(1024)
def plain(markdown: str) -> str:
    """Inline markdown as words on one line: no markup except of code, no link targets."""
    if _MARKUP.isdisjoint(markdown):
        words = markdown[:_MOST_INLINE]
        return " ".join((words if words.isascii() else _TASK_DATE.sub(" ", words)).split())
    parts = _CODE_SPAN.split(markdown[:_MOST_INLINE])
    markdown = "".join(part if n % 2 else show_wiki_links(part) for n, part in enumerate(parts))
    # An underscore is part of a name far more often than it is emphasis.
    tokens = _inline().parseInline(markdown.replace("_", "\ue000"))[0].children or ()
    words = "".join(map(_words, tokens)).replace("\ue000", "_")
    return " ".join(_TASK_DATE.sub(" ", words).split())


def _words(token: Token) -> str:
    if token.type == "code_inline":
        return f"`{token.content}`"
    if token.type in ("image", "text"):
        return token.content
    return " " if token.type.endswith("break") else ""


@cache
def _inline() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("strikethrough")


@cache
def _block() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def is_line(markdown: str) -> bool:
    """Is a text one line that begins with a letter, as most messages: a paragraph, no block?"""
    return markdown[:1].isalpha() and not any(sign in markdown for sign in "\n\r\0")


# A summary asks several questions of each message, one after the other.
@lru_cache(16)
def parsed(markdown: str) -> Sequence[Token]:
    """The tokens of a text's blocks; empty if the parser fails."""
    if is_line(markdown):
        from markdown_it.token import Token

        inline = Token("inline", "", 0, map=[0, 1], level=1, content=markdown.strip(), children=[])
        paragraph = Token("paragraph_open", "p", 1, map=[0, 1])
        return (paragraph, inline, Token("paragraph_close", "p", -1))
    try:
        return _block().parse(markdown)
    except (IndexError, RuntimeError):
        return ()


@lru_cache(256)
def paragraphs(markdown: str) -> Sequence[str]:
    """The paragraphs and list items of a text: no code, quotation, table or heading."""
    if is_line(markdown):
        return (markdown.strip(),)  # the parser need not be loaded
    texts = []
    skipped = 0
    for token in parsed(markdown):
        if token.type.startswith(("blockquote", "table", "heading")):
            skipped += token.nesting
        elif token.type == "inline" and not skipped:
            texts.append(token.content)
    return tuple(texts)


@lru_cache(256)
def sentences(text: str, *, wrapped: bool = False) -> Sequence[str]:
    """The sentences of a paragraph; the end of a line ends one, unless the lines are wrapped."""
    lines = [line for line in text.split("\n") if RULER not in line]
    broken = wrapped or all(len(line) in _WRAPPED for line in lines[:-1])
    pieces: list[str] = []
    for line in [" ".join(lines)] if broken else lines:
        piece = ""
        for part in _STOPS.split(plain(line)):
            piece = f"{piece} {part}".strip()
            if not _ABBREVIATION.search(piece[-8:]):
                pieces.append(piece)
                piece = ""
        pieces.append(piece)
    return tuple(filter(None, pieces))


def sentence_with(lines: Sequence[str], at: int, words: str) -> str:
    """The sentence of a paragraph that has some words on its line `at`; the line if none has them.

    A list item and a row of a table stand for themselves.
    """
    first = at
    last = at
    while first and _continues(lines[first], lines[first - 1]):
        first -= 1
    while last + 1 < len(lines) and _continues(lines[last + 1], lines[last]):
        last += 1
    paragraph = "\n".join(lines[first : last + 1])
    has_words = (piece for piece in sentences(paragraph) if words and words in piece)
    return excerpt(next(has_words, "") or plain(lines[at]), AROUND)


def _continues(line: str, before: str) -> bool:
    """Whether a line continues the paragraph of the line before it."""
    return bool(line.strip() and before.strip()) and not _ITEM.match(line)


def labelled(paragraph: str) -> tuple[str, str]:
    """The bold label that a paragraph begins with, in lower case, and the rest."""
    bold = _LABEL.match(paragraph)
    return (bold["label"].strip().lower(), paragraph[bold.end() :]) if bold else ("", paragraph)


def is_certain(sentence: str) -> bool:
    """Is it neither a question nor a guess?"""
    return not ("?" in sentence[-3:] or _UNSURE.search(sentence.lower()))


def is_sure(sentence: str) -> bool:
    """Is it a statement: no question, guess or request?"""
    return is_certain(sentence) and not _REQUEST.match(sentence)


@lru_cache(256)
def size(text: str) -> int:
    """The number of words; two characters of Chinese or Japanese count as one."""
    if text.isascii() and "-" not in text and "'" not in text:
        return len(words(text))
    return len(_WORD.findall(text))


def weight(sentence: str) -> int:
    """The number of words with a meaning of their own."""
    return sum(term not in _FILLERS for term in terms(sentence))


def stands_alone(sentence: str, least: int = 2) -> bool:
    """Can it be understood without its context?"""
    pointing = len(_POINTING.findall(sentence))
    return weight(sentence) >= least + 2 * min(pointing, 2)


def statement(topic: str, choice: str, reason: str = "") -> str:
    """The parts of a decision on one line: `topic: choice, because reason`."""
    choice = choice.strip()
    if not choice:
        choice = topic
        topic = ""
    reason = reason.strip().rstrip(".")
    if reason:
        first = reason.split(" ", 1)[0]
        if first.lower() in STOP_WORDS:
            reason = reason[:1].lower() + reason[1:]
        choice = f"{choice.rstrip('.')}, because {reason.removeprefix('because ')}"
    if topic and topic.lower() != choice.lower():
        choice = f"{topic} {choice}" if topic.endswith("?") else f"{topic}: {choice}"
    return excerpt(choice, LONGEST)


def joined(parts: Iterable[str]) -> str:
    """Sentences in one text, each with a full stop."""
    return " ".join(part if part[-1] in ".!?:;…" else f"{part}." for part in parts if part)
