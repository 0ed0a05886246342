"""Lists in pages: by a cursor over HTTP, by an offset in MCP."""

from __future__ import annotations

import base64
import json

from kinen.errors import QueryError

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
