"""What the forms of pages do."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kinen.api.refs import resolve

if TYPE_CHECKING:
    from kinen.memory import Memory
    from kinen.web.page import Visit


class Change(NamedTuple):
    """What a form did, and the page to show next."""

    place: str
    event: str = ""
    """The kind of event that listeners get; empty for none."""
    ref: str = ""


def pin(memory: Memory, visit: Visit) -> Change:
    """Have every recall begin with a record."""
    name, _, _ = resolve(memory, visit.fields.get("ref"))
    pinned = memory.journal.pin(name, visit.fields.get("note"))
    return Change(visit.url(ref=pinned.target), "pin", pinned.ref)


def unpin(memory: Memory, visit: Visit) -> Change:
    name, _, _ = resolve(memory, visit.fields.get("ref"))
    memory.journal.unpin(name)
    return Change(visit.url(ref=name), "pin", name)
