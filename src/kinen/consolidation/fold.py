"""Turns findings into memories: repeated claims are merged, newer decisions supersede older.

Pure and deterministic: the order of the findings does not matter, and folding them again
changes nothing. Rules and measurements: docs/decisions/0010-consolidation.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kinen.consolidation.claims import (
    HALF,
    MOST,
    Claim,
    Claims,
    claim,
    is_specific,
    opposed,
    overlap,
    revised,
    share,
    without_reason,
)
from kinen.model.journal import Clock, Finding, Learned
from kinen.model.tuples import NamedTuple
from kinen.text import digest, words

Embed = Callable[[Sequence[str]], Any]
"""Texts to unit vectors."""


NEAR = 0.8
"""The cosine from which two claims count as the same."""
_TOPIC = 12
"""Digits of an id that name its topic: memories on one topic begin alike."""
_FACTS = frozenset({"insight", "lesson"})
_ROUNDS = 9
"""The maximum number of folding passes; two are usual."""
ALIKE = 0.6
"""Share of common terms from which two memories may be the same."""


class Folded(NamedTuple):
    """The result of folding."""

    learned: tuple[Learned, ...]
    """The memories that are new or changed, oldest first."""
    below: int = 0
    """The number of findings below the confidence threshold."""


def fold(
    findings: Iterable[Finding],
    memories: Iterable[Learned] = (),
    *,
    threshold: float = 0.7,
    embed: Embed | None = None,
) -> Folded:
    """Fold findings into all existing memories, including the hidden and the forgotten.

    Every finding above the threshold ends in a memory that lists its sources, unless that memory
    was forgotten or redacted.
    """
    candidates = list(findings)
    confident = {finding for finding in candidates if finding.confidence >= threshold}
    sure = sorted(confident, key=_order)
    before = now = {memory.id: memory for memory in memories}
    contents = {finding.content for finding in sure}
    contents |= {memory.content for memory in now.values()}
    claims = {text: claim(text) for text in sorted(contents)}
    near = _near(claims, embed) if embed else frozenset[tuple[str, str]]()
    for _ in range(_ROUNDS):  # a source that was added late may settle an earlier finding
        after = _Shelf(now.values(), sure, claims, near).fill()
        if after == now:
            break
        now = after
    changed = [memory for memory in now.values() if before.get(memory.id) != memory]
    changed.sort(key=lambda memory: (memory.created_at, memory.id))
    return Folded(tuple(changed), sum(finding.confidence < threshold for finding in candidates))


def memory_id(type_: str, content: str, topic: str = "", after: str = "") -> str:
    """The stable id of a memory; `after` is the id of the memory that superseded it before it was
    decided again.
    """
    about = _normal(topic) or _normal(content)
    return digest(about)[:_TOPIC] + digest(f"{type_}\n{_normal(content)}\n{after}")[_TOPIC:]


def _normal(text: str) -> str:
    return " ".join(words(text.casefold()))


def _order(finding: Finding) -> tuple[Any, ...]:
    return _milliseconds(finding.at), finding.sources, finding.content, finding


def _milliseconds(at: str) -> int:
    from datetime import UTC, datetime

    try:
        when = datetime.fromisoformat(at)
    except ValueError:
        return 0
    return max(0, round((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000))


class _Book(NamedTuple):
    """A memory during folding."""

    learned: Learned
    claim: Claim
    last: int
    """The latest time it was stated, in milliseconds."""


class _Shelf:
    """The existing and new memories, by id."""

    def __init__(
        self,
        memories: Iterable[Learned],
        sure: list[Finding],
        claims: dict[str, Claim],
        near: frozenset[tuple[str, str]],
    ) -> None:
        self._sure = sure
        self._claim_of = claims
        self._near = near
        self._drawn: defaultdict[str, list[Claim]] = defaultdict(list)
        for finding in sure:
            for source in finding.sources:
                self._drawn[source].append(claims[finding.content])
        self._books: dict[str, _Book] = {}
        self._claims = Claims()
        for memory in memories:
            self._put(memory)
        for finding in sure:  # a memory restated later than a rival is not superseded by it
            book = _covering(finding, self._alike(finding))
            if book:
                last = max(book.last, _milliseconds(finding.at))
                self._books[book.learned.id] = book._replace(last=last)

    def fill(self) -> dict[str, Learned]:
        """Put every finding into a memory, and return the memories by id."""
        for finding in self._sure:
            self._take(finding)
        return {id_: book.learned for id_, book in self._books.items()}

    def _take(self, finding: Finding) -> None:
        """Merge a finding into the memory with the same claim, or create a memory."""
        at = _milliseconds(finding.at)
        # The memory that a finding belongs to: a memory that already has its sources, else the
        # oldest that was not superseded before.
        alike = self._alike(finding)
        held = (book for book in alike if not self._given_up(book.learned, at))
        book = _covering(finding, alike) or next(held, None) or self._create(finding, at)
        was = book.learned
        if was.forgotten_at or was.redacted:
            return
        now = was._replace(
            derived_from=tuple(dict.fromkeys((*was.derived_from, *finding.sources))),
            confidence=max(was.confidence, finding.confidence),
            created_at=min(was.created_at, at),
        )
        newer = self._books.get(was.superseded_by)
        if newer and self._stale(newer.learned):
            now = now._replace(superseded_by="")
        self._books[was.id] = book._replace(learned=now, last=max(book.last, at))
        if not now.superseded_by:
            self._supersede(was.id, finding, at)

    def _put(self, memory: Learned) -> _Book:
        book = _Book(memory, self._claim_of[memory.content], memory.created_at)
        self._books[memory.id] = book
        self._claims.add(memory.id, book.claim)
        return book

    def _create(self, finding: Finding, at: int) -> _Book:
        id_ = memory_id(finding.type, finding.content, finding.topic)
        if id_ in self._books:  # it was superseded, and is decided again
            after = self._books[id_].learned.superseded_by
            id_ = memory_id(finding.type, finding.content, finding.topic, after)
        memory = Learned(
            id_, finding.type, finding.content, finding.confidence, at, finding.sources
        )
        return self._books.get(id_) or self._put(memory)

    def _alike(self, finding: Finding) -> list[_Book]:
        """The memories with the same claim; a literal match comes first."""
        exact = self._books.get(memory_id(finding.type, finding.content, finding.topic))
        same = (book for book in self._beside(finding.content) if self._same(book, finding.content))
        return [*([exact] if exact else ()), *same]

    def _beside(self, content: str) -> list[_Book]:
        books = [self._books[id_] for id_ in self._claims.beside(self._claim_of[content])]
        return sorted(books, key=lambda book: (book.learned.created_at, book.learned.id))

    def _same(self, book: _Book, content: str) -> bool:
        common = share(book.claim, self._claim_of[content])
        first, second = sorted((book.learned.content, content))
        return common >= MOST or (common >= HALF and (first, second) in self._near)

    def _given_up(self, memory: Learned, at: int) -> bool:
        newer = self._books.get(memory.superseded_by)
        return newer is not None and newer.last < at

    def _supersede(self, id_: str, finding: Finding, at: int) -> None:
        """Mark the memories that the finding supersedes, or its own memory if a later one does."""
        for book in self._beside(finding.content):
            mine = self._books[id_]
            other = book.learned
            if other.superseded_by or not self._rivals(mine.learned, other):
                continue
            later = (book.last, other.derived_from) > (at, finding.sources)
            newer, older = (book, mine) if later else (mine, book)
            if self._takes_back(finding.topic, older, newer):
                old = older.learned._replace(superseded_by=newer.learned.id)
                self._books[old.id] = older._replace(learned=old)
                if later:
                    return

    def _takes_back(self, topic: str, older: _Book, newer: _Book) -> bool:
        """Does the newer of two memories contradict the older?

        A fact does so only if it denies the other, or gives the same thing another value: two
        answers may both be true. Values of the same moment stand side by side.
        """
        if newer.last > older.last and revised(older.claim, newer.claim):
            return True
        opposite = opposed(older.claim, newer.claim)
        if {older.learned.type, newer.learned.type} & _FACTS:
            return opposite and older.claim.negative != newer.claim.negative
        return opposite or _same_question(topic, older.learned, newer.learned)

    def _rivals(self, mine: Learned, other: Learned) -> bool:
        """Whether two memories may supersede each other: claims of the same record may not."""
        common = share(self._claim_of[mine.content], self._claim_of[other.content])
        if mine.id == other.id or common >= HALF:
            return False
        return not {*mine.derived_from} & {*other.derived_from} or self._stale(other)

    def _stale(self, memory: Learned) -> bool:
        """Whether all sources of a memory were read and none states its claim any more."""
        claims = [self._drawn.get(source) for source in memory.derived_from] or [None]
        mine = self._claim_of[memory.content]
        return all(claims) and not any(
            share(mine, other) >= HALF for group in claims for other in group or ()
        )


def _covering(finding: Finding, alike: list[_Book]) -> _Book | None:
    covering = (book for book in alike if {*finding.sources} <= {*book.learned.derived_from})
    return next(covering, None)


def _same_question(topic: str, mine: Learned, other: Learned) -> bool:
    """Whether two memories answer the same question, and the question is specific."""
    if not mine.id[:_TOPIC] == other.id[:_TOPIC] == memory_id("", "", topic)[:_TOPIC]:
        return False
    homes = [{ref.rpartition("/")[0] for ref in memory.derived_from} for memory in (mine, other)]
    return is_specific(topic, 1 if homes[0] & homes[1] - {""} else 2)


def _near(claim_of: dict[str, Claim], embed: Embed) -> frozenset[tuple[str, str]]:
    """The pairs with similar wording whose vectors show that they are the same."""
    claims = Claims()
    doubtful: list[tuple[str, str]] = []
    for text, mine in claim_of.items():
        for other in claims.beside(mine):
            doubtful += [(other, text)] if HALF <= share(mine, claim_of[other]) < MOST else []
        claims.add(text, mine)
    texts = sorted({text for pair in doubtful for text in pair})
    vectors = dict(zip(texts, embed([*map(without_reason, texts)]), strict=True)) if texts else {}
    return frozenset((a, b) for a, b in doubtful if vectors[a] @ vectors[b] >= NEAR)


def tick(clock: Clock, similarity: float, precision: float, threshold: float) -> tuple[Clock, bool]:
    """The clock after a new item, and whether it is time to consolidate.

    `similarity` is its similarity to the existing memories, `precision` its confidence.
    """
    surprise = clock.accumulated + precision * (1 - min(1.0, max(0.0, similarity))) ** 2
    return (
        (Clock(clock.epoch + 1), True)
        if surprise > threshold
        else (Clock(clock.epoch, surprise), False)
    )


def nearness(
    texts: Sequence[str], existing: Sequence[str], embed: Embed | None = None
) -> list[float]:
    """The similarity of each text to the nearest existing text, from 0 to 1."""
    if not texts or not existing:
        return [0.0] * len(texts)
    if embed:
        scores = embed(texts) @ embed(existing).T
        return [min(1.0, max(0.0, float(best))) for best in scores.max(axis=1)]
    claims = [claim(text) for text in existing]
    return [max(overlap(claim(text), other) for other in claims) for text in texts]


class Rivals(NamedTuple):
    """Two memories, the older first."""

    older: Learned
    newer: Learned
    contradict: bool
    """Whether the newer contradicts the older; otherwise they say much the same."""


def rivals(memories: Sequence[Learned]) -> list[Rivals]:
    """Pairs among memories that hold, contradictions first."""
    holding = sorted(
        (memory for memory in memories if not memory.superseded_by and not memory.redacted),
        key=lambda memory: (memory.created_at, memory.id),
    )
    entries: dict[str, tuple[Learned, Claim]] = {}
    claims = Claims()
    pairs = []
    for newer in holding:
        mine = claim(newer.content)
        for key in claims.beside(mine):
            older, other = entries[key]
            if opposed(other, mine) or revised(other, mine):
                pairs.append(Rivals(older, newer, contradict=True))
            elif share(mine, other) >= ALIKE:
                pairs.append(Rivals(older, newer, contradict=False))
        entries[newer.id] = (newer, mine)
        claims.add(newer.id, mine)
    return sorted(pairs, key=lambda pair: not pair.contradict)
