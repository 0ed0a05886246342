"""Refs and paths of requests, as a memory takes them, and positions in lists."""

from __future__ import annotations

import base64
import json
import re

from kinen import query
from kinen.errors import QueryError
from kinen.memory import Memory
from kinen.model.records import KINDS


def resolve(memory: Memory, text: str) -> tuple[str, int, int]:
    """A ref or an absolute path, with the line and the chunk number after it, -1 for none."""
    name, line, chunk = query.place(text)
    if ".." in re.split(r"[/\\:]", name) or "\0" in name:
        raise QueryError(f"{name!r} is not in this space", "use a ref, or a path from its root")
    is_ref = name.partition(":")[0] in KINDS or re.fullmatch(r"[0-9a-fA-F]{4,64}", name)
    if chunk >= 0 or is_ref:
        return name, line, chunk
    return memory.git.inside(name), line, chunk


Key = tuple[int, str]
"""A position in a list: after the entry with this time (or count) and this name."""


def encode_cursor(key: Key | None) -> str | None:
    """A position as opaque text; None at the end of the list."""
    if key is None:
        return None
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> Key | None:
    """The position that a cursor stands for; None for an empty one."""
    if not cursor:
        return None
    padded = cursor + "=" * (-len(cursor) % 4)
    try:
        number, name = json.loads(base64.b64decode(padded, b"-_", validate=True))
        number.to_bytes(8, "big", signed=True)
        name.encode("utf-8")
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise QueryError("invalid cursor", "send the `next` of a page, unchanged") from error
    return number, name
