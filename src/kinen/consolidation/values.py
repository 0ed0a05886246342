"""Values that a claim gives to something: numbers, versions, sizes, defaults.

Two claims that say the same of the same thing and differ in one value cannot both hold: the later
one is right. A number that is a name (`issue 12`, `ADR 3`) belongs to what the claim is about.
"""

from __future__ import annotations

import re

from kinen.model.tuples import NamedTuple

_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
_DIGITS = {word: str(number) for number, word in enumerate(_WORDS)}
_VALUE = re.compile(
    r"(?i)\b(?:defaults? (?:\w+ ){0,3}?(?:is|to|are|of)|set to|pinned to) "
    r"`?(?P<default>[\w.:/@-]*\w)`?"
    r"|(?<![\w.#/-])v?(?P<number>\d+(?:[.,]\d+)*)(?P<unit> ?(?:%|[kmgt]i?b|ms|s|min|h|x)(?!\w))?"
    r"(?![\w/-]|[.:]\w)"
    rf"|(?<![\w-])(?P<word>{'|'.join(_WORDS[2:])})(?![\w-])"
)
_NAMED = re.compile(
    r"(?i)(?:\b(?:adr|rfc|issue|pr|ticket|bug|task|epic|step|phase|round|stage|part|section|chapter"
    r"|page|line|item|option|port|http|status|error|code|level|layer|node|day|week|sprint|milestone"
    r"|id|no|nr|number|table|figure|rule)[ #.-]{1,2}|#)$"
)
"""Before a number that is a name."""


class Valued(NamedTuple):
    """A claim's values in order, and its text without them."""

    values: tuple[str, ...]
    subject: str


def valued(text: str) -> Valued:
    """The values of a claim, `three` as `3`, and what they are the values of."""
    values: list[str] = []
    pieces: list[str] = []
    start = 0
    for match in _VALUE.finditer(text):
        if match["number"] and _NAMED.search(text[max(0, match.start() - 12) : match.start()]):
            continue
        name = "default" if match["default"] else "number" if match["number"] else "word"
        value = match[name].lower().replace(",", "")
        values.append(_DIGITS.get(value, value) + (match["unit"] or "").strip().lower())
        pieces.append(text[start : match.start(name)])
        start = max(match.end(name), match.end("unit"))
    return Valued(tuple(values), " ".join([*pieces, text[start:]]))


def differ_in_one(older: tuple[str, ...], newer: tuple[str, ...]) -> bool:
    """Do two claims have the same number of values, and is one of them another?"""
    if len(older) != len(newer):
        return False
    return sum(old != new for old, new in zip(older, newer, strict=True)) == 1
