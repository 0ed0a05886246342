"""Cuts the observations of a capsule into segments that are each worth a chunk.

A left fold over the observations: new ones can only change the last segment.
"""

from __future__ import annotations

from collections.abc import Iterable

from kinen.model.tuples import NamedTuple

THRESHOLD = 30
"""Tokens of user messages after which the next user message opens a segment."""
MOST = 80
"""Tokens of all kinds that a segment holds, unless a call and its result need more.

Both were chosen on a labelled set: docs/decisions/0007-journal.md.
"""

_RESULTS = ("error", "command")
_NODE_RESULTS = ("node_end", "node_output", "node_error")


class Event(NamedTuple):
    """The properties of an observation that decide where segments are cut."""

    id: str
    kind: str
    tokens: int
    key: str = ""
    """Links a call to its result, such as a tool-use id."""
    user: bool = False
    """Is it a message by the user?"""


def cut(events: Iterable[Event], *, threshold: int = THRESHOLD, most: int = MOST) -> list[int]:
    """The segment of each event, from 0.

    An exchange stays together, and so do a call and its result.
    """
    numbers: list[int] = []
    number = 0
    segment = _Segment()
    for event in events:
        if segment.ends(event, threshold, most):
            number += 1
            segment = _Segment()
        segment.add(event)
        numbers.append(number)
    return numbers


class _Segment:
    """The state of the current segment."""

    __slots__ = ("keys", "last", "node", "total", "user_tokens")

    def __init__(self) -> None:
        self.last: Event | None = None
        self.total = 0
        self.user_tokens = 0
        self.keys: set[str] = set()
        self.node = False
        """Was a node without a key started?"""

    def add(self, event: Event) -> None:
        self.last = event
        self.total += event.tokens
        self.user_tokens += event.tokens if event.user else 0
        if event.key:
            self.keys.add(event.key)
        elif event.kind == "node_start":
            self.node = True

    def ends(self, event: Event, threshold: int, most: int) -> bool:
        """Does the next event open a new segment?"""
        if self.last is None or (event.user and _unanswered(self.last)):
            return False
        if event.user and self.user_tokens >= threshold:
            return True
        return self.total + event.tokens > most and not self._is_result(event)

    def _is_result(self, event: Event) -> bool:
        """Is the event the result of a call in this segment?

        Calls run in parallel, so a result with a key need not follow directly.
        """
        if event.key:
            return event.key in self.keys
        if event.kind in _NODE_RESULTS:
            return self.node
        return event.kind in _RESULTS and _unkeyed_call(self.last)


def _unanswered(event: Event) -> bool:
    """Is it a call whose result may still come after a user message?"""
    return event.kind in ("tool_call", "node_start")


def _unkeyed_call(event: Event | None) -> bool:
    return event is not None and event.kind == "tool_call" and not event.key
