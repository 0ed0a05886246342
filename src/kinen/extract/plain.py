"""Plain text, kept as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinen.errors import Unreadable
from kinen.extract import budget
from kinen.extract.decode import decode
from kinen.model.documents import Extract, Part

if TYPE_CHECKING:
    from pathlib import Path


def extract(path: Path, data: bytes, most: int = budget.TEXT) -> Extract:  # noqa: ARG001
    """The whole text as one part; only CRLF becomes LF, so that lines keep their numbers."""
    text = decode(data).replace("\r\n", "\n")
    if not text or text.isspace():
        raise Unreadable("empty file")
    text, cut = budget.bound(text, budget.PLAIN, most)
    return Extract((Part(text, line=1),), cut=cut)
