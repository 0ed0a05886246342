"""The values of a team: versions of entries, and pages of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Stamp = tuple[int, str]
"""The number of changes, and the machine."""

ERASED = 1 << 52
"""The number in the stamp of a field that was redacted."""
WITHDRAWN = "withdrawn"
"""The field of an entry whose author took it back from the team."""


@dataclass(frozen=True, slots=True)
class Version:
    """What a machine knows of an entry."""

    noun: str
    id: str
    author: str = ""
    machine: str = ""
    """The machine that the entry was written on."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    stamps: Mapping[str, Stamp] = field(default_factory=dict)
    forgotten: int = 0
    """When it was forgotten, in epoch milliseconds; 0 if it was not."""
    cleaned: frozenset[str] = frozenset()
    """Observations that were erased before the derived fields got their values."""

    @property
    def key(self) -> tuple[str, str]:
        return self.noun, self.id

    @property
    def erased(self) -> bool:
        """Whether something of it was redacted, forgotten or taken back."""
        redacted = any(number == ERASED for number, _ in self.stamps.values())
        return bool(self.forgotten or redacted or self.cleaned or self.withdrawn)

    @property
    def withdrawn(self) -> bool:
        return bool(self.fields.get(WITHDRAWN))

    @property
    def changes(self) -> int:
        """How often it was changed, not counting redactions."""
        numbers = (number for number, _ in self.stamps.values() if number < ERASED)
        return max(numbers, default=0)


@dataclass(frozen=True, slots=True)
class Pushed:
    """What a team did with pushed versions besides merging them."""

    refused: int = 0
    """Colleagues' entries that this person may not forget: they stay."""
    erased: tuple[str, ...] = ()
    """Refs of colleagues' entries that lost their text."""


@dataclass(frozen=True, slots=True)
class Page:
    """Versions that others pushed, in the order in which the team got them."""

    versions: tuple[Version, ...] = ()
    cursor: int = 0
    """Where the next page begins."""
    more: bool = False
