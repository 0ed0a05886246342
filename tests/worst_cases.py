"""Worst cases for expressions, derived from the expressions themselves.

An expression is slow where it can begin at many places and runs far from each before it fails.
So a text that matches is generated, and beginnings of it are repeated: alone, and followed by a
long run of its last character.
"""

from __future__ import annotations

import re
from re import _constants as ops
from re import _parser as parser
from time import process_time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LETTERS = "aA0 =:/-_.\"'\n<>[](){}|;,&@#\\é«"
GROWTH = 2.3
"""What twice the text may cost at most, in times."""
MEASURABLE = 0.01
"""Seconds of CPU from which a ratio means something."""
LONGEST = 1 << 15


def atoms(pattern: Any) -> Iterator[str]:
    """Pieces of a text that a parsed expression matches, more or less."""
    for op, value in pattern:
        if op is ops.LITERAL:
            yield chr(value)
        elif op is ops.NOT_LITERAL:
            yield "b" if value == ord("a") else "a"
        elif op is ops.ANY:
            yield "a"
        elif op is ops.IN:
            yield _member(value)
        elif op in (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT):
            least, most, inner = value
            yield from list(atoms(inner)) * max(least, min(1, most))
        elif op is ops.BRANCH:
            yield from atoms(value[1][0])
        elif op is ops.SUBPATTERN:
            yield from atoms(value[3])
        elif op is ops.ATOMIC_GROUP:
            yield from atoms(value)
        elif op is ops.GROUPREF_EXISTS:
            yield from atoms(value[1])


def _member(items: list[tuple[Any, Any]]) -> str:
    """A character of a set."""
    negated = items[0][0] is ops.NEGATE
    return next((char for char in LETTERS if _is_in(char, items) != negated), "a")


def _is_in(char: str, items: list[tuple[Any, Any]]) -> bool:
    code = ord(char)
    categories = {
        ops.CATEGORY_DIGIT: char.isdigit(),
        ops.CATEGORY_SPACE: char.isspace(),
        ops.CATEGORY_WORD: char.isalnum() or char == "_",
        ops.CATEGORY_NOT_DIGIT: not char.isdigit(),
        ops.CATEGORY_NOT_SPACE: not char.isspace(),
        ops.CATEGORY_NOT_WORD: not (char.isalnum() or char == "_"),
    }
    for op, value in items:
        if op is ops.LITERAL and code == value:
            return True
        if op is ops.RANGE and value[0] <= code <= value[1]:
            return True
        if op is ops.CATEGORY and categories[value]:
            return True
    return False


def beginnings(expression: str, flags: int = 0) -> list[str]:
    """The beginnings of a text that matches, at most six."""
    pieces = list(atoms(parser.parse(expression, flags & ~re.DEBUG)))
    places = range(1, len(pieces) + 1)
    step = max(1, len(pieces) // 5)
    return ["".join(pieces[:place]) for place in (*places[::step], len(pieces)) if pieces]


def pumps(expression: str, flags: int = 0) -> Iterator[Callable[[int], str]]:
    """Texts of any length that may be slow for an expression."""
    for start in dict.fromkeys(beginnings(expression, flags)):
        yield lambda size, start=start: (start * (size // len(start) + 1))[:size]
        yield lambda size, start=start: start + start[-1] * size
        yield lambda size, start=start: (f"{start}\0" * (size // len(start) + 1))[:size]


def cost(work: Callable[[str], object], text: str, times: int = 3) -> float:
    """Seconds of CPU, the best of some."""
    best = float("inf")
    for _ in range(times):
        start = process_time()
        work(text)
        best = min(best, process_time() - start)
    return best


def growth(
    work: Callable[[str], object], pump: Callable[[int], str], longest: int = LONGEST
) -> float:
    """What twice the text costs, in times; 0 if even the longest costs next to nothing."""
    size = 2048
    while size < longest and cost(work, pump(size), 1) < MEASURABLE:
        size *= 2
    if cost(work, pump(size), 1) < MEASURABLE:
        return 0.0
    ratio = float("inf")
    for _ in range(12):  # other processes disturb some measurements, and hardly all
        ratio = min(ratio, cost(work, pump(2 * size)) / max(cost(work, pump(size)), 1e-9))
        if ratio <= GROWTH:
            break
    return ratio


def times_dearer(
    work: Callable[[str], object], text: str, yardstick: Callable[[str], object], limit: float
) -> float:
    """What some work on a text costs, in times of other work on it; the least of some runs."""
    ratio = float("inf")
    for _ in range(12):  # as above
        ratio = min(ratio, cost(work, text, 1) / max(cost(yardstick, text, 1), 1e-9))
        if ratio <= limit:
            break
    return ratio
