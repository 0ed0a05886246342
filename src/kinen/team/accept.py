"""What a team does with a version that somebody pushes, wherever it keeps it."""

from __future__ import annotations

from dataclasses import replace

from kinen.model.team import Version
from kinen.team.merge import join
from kinen.team.rows import checked


def accept(stored: Version | None, version: Version, person: str) -> Version:
    """The team's version after a person pushed one: checked, masked and merged.

    The author of a new entry is the person, whatever the version says. Raises StoreError for what
    no journal can hold.
    """
    clean = checked(version)
    if stored is None:
        return replace(clean, author=person)
    # the same memory may be drawn on two machines; anything else has one author for good
    both = version.noun == "memory" and version.author == person
    author = person if both else stored.author
    machine = version.machine if both else stored.machine
    return join(stored, replace(clean, author=author, machine=machine))
