"""Refs and paths of requests, as a memory takes them."""

from __future__ import annotations

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


def pin_target(memory: Memory, text: str) -> str:
    """What to pin: a ref, a path, or a text of its own."""
    return text if memory.journal.is_text(text) else resolve(memory, text)[0]
