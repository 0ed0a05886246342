"""Who may change what: in a team what people push, on a machine what the team sends.

Whoever may write may add entries, edit memories, pin, hide and tag, and redact: a secret in a
colleague's entry must not wait. Forgetting an entry and taking it back is for its author, and for
whoever has the right `admin`. Observations, sessions and their summaries are changed by their
author alone; and what was written on a machine is not replaced there by the team, only erased.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kinen.model.team import ERASED, Version
from kinen.team.merge import DERIVED, JOURNAL, equal, invalid, join, sharing

FIXED = ("observation", "capsule", "summary")
"""Nouns that only their author changes, except for redacting."""
CONTINUED = {"capsule": ("status", "closedAt", "reason")}
"""Fields that another machine of the author changes: a session may end there."""
FREE = 1 << 51
"""A number of changes that nobody reaches by changing an entry, and half of `ERASED`."""
STEP = 1 << 16
"""How far a number may be ahead of the team's, above `FREE`. A number just below `ERASED` would
leave no room for the changes of others; going there in steps takes 2^35 pushes."""


def accept(
    stored: Version | None, version: Version, person: str, *, admin: bool = False
) -> Version:
    """The team's version after a person pushed one that was `checked`.

    The author of a new entry is the person, whatever the version says, and stays it. What the
    person has no right to change stays as it is. Raises InvalidEntry for numbers of changes that
    nobody reaches.
    """
    if version.changes > max(FREE, (stored.changes if stored else 0) + STEP):
        raise invalid(version.noun, "too many changes at once")
    if stored is None:
        return replace(version, author=person)
    if stored.author != person and not admin:
        version = permitted(stored, version)
    return join(stored, replace(version, author=stored.author, machine=stored.machine))


def permitted(stored: Version, version: Version) -> Version:
    """The part of a version that a colleague of the author may push."""
    if sharing(version) > sharing(stored) or (version.forgotten and version.noun in JOURNAL):
        return stored
    if version.noun not in FIXED:
        return version
    if not stored.fields:  # nothing is left of it that could be redacted
        return stored
    return replace(
        version,
        fields={name: version.fields[name] for name in version.redacted},
        stamps={name: version.stamps[name] for name in version.redacted},
        # a summary that kinen made of what was erased is emptied; its author's machine repeats it
        cleaned=frozenset() if stored.fields.get("written") else version.cleaned,
    )


def keep(values: Mapping[str, Any], local: Version, version: Version) -> Version:
    """The team's version of an entry that was written on this machine, as it is taken over here.

    `values` are those of the journal. Of observations, sessions and summaries they are erased by
    others, never replaced.
    """
    merged = join(local, version)
    if merged.noun not in FIXED or merged.forgotten or merged.withdrawn:
        return merged
    fields = dict(merged.fields)
    stamps = dict(merged.stamps)
    for name in fields.keys() & values.keys() - {*CONTINUED.get(merged.noun, ())}:
        if stamps[name][0] == ERASED or equal(fields[name], values[name]):
            continue
        if name in DERIVED.get(merged.noun, {}) and merged.cleaned != local.cleaned:
            fields[name] = DERIVED[merged.noun][name]
            stamps[name] = (0, "")
        else:
            fields[name] = values[name]
            stamps[name] = local.stamps.get(name, (0, ""))
    return replace(merged, fields=fields, stamps=stamps)
