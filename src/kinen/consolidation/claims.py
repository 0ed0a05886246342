"""Compares the claims of memories: the same, opposed, or neither.

Vectors alone do not suffice: `retry eight times` and `retry three times` are as near as a text
and its paraphrase (docs/decisions/0010-consolidation.md). So two claims are the same only if at
most one of them has terms that the other lacks.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from kinen.model.tuples import NamedTuple
from kinen.text import STOP_WORDS, words

MOST = 2 / 3
"""The share of common terms from which claims are the same."""
HALF = 1 / 2
"""The share of common terms from which claims are the same if their vectors agree."""
SUBJECT = 0.8
"""The share of common terms, values aside, from which claims are about the same thing."""
LEAST = 2
"""Terms below which a claim without its values is about nothing."""

_ENDING = re.compile(r"(?:ations?|ings?|ied|ies|ers?|ions?|ed|es|s|e|y)$")
_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
_DIGITS = {word: str(number) for number, word in enumerate(_WORDS)}
_VALUE = re.compile(
    r"(?i)\b(?:defaults? (?:\w+ ){0,3}?(?:is|to|are|of)|set to|pinned to) "
    r"`?(?P<default>[\w.:/@-]*\w)`?"
    r"|(?<![\w.#/-])v?(?P<number>\d+(?:[.,]\d+)*)(?P<unit> ?(?:%|[kmgt]i?b|ms|s|min|h|x)(?!\w))?"
    r"(?![\w/-]|[.:]\w)"
    rf"|(?<![\w-])(?P<word>{'|'.join(_WORDS[2:])})(?![\w-])"
)
_MEASURE = re.compile(
    r"(?i)\s?(?:times(?! out)|(?:second|minute|hour|day|week|month|year|byte)s?|percent"
    r"|mal|sekunden?|minuten?|stunden?|tagen?|wochen?|fois|secondes?|heures?|jours?"
    r"|veces|segundos?|minutos?|horas?|d[ií]as?|vezes|раза?|секунды?|минуты?|часов|часа|дней|дня)"
    r"(?!\w)"
)
"""After a number that counts."""
_GIVING = frozenset(
    """is are was be of to at than within every has have ist sind war auf von hat haben beträgt est
    sont à de es son é são равен равно до""".split()
)
"""Words before a number that is a value. After any other it is part of a name: `webhook 2`."""


def stem(word: str) -> str:
    """A word without its ending, so that `deleted` matches `deletes` and `deletion`."""
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
    re.compile(rf"(?i)\b(?:instead of|rather than|in favou?r of)\s+{_UNTIL}"),
    re.compile(rf"(?i)(?<=prefer)(?P<kept>(?: \S+){{1,3}}?) (?:over|to) {_UNTIL}"),
    re.compile(rf"(?i)\b(?:replac(?:e[sd]?|ing)|(?:switch|mov|migrat)\w* from)\s+{_UNTIL}"),
    re.compile(r"(?i),\s*not\s+(?P<not>.*?)(?=[,;.:()]|$)"),
)


class Claim(NamedTuple):
    """The terms of a claim, the terms of the rejected alternative, and whether it is a negation.

    `values` are its numbers, versions and defaults, `subject` its terms without them.
    """

    terms: frozenset[str]
    rejected: frozenset[str] = frozenset()
    negative: bool = False
    values: tuple[str, ...] = ()
    subject: frozenset[str] = frozenset()


class Claims:
    """An index of claims by term, to compare only claims with common terms."""

    def __init__(self) -> None:
        self._keys: defaultdict[str, list[str]] = defaultdict(list)
        self._sizes: dict[str, int] = {}

    def add(self, key: str, entry: Claim) -> None:
        terms = entry.terms | entry.rejected
        self._sizes[key] = len(terms)
        for term in terms:
            self._keys[term].append(key)

    def beside(self, entry: Claim) -> list[str]:
        """The keys of the claims that share at least half of the terms of the shorter claim."""
        terms = entry.terms | entry.rejected
        counts = Counter(key for term in terms for key in self._keys.get(term, ()))
        least = {key: HALF * min(len(terms), self._sizes[key]) for key in counts}
        return sorted(key for key, count in counts.items() if count >= least[key])


def without_reason(content: str) -> str:
    return content.partition(", because ")[0]


def claim(content: str) -> Claim:
    """The claim of a memory, without its reason."""
    text = without_reason(content)
    rejected: list[str] = []
    for rule in _REJECTING:
        rejected += [match["not"] for match in rule.finditer(text)]
        text = rule.sub(lambda match: match.groupdict().get("kept") or " ", text)
    stems = _terms(text)
    terms = stems - _LIGHT - _NEGATIVE
    rejected_terms = _terms(" ".join(rejected)) - _LIGHT - terms
    values, subject = valued(text)
    subject_terms = _terms(subject) - _LIGHT - _NEGATIVE
    return Claim(terms, rejected_terms, bool(stems & _NEGATIVE), values, subject_terms)


def _terms(text: str) -> frozenset[str]:
    """The words of a text without endings; `no` and `not` are among them."""
    low = words(text.replace("'", "").replace("’", "").lower())
    significant = (word for word in low if word not in STOP_WORDS or word in ("no", "not"))
    return frozenset(map(stem, significant))


def share(a: Claim, b: Claim) -> float:
    """The share of common terms; 0 if each claim has a term that the other lacks."""
    if a.negative != b.negative or a.rejected & b.terms or b.rejected & a.terms:
        return 0.0
    only_a = _only(a.terms, b.terms)
    only_b = _only(b.terms, a.terms)
    if (only_a and only_b) or not (a.terms and b.terms):
        return 0.0
    return (len(a.terms) - len(only_a)) / max(len(a.terms), len(b.terms))


def overlap(a: Claim, b: Claim) -> float:
    """The share of the shorter claim's terms in the other, which approximates the cosine."""
    return len(a.terms & b.terms) / max(1, min(len(a.terms), len(b.terms)))


def opposed(older: Claim, newer: Claim) -> bool:
    """Whether the newer claim contradicts the older: `Y instead of X`, `no longer X`."""
    if older.negative != newer.negative:
        return _same_thing(older.terms, newer.terms)
    denied = older.terms & newer.rejected
    rest = older.terms - newer.rejected
    wholly = len(newer.terms) == 1 or newer.terms <= older.rejected
    return bool(denied) and rest <= newer.terms and (bool(rest) or wholly)


def revised(older: Claim, newer: Claim) -> bool:
    """Whether two claims say the same of the same thing, with another value: `30 s`, `60 s`."""
    return (
        older.negative == newer.negative
        and differ_in_one(older.values, newer.values)
        and len(older.subject & newer.subject) >= LEAST
        and _same_thing(older.subject, newer.subject)
    )


def _same_thing(a: frozenset[str], b: frozenset[str]) -> bool:
    """Whether two claims are about the same thing: where each has a term of its own, it may be the
    name of another.
    """
    alike = len(a & b) / len(a | b) if a | b else 0.0
    return alike >= SUBJECT and not (_only(a, b) and _only(b, a))


def is_specific(topic: str, least: int) -> bool:
    """Whether a question has specific terms: `Testing strategy` has none."""
    return len(_terms(topic) - _GENERIC - _LIGHT - _NEGATIVE) >= least


def _only(a: frozenset[str], b: frozenset[str]) -> set[str]:
    """The terms of `a` that are not in `b`, nor a prefix or an extension of a term in `b`."""
    rest = b - a
    return {term for term in a - b if not any(_kin(term, other) for other in rest)}


def _kin(a: str, b: str) -> bool:
    short, long = sorted((a, b), key=len)
    return len(short) > 3 and long.startswith(short)


class Valued(NamedTuple):
    """A claim's values in order, and its text without them."""

    values: tuple[str, ...]
    subject: str


def valued(text: str) -> Valued:
    """The values of a claim, `three` as `3`, and what they are the values of."""
    values: list[str] = []
    pieces: list[str] = []
    start = 0
    for match in _VALUE.finditer(text):
        if not _gives(text, match):
            continue
        name = "default" if match["default"] else "number" if match["number"] else "word"
        value = match[name].lower().replace(",", "")
        values.append(_DIGITS.get(value, value) + (match["unit"] or "").strip().lower())
        pieces.append(text[start : match.start(name)])
        start = max(match.end(name), match.end("unit"))
    return Valued(tuple(values), " ".join([*pieces, text[start:]]))


def _gives(text: str, match: re.Match[str]) -> bool:
    """Is a number what something is said to be or to have, and no part of a name?"""
    if match["default"] or match["unit"] or _MEASURE.match(text, match.end()):
        return True
    before = text[max(0, match.start() - 40) : match.start()].split()
    return bool(before) and (before[-1].casefold() in _GIVING or before[-1][-1] in "=:<>≤≥≈~")


def differ_in_one(older: tuple[str, ...], newer: tuple[str, ...]) -> bool:
    """Do two claims have the same number of values, and is one of them another?"""
    if len(older) != len(newer):
        return False
    return sum(old != new for old, new in zip(older, newer, strict=True)) == 1
