"""Makes memories of findings: the same said twice is one, what was decided anew supersedes.

Pure and deterministic: the order of the findings does not matter, and to fold them once more
changes nothing. The rules, and what they were measured on: docs/decisions/0010-consolidation.md.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from kinen.consolidation.claims import (
    HALF,
    MOST,
    Claim,
    Claims,
    claim,
    is_specific,
    opposed,
    overlap,
    share,
    without_reason,
)
from kinen.model.journal import Clock, Learned
from kinen.text import digest, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kinen.model.journal import Finding

    Embed = Callable[[Sequence[str]], Any]
    """Texts to unit vectors."""

NEAR = 0.8
"""The cosine from which on vectors agree that two claims are the same."""
_TOPIC = 12
"""Digits of an id that name its topic: memories on one topic begin alike."""
_FACTS = frozenset({"insight", "lesson"})
_ROUNDS = 9
"""How often folding begins again at most: two are usual."""


class Folded(NamedTuple):
    """What folding came to."""

    learned: tuple[Learned, ...]
    """The memories that are new or changed, oldest first."""
    below: int = 0
    """Findings that were not sure enough."""


def fold(
    findings: Iterable[Finding],
    known: Iterable[Learned] = (),
    *,
    threshold: float = 0.7,
    embed: Embed | None = None,
) -> Folded:
    """Fold findings into what is known; `known` is all of it, hidden and forgotten ones included.

    Every finding that is sure enough ends in a memory that names its sources, unless that memory
    was forgotten or redacted.
    """
    found = list(findings)
    sure = sorted({one for one in found if one.confidence >= threshold}, key=_order)
    before = now = {one.id: one for one in known}
    texts = sorted({*(one.content for one in sure), *(one.content for one in now.values())})
    said = {text: claim(text) for text in texts}
    near = _near(said, embed) if embed else frozenset[tuple[str, str]]()
    for _ in range(_ROUNDS):  # a source that was added late may settle what came before it
        after = _Shelf(now.values(), sure, said, near).taken()
        if after == now:
            break
        now = after
    changed = [one for one in now.values() if before.get(one.id) != one]
    changed.sort(key=lambda one: (one.created_at, one.id))
    return Folded(tuple(changed), sum(one.confidence < threshold for one in found))


def memory_id(type_: str, content: str, topic: str = "", after: str = "") -> str:
    """The id that a memory has wherever it is drawn; `after` is what came between, if it was held,
    given up, and is held again.
    """
    about = _normal(topic) or _normal(content)
    return digest(about)[:_TOPIC] + digest(f"{type_}\n{_normal(content)}\n{after}")[_TOPIC:]


def _normal(text: str) -> str:
    return " ".join(words(text.casefold()))


def _order(one: Finding) -> tuple[Any, ...]:
    return _milliseconds(one.at), one.sources, one.content, one


def _milliseconds(at: str) -> int:
    from datetime import UTC, datetime

    try:
        when = datetime.fromisoformat(at)
    except ValueError:
        return 0
    return max(0, round((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000))


class _Book(NamedTuple):
    """A memory while it is worked on."""

    learned: Learned
    claim: Claim
    last: int
    """When it was last said, as far as is known."""


class _Shelf:
    """The memories, known and new, by id."""

    def __init__(
        self,
        known: Iterable[Learned],
        sure: list[Finding],
        said: dict[str, Claim],
        near: frozenset[tuple[str, str]],
    ) -> None:
        self._sure, self._said, self._near = sure, said, near
        self._drawn: defaultdict[str, list[Claim]] = defaultdict(list)
        for finding in sure:
            for source in finding.sources:
                self._drawn[source].append(said[finding.content])
        self._books: dict[str, _Book] = {}
        self._claims = Claims()
        for one in known:
            self._put(one)
        for finding in sure:  # what is restated later than a rival is not superseded by it
            book = _covering(finding, self._alike(finding))
            if book:
                last = max(book.last, _milliseconds(finding.at))
                self._books[book.learned.id] = book._replace(last=last)

    def taken(self) -> dict[str, Learned]:
        """The memories with every finding put into one."""
        for one in self._sure:
            self._take(one)
        return {id_: book.learned for id_, book in self._books.items()}

    def _take(self, one: Finding) -> None:
        """Put a finding into the memory that says so, or make one of it."""
        at = _milliseconds(one.at)
        book = self._holder(one, at) or self._made(one, at)
        was = book.learned
        if was.forgotten_at or was.redacted:
            return
        now = was._replace(
            derived_from=tuple(dict.fromkeys((*was.derived_from, *one.sources))),
            confidence=max(was.confidence, one.confidence),
            created_at=min(was.created_at, at),
        )
        newer = self._books.get(was.superseded_by)
        if newer and self._stale(newer.learned):
            now = now._replace(superseded_by="")
        self._books[was.id] = book._replace(learned=now, last=max(book.last, at))
        if not now.superseded_by:
            self._supersede(was.id, one, at)

    def _put(self, one: Learned) -> _Book:
        book = _Book(one, self._said[one.content], one.created_at)
        self._books[one.id] = book
        self._claims.add(one.id, book.claim)
        return book

    def _made(self, one: Finding, at: int) -> _Book:
        id_ = memory_id(one.type, one.content, one.topic)
        if id_ in self._books:  # it was given up, and is held again
            after = self._books[id_].learned.superseded_by
            id_ = memory_id(one.type, one.content, one.topic, after)
        made = Learned(id_, one.type, one.content, one.confidence, at, one.sources)
        return self._books.get(id_) or self._put(made)

    def _holder(self, one: Finding, at: int) -> _Book | None:
        """The memory that a finding is part of: one that has its sources already, else the oldest
        that was not superseded before.
        """
        alike = self._alike(one)
        held = (book for book in alike if not self._given_up(book.learned, at))
        return _covering(one, alike) or next(held, None)

    def _alike(self, one: Finding) -> list[_Book]:
        """The memories that say the same, first of all in the same words."""
        exact = self._books.get(memory_id(one.type, one.content, one.topic))
        same = (book for book in self._beside(one.content) if self._same(book, one.content))
        return [*([exact] if exact else ()), *same]

    def _beside(self, content: str) -> list[_Book]:
        books = [self._books[id_] for id_ in self._claims.beside(self._said[content])]
        return sorted(books, key=lambda book: (book.learned.created_at, book.learned.id))

    def _same(self, book: _Book, content: str) -> bool:
        common = share(book.claim, self._said[content])
        a, b = sorted((book.learned.content, content))
        return common >= MOST or (common >= HALF and (a, b) in self._near)

    def _given_up(self, one: Learned, at: int) -> bool:
        newer = self._books.get(one.superseded_by)
        return newer is not None and newer.last < at

    def _supersede(self, id_: str, one: Finding, at: int) -> None:
        """Mark what the finding decides anew, or what has been decided anew since."""
        for book in self._beside(one.content):
            mine, other = self._books[id_], book.learned
            if other.superseded_by or not self._rivals(mine.learned, other):
                continue
            later = (book.last, other.derived_from) > (at, one.sources)
            newer, older = (book, mine) if later else (mine, book)
            if self._takes_back(one.topic, older, newer):
                old = older.learned._replace(superseded_by=newer.learned.id)
                self._books[old.id] = older._replace(learned=old)
                if later:
                    return

    def _takes_back(self, topic: str, older: _Book, newer: _Book) -> bool:
        """Does the newer of two memories contradict the older?

        A fact does so only if it denies the other: two answers may both be true.
        """
        opposite = opposed(older.claim, newer.claim)
        if {older.learned.type, newer.learned.type} & _FACTS:
            return opposite and older.claim.negative != newer.claim.negative
        return opposite or _asked_again(topic, older.learned, newer.learned)

    def _rivals(self, mine: Learned, other: Learned) -> bool:
        """Whether two memories may take one another back: what one record says does not."""
        common = share(self._said[mine.content], self._said[other.content])
        if mine.id == other.id or common >= HALF:
            return False
        return not {*mine.derived_from} & {*other.derived_from} or self._stale(other)

    def _stale(self, one: Learned) -> bool:
        """Whether its sources, all of which were read, say so no more."""
        said = [self._drawn.get(source) for source in one.derived_from] or [None]
        mine = self._said[one.content]
        return all(said) and not any(
            share(mine, other) >= HALF for those in said for other in those or ()
        )


def _covering(one: Finding, alike: list[_Book]) -> _Book | None:
    named = (book for book in alike if {*one.sources} <= {*book.learned.derived_from})
    return next(named, None)


def _asked_again(topic: str, mine: Learned, other: Learned) -> bool:
    """Whether two memories answer one question, and not one that is asked everywhere."""
    if not mine.id[:_TOPIC] == other.id[:_TOPIC] == memory_id("", "", topic)[:_TOPIC]:
        return False
    homes = [{ref.rpartition("/")[0] for ref in one.derived_from} for one in (mine, other)]
    return is_specific(topic, 1 if homes[0] & homes[1] - {""} else 2)


def _near(said: dict[str, Claim], embed: Embed) -> frozenset[tuple[str, str]]:
    """The pairs that only vectors can tell the same, as far as they do."""
    claims, doubtful = Claims(), list[tuple[str, str]]()
    for text, mine in said.items():
        for other in claims.beside(mine):
            doubtful += [(other, text)] if HALF <= share(mine, said[other]) < MOST else []
        claims.add(text, mine)
    texts = sorted({text for pair in doubtful for text in pair})
    vectors = dict(zip(texts, embed([*map(without_reason, texts)]), strict=True)) if texts else {}
    return frozenset((a, b) for a, b in doubtful if vectors[a] @ vectors[b] >= NEAR)


# The clock of surprise


def tick(clock: Clock, similarity: float, precision: float, threshold: float) -> tuple[Clock, bool]:
    """The clock after something was met, and whether it is time to draw memories.

    `similarity` is how near it is to what is known, `precision` how sure it is.
    """
    met = clock.accumulated + precision * (1 - min(1.0, max(0.0, similarity))) ** 2
    return (Clock(clock.epoch + 1), True) if met > threshold else (Clock(clock.epoch, met), False)


def nearness(texts: Sequence[str], known: Sequence[str], embed: Embed | None = None) -> list[float]:
    """How near each text is to the nearest that is known, from 0 to 1."""
    if not texts or not known:
        return [0.0] * len(texts)
    if embed:
        scores = embed(texts) @ embed(known).T
        return [min(1.0, max(0.0, float(best))) for best in scores.max(axis=1)]
    there = [claim(one) for one in known]
    return [max(overlap(claim(text), other) for other in there) for text in texts]
