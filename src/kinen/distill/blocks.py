"""Cuts a text into what can be quoted: sentences of prose, and lines that only make sense whole."""

from __future__ import annotations

from itertools import chain

from kinen.model.late import lru_cache
from kinen.model.tuples import NamedTuple
from kinen.text import STOP_WORDS, lazy_pattern, pairs, parts, weight, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence

Span = tuple[int, int]


LARGEST = 400
"""Quarters of a token that a piece weighs; more is cut at a word, or failing that anywhere."""
WRAPPED = 50
"""A line shorter than this was not broken by a margin: the next one is a line of its own."""

SPACES = 4
"""Spaces that a line of prose of that length has at least."""

_QUOTED = lazy_pattern(r"(?:\s{0,3}>)+ ?")
_FENCE = lazy_pattern(r"\s*(`{3,}|~{3,})")
_NUMBERED = lazy_pattern(r"\d{1,3}[.)]\s+\S")
_HEADING = lazy_pattern(r"#{1,6}\s+\S|\[![\w-]+\]|tags: |\*\*[^*]+\*\*:?$|[^|.`]{3,60}:$")
"""Also a callout's name, what frontmatter says, and a line that only leads in to others."""
_LABEL = lazy_pattern(
    r"""(?x)(?:\d{1,3}[.)]\s+)?
    (?:\*\*[^*]{1,60}(?::\*\*|\*\*\s?[:—–-])|[^\W\d_][\w'-]*(?:\ [\w'()/-]+){0,2}:)
    \s+(?=\S)"""
)
_END = lazy_pattern(
    r"""(?x)[`.!?…؟。！？](?:
    (?<=`)[^`]{0,80}`
    |(?<![`.!?])(?<![…؟])([。！？]*[」』”]*)\s*(?=\S)
    |(?<!`)(?<![.!?].)(?<![…؟].)([.!?…؟]*["'”’»)\]*_]*)\s+(?=([^\s,;)])))"""
)
"""It begins with its first sign, which `re` looks for ten times faster than for what is around."""
_ABBREVIATED = lazy_pattern(
    r"""(?ix)(?:\b(?:e\.g|i\.e|etc|vs|cf|al|approx|mrs?|ms|dr|prof|st|jr|inc|ltd|resp|incl)
    |(?<![^\W_])(?-i:[A-Z])|^\W{0,3}\d{1,3})\.$"""
)
_COUNTED = lazy_pattern(r"(?i)\b(?:nos?|figs?|pp?|vol|sec|chap|ver|eq|ca)\.$")
_ENDINGS = {
    "s": ("ations", "iness", "ings", "ions", "ers", "ies", "es", "s"),
    "n": ("ation", "ion"),
    "y": ("ingly", "edly", "ly", "y"),
    "g": ("ing",),
    "d": ("ied", "ed"),
    "r": ("er",),
    "e": ("e",),
}
"""By their last letter, the longest first."""


class Block(NamedTuple):
    """A paragraph, list item, turn, table row, code line or heading."""

    text: str
    """On one line; of code with its indent."""
    kind: str
    """`prose`, `row`, `heading`, `code` for what is indented, `fenced` for code in a fence."""
    spans: tuple[Span, ...]
    """Where each of its pieces begins and ends."""
    lead: int = 0
    """The length of a speaker's name or a label, which every piece is quoted with."""

    @property
    def pieces(self) -> list[str]:
        return [self.text[start:end] for start, end in self.spans]

    def quoted(self, chosen: set[int]) -> str:
        """The chosen pieces in order, with ellipses for omitted pieces."""
        runs: list[Span] = []
        last = -1
        for n in sorted(chosen):
            start, end = self.spans[n]
            runs[-1:] = (
                [(runs[-1][0], end)] if runs and n == last + 1 else [*runs[-1:], (start, end)]
            )
            last = n
        text = " … ".join(self.text[start:end] for start, end in runs)
        if runs and runs[0][0]:
            text = f"{self.text[: self.lead]}… {text}"
        return text if last == len(self.spans) - 1 else f"{text} …"


SHORT = 8_000
"""Characters of a text up to which its blocks are remembered; of a longer one few may be read."""


def blocks(text: str, largest: int = LARGEST) -> Iterator[Block]:
    """The blocks of a markdown or plain text in order; marks that say nothing are left out.

    `largest` is what a piece weighs at most.
    """
    for kind, content in _remembered(text) if len(text) <= SHORT else _gathered(text):
        if any(map(str.isalnum, content)):
            yield _block(kind, content, largest)


def unwrapped(text: str) -> str:
    """A text in which lines that a margin broke are joined; code in fences stays as it is."""
    lines: list[str] = []
    fenced = False
    item = False
    last = ""
    for line in text.splitlines():
        bare = line.strip()
        mark = _FENCE.match(line)
        begun = _kind(bare)
        if bare and last and not mark and _continues(last, line, begun, item):
            lines[-1] += f" {bare}"
        else:
            lines.append(line)
            item = begun == "item"
        fenced = fenced != bool(mark)
        last = "" if fenced or mark else bare
    return "\n".join(lines)


@lru_cache(1 << 10)
def sentences(text: str) -> Sequence[Span]:
    """Where each sentence begins and ends; file names, versions and abbreviations end none."""
    spans = []
    start = 0
    for mark in _END.finditer(text):
        if mark[1] is not None or (mark[3] and _ends(text, mark)):
            spans.append((start, mark.end(2 if mark[3] else 1)))
            start = mark.end()
    return [*spans, (start, len(text))] if start < len(text) else spans


def stems(text: str) -> list[str]:
    """What the words of a text have in common with others: no endings, parts of identifiers too."""
    return list(chain.from_iterable(map(word_stems, words(text))))


@lru_cache(1 << 9)
def _remembered(text: str) -> list[tuple[str, str]]:
    """The blocks of a text that a recall reads several times."""
    return list(_gathered(text))


def _gathered(text: str) -> Iterator[tuple[str, str]]:
    """Kinds and texts of blocks, lines that belong together joined."""
    open_: list[str] = []
    fence = ""
    last = ""
    item = False
    for raw in text.splitlines():
        line = raw.rstrip()
        if fence:
            if line.strip().startswith(fence):
                fence = ""
            else:
                yield "fenced", line
            continue
        quote = _QUOTED.match(line)
        line = line[quote.end() :] if quote else line
        bare = line.strip()
        mark = _FENCE.match(line)
        begun = _kind(bare)
        if open_ and (mark or not bare or not _continues(last, line, begun, item)):
            yield "prose", " ".join(open_)
            open_ = []
        if mark:
            fence = mark[1]
        elif begun in ("heading", "row") and not open_:
            yield begun, bare
        elif line.startswith(("    ", "\t")) and not (open_ or begun):
            yield "code", line
        elif bare:
            item = (bool(open_) and item) or begun == "item"
            rest = bare[1:] if _is_item(bare) and not open_ else bare
            open_.append(" ".join(rest.split()))
        last = line
    if open_:
        yield "prose", " ".join(open_)


def _is_item(bare: str) -> bool:
    """Does a line begin with the mark of an item, and any space behind it?"""
    return bare[:1] in "-*+•" and bare[1:2].isspace()


def _kind(bare: str) -> str:
    """What a line begins, if anything."""
    if bare.startswith("|"):
        return "row"
    if _HEADING.match(bare):
        return "heading"
    if _is_item(bare) or _NUMBERED.match(bare):
        return "item"
    return "turn" if _LABEL.match(bare) else ""


def _continues(last: str, line: str, begun: str, item: bool) -> bool:
    """Is a line the rest of the one before, broken by a margin or indented below its bullet?"""
    if item and begun in ("", "turn") and line.startswith(("  ", "\t")):
        return True
    bare = last.strip()
    in_columns = "   " in bare or "\t" in bare
    if begun or in_columns or len(last) < WRAPPED or bare.count(" ") < SPACES:  # or it is a path
        return False
    signs = "{}[]<$#@+-=0123456789"  # that code and logs begin with
    return not {bare[0], line.strip()[0]}.intersection(signs)


@lru_cache(1 << 12)
def _block(kind: str, text: str, largest: int) -> Block:
    """A block cut into pieces; cached because a recall reads the same text several times."""
    if kind != "prose":
        return Block(text, kind, tuple(_windows(text, [(0, len(text))], largest)))
    spans = sentences(text)
    if len(spans) == 2 and weight(text) <= largest:
        spans = [(0, len(text))]
    label = _LABEL.match(text)
    cut = tuple(_windows(text, spans, largest))
    return Block(text, kind, cut, label.end() if label and label.end() < cut[0][1] else 0)


def _windows(text: str, spans: Sequence[Span], largest: int) -> Iterator[Span]:
    """The spans, those that weigh too much cut into windows."""
    for start, end in spans:
        at = start
        heavy = weight(text[start:end])
        step = max(8, (end - start) * largest // heavy) if heavy > largest else end - start
        while end - at > step:
            cut = text.rfind(" ", at + step // 2, at + step)
            cut = cut if cut > 0 else at + step
            yield at, cut
            at = cut + (text[cut] == " ")
        yield at, end


def _ends(text: str, mark: re.Match[str]) -> bool:
    """Does a full stop end a sentence, or only an abbreviation, an initial, a number?"""
    if mark[3].islower():
        return False
    if mark[0][0] != ".":
        return True
    before = text[max(0, mark.start() - 12) : mark.start() + 1]
    return not (_ABBREVIATED.search(before) or (mark[3].isdigit() and _COUNTED.search(before)))


@lru_cache(1 << 15)
def word_stems(word: str) -> tuple[str, ...]:
    """The `stems` of one word; of scripts without spaces pairs of letters, which mark no words."""
    if word.islower() and word.isascii() and word.isalpha():  # most words
        return () if word in STOP_WORDS else (_stem(word),)
    found = pairs(word)
    split = parts(word) if not found else []
    small = [part.lower() for part in ([word, *split] if len(split) > 1 else split)]
    return (*found, *(_stem(part) for part in small if part not in STOP_WORDS))


def _stem(word: str) -> str:
    """A word without its ending, so that `deleted` meets `deletes` and `deletion`."""
    if len(word) <= 3 or not word.isalpha():
        return word
    ending = next(filter(word.endswith, _ENDINGS.get(word[-1], ())), "")
    short = word.removesuffix(ending)
    short = short if len(short) >= 3 else word
    return short[:-1] if len(short) > 3 and short[-1] == short[-2] else short
