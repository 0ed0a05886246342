"""Who may change what: in a team what people push, on a machine what the team sends.

Whoever may write may add entries, hide and show them, and redact: a secret in a colleague's entry
must not wait. Everything else about an entry is its author's: nobody else changes it, and only the
author and whoever has the right `admin` forget it or take it back. A colleague corrects a memory by
one of their own that supersedes it. What is part of a session has the author of the session. And
what was written on a machine is not replaced there by the team, only erased.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from kinen.errors import InvalidEntry
from kinen.model.team import ERASED, Version
from kinen.model.tuples import NamedTuple
from kinen.team.merge import DERIVED, JOURNAL, NOUNS, equal, invalid, join, sharing

OPEN = ("suppressed",)
"""Nouns that everybody changes: a ref has one mark that says whether it is hidden, and no words."""
FIXED = tuple(noun for noun in NOUNS if noun not in OPEN)
"""Nouns that only their author changes, except for redacting and superseding."""
SUPERSEDED = "supersededBy"
CONTINUED = {
    "capsule": ("status", "closedAt", "reason"),
    "memory": ("confidence", "createdAt", "derivedFrom", SUPERSEDED),
}
"""Fields that another machine of the author changes: a session may end there, and a memory be drawn
from more sources."""
PART_OF = {"observation": "capsuleId", "summary": "capsuleId", "capsule": "parentId"}
"""The field that names the session which an entry is part of."""
FREE = 1 << 51
"""A number of changes that nobody reaches by changing an entry, and half of `ERASED`."""
STEP = 1 << 16
"""How far a number may be ahead of the team's, above `FREE`. A number just below `ERASED` would
leave no room for the changes of others; going there in steps takes 2^35 pushes."""

Find = Callable[[str, str], Version | None]
"""What is known of the entry with a noun and an id: its author, and whether it is gone."""


class Accepted(NamedTuple):
    """The team's version of an entry after a push."""

    version: Version
    reason: str = ""
    """Why something that was pushed is not in it; empty if nothing was left out."""


def accept(
    stored: Version | None, version: Version, person: str, find: Find, *, admin: bool = False
) -> Accepted:
    """The team's version after a person pushed one that was `checked`.

    The author of a new entry is the person, whatever the version says, and stays it. What the
    person has no right to change stays as it is. Raises InvalidEntry for numbers of changes that
    nobody reaches, and for a part of a colleague's session.
    """
    if version.changes > max(FREE, (stored.changes if stored else 0) + STEP):
        raise invalid(version.noun, "too many changes at once")
    if stored is None:
        merged = replace(version, author=person)
        check_session(merged, find)
        return Accepted(merged)
    version = replace(version, author=stored.author, machine=stored.machine)
    merged = join(stored, version)
    if stored.author == person:
        name = PART_OF.get(version.noun, "")
        if merged.fields.get(name) != stored.fields.get(name):
            check_session(merged, find)
        return Accepted(merged)
    if admin and (version.forgotten or version.withdrawn):
        return Accepted(merged)
    allowed = join(stored, permitted(stored, version, person, find))
    left_out = not (version.forgotten or equal(dict(allowed.fields), dict(merged.fields)))
    return Accepted(allowed, only_by(stored.author) if left_out else "")


def only_by(author: str) -> str:
    """The reason for which a change of an entry was not taken."""
    return f"only its author, {author}, changes it"


def check_session(version: Version, find: Find) -> None:
    """Raise InvalidEntry for a part of a session of somebody else.

    A session that is not known yet is nobody's: entries may arrive before theirs.
    """
    session = version.fields.get(PART_OF.get(version.noun, ""))
    owner = find("capsule", session) if session else None
    if owner is not None and owner.author != version.author:
        raise InvalidEntry(
            f"capsule:{session} is a session of {owner.author}", "record it in a session of yours"
        )


def permitted(stored: Version, version: Version, person: str, find: Find) -> Version:
    """The part of a version that a colleague of the author may push."""
    if version.forgotten:
        return version if _is_orphan(stored, find) else stored
    if sharing(version) > sharing(stored):
        return stored
    if version.noun in OPEN:
        return version
    if not stored.fields:  # nothing is left of it that could be redacted
        return stored
    names = {*version.redacted}
    if version.noun == "memory" and may_supersede(
        stored.fields.get(SUPERSEDED), version.fields.get(SUPERSEDED), person, find
    ):
        names.add(SUPERSEDED)
    return replace(
        version,
        fields={name: version.fields[name] for name in names},
        stamps={name: version.stamps[name] for name in names},
        # a summary that kinen made of what was erased is emptied; its author's machine repeats it
        cleaned=frozenset() if stored.fields.get("written") else version.cleaned,
    )


def may_supersede(before: Any, after: Any, person: str, find: Find) -> bool:
    """Whether a colleague may replace the successor of a memory.

    Only by a memory of their own, so that the author of a successor is who put it there, and back
    to none from one of their own.
    """
    newer = after or before
    successor = find("memory", newer) if type(newer) is str and newer else None
    return type(after) is str and successor is not None and successor.author == person


def _is_orphan(version: Version, find: Find) -> bool:
    """Whether it is a pin of something that is gone: everybody's machine removes those."""
    if version.noun != "pin" or version.fields.get("targetType") not in JOURNAL:
        return False
    target = find(version.fields["targetType"], version.fields["targetId"])
    return target is not None and bool(target.forgotten or target.withdrawn)


def keep(values: Mapping[str, Any], local: Version, merged: Version) -> Version:
    """A merged version of an entry that was written on this machine, as it is taken over here.

    `values` are those of the journal. They are erased by others, never replaced.
    """
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
