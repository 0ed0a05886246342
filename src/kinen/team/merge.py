"""How versions of the same entry from different machines become one: pure functions.

A version has a stamp for each field: how often the entry had been changed when the field got its
value, and the machine that did it. The newest stamp wins, then the name of the machine, then the
value itself. No clock takes part, so a wrong clock changes nothing. `join` is commutative,
associative and idempotent: replicas that have seen the same versions, in any order and any number
of times, hold the same bytes.

Erasing wins over everything. A forgotten entry is its id and nothing else. A redacted field has the
stamp `ERASED`, which no edit reaches.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import md5, sha256
from typing import Any

from kinen.characters import visible_line
from kinen.errors import InvalidEntry
from kinen.model.kinds import REDACTED
from kinen.model.team import ERASED, WITHDRAWN, Stamp, Version
from kinen.transfer.sections import SECTIONS

TEXTS: dict[str, dict[str, Any]] = {
    "observation": {"content": REDACTED, "provenance": {}, "redacted": True},
    "summary": {"content": REDACTED, "redacted": True},
    "memory": {"content": REDACTED, "redacted": True},
    "capsule": {"intent": REDACTED},
    "pin": {"reason": REDACTED},
}
"""The fields that redacting empties, by noun, and what they hold then."""
DERIVED: dict[str, dict[str, Any]] = {"summary": {"content": REDACTED, "evidenceRefs": []}}
"""Fields that kinen made of observations, and what they hold until they are made again."""
NOUNS = (*TEXTS, "suppressed", "tag")
JOURNAL = ("observation", "capsule", "summary", "memory")
"""Nouns that hold what an author wrote, and that can be pinned or hidden for everybody: files,
notes and commits are each machine's own. Pins, hidden marks and tags belong to everybody."""
HIDDEN = "hidden"
"""The field of `suppressed` that says whether the ref is hidden now."""
KNOWN = {
    section.noun: frozenset(
        {WITHDRAWN, *(field.name for field in section.fields)}
        | ({HIDDEN} if section.noun == "suppressed" else set())
    )
    for section in SECTIONS
}
"""The fields of each noun. Others are of a newer kinen: they are kept and passed on."""
NOUN = re.compile(r"[a-z][a-z_]{0,39}")
PROTOCOL = 2
"""The version of the messages between machines and a team's server. 1 said none, and had no epochs;
what a side does not know of the other's messages is ignored or passed on."""
LONGEST_NAME = 200
FIX = "update kinen on both sides"

encode = json.JSONEncoder(
    ensure_ascii=True, allow_nan=False, sort_keys=True, separators=(",", ":")
).encode
"""JSON that is the same for equal values. One encoder: a round encodes thousands of fields."""


def digest(value: Any) -> str:
    """A short name of a value."""
    return sha256(encode(value).encode()).hexdigest()[:16]


def fingerprint(version: Version) -> str:
    """A digest that two sides have in common exactly if they hold the same version."""
    stamps = {
        name: [*stamp, digest(version.fields[name])] for name, stamp in version.stamps.items()
    }
    cleaned = encode(sorted(version.cleaned))
    return print_of(*version.key, version.author, encode(stamps), cleaned, version.forgotten)


def print_of(noun: str, id_: str, author: str, stamps: str, cleaned: str, forgotten: int) -> str:
    """The fingerprint of a version whose parts are JSON."""
    text = encode([noun, id_, author, stamps, cleaned, forgotten])
    return sha256(text.encode()).hexdigest()[:32]


def range_of(noun: str, id_: str) -> str:
    """The range that an entry is compared in: one of 256."""
    return md5(f"{noun}:{id_}".encode(), usedforsecurity=False).hexdigest()[:2]


def range_digest(prints: Iterable[str]) -> str:
    """One digest for the fingerprints of a range."""
    return md5("".join(sorted(prints)).encode(), usedforsecurity=False).hexdigest()


def join(left: Version, right: Version) -> Version:
    """The version that holds what both hold."""
    if left.key != right.key:
        raise ValueError("versions of different entries")
    author, machine = min((left.author, left.machine), (right.author, right.machine))
    if left.forgotten or right.forgotten:
        moment = min(filter(None, (left.forgotten, right.forgotten)))
        return tombstone(replace(left, author=author, machine=machine), moment)
    cleaned = left.cleaned | right.cleaned
    both = (left, right)
    newest = max(map(sharing, both))
    current = [side for side in both if sharing(side) == newest]
    names = {name for side in current for name in side.fields}
    names |= {name for side in both for name, stamp in side.stamps.items() if stamp[0] == ERASED}
    derived = {} if current[0].withdrawn else DERIVED.get(left.noun, {})
    fields = {}
    stamps = {}
    for name in sorted(names):
        holders = [side for side in both if side.stamps.get(name, (0, ""))[0] == ERASED]
        holders = holders or [side for side in current if name in side.fields]
        if name in derived and holders[0].stamps[name][0] < ERASED:
            # made of observations: if no side is without all that were erased, it is emptied,
            # until the machine that has the observations makes it again
            holders = [side for side in holders if side.cleaned == cleaned]
        if holders:
            side = max(holders, key=lambda side: (side.stamps[name], encode(side.fields[name])))
            fields[name] = side.fields[name]
            stamps[name] = side.stamps[name]
        else:
            fields[name] = derived[name]
            stamps[name] = (0, "")
    return replace(
        left, author=author, machine=machine, fields=fields, stamps=stamps, cleaned=cleaned
    )


def sharing(version: Version) -> tuple[Stamp, bool]:
    """When an entry was taken back or shared again last; earlier values do not come back."""
    return version.stamps.get(WITHDRAWN, (0, "")), version.withdrawn


def tombstone(version: Version, moment: int) -> Version:
    """What is left of a forgotten entry."""
    return Version(
        version.noun, version.id, version.author, version.machine, forgotten=max(1, moment)
    )


def change(version: Version, fields: Mapping[str, Any], machine: str) -> Version:
    """A version with other values: each that differs is stamped as this machine's.

    What was redacted stays redacted.
    """
    stamp = (version.next_number, machine)
    stamps = dict(version.stamps)
    values = dict(version.fields)
    for name, value in fields.items():
        fixed = stamps.get(name, (0, ""))[0] == ERASED
        if fixed or (name in values and equal(values[name], value)):
            continue
        values[name] = value
        stamps[name] = stamp
    return replace(version, fields=values, stamps=stamps)


def equal(left: Any, right: Any) -> bool:
    """Whether two values are the same JSON; for Python 1, 1.0 and True are equal."""
    return left is right or encode(left) == encode(right)


def unknown(version: Version) -> set[str]:
    """The fields of a version that this kinen does not know."""
    return version.fields.keys() - KNOWN.get(version.noun, {WITHDRAWN})


def redact(version: Version) -> Version:
    """A version without its text; what is not known may be text, too."""
    empty = {**TEXTS.get(version.noun, {}), **dict.fromkeys(unknown(version))}
    fields = {**version.fields, **empty}
    stamps = {**version.stamps, **dict.fromkeys(empty, (ERASED, ""))}
    return replace(version, fields=fields, stamps=stamps)


def withdraw(version: Version, machine: str) -> Version:
    """A version that holds nothing because its author took it back; sharing it again undoes it."""
    empty = dict.fromkeys(version.fields)
    if version.forgotten:
        return version
    return change(version, {**empty, WITHDRAWN: True}, machine)


def to_json(version: Version) -> dict[str, Any]:
    return {
        "noun": version.noun,
        "id": version.id,
        "author": version.author,
        "machine": version.machine,
        "fields": dict(version.fields),
        "stamps": {name: list(stamp) for name, stamp in version.stamps.items()},
        "forgotten": version.forgotten,
        "cleaned": sorted(version.cleaned),
    }


def from_json(item: Any) -> Version:
    """A version that came over the network; raises InvalidEntry for what has not its form.

    What it holds is checked by `kinen.team.rows.checked`.
    """
    try:
        version = Version(
            noun=item["noun"],
            id=item["id"],
            author=item.get("author", ""),
            machine=item.get("machine", ""),
            fields=_mapping(item.get("fields", {})),
            stamps={
                name: _stamp(*stamp) for name, stamp in _mapping(item.get("stamps", {})).items()
            },
            forgotten=item.get("forgotten", 0),
            cleaned=frozenset(item.get("cleaned", ())),
        )
        names = (version.noun, version.id, version.author, version.machine, *version.cleaned)
        fit = (
            all(type(name) is str and len(name) <= LONGEST_NAME for name in names)
            and NOUN.fullmatch(version.noun) is not None
            and version.id != ""
            and type(version.forgotten) is int
            and type(item.get("cleaned", [])) is list
            and version.fields.keys() == version.stamps.keys()
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        fit = False
    if not fit:
        raise InvalidEntry("not a version of an entry", FIX)
    return version


def invalid(noun: str, fact: str) -> InvalidEntry:
    """The error for a version that cannot be taken."""
    return InvalidEntry(f"{fact} in {'an' if noun[0] in 'aeiou' else 'a'} {noun} of the team", FIX)


def from_list(items: Sequence[Any]) -> tuple[list[Version], dict[str, str]]:
    """The versions of a message, and why others are none, by ref or place."""
    versions = []
    reasons = {}
    for number, item in enumerate(items):
        try:
            versions.append(from_json(item))
        except InvalidEntry as error:
            ref = f"versions[{number}]"
            if type(item) is dict and type(item.get("noun")) is type(item.get("id")) is str:
                ref = f"{item['noun']}:{item['id']}"
            reasons[visible_line(ref[: 2 * LONGEST_NAME])] = error.fact()
    return versions, reasons


def _mapping(value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise TypeError(value)
    return value


def _stamp(number: Any, machine: Any) -> Stamp:
    if type(number) is not int or type(machine) is not str or not 0 <= number <= ERASED:
        raise ValueError(number)
    return number, machine
