"""Score the relevance of a piece of text to a question, by weighted signals and vectors.

The weights were chosen on labelled sets: docs/decisions/0009-extract.md.
"""

from __future__ import annotations

from math import inf, log

from kinen.distill.blocks import Block, stems
from kinen.model.journal import Passage
from kinen.model.late import Any, lru_cache
from kinen.model.tuples import NamedTuple
from kinen.text import estimate, lazy_pattern, timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Sequence, Set

WEIGHTS = {
    "placed": 1.0,
    # the passage: its rank in the search, what it is, and the hits around it
    "rank": -0.65,
    "first": 0.8,
    "together": 1.2,
    "answer": 3.0,
    "dated": 1.0,
    "worth": 0.4,
    # the block: its speaker, its headings and its best piece
    "speaker": 0.8,
    "under": 2.3,
    "covering": 0.8,
    "nearest": 1.5,
    "heading": -0.6,
    # the piece itself
    "covers": 1.5,
    "near": 0.8,
    "named": 1.0,
    "exact": 5.0,
    "cue": 1.0,
    "fact": 0.8,
    "news": 0.1,
    "asks": -1.5,
    "cut": -1.0,
    "idle": -inf,
    # without a question
    "telling": 2.0,
    "opening": 1.0,
}
EMBEDDED = 200
"""Tokens of the best pieces to embed: more is slower without better results."""
MINUTES = 3.4
"""Passages at most this far apart in time belong together."""
LITTLE = 3
"""Pieces with fewer words are ignored, unless a word is in the question."""
FEW = 4
"""A name of the question is rare if at most this many pieces contain it."""
LED = 6
"""Number of blocks that belong to a preceding block ending in a colon."""
CLOSEST = 32
"""Number of best passages that are compared in time."""

_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
_NAMES = "|".join(map(str.title, _MONTHS))
_DATE = lazy_pattern(
    rf"(?:\b(\d{{1,2}})(?:st|nd|rd|th)? (?:of )?)?\b({_NAMES})\b(?:,? (\d{{1,2}})\b)?"
)
_ISO = lazy_pattern(r"\b\d{4}-(\d\d)(?:-(\d\d))?\b")
_SPAN = rf"(?:last|next|this) (?:week(?:end)?|month|year|night|summer|winter|spring|fall|{_DAY})"
RELATIVE = lazy_pattern(rf"(?i)\b(?:yesterday|today|tonight|tomorrow|ago|{_SPAN})\b")
"""Matches times that are relative to the date of the text."""
_BEGINS_WHEN = lazy_pattern(r"(?i)\s*when\b")
WHEN = lazy_pattern(r"(?i)^\s*when\b|\bhow long\b|\b(?:what|which) (?:date|year|month|day|time)\b")
_TIME = rf"{RELATIVE.pattern}|\b(?:{'|'.join(_MONTHS)}|{_DAY}|recently|(?:week|month|year)s?|\d+)\b"
_AMOUNT = "count|number|limit|timeout|threshold|size|percent|version|minimum|maximum|budget|cap"
_OFFERS = "if you (?:want|like|prefer)|want me to|(?:should|shall) i|i can|would you like"
OFFER = lazy_pattern(rf"(?i)\b(?:{_OFFERS}|suggest\w*|propos\w*|recommend\w*)\b")
"""Matches what was offered, often as a question: `Should I push it?`."""
_FAILED = "not found|no such|unable to|cannot|can't|could not|denied|refused"
_CAUSE = (
    "because|caused?|causes|reason|since|due to|so that|why|root cause|turn(?:s|ed) out"
    "|which (?:broke|left|made|means?|meant)"
)
_CUES = (
    # pattern of a question in small letters, pattern of a line that answers it: in small letters,
    # too, which `re` takes half the time for, or `(?i)`
    (WHEN.pattern, _TIME),
    (rf"\bhow (?:many|much|long|large|big|often|fast|far)\b|\b(?:{_AMOUNT})\b", r"\d"),
    (
        r"\b(?:commits?|hash|sha\w*|revision|tag(?:ged)?)\b",
        r"\b(?=[0-9a-f]{0,40}\d)[0-9a-f]{7,64}\b",
    ),
    (r"\b(?:pull requests?|prs?|issues?|tickets?)\b", r"/(?:pull|issues)/\d|(?<!\w)#\d"),
    (r"\b(?:file|script|path|module|folder|lines?)\b", r"[\w~-][./]\w"),
    (r"\bwhere\b", r"(?i)[\w~-][./]\w|\b(?:at|from|in|near|to) (?-i:[A-Z])"),
    (
        r"\b(?:function|method|class|constant|variable|helper|rename\w*|called|name)\b",
        r"(?i)(?-i:[a-z][A-Z])|\w_\w|\w\(\)|`",
    ),
    (
        r"\bwhy\b|\b(?:cause|reason|wrong|broke\w*)\b",
        rf"\b(?:{_CAUSE}|{_FAILED})\b|, so\b(?! far)",
    ),
    (
        r"\b(?:fix(?:ed)?|solved?|resolved?)\b|^\s*how (?:do|did|does|is|are|was|were|should)\b",
        r"\b(?:fix(?:ed)?|instead|now|replaced|changed)\b|\bhow:",
    ),
    (
        r"\b(?:decide\w*|decision|chose|choose)\b",
        r"\b(?:decid\w+|decision|chose\w*|instead|over|reject\w+)\b",
    ),
    (
        r"\b(?:next|todo|remain\w*|left|open|outstanding|uncommitted|not (?:yet )?\w+ed)\b",
        r"\b(?:next|todo|remain\w*|pending|open|outstanding|not (?:yet|committed|pushed))\b",
    ),
    (
        r"\b(?:finish\w*|done|complete\w*|end(?:ed)?|became|shipped|merged|pushed|on the remote)\b",
        r"\b(?:complete\w*|done|finished|closed|deleted|shipped|merged|pushed|committed)\b",
    ),
    (r"\b(?:did\b.{0,60}\boffer|offered|suggest\w*|propos\w*|recommend\w*)\b", OFFER.pattern),
)
CUES = [(lazy_pattern(question), lazy_pattern(line)) for question, line in _CUES]
_TELLING = lazy_pattern(
    r"(?i)\b(?:decid\w+|decisions?|chose\w*|reject\w+|next|todo|remain\w*|blocked|errors?|fail\w*"
    r"|root cause|fix(?:ed)?|impact)\b"
)
_NAMED = lazy_pattern(
    r"(?<![\w~#./:-])[\w~#./:-]{0,100}[\d_./#][\w./:#-]{0,100}\w|\b\w*[a-z][A-Z]\w*|\b[A-Z]{3,}\b|\d+"
)
_CAPITAL = lazy_pattern(r"\b[A-Z]\w+")
_FACT = lazy_pattern(r"[\d`A-Z_(/](?:(?<=[\d`])|(?<=[a-z][A-Z])|(?<=\w[_/])(?=\w)|(?<=\w\()(?=\)))")
"""A number, a name from code or a path, by a character that few words have."""


class Piece(NamedTuple):
    """A sentence or line, its position, its stems and its weight."""

    passage: int
    block: int
    n: int
    text: str
    stems: frozenset[str]
    weight: int


class Read(NamedTuple):
    """Passages, their blocks, and the pieces of all of them in order."""

    passages: Sequence[Passage]
    cut: Sequence[Sequence[Block]]
    pieces: Sequence[Piece]

    def block(self, piece: Piece) -> Block:
        return self.cut[piece.passage][piece.block]


class Features(NamedTuple):
    """The features of a question that pieces are matched with."""

    terms: dict[str, float]
    """Stems, each with how rare it is among the pieces."""
    names: dict[str, float]
    """Identifiers, paths, hashes and numbers, likewise."""
    rare: set[str]
    """The names that at most FEW pieces contain; these pieces score high."""
    cues: tuple[re.Pattern[str], ...]
    speakers: frozenset[str]


def signals(question: str, read: Read) -> list[dict[str, float]]:
    """The signals of each piece, by name."""
    features, names_by_piece = _features(question, read.pieces)
    placed = [{"placed": score(row)} for row in _placed(question, read.passages)]
    leads = [
        [frozenset(stems(block.text[: block.lead]) if block.lead else ()) for block in own_blocks]
        for own_blocks in read.cut
    ]
    above = [
        stems_above(passage.title, own_blocks)
        for passage, own_blocks in zip(read.passages, read.cut, strict=True)
    ]
    offers = any(cue.pattern == OFFER.pattern for cue in features.cues)
    whole = sum(features.terms.values()) or 1.0
    exact = whole + sum(features.names.values())
    rows: list[dict[str, float]] = []
    covering: dict[tuple[int, int], float] = {}
    for piece, names in zip(read.pieces, names_by_piece, strict=True):
        block = read.block(piece)
        lead = leads[piece.passage][piece.block]
        own = piece.stems | lead if lead else piece.stems
        beside = above[piece.passage][piece.block] - own
        covers = _shared_rarity(features.terms, own) / whole
        heading = block.kind == "heading"
        covering[piece[:2]] = max(covers, covering.get(piece[:2], 0.0))
        # Of an example or a form, and of a few words, only what the question names is worth a look.
        little = block.kind == "fenced" or (features.terms and (heading or len(own) < LITTLE))
        if little and not (covers or names):
            rows.append({"idle": True})
            continue
        row = {
            **placed[piece.passage],
            "speaker": not features.speakers.isdisjoint(lead),
            "under": _shared_rarity(features.terms, beside) / whole,
            "heading": heading,
            "covers": covers,
            "named": sum(features.names[name] for name in names) / exact if names else 0.0,
            "exact": not features.rare.isdisjoint(names),
            "cue": _cued(features.cues, piece.text) / (len(features.cues) or 1),
            "fact": _has_fact(piece.text),
            "news": log(1 + len(piece.stems.difference(features.terms))),
            "cut": piece.text.endswith("…"),
            "asks": piece.text.endswith("?") and not (offers and OFFER.search(piece.text)),
        }
        if not features.terms:
            row["telling"] = bool(_TELLING.search(piece.text))
            row["opening"] = (piece.block == 0) + heading
        rows.append(row)
    for piece, row in zip(read.pieces, rows, strict=True):
        row["covering"] = covering[piece[:2]]
    return rows


def _shared_rarity(terms: dict[str, float], own: Set[str]) -> float:
    """What the terms weigh that a piece has; most pieces have none."""
    if own.isdisjoint(terms):
        return 0.0
    return sum(rare for term, rare in terms.items() if term in own)


@lru_cache(1 << 12)
def _cued(cues: tuple[re.Pattern[str], ...], text: str) -> int:
    """How many of the cues of a question a piece has; a recall reads it several times."""
    small = text.lower()
    return sum(bool(cue.search(text if "(?i)" in cue.pattern else small)) for cue in cues)


@lru_cache(1 << 12)
def _has_fact(text: str) -> bool:
    return bool(_FACT.search(text))


def score(row: dict[str, float]) -> float:
    return sum(WEIGHTS[name] * value for name, value in row.items())


def embedded(
    question: str, read: Read, rows: Sequence[dict[str, float]], embed: Callable[[list[str]], Any]
) -> dict[int, Any]:
    """Vectors of the best pieces; adds the similarity to the question to `rows`."""
    room = EMBEDDED
    texts = [question]
    which: list[int] = []
    for n in sorted(range(len(rows)), key=lambda n: (-score(rows[n]), n)):
        piece = read.pieces[n]
        block = read.block(piece)
        texts.append(piece.text if piece.n == 0 else block.text[: block.lead] + piece.text)
        which.append(n)
        room -= estimate(texts[-1])
        if room < 0:
            break
    vectors = embed(texts)
    near = dict(zip(which, (vectors[1:] @ vectors[0]).tolist(), strict=True))
    least = min(near.values(), default=0.0)
    nearest: dict[tuple[int, int], float] = {}
    for n, value in near.items():
        place = read.pieces[n][:2]
        nearest[place] = max(value, nearest.get(place, least))
    for n, (piece, row) in enumerate(zip(read.pieces, rows, strict=True)):
        row["near"] = near.get(n, least)
        row["nearest"] = nearest.get(piece[:2], least)
    return dict(zip(which, vectors[1:], strict=True))


def _features(question: str, pieces: Sequence[Piece]) -> tuple[Features, list[list[str]]]:
    """The features of a question, and which of its names each piece contains."""
    every = dict.fromkeys(map(str.lower, _NAMED.findall(question)))
    names_by_piece: list[list[str]] = []
    for piece in pieces:
        small = piece.text.lower() if every else ""
        names_by_piece.append([name for name in every if _has_name(small, name)])
    had = {term: sum(term in piece.stems for piece in pieces) for term in stems(question)}
    names = {name: sum(name in some for some in names_by_piece) for name in every}
    cues = tuple(line for asks, line in CUES if asks.search(question.lower()))
    if _BEGINS_WHEN.match(question):  # it asks for a time only
        cues = cues[:1]
    features = Features(
        {term: _rarity(count, len(pieces)) for term, count in had.items() if count},
        {name: _rarity(count, len(pieces)) for name, count in names.items() if count},
        {name for name, count in names.items() if 0 < count <= FEW},
        cues,
        frozenset(stems(" ".join(_CAPITAL.findall(question)))),
    )
    return features, names_by_piece


def _has_name(text: str, name: str) -> bool:
    """Does a text have a name that is no part of a longer word?"""
    at = text.find(name)
    while at >= 0:
        around = text[at - 1 : at] + text[at + len(name) : at + len(name) + 1]
        if not any(sign.isalnum() or sign == "_" for sign in around):
            return True
        at = text.find(name, at + 1)
    return False


def _rarity(count: int, total: int) -> float:
    return log(1 + (total - count + 0.5) / (count + 0.5))


def stems_above(title: str, own_blocks: Iterable[Block]) -> list[frozenset[str]]:
    """The stems of the title, the headings and the lead-in that each block stands under."""
    heads = {0: frozenset(stems(title))}
    now = heads[0]
    above = []
    lead_in: frozenset[str] = frozenset()
    led = 0
    for block in own_blocks:
        if block.kind != "heading":
            above.append(now | lead_in if led else now)
            led = max(0, led - 1)
            if block.text.endswith(":"):
                lead_in = frozenset(stems(block.text))
                led = LED
            continue
        led = 0
        level = len(block.text) - len(block.text.lstrip("#")) or 7
        heads = {deep: head for deep, head in heads.items() if deep < level}
        above.append(frozenset())  # headings do not inherit from other headings
        heads[level] = frozenset(stems(block.text))
        now = frozenset().union(*heads.values())
    return above


def _placed(question: str, passages: Sequence[Passage]) -> list[dict[str, float]]:
    """The signals of each passage by rank and time; passages close in time raise each other."""
    times = [_minutes(passage.at) for passage in passages]
    # The months that the question names, each with a day or 0; `may` alone is a verb.
    dates = {(int(month), int(day or 0)) for month, day in _ISO.findall(question)}
    for day, month, last in _DATE.findall(question):
        dates.add((_MONTHS.index(month.lower()) + 1, int(day or last or 0)))
    rows = []
    for n, (passage, time) in enumerate(zip(passages, times, strict=True)):
        together = answer = 0.0
        for other, then in enumerate(times[:CLOSEST]):
            if other == n or not abs(time - then) <= MINUTES:  # a missing time is nan
                continue
            together += 1 / (other + 1)
            if 0 < time - then <= MINUTES / 2 and "?" in passages[other].text:
                answer = max(answer, 1 / (other + 1))
        row = {"rank": log(n + 1), "first": 1 / (n + 1)}
        row |= {"together": min(1.0, together), "answer": answer, "worth": passage.worth}
        rows.append(row | {"dated": _dated(passage.at, dates)})
    return rows


def _minutes(at: str) -> float:
    try:
        return timestamp(at) / 60 if at else float("nan")
    except (ValueError, OverflowError, OSError):
        return float("nan")


def _dated(at: str, dates: set[tuple[int, int]]) -> float:
    """2 on one of the days, 1 in one of the months, 0 in the month after, else -1."""
    if not dates or not at[5:7].isdigit():
        return 0.0
    month = int(at[5:7])
    day = int(at[8:10]) if at[8:10].isdigit() else -1
    if (month, day) in dates:
        return 2.0
    months = {named_month for named_month, _ in dates}
    return 1.0 if month in months else 0.0 if (month - 2) % 12 + 1 in months else -1.0
