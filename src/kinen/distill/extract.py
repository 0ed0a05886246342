"""A digest without a model: the lines of what was found that bear on the question, cited."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import islice
from math import inf, log
from typing import TYPE_CHECKING, Any, NamedTuple

from kinen.distill.blocks import LARGEST, blocks, stems
from kinen.distill.relevance import RELATIVE, WHEN, Piece, Read, embedded, score, signals
from kinen.errors import EmbedError, QueryError
from kinen.model.journal import Digest
from kinen.privacy import entrance
from kinen.text import QUARTERS, estimate, excerpt, weight

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kinen.distill.blocks import Block
    from kinen.model.journal import Passage

    Embed = Callable[[list[str]], Any]
    Heads = dict[str, list[str]]
    Place = tuple[int, int]

READ, PASSAGES = 5_000, 200
"""Pieces and passages that are read; a passage is read as far as its share of pieces goes."""
HALF = 0.5
"""A short block is quoted by this share of its words at least: one sentence alone may mislead."""
REST = 0.5
"""What the rest of a short block loses once half of it is quoted."""
REPEATED, ALIKE = 4.0, 0.8
"""What a piece loses that says again what is there, and the likeness from which on it does."""
REMEMBERED = 50
"""The choices made last, which the next must differ from."""
SPREAD, FREE = 0.5, 200
"""What the next piece of a passage loses, and the quarters of a token that are free."""
TITLE, NEAR = 60, 4_000
"""Characters of a title, and of a passage in which a day or the title is looked for."""
_SIGN = weight("…")


class Unit(NamedTuple):
    """Pieces of one block that are chosen together; the least loss comes first."""

    loss: float
    members: tuple[int, ...]
    late: bool = False
    """Whether it says again what is there, and has lost for it."""


def extract(
    question: str, passages: Sequence[Passage], budget: int, embed: Embed | None = None
) -> Digest:
    """What passages, best first, say to a question, in at most `budget` tokens.

    The same passages give the same bytes. Without a question it is what tells the most.
    """
    if budget < 1:
        raise QueryError(f"{budget} tokens hold nothing", "use 1 or more", parameter="budget")
    given = [one for one in dict.fromkeys(passages) if one.text.strip()]
    size, notes = sum(estimate(one.text) for one in given), list[str]()
    heads = {one.ref: _head(question, one) for one in reversed(given)}
    lines: list[tuple[str, str]] = []
    text = ""
    if size <= budget + len(given):  # else it is too much for sure: each was rounded up
        lines = [(one.ref, line) for one in given for line in one.text.strip("\r\n").splitlines()]
        text = _listed(heads, lines)
    if given and (not lines or estimate(text) > budget):
        lines, notes = _distilled(question, given, heads, budget, embed)
        text = _listed(heads, lines)
    refs = tuple(dict.fromkeys(ref for ref, _ in lines))
    text = entrance.name(text)
    return Digest(text, "extract", refs, size, estimate(text), notes=tuple(notes))


def choose(
    question: str, passages: Sequence[Passage], heads: Heads, budget: int
) -> list[tuple[str, str]]:
    """The lines of passages that say the most to a question, each with its ref.

    `heads` are what is shown beside the lines of a ref: they are paid from the budget too.
    """
    return _distilled(question, passages, heads, budget, None)[0]


def _distilled(
    question: str, given: Sequence[Passage], heads: Heads, budget: int, embed: Embed | None
) -> tuple[list[tuple[str, str]], list[str]]:
    """The lines to be shown, each with its ref, and what there is to say about the others."""
    read = _read(given[:PASSAGES])
    rows = signals(question, read)
    notes: list[str] = []
    vectors: dict[int, Any] = {}
    if embed and stems(question):
        try:
            vectors = embedded(question, read, rows, embed)
        except EmbedError as error:
            notes.append(f"by words only: {error}")
    units, room = _units(read, [score(row) for row in rows]), budget * QUARTERS
    costs = {ref: weight(" ".join(["-", *head])) for ref, head in heads.items()}
    chosen = _chosen(read, units, vectors, costs, room)
    lines = [(given[p].ref, read.cut[p][b].quoted(some)) for (p, b), some in sorted(chosen.items())]
    lines = lines or _shortened(read, units, costs, room)
    kept, every = sum(map(len, chosen.values())), len(read.pieces)
    cited = len({ref for ref, _ in lines})
    notes.append(
        f"left out: {every - kept:,} of {every:,} sentences and lines, "
        f"{len(heads) - cited:,} of {len(heads):,} records"
    )
    return lines, notes


def _read(passages: Sequence[Passage]) -> Read:
    """What there is to quote; of very long passages only the beginning."""
    share = READ // max(1, len(passages))
    cut, pieces = [], []
    for p, passage in enumerate(passages):
        found = list(islice(blocks(passage.text), share))
        places = ((b, n, text) for b, one in enumerate(found) for n, text in enumerate(one.pieces))
        pieces += [
            Piece(p, b, n, text, frozenset(stems(text)), weight(text))
            for b, n, text in islice(places, share)
        ]
        cut.append(found)
    return Read(passages, cut, pieces)


# Choosing


def _units(read: Read, scores: Sequence[float]) -> list[Unit]:
    """What is chosen at a time: a piece, or of a short block the best ones that make up half."""
    places: dict[Place, list[int]] = {}
    for n, piece in enumerate(read.pieces):
        places.setdefault(piece[:2], []).append(n)
    found = []
    for members in places.values():
        order, core, rest = sorted(members, key=lambda n: (-scores[n], n)), 1, 0.0
        if len(members) > 1 and sum(read.pieces[n].weight for n in members) <= LARGEST:
            least, rest = HALF * len(_said(read, members)), REST
            while len(_said(read, order[:core])) < least:
                core += 1
        found.append(Unit(-scores[order[0]], tuple(order[:core])))
        found += [Unit(rest - scores[n], (n,)) for n in order[core:]]
    return _spread(read, sorted(found))


def _spread(read: Read, units: Iterable[Unit]) -> list[Unit]:
    """The more of a passage comes before a unit, the more it loses: others have a word too."""
    before = [0] * len(read.passages)
    found = []
    for unit in units:
        passage = read.pieces[unit.members[0]].passage
        lost = SPREAD * log(max(1.0, before[passage] / FREE))
        found.append(unit._replace(loss=unit.loss + lost))
        before[passage] += sum(read.pieces[n].weight for n in unit.members)
    return found


def _chosen(
    read: Read,
    units: Iterable[Unit],
    vectors: Mapping[int, Any],
    costs: Mapping[str, int],
    room: int,
) -> dict[Place, set[int]]:
    """The best that fit; what says the same again comes later."""
    chosen: dict[Place, set[int]] = {}
    cited: set[str] = set()
    told: list[tuple[int, frozenset[str]]] = []
    heap = list(units)
    heapify(heap)
    while heap and room > QUARTERS and heap[0].loss < inf:
        unit = heappop(heap)
        some = [read.pieces[n] for n in unit.members]
        ref, have = read.passages[some[0].passage].ref, chosen.get(some[0][:2], set())
        cost = _cost(read.block(some[0]), have, some)
        cost += 0 if ref in cited else costs[ref]
        if cost > room:
            for place, n in enumerate(unit.members if len(some) > 1 else ()):
                heappush(heap, Unit(unit.loss + REST * place, (n,)))  # if not half, then some
            continue
        said = _said(read, unit.members)
        alike = 0.0 if unit.late else _likeness(unit.members[0], said, told, vectors)
        if alike > ALIKE:
            lost = REPEATED * (alike - ALIKE) / (1 - ALIKE)
            heappush(heap, Unit(unit.loss + lost, unit.members, late=True))
            continue
        chosen[some[0][:2]] = have | {piece.n for piece in some}
        cited.add(ref)
        told = [*told[1 - REMEMBERED :], (unit.members[0], said)]
        room -= cost
    return chosen


def _cost(block: Block, have: set[int], more: Iterable[Piece]) -> int:
    """What pieces add to the weight of a quotation, with the signs for what is left out."""
    lead, now, cost = weight(block.text[: block.lead]), set(have), 0
    for piece in more:
        beside = [n for n in (piece.n - 1, piece.n + 1) if 0 <= n < len(block.spans)]
        gaps = sum(n not in now for n in beside) - bool(now)
        cost += piece.weight + gaps * _SIGN
        cost += 0 if now and piece.n else lead if piece.n else -lead if now else 0
        now.add(piece.n)
    return cost


def _likeness(
    n: int,
    said: frozenset[str],
    told: Iterable[tuple[int, frozenset[str]]],
    vectors: Mapping[int, Any],
) -> float:
    """How much of a piece was said by those chosen before: by words, or by meaning."""
    most = 0.0
    for other, known in told:
        most = max(most, len(said & known) / (len(said) or 1))
        if n in vectors and other in vectors:
            most = max(most, float(vectors[n] @ vectors[other]))
    return most


def _said(read: Read, members: Sequence[int]) -> frozenset[str]:
    if len(members) == 1:
        return read.pieces[members[0]].stems
    return frozenset().union(*(read.pieces[n].stems for n in members))


def _shortened(
    read: Read, units: Iterable[Unit], costs: Mapping[str, int], room: int
) -> list[tuple[str, str]]:
    """The beginning of the best piece whose citation leaves room for some of it."""
    for unit in sorted(units):
        first = read.pieces[unit.members[0]]
        ref = read.passages[first.passage].ref
        text = read.block(first).quoted({read.pieces[n].n for n in unit.members})
        left = room - costs[ref]
        while text and weight(f"{text} …") > left:
            text = text[: max(0, len(text) * left // weight(f"{text} …"))]
            text = text.rsplit(" ", 1)[0]
        if any(map(str.isalnum, text)):
            return [(ref, f"{text} …")]
    return []


# Showing


def _head(question: str, passage: Passage) -> list[str]:
    """How a record is cited: by its ref, with its day where that matters; its title if it tells."""
    cited = [f"[{passage.ref}]"]
    told = passage.text[:NEAR]
    if WHEN.search(question) or RELATIVE.search(told) or not question.strip():
        cited.append(passage.at[:10])
    title = excerpt(passage.title, TITLE)
    telling = set(stems(title)).difference(stems(f"{passage.ref} {told}")) if title else ()
    return [" ".join(" ".join(cited).split()), *([title] if telling else [])]


def _listed(heads: Heads, lines: Iterable[tuple[str, str]]) -> str:
    """An item for each record, its lines indented, so that no structure of theirs breaks out."""
    groups: Heads = {}
    for ref, line in lines:
        groups.setdefault(ref, heads[ref][:]).append(line)
    made = []
    for cited, *told in groups.values():
        if len(told) == 1:
            made.append(f"- {told[0].strip()} {cited}")
        else:
            made += [f"- {cited}", *(f"  {line}".rstrip() for line in told)]
    return "\n".join(made)
