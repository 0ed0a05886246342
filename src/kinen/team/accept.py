"""What a team does with a version that somebody pushes, wherever it keeps it.

Whoever may write may add entries, edit memories and summaries, and redact: a secret in a
colleague's entry must not wait. Forgetting an entry and taking it back is for its author, and for
whoever has the right `admin`.
"""

from __future__ import annotations

from dataclasses import replace

from kinen.model.team import ERASED, Version
from kinen.team.merge import join
from kinen.team.rows import checked

OWNED = ("observation", "capsule", "summary", "memory")
"""Nouns that hold what their author wrote; pins, hidden marks and tags belong to everybody."""
FIXED = ("observation", "capsule")
"""Nouns that only their author changes, except for redacting."""


def accept(
    stored: Version | None, version: Version, person: str, *, admin: bool = False
) -> Version:
    """The team's version after a person pushed one: checked, masked and merged.

    The author of a new entry is the person, whatever the version says, and stays it. What the
    person has no right to change stays as it is. Raises InvalidEntry for what no journal can hold.
    """
    clean = checked(version)
    if stored is None:
        return replace(clean, author=person)
    if stored.author != person and not admin:
        clean = _permitted(stored, clean)
    return join(stored, replace(clean, author=stored.author, machine=stored.machine))


def _permitted(stored: Version, version: Version) -> Version:
    """The part of a version that a colleague of the author may push."""
    if version.noun not in OWNED:
        return version
    if version.forgotten or version.withdrawn:
        return stored
    if version.noun not in FIXED:
        return version
    redacted = [name for name, stamp in version.stamps.items() if stamp[0] == ERASED]
    if stored.forgotten or stored.withdrawn or not redacted:
        return stored
    fields = {name: version.fields[name] for name in redacted}
    stamps = {name: version.stamps[name] for name in redacted}
    return replace(stored, fields={**stored.fields, **fields}, stamps={**stored.stamps, **stamps})
