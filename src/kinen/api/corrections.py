"""Corrections of memories that requests ask for, the same for HTTP and MCP."""

from __future__ import annotations

from kinen.errors import QueryError
from kinen.memory import Memory
from kinen.model.journal import Learned

ACTIONS = ("edit", "merge", "supersede", "forget", "restore", "undo")


def correct(
    memory: Memory,
    action: str,
    id: str = "",  # noqa: A002
    *,
    other: str = "",
    content: str = "",
) -> Learned:
    """Change a memory; returns the one that holds now.

    `other` is the memory that it is merged into or superseded by, `content` its new wording.
    """
    part = memory.consolidation
    if action == "undo":
        return part.undo()[1]
    if not id:
        raise QueryError("no id", "give the id of a memory", parameter="id")
    if action == "merge":
        return part.merge(id, other)
    if action == "supersede":
        return part.supersede(id, other)
    if action == "edit":
        return part.edit(id, content)
    return part.hide(id) if action == "forget" else part.restore(id)
