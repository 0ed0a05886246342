"""Values of a transcript, which may be anything: read as what they should be, or as nothing."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from kinen.errors import UnsafeFile
from kinen.journal.schema import LATEST
from kinen.privacy.entrance import plain
from kinen.storage import regular

LONGEST = 16 << 20
"""Bytes of a line, a value or a small file; a longer one is left out."""


_SECONDS = 1e11
"""Below this a number is one of seconds: as milliseconds it would be in the year 1973."""


def milliseconds(at: object) -> int:
    """Epoch milliseconds of an ISO time or a number of them; 0 for what is no time."""
    if isinstance(at, str):
        try:
            moment = datetime.fromisoformat(at)
            at = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000
        except (ValueError, OverflowError):
            return 0
    if isinstance(at, bool) or not isinstance(at, (int, float)) or not 0 < at < LATEST:
        return 0
    return round(at)


def moment(at: object) -> int:
    """Epoch milliseconds of an ISO time, or of a number of milliseconds or seconds."""
    if isinstance(at, (int, float)) and not isinstance(at, bool) and at < _SECONDS:
        at *= 1000
    return milliseconds(at)


def text(value: object) -> str:
    """A text that can be stored and be a path; nothing for what is none."""
    if not isinstance(value, str):
        return ""
    return plain(value)


def fields(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def elements(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def joined(content: object) -> str:
    """The text of a content: itself, or that of its blocks."""
    blocks = elements(content)
    if not blocks:
        return text(content)
    texts = (
        text(block if isinstance(block, str) else fields(block).get("text")) for block in blocks
    )
    return "\n".join(filter(None, texts))


def count(counts: dict[str, int], name: object) -> None:
    key = text(name)[:40] or "without a type"
    counts[key] = counts.get(key, 0) + 1


def _decoded(value: object) -> object:
    try:
        return json.loads(value) if isinstance(value, (str, bytes)) else value
    except (ValueError, RecursionError):
        return None


def parsed(value: object) -> dict[str, Any]:
    """An object, or the JSON of one in a text; empty for anything else."""
    return fields(_decoded(value))


def parsed_list(value: object) -> list[Any]:
    """A list, or the JSON of one in a text; empty for anything else."""
    return elements(_decoded(value))


def uri_path(uri: str) -> str:
    """The path of a file URI, else nothing."""
    if not uri.startswith("file://"):
        return ""
    from urllib.parse import unquote, urlsplit

    return unquote(urlsplit(uri).path)


def read_json(path: str, most: int = LONGEST) -> object:
    """The content of a file of JSON; None if there is none, or it is longer than `most`."""
    try:
        return json.loads(regular.read(path, most))
    except (OSError, ValueError, RecursionError, UnsafeFile):
        return None
