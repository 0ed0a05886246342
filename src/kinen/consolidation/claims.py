"""What a memory claims, so that two of them can be told the same, opposed, or neither.

Vectors alone cannot: `retry eight times` and `retry three times` are as near as a text and its
paraphrase (docs/decisions/0010-consolidation.md). So two claims are the same only where at most one
of them says something that the other does not.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import NamedTuple

from kinen.text import STOP_WORDS, words

MOST, HALF = 2 / 3, 1 / 2
"""The share of terms from which on claims are the same, and from which on if vectors agree."""

_ENDING = re.compile(r"(?:ations?|ings?|ied|ies|ers?|ions?|ed|es|s|e|y)$")


def stem(word: str) -> str:
    """A word without its ending, so that `deleted` meets `deletes` and `deletion`."""
    short = _ENDING.sub("", word) if len(word) > 3 and word.isalpha() else word
    short = short if len(short) > 2 else word
    return short[:-1] if len(short) > 3 and short[-1] == short[-2] else short


_LIGHT = frozenset(
    map(
        stem,
        """use using used uses store stored keep keeps kept run runs move moved happen happens
        follow follows decide decided decision make made need needs needed require required have has
        support supports enable enabled allow start started replace replaced replaces switch
        switched prefer preferred always all every each any also now only set put choose chose
        chosen get go let lets done work works via plus new may must shall because over time times
        codebase please sure ensure""".split(),
    )
)
_NEGATIVE = frozenset(
    map(
        stem,
        """no not never dont don doesnt doesn isnt isn arent wont cannot cant without drop drops
        dropped remove removes removed removing retire retired avoid avoids disable disabled
        disables delete deletes deleted stop stops stopped deprecate deprecated reject rejects
        rejected eliminate eliminated longer""".split(),
    )
)
_GENERIC = frozenset(
    map(
        stem,
        """approach architecture area areas best change changes concern concerns consideration
        considerations context current decision default design detail details development
        environment fast final first flow format goal goals handle idea implementation important
        improvement integration issue keep know long main many minimal model mvp name naming next
        open option order organization other part phase plan planning plugin point points problem
        process project question questions recommendation recommended requirement review right risk
        risks scope setup should solution solve start step steps strategy structure style success
        summary system tech technical technology test testing think timeline tool tooling tools
        trying type types used user ux vision way what workflow wrong""".split(),
    )
)
_UNTIL = (
    r"(?P<not>.*?)(?=\s(?:for|in|on|at|to|because|so|when|as|from|with|by)\b|[,;:()]|\.(?:\s|$)|$)"
)
_REJECTING = (
    re.compile(rf"\b(?:instead of|rather than|in favou?r of)\s+{_UNTIL}", re.IGNORECASE),
    re.compile(rf"(?<=prefer)(?P<kept>(?: \S+){{1,3}}?) (?:over|to) {_UNTIL}", re.IGNORECASE),
    re.compile(
        rf"\b(?:replac(?:e[sd]?|ing)|(?:switch|mov|migrat)\w* from)\s+{_UNTIL}", re.IGNORECASE
    ),
    re.compile(r",\s*not\s+(?P<not>.*?)(?=[,;.:()]|$)", re.IGNORECASE),
)


class Claim(NamedTuple):
    """The terms of what is held, those of what is turned down for it, and whether it denies."""

    terms: frozenset[str]
    rejected: frozenset[str] = frozenset()
    negative: bool = False


class Claims:
    """Claims by their terms, so that only those are compared that may have to do with another."""

    def __init__(self) -> None:
        self._keys: defaultdict[str, list[str]] = defaultdict(list)
        self._sizes: dict[str, int] = {}

    def add(self, key: str, one: Claim) -> None:
        said = one.terms | one.rejected
        self._sizes[key] = len(said)
        for term in said:
            self._keys[term].append(key)

    def beside(self, one: Claim) -> list[str]:
        """The keys of claims with half of the terms in common: half of the fewer ones."""
        said = one.terms | one.rejected
        met = Counter(key for term in said for key in self._keys.get(term, ()))
        least = {key: HALF * min(len(said), self._sizes[key]) for key in met}
        return sorted(key for key, count in met.items() if count >= least[key])


def without_reason(content: str) -> str:
    return content.partition(", because ")[0]


def claim(content: str) -> Claim:
    """What a memory claims; its reason is left out."""
    text, rejected = without_reason(content), list[str]()
    for rule in _REJECTING:
        rejected += [match["not"] for match in rule.finditer(text)]
        text = rule.sub(lambda match: match.groupdict().get("kept") or " ", text)
    found, turned = _terms(text), _terms(" ".join(rejected))
    terms = found - _LIGHT - _NEGATIVE
    return Claim(terms, turned - _LIGHT - terms, bool(found & _NEGATIVE))


def _terms(text: str) -> frozenset[str]:
    """The words of a text without endings; `no` and `not` are among them."""
    low = words(text.replace("'", "").replace("’", "").lower())
    kept = (word for word in low if word not in STOP_WORDS or word in ("no", "not"))
    return frozenset(map(stem, kept))


def share(a: Claim, b: Claim) -> float:
    """How much two claims have in common: 0 where each says something that the other does not."""
    if a.negative != b.negative or a.rejected & b.terms or b.rejected & a.terms:
        return 0.0
    only_a, only_b = _only(a.terms, b.terms), _only(b.terms, a.terms)
    if (only_a and only_b) or not (a.terms and b.terms):
        return 0.0
    return (len(a.terms) - len(only_a)) / max(len(a.terms), len(b.terms))


def overlap(a: Claim, b: Claim) -> float:
    """The share of the fewer terms that the other has too: about what a cosine would say."""
    return len(a.terms & b.terms) / max(1, min(len(a.terms), len(b.terms)))


def opposed(older: Claim, newer: Claim) -> bool:
    """Whether the newer takes back what the older holds: `Y instead of X`, `no longer X`."""
    if older.negative != newer.negative:
        return _jaccard(older.terms, newer.terms) >= 0.8
    named, rest = older.terms & newer.rejected, older.terms - newer.rejected
    wholly = len(newer.terms) == 1 or newer.terms <= older.rejected
    return bool(named) and rest <= newer.terms and (bool(rest) or wholly)


def is_specific(topic: str, least: int) -> bool:
    """Whether a question is about something: `Testing strategy` is asked everywhere."""
    return len(_terms(topic) - _GENERIC - _LIGHT - _NEGATIVE) >= least


def _only(a: frozenset[str], b: frozenset[str]) -> set[str]:
    """The terms of one that the other has not, not even longer or shorter."""
    mine, theirs = a - b, b - a
    return {one for one in mine if not any(_kin(one, other) for other in theirs)}


def _kin(a: str, b: str) -> bool:
    short, long = sorted((a, b), key=len)
    return len(short) > 3 and long.startswith(short)


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / len(a | b) if a | b else 0.0
