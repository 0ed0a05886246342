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
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

from kinen.errors import InvalidEntry
from kinen.model.kinds import REDACTED
from kinen.model.team import ERASED, WITHDRAWN, Stamp, Version

TEXTS: dict[str, dict[str, Any]] = {
    "observation": {"content": REDACTED, "provenance": {}},
    "summary": {"content": REDACTED},
    "memory": {"content": REDACTED},
    "capsule": {"intent": REDACTED},
    "pin": {"reason": REDACTED},
}
"""The fields that redacting empties, by noun, and what they hold then."""
DERIVED: dict[str, dict[str, Any]] = {"summary": {"content": REDACTED, "evidenceRefs": []}}
"""Fields that kinen made of observations, and what they hold until they are made again."""
NOUNS = (*TEXTS, "suppressed", "tag")
LONGEST_NAME = 200

encode = json.JSONEncoder(ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode
"""JSON that is the same for equal values. One encoder: a round encodes thousands of fields."""


def digest(value: Any) -> str:
    """A short name of a value."""
    return sha256(encode(value).encode()).hexdigest()[:16]


def join(left: Version, right: Version) -> Version:
    """The version that holds what both hold."""
    if left.key != right.key:
        raise ValueError("versions of different entries")
    author, machine = min((left.author, left.machine), (right.author, right.machine))
    if left.forgotten or right.forgotten:
        moment = min(filter(None, (left.forgotten, right.forgotten)))
        return tombstone(replace(left, author=author, machine=machine), moment)
    cleaned = left.cleaned | right.cleaned
    sides = [side for side in (left, right) if side.cleaned == cleaned]
    fields = {}
    stamps = {}
    for name in sorted({*left.fields, *right.fields}):
        derived = name in DERIVED.get(left.noun, {})
        value, stamp = _newest(name, (left, right), sides if derived else None)
        fields[name] = value
        stamps[name] = stamp
    return replace(
        left, author=author, machine=machine, fields=fields, stamps=stamps, cleaned=cleaned
    )


def _newest(
    name: str, both: tuple[Version, Version], clean: list[Version] | None
) -> tuple[Any, Stamp]:
    """A field's newest value. One that was derived has to be of a version that is clean.

    If none is, it is emptied, until a machine that has the observations makes it again.
    """
    holders = [version for version in both if name in version.fields]
    erased = [version for version in holders if version.stamps[name][0] == ERASED]
    if clean is not None and not erased:
        holders = [version for version in holders if version in clean]
    if not holders:
        return DERIVED[both[0].noun][name], (0, "")
    newest = max(holders, key=lambda version: _order(version, name))
    return newest.fields[name], newest.stamps[name]


def _order(version: Version, name: str) -> tuple[Stamp, str]:
    return version.stamps[name], encode(version.fields[name])


def tombstone(version: Version, moment: int) -> Version:
    """What is left of a forgotten entry."""
    return Version(
        version.noun, version.id, version.author, version.machine, forgotten=max(1, moment)
    )


def change(version: Version, fields: Mapping[str, Any], machine: str) -> Version:
    """A version with other values: each that differs is stamped as this machine's.

    What was redacted stays redacted.
    """
    stamp = (version.changes + 1, machine)
    stamps = dict(version.stamps)
    values = dict(version.fields)
    for name, value in fields.items():
        fixed = stamps.get(name, (0, ""))[0] == ERASED
        if fixed or (name in values and _equal(values[name], value)):
            continue
        values[name] = value
        stamps[name] = stamp
    return replace(version, fields=values, stamps=stamps)


def _equal(left: Any, right: Any) -> bool:
    """Whether two values are the same JSON; for Python 1, 1.0 and True are equal."""
    return left is right or encode(left) == encode(right)


def redact(version: Version) -> Version:
    """A version without its text."""
    empty = dict(TEXTS[version.noun])
    if "redacted" in version.fields:
        empty["redacted"] = True
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
    """A version that came over the network; raises InvalidEntry for anything else."""
    try:
        version = Version(
            noun=item["noun"],
            id=item["id"],
            author=item.get("author", ""),
            machine=item.get("machine", ""),
            fields=dict(item.get("fields", {})),
            stamps={name: _stamp(*stamp) for name, stamp in item.get("stamps", {}).items()},
            forgotten=item.get("forgotten", 0),
            cleaned=frozenset(item.get("cleaned", ())),
        )
        fit = _fits(version)
    except (AttributeError, KeyError, TypeError, ValueError):
        fit = False
    if not fit:
        raise InvalidEntry("not a version of an entry", "update kinen on both sides")
    return version


def _stamp(number: Any, machine: Any) -> Stamp:
    if type(number) is not int or type(machine) is not str or not 0 <= number <= ERASED:
        raise ValueError(number)
    return number, machine


def _fits(version: Version) -> bool:
    names = (version.noun, version.id, version.author, version.machine, *version.cleaned)
    if not all(type(name) is str and len(name) <= LONGEST_NAME for name in names[:4]):
        return False
    if version.noun not in NOUNS or not version.id or type(version.forgotten) is not int:
        return False
    if version.fields.keys() != version.stamps.keys():
        return False
    return all(type(name) is str for name in names) and 0 <= version.forgotten < ERASED
