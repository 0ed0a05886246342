"""A digest without a model: the relevant lines of the passages, with citations."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import islice
from math import inf, log

from kinen.distill.blocks import LARGEST, Block, blocks, stems
from kinen.distill.relevance import RELATIVE, WHEN, Piece, Read, embedded, score, signals
from kinen.errors import EmbedError, QueryError
from kinen.model.journal import Digest, Passage
from kinen.model.late import Any, lru_cache
from kinen.model.tuples import NamedTuple
from kinen.text import QUARTERS, estimate, excerpt, squeezed, weight

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    Embed = Callable[[list[str]], Any]

Heads = dict[str, list[str]]
Place = tuple[int, int]


READ = 5_000
"""Maximum pieces to read; each passage has an equal share of them."""
PASSAGES = 200
"""Maximum passages to read."""
FEWEST = 4
"""Pieces of the largest size that an excerpt has room for."""
HALF = 0.5
"""Minimum share of a short block's words to quote: a single sentence may mislead."""
REST = 0.5
"""The loss of the rest of a short block once half of it is quoted."""
REPEATED = 4.0
"""Maximum loss of a piece that repeats a chosen piece."""
ALIKE = 0.8
"""The likeness above which a piece counts as a repetition."""
REMEMBERED = 50
"""Number of recent choices that the next is compared with."""
SPREAD = 0.5
"""The loss of further pieces of the same passage, per logarithm of its weight so far."""
SPREAD_OUTPUT = 1.0
"""The same of output: a long line of a search in files would take the whole budget."""
FREE = 200
"""Quarters of a token of a passage that cause no such loss."""
TITLE = 60
"""Maximum characters of a title."""
NEAR = 4_000
"""Characters of a passage that are searched for relative dates and words of the title."""
COLONS = (":", "：")
_SIGN = weight("…")


class Unit(NamedTuple):
    """Pieces of one block that are chosen together; the least loss comes first."""

    loss: float
    members: tuple[int, ...]
    weight: int
    late: bool = False
    """Whether the loss for repetition is included already."""


def extract(
    question: str, passages: Sequence[Passage], budget: int, embed: Embed | None = None
) -> Digest:
    """The lines of passages, best first, that answer a question, in at most `budget` tokens.

    Deterministic. Without a question it selects the most informative lines.
    """
    if budget < 1:
        raise QueryError(f"{budget} tokens hold nothing", "use 1 or more", parameter="budget")
    texts = [passage for passage in dict.fromkeys(passages) if passage.text.strip()]
    size = listed_size(texts)
    notes: list[str] = []
    heads = {passage.ref: _head(question, passage) for passage in reversed(texts)}
    lines: list[tuple[str, str]] = []
    text = ""
    # Otherwise it cannot fit: each estimate is rounded up by less than 1.
    if sum(estimate(passage.text) for passage in texts) <= budget + len(texts):
        lines = [
            (passage.ref, line)
            for passage in texts
            for line in squeezed(passage.text.strip("\r\n")).splitlines()
        ]
        text = _listed(heads, lines)
    if texts and (not lines or estimate(text) > budget):
        lines, notes = _distilled(question, texts, heads, budget, embed)
        text = _listed(heads, lines)
    refs = tuple(dict.fromkeys(ref for ref, _ in lines))
    from kinen.privacy import entrance

    text = entrance.name(text)
    return Digest(text, "extract", refs, size, estimate(text), notes=tuple(notes))


def listed_size(passages: Iterable[Passage]) -> int:
    """Tokens of passages as a list of all that they have; no digest of them has more."""
    return sum(
        estimate(f"- [{passage.ref}] {passage.at[:10]} {passage.title}\n{passage.text}")
        for passage in passages
    )


def choose(
    question: str, passages: Sequence[Passage], heads: Heads, budget: int
) -> list[tuple[str, str]]:
    """The lines of passages most relevant to a question, each with its ref.

    `heads` are the citations of each ref; they count against the budget too. Where it is small,
    long lines are cut to shorter windows, so that there is room for several.
    """
    largest = min(LARGEST, budget * QUARTERS // min(FEWEST, max(1, len(passages))))
    return _distilled(question, passages, heads, budget, None, largest)[0]


def _distilled(
    question: str,
    passages: Sequence[Passage],
    heads: Heads,
    budget: int,
    embed: Embed | None,
    largest: int = LARGEST,
) -> tuple[list[tuple[str, str]], list[str]]:
    """The chosen lines, each with its ref, and notes on the omitted lines."""
    read, rows, units = _weighed(question, tuple(passages[:PASSAGES]), largest)
    notes: list[str] = []
    vectors: dict[int, Any] = {}
    if embed and stems(question):
        rows = [*map(dict.copy, rows)]
        try:
            vectors = embedded(question, read, rows, embed)
            units = _units(read, rows)
        except EmbedError as error:
            notes.append(f"by words only: {error}")
    room = budget * QUARTERS
    costs = {ref: weight(" ".join(["-", *head])) for ref, head in heads.items()}
    chosen = _chosen(read, units, vectors, costs, room)
    lines = [
        (passages[p].ref, read.cut[p][b].quoted(some)) for (p, b), some in sorted(chosen.items())
    ]
    lines = lines or _shortened(read, units, costs, room)
    quoted = sum(map(len, chosen.values()))
    every = len(read.pieces)
    cited = len({ref for ref, _ in lines})
    notes.append(
        f"left out: {every - quoted:,} of {every:,} sentences and lines, "
        f"{len(heads) - cited:,} of {len(heads):,} records"
    )
    return lines, notes


@lru_cache(4)
def _weighed(
    question: str, passages: tuple[Passage, ...], largest: int
) -> tuple[Read, list[dict[str, float]], list[Unit]]:
    """Pieces, their signals and their units; a recall with a few tokens too many asks again.

    Very long passages are truncated.
    """
    share = READ // max(1, len(passages))
    cut = []
    pieces: list[Piece] = []
    for p, passage in enumerate(passages):
        own = list(islice(blocks(passage.text, largest), share))
        places = (
            (b, n, text) for b, block in enumerate(own) for n, text in enumerate(block.pieces)
        )
        pieces += [Piece(p, b, n, text, *_measured(text)) for b, n, text in islice(places, share)]
        cut.append(own)
    read = Read(passages, cut, pieces)
    rows = signals(question, read)
    return read, rows, _units(read, rows)


@lru_cache(1 << 12)
def _measured(text: str) -> tuple[frozenset[str], int]:
    """The stems and the weight of a piece; a recall reads the same pieces several times."""
    return frozenset(stems(text)), weight(text)


def _units(read: Read, rows: Sequence[dict[str, float]]) -> list[Unit]:
    """Group pieces to choose together: single pieces, or the best half of a short block."""
    scores = [*map(score, rows)]
    places: dict[Place, list[int]] = {}
    for n, piece in enumerate(read.pieces):
        places.setdefault(piece[:2], []).append(n)
    units: list[tuple[float, tuple[int, ...]]] = []
    for members in places.values():
        order = sorted(members, key=lambda n: (-scores[n], n))
        core = 1
        rest = 0.0
        if len(members) > 1 and sum(read.pieces[n].weight for n in members) <= LARGEST:
            least = HALF * len(_stems(read, members))
            rest = REST
            quoted = {*read.pieces[order[0]].stems}
            while len(quoted) < least:
                quoted |= read.pieces[order[core]].stems
                core += 1
        units.append((-scores[order[0]], tuple(order[:core])))
        units += [(rest - scores[n], (n,)) for n in order[core:]]
    # Add a loss that grows with the weight of a passage's better units, for variety.
    before = [0] * len(read.passages)
    spread = []
    for loss, chosen in sorted(units):
        passage = read.pieces[chosen[0]].passage
        rate = SPREAD_OUTPUT if read.passages[passage].output else SPREAD
        weight_ = sum(read.pieces[n].weight for n in chosen)
        spread.append(Unit(loss + rate * log(max(1.0, before[passage] / FREE)), chosen, weight_))
        before[passage] += weight_
    return spread


def _chosen(
    read: Read,
    units: Iterable[Unit],
    vectors: Mapping[int, Any],
    costs: Mapping[str, int],
    room: int,
) -> dict[Place, set[int]]:
    """The best pieces that fit, by block; repetitions are postponed."""
    chosen: dict[Place, set[int]] = {}
    cited: set[str] = set()
    recent: list[tuple[int, frozenset[str]]] = []
    heap = list(units)
    heapify(heap)
    while heap and room > QUARTERS and heap[0].loss < inf:
        unit = heappop(heap)
        first = read.pieces[unit.members[0]]
        ref = read.passages[first.passage].ref
        have = chosen.get(first[:2], set())
        head = 0 if ref in cited else costs[ref]
        cost = head + unit.weight  # at least, if nothing beside is chosen
        if have or cost <= room:
            some = [read.pieces[n] for n in unit.members]
            if have.issuperset(piece.n for piece in some):
                continue
            cost = head + _cost(read.block(first), have, some)
        if cost > room:
            for place, n in enumerate(unit.members if len(unit.members) > 1 else ()):
                # half of the block does not fit: try its pieces
                heappush(heap, Unit(unit.loss + REST * place, (n,), read.pieces[n].weight))
            continue
        own = _stems(read, unit.members)
        alike = 0.0
        if not unit.late:  # the likeness to the nearest earlier choice, by stems or by vectors
            n = unit.members[0]
            alike = max((len(own & earlier) for _, earlier in recent), default=0) / (len(own) or 1)
            if n in vectors:
                near = (vectors[n] @ vectors[other] for other, _ in recent if other in vectors)
                alike = max([alike, *map(float, near)])
        if alike > ALIKE:
            lost = REPEATED * (alike - ALIKE) / (1 - ALIKE)
            heappush(heap, Unit(unit.loss + lost, unit.members, unit.weight, late=True))
            continue
        chosen[first[:2]] = have | {piece.n for piece in some}
        cited.add(ref)
        recent = [*recent[1 - REMEMBERED :], (unit.members[0], own)]
        room -= cost
        for n in _led(read, unit.members):
            heappush(heap, Unit(unit.loss, (n,), read.pieces[n].weight))
    return chosen


def _led(read: Read, members: Iterable[int]) -> Iterator[int]:
    """The first line below a sentence that ends in a colon: without it, half is missing."""
    for n in members:
        piece = read.pieces[n]
        following = read.pieces[n + 1] if n + 1 < len(read.pieces) else piece
        begins = following[:2] == (piece.passage, piece.block + 1)
        if begins and piece.text.rstrip("*_").endswith(COLONS):
            yield n + 1


def _cost(block: Block, have: set[int], more: Iterable[Piece]) -> int:
    """The weight that pieces add to a quotation, with its ellipses."""
    lead = weight(block.text[: block.lead]) if block.lead else 0
    now = set(have)
    cost = 0
    for piece in more:
        beside = [n for n in (piece.n - 1, piece.n + 1) if 0 <= n < len(block.spans)]
        gaps = sum(n not in now for n in beside) - bool(now)
        cost += piece.weight + gaps * _SIGN
        cost += 0 if now and piece.n else lead if piece.n else -lead if now else 0
        now.add(piece.n)
    return cost


def _stems(read: Read, members: Sequence[int]) -> frozenset[str]:
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


def _head(question: str, passage: Passage) -> list[str]:
    """The citation of a record: its ref, its day if relevant, and its title if informative."""
    cited = [f"[{passage.ref}]"]
    opening = passage.text[:NEAR]
    if WHEN.search(question) or RELATIVE.search(opening) or not question.strip():
        cited.append(passage.at[:10])
    title = excerpt(passage.title, TITLE)
    telling = set(stems(title)).difference(stems(f"{passage.ref} {opening}")) if title else ()
    return [" ".join(" ".join(cited).split()), *([title] if telling else [])]


def _listed(heads: Heads, lines: Iterable[tuple[str, str]]) -> str:
    """A Markdown list with an item per record; indented lines keep their markup inside it."""
    groups: Heads = {}
    for ref, line in lines:
        groups.setdefault(ref, heads[ref][:]).append(line)
    items = []
    for cited, *quoted in groups.values():
        if len(quoted) == 1:
            items.append(f"- {quoted[0].strip()} {cited}")
        else:
            items += [f"- {cited}", *(f"  {line}".rstrip() for line in quoted)]
    return "\n".join(items)
