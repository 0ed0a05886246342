"""A digest without a model: the lines of what was found that bear on the question, cited."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import islice
from math import log
from typing import TYPE_CHECKING, Any, NamedTuple

from kinen.entries import Digest
from kinen.errors import EmbedError, QueryError
from kinen.recall.relevance import RELATIVE, WHEN, Piece, embedded, score, signals
from kinen.recall.sentences import LARGEST, blocks, stems
from kinen.text import QUARTERS, estimate, excerpt, weight

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kinen.entries import Passage
    from kinen.recall.sentences import Block

    Embed = Callable[[list[str]], Any]
    Place = tuple[int, int]

READ = 20_000
"""Blocks that are read at most; each passage may be read as far as its share of them."""
HALF = 0.5
"""A short block is quoted by this share of its words at least: one sentence alone may mislead."""
REST = -0.5
"""What the rest of a block that is quoted already is worth less."""
REPEATED, ALIKE = 4.0, 0.8
"""What a piece loses that says again what is there, and from what likeness on."""
REMEMBERED = 50
"""The pieces chosen last, which the next must differ from."""
SPREAD, TAKEN, FREE = 0.5, 200, 200
TITLE = 60


class Unit(NamedTuple):
    """Pieces of one block that are chosen together."""

    loss: float
    """The less, the better."""
    members: tuple[int, ...]
    base: float


def extract(
    question: str, passages: Sequence[Passage], budget: int, embed: Embed | None = None
) -> Digest:
    """What passages, best first, say to a question, in at most `budget` tokens.

    The same passages give the same bytes. Without a question it is what tells the most.
    """
    if budget < 1:
        raise QueryError(f"a budget of {budget} tokens holds nothing", "use --budget 1 or more")
    given = [one for one in dict.fromkeys(passages) if one.text.strip()]
    size = sum(estimate(one.text) for one in given)
    lines = [(one, line) for one in given for line in one.text.strip("\r\n").rstrip().splitlines()]
    notes: list[str] = []
    if estimate(_listed(question, lines)) > budget:
        lines, notes = _distilled(question, given, budget, embed)
    text = _listed(question, lines)
    refs = tuple(dict.fromkeys(one.ref for one, _ in lines))
    return Digest(text, "extract", refs, size, estimate(text), notes=tuple(notes))


def _distilled(
    question: str, passages: Sequence[Passage], budget: int, embed: Embed | None
) -> tuple[list[tuple[Passage, str]], list[str]]:
    """The lines to be shown, and what there is to say about the others."""
    cut, pieces = _read(passages)
    rows = signals(question, passages, cut, pieces)
    notes: list[str] = []
    vectors: dict[int, Any] = {}
    if embed and stems(question):
        try:
            vectors = embedded(question, cut, pieces, rows, embed)
        except EmbedError as error:
            notes.append(f"by words only: {error}")
    units = _units(cut, pieces, [score(row) for row in rows])
    heads = [weight(f"- {_head(question, one)}") for one in passages]
    room = budget * QUARTERS
    chosen = _chosen(passages, cut, pieces, units, vectors, heads, room)
    lines = [(passages[p], cut[p][b].quoted(some)) for (p, b), some in sorted(chosen.items())]
    if not lines:
        lines = _shortened(passages, cut, pieces, units, heads, room)
    kept, cited = sum(map(len, chosen.values())), len({one.ref for one, _ in lines})
    records = len({one.ref for one in passages})
    notes.append(
        f"left out: {len(pieces) - kept:,} of {len(pieces):,} sentences and lines, "
        f"{records - cited:,} of {records:,} records"
    )
    return lines, notes


def _read(passages: Sequence[Passage]) -> tuple[list[list[Block]], list[Piece]]:
    """The blocks of each passage, and their pieces."""
    share = max(100, READ // max(1, len(passages)))
    cut, pieces = [], []
    for p, passage in enumerate(passages):
        found = list(islice(blocks(passage.text), share))
        places = ((b, n, text) for b, one in enumerate(found) for n, text in enumerate(one.pieces))
        pieces += [
            Piece(p, b, n, text, frozenset(stems(text))) for b, n, text in islice(places, share)
        ]
        cut.append(found)
    return cut, pieces


# Choosing


def _units(
    cut: Sequence[Sequence[Block]], pieces: Sequence[Piece], scores: Sequence[float]
) -> list[Unit]:
    """What is chosen at a time: a piece, or of a short block the best ones that make up half."""
    places: dict[Place, list[int]] = {}
    for n, piece in enumerate(pieces):
        places.setdefault(piece[:2], []).append(n)
    found = []
    for (p, b), members in places.items():
        order = sorted(members, key=lambda n: (-scores[n], n))
        core = 1
        if len(members) > 1 and weight(cut[p][b].text) <= LARGEST:
            every = frozenset().union(*(pieces[n].stems for n in members))
            known = pieces[order[0]].stems
            while len(known) < HALF * len(every):
                known |= pieces[order[core]].stems
                core += 1
        found.append(Unit(-scores[order[0]], tuple(order[:core]), -scores[order[0]]))
        found += [Unit(-scores[n] - REST, (n,), -scores[n] - REST) for n in order[core:]]
    return found


def _chosen(
    passages: Sequence[Passage],
    cut: Sequence[Sequence[Block]],
    pieces: Sequence[Piece],
    units: Sequence[Unit],
    vectors: dict[int, Any],
    heads: Sequence[int],
    room: int,
) -> dict[Place, set[int]]:
    """The best that fit, in order; what says the same again comes later."""
    chosen: dict[Place, set[int]] = {}
    cited: set[str] = set()
    told: list[tuple[int, ...]] = []
    heap = list(units)
    heapify(heap)
    taken = [0] * len(passages)
    while heap and room > QUARTERS:
        unit = heappop(heap)
        p, b = place = pieces[unit.members[0]][:2]
        have = chosen.get(place, set())
        more = have | {pieces[n].n for n in unit.members}
        cost = weight(cut[p][b].quoted(more)) - (weight(cut[p][b].quoted(have)) if have else 0)
        cost += 0 if passages[p].ref in cited else heads[p]
        if cost > room:
            continue
        alike = _likeness(pieces, vectors, unit.members, told)
        loss = unit.base + REPEATED * max(0.0, alike - ALIKE) / (1 - ALIKE) + SPREAD * log(1 + max(0, taken[p] - FREE) / TAKEN)
        if heap and loss > unit.loss and loss > heap[0].loss:
            heappush(heap, Unit(loss, unit.members, unit.base))
            continue
        chosen[place] = more
        cited.add(passages[p].ref)
        told = [*told[1 - REMEMBERED :], unit.members]
        room -= cost
        taken[p] += cost
    return chosen


def _likeness(
    pieces: Sequence[Piece],
    vectors: dict[int, Any],
    members: tuple[int, ...],
    told: Iterable[tuple[int, ...]],
) -> float:
    """How much of some pieces was said by those chosen before: by words, and by meaning."""
    own = frozenset().union(*(pieces[n].stems for n in members))
    most = 0.0
    for some in told:
        said = frozenset().union(*(pieces[n].stems for n in some))
        most = max(most, len(own & said) / (len(own) or 1))
        if members[0] in vectors and some[0] in vectors:
            most = max(most, float(vectors[members[0]] @ vectors[some[0]]))
    return most


def _shortened(
    passages: Sequence[Passage],
    cut: Sequence[Sequence[Block]],
    pieces: Sequence[Piece],
    units: Sequence[Unit],
    heads: Sequence[int],
    room: int,
) -> list[tuple[Passage, str]]:
    """The beginning of the best piece whose citation leaves room for some of it."""
    for unit in sorted(units):
        p, b = pieces[unit.members[0]][:2]
        text = cut[p][b].quoted({pieces[n].n for n in unit.members})
        left = room - heads[p]
        while text and weight(f"{text} …") > left:
            text = text[: max(0, len(text) * left // weight(f"{text} …"))]
            text = text.rsplit(" ", 1)[0]
        if any(map(str.isalnum, text)):
            return [(passages[p], f"{text} …")]
    return []


# Showing


def _head(question: str, passage: Passage) -> str:
    """How a passage is cited: its ref, its day where that matters, its title if that tells more."""
    told = [f"[{passage.ref}]"]
    if passage.at and (WHEN.search(question) or RELATIVE.search(passage.text)):
        told.append(passage.at[:10])
    title = excerpt(passage.title, TITLE)
    if set(stems(title)).difference(stems(f"{passage.ref} {passage.text}")):
        told.append(title)
    return " ".join(" ".join(told).split())


def _listed(question: str, lines: Iterable[tuple[Passage, str]]) -> str:
    """An item for each record, its lines indented, so that no structure of theirs breaks out."""
    groups: dict[str, tuple[Passage, list[str]]] = {}
    for passage, line in lines:
        groups.setdefault(passage.ref, (passage, []))[1].append(line)
    made = []
    for passage, found in groups.values():
        head = _head(question, passage)
        if len(found) == 1:
            made.append(f"- {found[0].strip()} {head}")
        else:
            made += [f"- {head}", *(f"  {line}".rstrip() for line in found)]
    return "\n".join(made)
