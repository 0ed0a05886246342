"""The page Graph: the neighbourhood of a record or the whole space, and what has no links.

A script draws it on a canvas from numbers alone (`data`), and asks for the title of a node when the
pointer is on it (`labels`). Without scripts there is a picture of the most linked records.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from kinen.memory import Memory
from kinen.model.late import np
from kinen.model.records import KINDS, Edge
from kinen.model.tuples import NamedTuple
from kinen.render.html import kind_name
from kinen.text import excerpt
from kinen.verbs.records import resolve
from kinen.web.page import Page, Visit

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

MOST = 5_000
"""Records that are drawn: the nearest by links, or of all those with the most links."""
MOST_PAIRS = 20_000
SMALL = 1_000
"""Records up to which the whole space is drawn unless a record is asked for."""
ONLY = (("", "everything"), ("broken", "broken links"), ("orphans", "notes without links"))
TITLES = 60
"""Titles in one answer."""
REMEMBERED = 8
"""Graphs that stay in memory, so that the titles of their nodes can be asked for."""
DRAWN = 150
"""Records in the picture."""
LABEL = 28
"""Characters of a title in the picture."""
LETTER = 8.0
LINE = 20.0
"""About how wide a letter and how high a line is."""
RADIUS = 5
LARGEST = 16
"""The radius of a record with few links, and of one with very many."""
LISTED = 100
WIDTH = 1000
HEIGHT = 640
MARGIN = 40

Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""

_graphs: dict[tuple[object, ...], Graph] = {}
EXACT = 300
"""Nodes up to which every pair pushes; above, each node is pushed by a sample."""
STEPS = 150
"""Rounds of a small layout."""
ROUNDS = 120
"""Rounds of a large one, which starts from a coarse order and needs fewer."""
EDGE = 0.01
"""The share of records at each edge that may be far out: they stand at the edge of the frame."""
ROW_SHAPE = 12
"""How much wider than high the rows of records without links are."""
ROW_HEIGHT = 0.04
HIGHEST = 0.7
"""The height of such a row, and the least share of the height for records with links."""
SAMPLE = 6
"""Other nodes that push a node in each round."""

BROKEN = 1
ORPHAN = 2
"""Marks of a record: it has a broken link, or no links at all."""

Pairs = tuple[tuple[int, int], ...]


def page(memory: Memory, visit: Visit) -> Page:
    graph = graph_of(memory, visit)
    ref = visit.fields.get("ref")
    kinds = list(dict.fromkeys(name.partition(":")[0] for name in graph.names))
    remarks = [f"{graph.left_out:,} records with fewer links are left out"] * bool(graph.left_out)
    if graph.centre and not ref:
        title = memory.records.title(graph.centre)
        remarks.append(f"Around {title}, which has the most links. Choose another, or the whole.")
    chosen = visit.fields.all("kinds")
    broken = memory.records.broken_links()
    targets: dict[str, dict[str, None]] = {}
    for edge in broken:
        targets.setdefault(edge.source, {})[edge.written] = None
    values = {
        "graph": graph,
        "ref": graph.centre if ref else "",
        "depth": str(_depth(visit)),
        "depths": [(str(number), str(number)) for number in (1, 2, 3, 4)],
        "only": ONLY,
        "whole": bool(visit.fields.get("all")),
        "kinds": [
            (kind, kind_name(kind), kind in chosen)
            for kind in dict.fromkeys((*kinds, *chosen))
            if kind in KINDS
        ],
        "remarks": remarks,
        "data_url": visit.here().replace("/graph", "/graph/data", 1),
        "labels_url": visit.here().replace("/graph", "/labels/data", 1),
        "picture": picture(memory, graph),
        "listed": [(name, memory.records.title(name)) for name in graph.names[:LISTED]],
        "broken": len(broken),
        "targets": {source: list(names) for source, names in list(targets.items())[:LISTED]},
        "orphans": memory.records.orphans(),
        "most": LISTED,
    }
    return Page("Graph", "graph.html", values, ("graph.js",))


def _name(memory: Memory, ref: str) -> str:
    """The title of a record, without its kind: the colour says that."""
    title = memory.records.title(ref)
    return title.partition(": ")[2] or title if ref.startswith(("capsule:", "memory:")) else title


def picture(memory: Memory, graph: Graph) -> dict[str, Any]:
    """The first records and their links as lines and dots; scripts put a canvas in their place."""
    names = graph.names[:DRAWN]
    pairs = tuple(pair for pair in graph.pairs if max(pair) < len(names))
    spots = [
        (MARGIN + float(x) * (WIDTH - 2 * MARGIN), MARGIN + float(y) * (HEIGHT - 2 * MARGIN))
        for x, y in places(graph._replace(names=names, pairs=pairs))
    ]
    links = Counter(chain.from_iterable(graph.pairs))
    titles = [_name(memory, ref) for ref in names]
    labels = label_places(spots, [excerpt(title, LABEL) for title in titles])
    kinds = dict.fromkeys(ref.partition(":")[0] for ref in names)
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "lines": [(*spots[a], *spots[b]) for a, b in pairs],
        "dots": [
            {
                "ref": ref,
                "kind": ref.partition(":")[0],
                "title": titles[number],
                "x": spots[number][0],
                "y": spots[number][1],
                "radius": min(LARGEST, RADIUS + links[number] ** 0.5),
                "label": excerpt(titles[number], LABEL),
                "label_x": labels.get(number),
            }
            for number, ref in enumerate(names)
        ],
        "kinds": [(kind, kind_name(kind)) for kind in kinds],
    }


def label_places(spots: Sequence[tuple[float, float]], titles: Sequence[str]) -> dict[int, float]:
    """Where the titles begin that cover no dot and no other title: beside their dots."""
    boxes = [(x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS) for x, y in spots]
    places: dict[int, float] = {}
    for number, title in enumerate(titles):
        x, y = spots[number]
        width = LETTER * len(title)
        for start in (x + RADIUS + 5, x - RADIUS - 5 - width):
            box = (start, y - LINE / 2, start + width, y + LINE / 2)
            fits = start > 0 and start + width < WIDTH
            others = (other for place, other in enumerate(boxes) if place != number)
            if fits and not any(_overlap(box, other) for other in others):
                boxes.append(box)
                places[number] = start
                break
    return places


def _overlap(box: Box, other: Box) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]


def graph_of(memory: Memory, visit: Visit) -> Graph:
    """The graph that a visit asks for; made once for each state of the index."""
    names = ("ref", "depth", "all", "only")
    key = (
        _state(memory.core.index_file),
        memory.core.hides(),
        *(visit.fields.get(name) for name in names),
        *sorted(visit.fields.all("kinds")),
    )
    graph = _graphs.get(key)
    if graph is None:
        graph = _build(memory, visit)
        while len(_graphs) >= REMEMBERED:
            _graphs.pop(next(iter(_graphs)), None)
        _graphs[key] = graph
    return graph


def _state(path: str) -> tuple[object, ...]:
    """What differs after the index was written."""
    state: list[object] = [path]
    for name in (path, path + "-wal"):
        try:
            stat = os.stat(name)
        except OSError:
            continue
        state += [stat.st_ino, stat.st_mtime_ns, stat.st_size]
    return tuple(state)


def _depth(visit: Visit) -> int:
    return max(1, visit.fields.number("depth", 2, 4))


def _build(memory: Memory, visit: Visit) -> Graph:
    ref = visit.fields.get("ref")
    only = visit.fields.get("only")
    depth = _depth(visit)
    orphans = [record.ref for record in memory.records.orphans()]
    broken = {edge.source for edge in memory.records.broken_links()}
    if only == "orphans":
        return numbered(orphans, (), broken, set(orphans))
    whole = bool(visit.fields.get("all")) or bool(only)
    centre = ""
    edges = [] if ref and not whole else memory.records.overview()
    if ref:
        centre = memory.records.get(resolve(memory, ref)[0]).ref
    elif not whole:
        linked = ranked(edges)
        whole = len(linked) <= SMALL
        centre = "" if whole else linked[0]
    if centre and not whole:
        edges = memory.records.links(centre, depth)
    if only == "broken":
        edges = [edge for edge in edges if edge.source in broken or edge.target in broken]
        edges += [Edge(source, source, "links") for source in sorted(broken)]
    kinds = set(visit.fields.all("kinds"))
    if kinds:
        edges = [
            edge
            for edge in edges
            if all(end == centre or end.partition(":")[0] in kinds for end in edge[:2])
        ]
    names = ranked(edges, centre)
    if whole and not only:
        names += [name for name in orphans if not kinds or name.partition(":")[0] in kinds]
    return numbered(names, edges, broken, set(orphans), centre)


def ranked(edges: Iterable[Edge], centre: str = "") -> list[str]:
    """The refs of edges: the centre, then those with the most links."""
    degrees = Counter(ref for edge in edges for ref in (edge.source, edge.target) if ref)
    if centre:
        degrees[centre] = 1 << 30
    return sorted(degrees, key=lambda ref: (-degrees[ref], ref))


def numbered(
    refs: Sequence[str],
    edges: Iterable[Edge],
    broken: set[str],
    orphans: set[str],
    centre: str = "",
) -> Graph:
    """The first `MOST` records, and the links between them."""
    names = tuple(dict.fromkeys(refs))[:MOST]
    numbers = {ref: number for number, ref in enumerate(names)}
    pairs = {
        (numbers[edge.source], numbers[edge.target])
        for edge in edges
        if edge.source in numbers and edge.target in numbers and edge.source != edge.target
    }
    marks = tuple(BROKEN * (ref in broken) | ORPHAN * (ref in orphans) for ref in names)
    nearest = tuple(sorted(pairs)[:MOST_PAIRS])
    return Graph(names, nearest, marks, centre, max(0, len(set(refs)) - len(names)))


def data(memory: Memory, visit: Visit) -> Callable[[], bytes]:
    """The numbers of a graph; its layout is computed without the memory."""
    graph = graph_of(memory, visit)
    return lambda: encode(graph)


def encode(graph: Graph) -> bytes:
    """A graph without text, little-endian.

    Four Uint32 (version, records, links, 1 if the first is the centre), places as Float32, links as
    Uint32, then a byte for the kind and one for the marks of each record.
    """
    count = len(graph.names)
    kinds = [KINDS.index(ref.partition(":")[0]) for ref in graph.names]
    head = np.array([1, count, len(graph.pairs), int(bool(graph.centre))], dtype="<u4")
    spots = places(graph).astype("<f4")
    pairs = np.array(graph.pairs, dtype="<u4")
    parts = (head, spots, pairs, np.array(kinds, dtype="u1"), np.array(graph.marks, dtype="u1"))
    return b"".join(part.tobytes() for part in parts)


def labels(memory: Memory, visit: Visit) -> Callable[[], bytes]:
    """Titles, addresses and links of some records of a graph (`n`, repeated), as JSON by number."""
    graph = graph_of(memory, visit)
    values: dict[str, object] = {}
    for name in visit.fields.all("n")[:TITLES]:
        if name.isascii() and name.isdigit() and int(name[:6]) < len(graph.names):
            number = int(name[:6])
            ref = graph.names[number]
            values[name] = {
                "title": excerpt(_name(memory, ref), 100),
                "kind": kind_name(ref.partition(":")[0]),
                "record": visit.record(ref),
                "around": visit.url("graph", ref=ref),
                "links": sum(number in pair for pair in graph.pairs),
            }
    return json.dumps(values).encode


class Graph(NamedTuple):
    """Records by number, and the links between them."""

    names: tuple[str, ...]
    """Refs, the centre first, then those with the most links."""
    pairs: Pairs
    marks: tuple[int, ...]
    """`BROKEN`, `ORPHAN` or 0 for each record."""
    centre: str = ""
    left_out: int = 0


def places(graph: Graph) -> Array:
    """Where records stand, from 0 to 1: as links pull them, and below in rows those without."""
    count = len(graph.names)
    linked = sorted(set(chain.from_iterable(graph.pairs)))
    alone = sorted(set(range(count)) - set(linked))
    numbers = {node: number for number, node in enumerate(linked)}
    pairs = tuple((numbers[a], numbers[b]) for a, b in graph.pairs)
    columns = math.ceil(math.sqrt(len(alone) * (ROW_SHAPE if linked else 1)))
    rows = -(-len(alone) // max(columns, 1))
    top = max(HIGHEST, 1 - ROW_HEIGHT * (rows + 1)) if rows and linked else 1.0 if linked else 0.0
    spots = np.zeros((count, 2), dtype=np.float32)
    if linked:
        spots[linked] = layout(len(linked), pairs) * np.array([1, top])
    for number, node in enumerate(alone):
        down, along = divmod(number, columns)
        spots[node] = (along + 0.5) / columns, top + (1 - top) * (down + 1) / (rows + 1)
    return spots


@lru_cache(maxsize=32)
def layout(count: int, pairs: Pairs) -> Array:
    """Places of nodes as Float32 from 0 to 1, one row of x and y for each; always the same."""
    links = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    place = _exact(count, links) if count <= EXACT else _sampled(count, links)
    if not count:
        return np.zeros((0, 2), dtype=np.float32)
    low, high = np.quantile(place, (EDGE, 1 - EDGE), axis=0)
    scaled: Array = (place - low) / np.maximum(high - low, 1e-9)
    return np.clip(scaled, 0, 1).astype(np.float32)


def _exact(count: int, links: Array) -> Array:
    """Fruchterman and Reingold's forces between all pairs, as products of matrices."""
    place = np.random.default_rng(count).random((count, 2)) - 0.5
    ideal = 1 / np.sqrt(max(count, 1))
    for step in range(STEPS):
        square = (place * place).sum(axis=1)
        distance = square[:, None] + square[None] - 2 * place @ place.T
        push = ideal**2 / np.maximum(distance, 1e-8)
        move = place * push.sum(axis=1, keepdims=True) - push @ place
        move += _pull(place, links, ideal)
        move -= place * 0.4  # parts without links between them stay near
        place += _limited(move, 0.1 * (1 - step / STEPS))
    return place


def _sampled(count: int, links: Array) -> Array:
    """The same forces with a sample of the pushes: its time grows with nodes and links alone."""
    rng = np.random.default_rng(count)
    place = rng.random((count, 2)) - 0.5
    ideal = 1 / np.sqrt(count)
    degree = np.bincount(links.ravel(), minlength=count)
    calm = 1 / np.sqrt(np.maximum(degree, 1))[:, None]  # or hubs would swing
    for step in range(ROUNDS):
        move = np.zeros_like(place)
        for _ in range(SAMPLE):
            apart = place - place[rng.integers(0, count, count)]
            distance = np.maximum((apart * apart).sum(axis=1, keepdims=True), ideal**2 / 4)
            move += apart * (ideal**2 / distance)
        move += _pull(place, links, ideal) * calm
        move -= place * 0.05
        place += _limited(move, 0.1 * (1 - step / ROUNDS) + 0.001)
    return place


def _pull(place: Array, links: Array, ideal: float) -> Array:
    """What the links of each node do to it."""
    count = len(place)
    along = place[links[:, 0]] - place[links[:, 1]]
    force = along * (np.linalg.norm(along, axis=1, keepdims=True) / ideal)
    columns = [
        np.bincount(links[:, 1], force[:, axis], count)
        - np.bincount(links[:, 0], force[:, axis], count)
        for axis in (0, 1)
    ]
    return np.stack(columns, axis=1)


def _limited(move: Array, most: float) -> Array:
    length = np.maximum(np.linalg.norm(move, axis=1, keepdims=True), 1e-9)
    limited: Array = move / length * np.minimum(length, most)
    return limited
