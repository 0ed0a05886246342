"""Masks blocks of text: `<private>…</private>` and private keys."""

from __future__ import annotations

from kinen.characters import spliced
from kinen.privacy.marks import mark_of
from kinen.privacy.shapes import EXPRESSIONS, compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    Counts = dict[str, int]

LONGEST_KEY = 32_768
"""Characters between the first and the last line of a private key."""


def mask_private(text: str, counts: Counts) -> str:
    """Masks the text from `<private>` to the closing tag, or to the end if there is none.

    A tag in backticks is a mention and does not count.
    """
    pieces: list[str] = []
    depth = 0
    end = 0
    for tag in compiled(EXPRESSIONS["private_tag"]).finditer(text):
        quoted = text[tag.start() - 1 : tag.start()] == "`" == text[tag.end() : tag.end() + 1]
        if quoted or tag[0].endswith("/>"):
            continue
        if not tag[1]:
            if not depth:
                pieces.append(text[end : tag.start()] + mark_of(counts, "private"))
            depth += 1
        elif depth:
            depth -= 1
            end = tag.end()
    return "".join(pieces) + ("" if depth else text[end:])


def mask_keys(text: str, counts: Counts) -> str:
    """Masks private keys from their first line to their last, or as far as key text goes."""
    begins = [match.span() for match in compiled(EXPRESSIONS["key_begin"]).finditer(text)]
    ends = [match.end() for match in compiled(EXPRESSIONS["key_end"]).finditer(text)]
    edits: list[tuple[int, int, str]] = []
    end = 0
    last = 0
    for number, (start, body) in enumerate(begins):
        if start < end:
            continue
        while last < len(ends) and ends[last] <= body:
            last += 1
        following = begins[number + 1][0] if number + 1 < len(begins) else len(text)
        stop = ends[last] if last < len(ends) else len(text) + 1
        if stop > min(following, body + LONGEST_KEY):
            run = compiled(EXPRESSIONS["key_text"]).match(text, body, following)
            stop = run.end() if run else body
        edits.append((start, stop, mark_of(counts, "private_key")))
        end = stop
    return spliced(text, edits)
