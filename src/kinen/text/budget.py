"""How much of a file is indexed, limited by its contents and never by time.

The same bytes must give the same index on every machine. The limits are set so that the slowest
text of each kind takes a few seconds (docs/decisions/0013-budgets.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from kinen.model.tuples import NamedTuple
from kinen.text import lazy_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

TEXT = 6 << 20
"""Characters of text; `index.max_text_mb` sets another limit."""
CHUNKS = 30_000
TAGS = 1_000
"""Distinct tags of a file."""
MARKUP = 200_000
"""Tags of HTML or XML that are parsed."""
COMMIT_FILES = 50_000
"""Files that one commit contributes; the rest of a larger commit is counted and left out."""
HEAD_FILES = 50_000
"""Files at the head that are listed although no commit that was read touches them."""
TIDY = 100_000
"""Characters that may be dropped to cut at the end of a line or word."""


class Limit(NamedTuple):
    """A kind of text that costs time, and how many occurrences are read."""

    name: str
    pattern: re.Pattern[str]
    most: int


class Cut(NamedTuple):
    """The part of a text that is read, and why the rest is not."""

    text: str
    reason: str = ""


PLAIN = (Limit("lines", lazy_pattern("\n"), 500_000),)
MARKDOWN = (
    Limit("lines", lazy_pattern("\n"), 200_000),
    Limit("headings", lazy_pattern(r"(?m)^ {0,3}(?:#{1,6}[ \t]|=+[ \t]*$|-+[ \t]*$)"), 20_000),
    Limit(
        "blocks",  # blank lines and lines that may begin a block; markers can be nested on one line
        lazy_pattern(r"\n[ \t]*(?=\n)|\n[ \t]*[#<=~`]|>|[-+*][ \t]|\d[.)][ \t]"),
        60_000,
    ),
    Limit("table cells", lazy_pattern(r"\|"), 200_000),
    Limit("links and tags", lazy_pattern(r"\[+|(?<!\S)#\w"), 50_000),
)
HTML = (Limit("tags", lazy_pattern("<"), MARKUP),)


def bound(text: str, limits: Sequence[Limit], most: int = TEXT) -> Cut:
    """The beginning of a text that is within all limits, cut at the end of a line or word."""
    stop = len(text)
    reason = ""
    if stop > most:
        stop = most
        reason = f"it has {len(text):,} characters (limit {most:,})"
    for limit in limits:
        if stop <= limit.most:
            continue  # too short to contain that many
        over = next(islice(limit.pattern.finditer(text, 0, stop), limit.most, None), None)
        if over is not None:
            stop = over.start()
            count = sum(1 for _ in limit.pattern.finditer(text))
            reason = f"it has {count:,} {limit.name} (limit {limit.most:,})"
    if not reason:
        return Cut(text)
    read = text[: _tidy(text, stop)]
    return Cut(read, f"only the first {_size(len(read))} of {_size(len(text))} were read: {reason}")


def _tidy(text: str, stop: int) -> int:
    """The end of a line before `stop`, else that of a word, else `stop` itself."""
    for mark in ("\n", " "):
        end = text.rfind(mark, max(0, stop - TIDY), stop)
        if end > 0:
            return end
    return stop


def _size(characters: int) -> str:
    if characters < 1_000_000:
        return f"{characters / 1000:,.0f} kB"
    return f"{characters / 1_000_000:,.1f} MB"
