"""As of: what the pages that can show an earlier time need for its field, slider and banner."""

from __future__ import annotations

from datetime import UTC, datetime

from kinen.memory import Memory
from kinen.memory.past import Moment
from kinen.model.tuples import NamedTuple
from kinen.text import now
from kinen.web.page import AS_OF, Visit


class Slider(NamedTuple):
    """The days of a space, and the one that is shown."""

    first: str
    days: int
    place: int


def moment(memory: Memory, visit: Visit) -> Moment | None:
    """The time that a page is put back to; None for now."""
    words = visit.fields.get(AS_OF)
    return memory.past.moment(words) if words else None


def remark(memory: Memory, at: Moment | None) -> str:
    """Says which earlier time a page shows; empty for now."""
    return memory.past.remark(at) if at else ""


def slider(memory: Memory, visit: Visit) -> Slider | None:
    """The days from the first of a space to today; None if it is of today."""
    first = memory.past.beginning()
    today = datetime.fromtimestamp(now(), UTC).date()
    start = datetime.fromtimestamp(first, UTC).date() if first else today
    days = (today - start).days
    if days < 1:
        return None
    at = moment(memory, visit)
    shown = datetime.fromisoformat(at.at).date() if at else today
    return Slider(start.isoformat(), days, max(0, min(days, (shown - start).days)))
