"""What is wrong with a request, in the same words over MCP and over HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

MOST = 5
"""Complaints in one message."""


def complaint(errors: Iterable[Mapping[str, Any]], *, prefix: int = 0) -> str:
    """The errors of a pydantic validation as one line.

    `prefix` is the number of leading parts of each location that are not field names.
    """
    lines = [_line(error, error["loc"][prefix:]) for error in errors]
    return "; ".join(lines[:MOST])


def _line(error: Mapping[str, Any], location: Iterable[object]) -> str:
    field = ".".join(map(str, location)) or "the body"
    kind = error["type"]
    if kind == "extra_forbidden":
        return f"unknown field {field!r}"
    if kind == "missing":
        return f"{field} is required"
    if kind == "string_pattern_mismatch":
        return f"{field} has characters that are not allowed"
    message = error["msg"].removeprefix("Value error, ")
    return f"{field}: {message}"


def system_error(error: OSError) -> str:
    """What failed, as the operating system says it."""
    return f"{error.filename or 'the system'}: {error.strerror or error}"
