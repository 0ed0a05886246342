"""Values that a claim gives to something: numbers, versions, sizes, defaults.

Two claims that say the same of the same thing and differ in one value cannot both hold: the later
one is right. A number in a name (`issue 12`, `API v2`) belongs to what the claim is about.
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
_MEASURE = re.compile(
    r"(?i)\s?(?:times(?! out)|(?:second|minute|hour|day|week|month|year|byte)s?|percent"
    r"|mal|sekunden?|minuten?|stunden?|tagen?|wochen?|fois|secondes?|heures?|jours?"
    r"|veces|segundos?|minutos?|horas?|d[ií]as?|vezes|раза?|секунды?|минуты?|часов|часа|дней|дня)"
    r"(?!\w)"
)
"""After a number that counts."""
_GIVING = frozenset(
    """is are was be of to at than within every has have ist sind war auf von hat haben beträgt est
    sont à de es son é são равен равно до""".split()
)
"""Words before a number that is a value. After any other it is part of a name: `webhook 2`."""


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
        if not _gives(text, match):
            continue
        name = "default" if match["default"] else "number" if match["number"] else "word"
        value = match[name].lower().replace(",", "")
        values.append(_DIGITS.get(value, value) + (match["unit"] or "").strip().lower())
        pieces.append(text[start : match.start(name)])
        start = max(match.end(name), match.end("unit"))
    return Valued(tuple(values), " ".join([*pieces, text[start:]]))


def _gives(text: str, match: re.Match[str]) -> bool:
    """Is a number what something is said to be or to have, and no part of a name?"""
    if match["default"] or match["unit"] or _MEASURE.match(text, match.end()):
        return True
    before = text[max(0, match.start() - 40) : match.start()].split()
    return bool(before) and (before[-1].casefold() in _GIVING or before[-1][-1] in "=:<>≤≥≈~")


def differ_in_one(older: tuple[str, ...], newer: tuple[str, ...]) -> bool:
    """Do two claims have the same number of values, and is one of them another?"""
    if len(older) != len(newer):
        return False
    return sum(old != new for old, new in zip(older, newer, strict=True)) == 1
