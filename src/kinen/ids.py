"""Identifiers, 26 characters of Crockford's base 32 as ULIDs have, and the time in them.

Hooks import this module, so it needs nothing but `os` and `time`.
"""

from __future__ import annotations

import os
import time

_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LENGTH = 26
ZEROS = 10
"""Zeros at the beginning of an id that has no time."""
HASH = 8
"""Characters of a hash that tell it apart."""
LATEST_CLOCK = (2**63 - 1) // 1_000_000
"""The last time that Python can read from the clock, in the year 2262."""
_last = [0, 0]
"""The millisecond and the random part of the newest ULID."""


SHORTENED = ("observation", "summary", "memory", "capsule")
"""Kinds whose ids are long and cited by a prefix."""
SHORT_SHA = 10
SHORT_ID = 14
"""Characters that distinguish ids, even of events in one millisecond."""
SHORT_SESSION = 8
"""Characters of a session's id that a citation has; every command accepts them."""


def milliseconds() -> int:
    """The time now in epoch milliseconds; LATEST_CLOCK if the clock is beyond it."""
    try:
        return time.time_ns() // 1_000_000
    except OverflowError:
        return LATEST_CLOCK


def ulid(ms: int = 0) -> str:
    """A new id that sorts by time, and within a process by the order of creation.

    `ms` is the time in epoch milliseconds, now if omitted.
    """
    ms = ms or milliseconds()
    if ms == _last[0]:
        _last[1] += 1
    else:
        _last[:] = [ms, int.from_bytes(os.urandom(10), "big") >> 1]
    return _encode(ms << 80 | _last[1])


def key_id(*key: str) -> str:
    """The id of something that has a name elsewhere: the same key always gives the same id."""
    try:
        from _blake2 import blake2b  # `hashlib` is too slow to import for a hook
    except ImportError:
        from hashlib import blake2b
    data = "\n".join(key).encode("utf-8", "surrogatepass")
    return _encode(int.from_bytes(blake2b(data, digest_size=16).digest(), "big"))


def timed_id(ms: int, order: int, *key: str) -> str:
    """An id that sorts by time and order and otherwise depends on the key alone."""
    from hashlib import sha256

    data = "\0".join(key).encode("utf-8", "surrogatepass")
    number = int.from_bytes(sha256(data).digest()[:8], "big")
    return _encode(ms << 80 | (order & 0xFFFF) << 64 | number)


def is_ulid(text: str) -> bool:
    """Whether a text has the form of an id made here."""
    return len(text) == _LENGTH and text.isascii() and text.isalnum() and text == text.upper()


def short_ref(ref: str) -> str:
    """A ref with as much of its id as tells it apart; `kinen show` accepts it.

    An id without a time, as imported summaries have, begins with zeros: those are left out.
    """
    kind, colon, id_ = ref.partition(":")
    if id_[:ZEROS] == "0" * ZEROS:
        return f"{kind}{colon}{id_.lstrip('0')}"
    return f"{kind}{colon}{id_[:HASH]}" if kind == "memory" else ref


def short_id(ref: str) -> str:
    """The short form of a ref: commits and journal entries are cited by a prefix of their id.

    `kinen show` accepts it.
    """
    kind, _, id_ = ref.partition(":")
    if kind == "commit":
        return f"commit:{id_[:SHORT_SHA]}"
    if kind not in SHORTENED:
        return ref
    return short_ref(ref).partition(":")[2][:SHORT_ID]


def padded(id_: str) -> str:
    """An id with the zeros that `short_ref` left out."""
    return id_.rjust(_LENGTH, "0")


def _encode(number: int) -> str:
    digits = ""
    for _ in range(_LENGTH):
        digits = _DIGITS[number & 31] + digits
        number >>= 5
    return digits
