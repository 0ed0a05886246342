"""Times and durations as users write them, the same on every surface."""

from __future__ import annotations

from kinen.errors import QueryError
from kinen.text import now, parse_time

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
"""Seconds of each unit of a duration."""
LONGEST_DURATION = 1_000_000
"""A duration has fewer than this of its unit."""


def milliseconds(phrase: str, *, end: bool = False) -> int:
    """A time phrase as epoch milliseconds, 0 for none; see `parse_time` for `end`."""
    if not phrase:
        return 0
    return max(1, round(_timestamp(phrase, end=end) * 1000))


def lifetime(phrase: str) -> float:
    """Seconds that something lasts: a duration such as `30s` or `7d`, or until the end of a date.

    Nothing gives 0, which means for good. A moment in the past is an error.
    """
    if not phrase:
        return 0.0
    number = phrase[:-1].strip()
    scale = UNITS.get(phrase[-1:].lower(), 0)
    if scale and number.isdecimal():
        if not 0 < int(number) < LONGEST_DURATION:
            raise _invalid(phrase)
        return float(int(number) * scale)
    try:
        left = _timestamp(phrase, end=True) - now()
    except QueryError as error:
        raise _invalid(phrase) from error
    if left <= 0:
        hint = "use a date to come, or a duration such as 7d"
        raise QueryError(f"{phrase!r} is in the past", hint, parameter="ttl")
    return left


def _invalid(phrase: str) -> QueryError:
    return QueryError(
        f"invalid duration {phrase!r}",
        "use 30s, 90m, 12h, 7d, 2w or a date to come, such as 2030-01-31",
        parameter="ttl",
    )


def _timestamp(phrase: str, *, end: bool) -> float:
    from datetime import datetime

    return datetime.fromisoformat(parse_time(phrase, now(), end=end)).timestamp()
