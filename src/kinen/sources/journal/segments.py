"""Cuts what happened in a capsule into segments while it grows, so that each is worth a chunk.

A left fold that knows only the segment it is in: what follows can change the last segment alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

THRESHOLD = 30
"""Tokens of the user's own words after which the next of them open a segment."""
MOST = 80
"""Tokens of all kinds that a segment holds, unless a call and its result need more.

Both were chosen on a labelled set: docs/decisions/0007-journal.md.
"""

_RESULTS = ("error", "command")
_NODE_RESULTS = ("node_end", "node_output", "node_error")


class Event(NamedTuple):
    """What a cut depends on of an observation."""

    id: str
    kind: str
    tokens: int
    key: str = ""
    """What ties a call to its result, such as a tool-use id."""
    user: bool = False
    """Whether it is a message by the user."""


def cut(events: Iterable[Event], *, threshold: int = THRESHOLD, most: int = MOST) -> list[int]:
    """The segment of each event, from 0.

    An exchange stays together, and so do a call and its result.
    """
    numbers: list[int] = []
    number, segment = 0, _Segment()
    for event in events:
        if segment.ends(event, threshold, most):
            number, segment = number + 1, _Segment()
        segment.take(event)
        numbers.append(number)
    return numbers


class _Segment:
    """What is known of the segment that grows."""

    __slots__ = ("keys", "last", "node", "said", "total")

    def __init__(self) -> None:
        self.last: Event | None = None
        self.said = self.total = 0
        self.keys: set[str] = set()
        self.node = False
        """Whether a node without a key was started."""

    def take(self, event: Event) -> None:
        self.last = event
        self.total += event.tokens
        self.said += event.tokens if event.user else 0
        if event.key:
            self.keys.add(event.key)
        elif event.kind == "node_start":
            self.node = True

    def ends(self, event: Event, threshold: int, most: int) -> bool:
        """Does the next event begin a segment of its own?"""
        if self.last is None or (event.user and _unanswered(self.last)):
            return False
        if event.user and self.said >= threshold:
            return True
        return self.total + event.tokens > most and not self._called(event)

    def _called(self, event: Event) -> bool:
        """Is the event the result of a call in this segment?

        Calls run side by side, so that a result with a key need not follow directly.
        """
        if event.key:
            return event.key in self.keys
        if event.kind in _NODE_RESULTS:
            return self.node
        return event.kind in _RESULTS and _unkeyed_call(self.last)


def _unanswered(event: Event) -> bool:
    """Is it a call whose result may yet follow, though the user speaks first?"""
    return event.kind in ("tool_call", "node_start")


def _unkeyed_call(event: Event | None) -> bool:
    return event is not None and event.kind == "tool_call" and not event.key
