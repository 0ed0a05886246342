"""What a replica needs of a team, whether it is a database or a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from kinen.team.merge import Version, join
from kinen.team.rows import checked


@dataclass(frozen=True, slots=True)
class Page:
    """Versions that others pushed, in the order in which the team got them."""

    versions: tuple[Version, ...] = ()
    cursor: int = 0
    """Where the next page begins."""
    more: bool = False


class Team(Protocol):
    """The memory of a team for one space, as one person may see it."""

    def push(self, versions: Sequence[Version]) -> None:
        """Merge versions into the team's; they are stored when this returns."""

    def pull(self, after: int, limit: int, *, erased: bool) -> Page:
        """Versions that changed after a cursor; with `erased` only what was erased."""

    def withdraw(self, machine: str) -> int:
        """Take back everything that this person wrote; returns how many entries."""

    def close(self) -> None:
        """End the connection."""


def accept(known: Version | None, version: Version, person: str) -> Version:
    """The team's version after a person pushed one: checked, masked and merged.

    The author of a new entry is the person, whatever the version says. Raises StoreError for what
    no journal can hold.
    """
    clean = checked(version)
    if known is None:
        return replace(clean, author=person)
    # the same memory may be drawn on two machines; anything else has one author for good
    both = version.noun == "memory" and version.author == person
    author = person if both else known.author
    machine = version.machine if both else known.machine
    return join(known, replace(clean, author=author, machine=machine))
