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
        return bool(self.forgotten or self.redacted or self.cleaned or self.withdrawn)

    @property
    def redacted(self) -> frozenset[str]:
        """The fields that were redacted."""
        return frozenset(name for name, (number, _) in self.stamps.items() if number == ERASED)

    @property
    def withdrawn(self) -> bool:
        return bool(self.fields.get(WITHDRAWN))

    @property
    def changes(self) -> int:
        """How often it was changed, not counting redactions."""
        numbers = (number for number, _ in self.stamps.values() if number < ERASED)
        return max(numbers, default=0)

    @property
    def next_number(self) -> int:
        """The number for the stamp of the next change; it never becomes that of a redaction."""
        return min(self.changes + 1, ERASED - 1)

    @property
    def ref(self) -> str:
        return f"{self.noun}:{self.id}"


@dataclass(frozen=True, slots=True)
class Pushed:
    """What a team did with pushed versions besides merging them."""

    refused: int = 0
    """Colleagues' entries that this person may not forget: they stay."""
    erased: tuple[str, ...] = ()
    """Refs of colleagues' entries that lost their text."""
    changed: tuple[str, ...] = ()
    """Refs of colleagues' entries that got other values and lost no text."""
    invalid: Mapping[str, str] = field(default_factory=dict)
    """Why versions were not taken, by ref."""


@dataclass(frozen=True, slots=True)
class Page:
    """Versions that others pushed, in the order in which the team got them."""

    versions: tuple[Version, ...] = ()
    cursor: int = 0
    """Where the next page begins."""
    more: bool = False
    unread: Mapping[str, str] = field(default_factory=dict)
    """Why entries of the team are missing here, by ref."""
    epoch: str = ""
    """The history that the numbers belong to; another one after a restore or failover. Empty where
    the team does not say."""
    newest: int = 0
    """The number of the newest change of the space."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a team holds, in digests."""

    epoch: str
    newest: int
    digests: Mapping[str, str]
    """The digest of each range of entries, by the name of the range."""
