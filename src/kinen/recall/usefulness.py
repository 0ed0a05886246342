"""Did it help what an agent was told? An estimate: was what an entry names used afterwards?

Entries that were candidates and were not told are the comparison. Whoever is told of a file that
the work is about anyway will use it, so this is a correlation and no effect.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from string import ascii_letters, digits

from kinen.model.tuples import NamedTuple
from kinen.text import words

FEW = 30
"""Entries below which a share says nothing."""
LONGEST = 20_000
"""Characters of an entry in which names are looked for."""
PHRASE = 4
"""Words in a row that two texts do not share by chance."""
COMMON = 0.1
"""The share of all candidates that say something which thereby shows nothing."""
MANY = 3
"""Candidates that a part must be in to be common, however few there are."""
_CODE = re.compile(r"`([^`\n]{3,120})`")
_PATH = re.compile(r"(?<![\w/.@-])(?:[\w.@-]+/)*[\w@-][\w.@-]*\.[A-Za-z]\w{0,7}\b")
_SYMBOL = re.compile(r"\b(?:[a-z]+(?:_[a-z0-9]+)+|[A-Za-z][a-z0-9]+(?:[A-Z][a-z0-9]+)+)\b")
_JOINS = frozenset(ascii_letters + digits + "_-")
_REF = re.compile(r"\[\w+:[^\]\n]{1,300}\]")


class Heard:
    """A text in which names and phrases are looked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._phrases = phrases_in(text)

    def __contains__(self, part: str | tuple[str, ...]) -> bool:
        if isinstance(part, tuple):
            return part in self._phrases
        sides = pairwise(self._text.split(part))  # `cart.ts` is not `old-cart.ts`
        return any(not _JOINS.intersection(left[-1:] + right[:1]) for left, right in sides)


class Moment(NamedTuple):
    """What a session had used and said until an agent was told something, and afterwards."""

    before: Heard
    after: Heard
    """By the agent: files, commands, changed lines, messages."""
    answers: Heard
    """By the user."""


class Trial(NamedTuple):
    """An entry that was a candidate at some moment."""

    text: str
    told: bool
    moment: Moment
    event: str = ""
    days: float = 0
    """The age of the entry then."""


class Share(NamedTuple):
    """Entries that name something new to the session, and those of them that were used then."""

    entries: int
    used: int


class Estimate(NamedTuple):
    """How often entries were used that were told, and those that were not."""

    told: Share
    dropped: Share
    lines: Share
    """Told lines, with those that the user's later words confirm."""
    events: dict[str, Share]
    """Told entries by the event that they were told at."""
    used_days: float | None
    """The median age of told entries that were used."""
    unused_days: float | None

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


def phrases_in(text: str) -> set[tuple[str, ...]]:
    """Four words in a row: what a fact without a name is recognised by."""
    row = [word.casefold() for word in words(_REF.sub(" ", text))]
    return set(zip(*(row[start:] for start in range(PHRASE)), strict=False))


def told_lines(text: str) -> list[str]:
    """The lines of a brief that say something: no headings, and not who a line is from."""
    return [
        line
        for line in text.splitlines()
        if line.startswith(("- ", "  ")) and not line.startswith("- [")
    ]


class Common:
    """What many candidates say, and what therefore shows nothing: the test command, a template."""

    def __init__(self, texts: Iterable[str]) -> None:
        distinct = set(texts)
        seen = Counter(part for text in distinct for part in _parts(text))
        least = max(MANY, len(distinct) * COMMON)
        self._parts = {part for part, times in seen.items() if times >= least}

    def used(self, text: str, moment: Moment, *, confirmed: bool = False) -> bool | None:
        """Whether something that a text says is first heard of afterwards; None if it was known.

        By the agent, or with `confirmed` also by the user.
        """
        known, *later = moment
        fresh = [part for part in _parts(text) - self._parts if part not in known]
        if not fresh:
            return None
        return any(part in heard for heard in later[: 1 + confirmed] for part in fresh)


def _parts(text: str) -> set[str | tuple[str, ...]]:
    return {*names_in(text), *phrases_in(text[:LONGEST])}


def estimate_use(trials: Iterable[Trial], lines: Iterable[tuple[str, Moment]] = ()) -> Estimate:
    """Count entries and lines that were used afterwards; what the session knew does not count."""
    candidates = list(trials)
    common = Common(trial.text for trial in candidates)
    judged = [
        (trial, used)
        for trial in candidates
        if (used := common.used(trial.text, trial.moment)) is not None
    ]
    told = [(trial, used) for trial, used in judged if trial.told]
    events = sorted({trial.event for trial, _ in told})
    sent = list(lines)
    shared = Common(line for line, _ in sent)
    return Estimate(
        _share(used for _, used in told),
        _share(used for trial, used in judged if not trial.told),
        _share(shared.used(line, moment, confirmed=True) for line, moment in sent),
        {event: _share(used for trial, used in told if trial.event == event) for event in events},
        _median([trial.days for trial, used in told if used]),
        _median([trial.days for trial, used in told if not used]),
    )


def _share(judged: Iterable[bool | None]) -> Share:
    uses = [used for used in judged if used is not None]
    return Share(len(uses), sum(uses))


def _median(values: list[float]) -> float | None:
    return sorted(values)[len(values) // 2] if values else None
