"""Did it help what an agent was told? An estimate: was what an entry names used afterwards?

Entries that were candidates and were not told are the comparison. Whoever is told of a file that
the work is about anyway will use it, so this is a correlation and no effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kinen.model.tuples import NamedTuple

FEW = 30
"""Entries below which a share says nothing."""
LONGEST = 20_000
"""Characters of an entry in which names are looked for."""
_CODE = re.compile(r"`([^`\n]{3,120})`")
_PATH = re.compile(r"(?<![\w/.@-])(?:[\w.@-]+/)*[\w@-][\w.@-]*\.[A-Za-z]\w{0,7}\b")
_SYMBOL = re.compile(r"\b(?:[a-z]+(?:_[a-z0-9]+)+|[A-Za-z][a-z0-9]+(?:[A-Z][a-z0-9]+)+)\b")
_REF = re.compile(r"\[\w+:[^\]\n]{1,300}\]")


class Trial(NamedTuple):
    """An entry that was a candidate at some moment, and what was done before and after it."""

    text: str
    told: bool
    before: str
    """What the session had used until then: files, commands, changed lines."""
    after: str


class Share(NamedTuple):
    """Entries that name something new to the session, and those of them that were used then."""

    entries: int
    used: int


class Estimate(NamedTuple):
    """How often entries were used that were told, and those that were not."""

    told: Share
    dropped: Share

    @property
    def enough(self) -> bool:
        return min(self.told.entries, self.dropped.entries) >= FEW


def names_in(text: str) -> set[str]:
    """The files, symbols and commands that a text names."""
    bare = _REF.sub(" ", text[:LONGEST])
    names = {match[1].strip() for match in _CODE.finditer(bare)}
    names |= {match[0] for match in _PATH.finditer(bare)}
    names |= {match[0] for match in _SYMBOL.finditer(bare)}
    return {name for name in names if len(name) > 3}


def estimate_use(trials: Iterable[Trial]) -> Estimate:
    """Count entries whose names were used afterwards; those known to the session do not count."""
    counts = {True: [0, 0], False: [0, 0]}
    for trial in trials:
        fresh = {name for name in names_in(trial.text) if name not in trial.before}
        if fresh:
            counts[trial.told][0] += 1
            counts[trial.told][1] += any(name in trial.after for name in fresh)
    told, dropped = (Share(*counts[key]) for key in (True, False))
    return Estimate(told, dropped)
