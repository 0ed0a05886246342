"""Time phrases and durations of the command line, in the journal's milliseconds."""

from __future__ import annotations

from kinen.errors import QueryError
from kinen.text import now, parse_time


def milliseconds(phrase: str, *, end: bool = False) -> int:
    """A time phrase as epoch milliseconds, 0 for none."""
    if not phrase:
        return 0
    from datetime import datetime

    moment = datetime.fromisoformat(parse_time(phrase, now(), end=end))
    return max(1, round(moment.timestamp() * 1000))


def seconds(duration: str) -> float:
    """A duration such as `90m`, `7d` or `2w` in seconds, 0 for none."""
    if not duration:
        return 0.0
    number, unit = duration[:-1], duration[-1:]
    scale = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}.get(unit, 0)
    if not number.isdecimal() or not scale or not 0 < int(number) < 1_000_000:
        raise QueryError(f"no duration I know: {duration!r}", "use 30m, 12h, 7d or 2w")
    return float(int(number) * scale)
