"""The page Graph: the neighbourhood of a record or the whole space, and what has no links.

A script draws it on a canvas from numbers alone (`data`), and asks for the title of a node when the
pointer is on it (`labels`). Without scripts there is a picture of the most linked records.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from kinen.api.refs import resolve
from kinen.memory import Memory
from kinen.model.records import KINDS, Edge
from kinen.text import excerpt
from kinen.web import graphview, html
from kinen.web.html import Html
from kinen.web.layout import BROKEN, ORPHAN, Graph, layout
from kinen.web.page import Page, Visit, choices, empty, entry, fields_form, notes
from kinen.web.records import title_of

MOST = 5_000
"""Records that are drawn: the nearest by links, or of all those with the most links."""
MOST_PAIRS = 20_000
ONLY = (("", "everything"), ("broken", "broken links"), ("orphans", "notes without links"))
TITLES = 60
"""Titles in one answer."""
REMEMBERED = 8
"""Graphs that stay in memory, so that the titles of their nodes can be asked for."""


_graphs: dict[tuple[object, ...], Graph] = {}


def page(memory: Memory, visit: Visit) -> Page:
    graph = graph_of(memory, visit)
    ref = visit.fields.get("ref")
    whole = bool(visit.fields.get("all") or visit.fields.get("only"))
    kinds = list(dict.fromkeys(name.partition(":")[0] for name in graph.names))
    remarks = [f"{graph.left_out:,} records with fewer links are left out"] * bool(graph.left_out)
    if graph.centre and not ref:
        title = title_of(memory, graph.centre)
        remarks.append(f"Around {title}, which has the most links. Choose another, or the whole.")
    body = html.join(
        [
            _form(visit, graph.centre if ref else "", kinds, whole=whole),
            notes(remarks),
            _canvas(visit, graph) if graph.names else empty("No links here."),
            graphview.picture(memory, visit, graph) if graph.names else None,
            graphview.lists(memory, visit, graph),
        ]
    )
    return Page("Graph", body, ("graph.js",))


def _form(visit: Visit, ref: str, kinds: Sequence[str], *, whole: bool) -> Html:
    depth = str(_depth(visit))
    steps = [(str(number), str(number)) for number in (1, 2, 3, 4)]
    chosen = visit.fields.all("kinds")
    boxes = [
        html.label(
            html.input_(type="checkbox", name="kinds", value=kind, checked=kind in chosen),
            html.span("", class_=f"key kind-{kind}"),
            graphview.label_of(kind),
            class_="box",
        )
        for kind in dict.fromkeys((*kinds, *chosen))
        if kind in KINDS
    ]
    return fields_form(
        visit.url(),
        "Show",
        entry("ref", "Around", ref, placeholder="ref or path"),
        choices("depth", "Steps", steps, depth),
        choices("only", "Show", ONLY, visit.fields.get("only")),
        html.label(
            html.input_(type="checkbox", name="all", value="1", checked=whole),
            "the whole space",
            class_="box",
        ),
        html.element("fieldset", html.element("legend", "Types (none: all)"), boxes),
    )


def _canvas(visit: Visit, graph: Graph) -> Html:
    """Where the script draws; it is hidden without one."""
    buttons = [
        html.button(label, type="button", data_zoom=step, aria_label=title)
        for label, step, title in (("+", "in", "Zoom in"), ("−", "out", "Zoom out"))
    ]
    fit = html.button("Fit", type="button", data_zoom="fit")
    canvas = html.element(
        "canvas",
        id="canvas",
        tabindex="0",
        role="img",
        aria_label=f"{len(graph.names):,} records and {len(graph.pairs):,} links; arrow keys move,"
        " plus and minus zoom; the list below has the same records",
    )
    return html.div(
        html.div(buttons, fit, html.span("", id="graph-label", role="status"), class_="actions"),
        canvas,
        id="graph",
        class_="scripted",
        data_source=visit.here().replace("/graph", "/graph/data", 1),
        data_labels=visit.here().replace("/graph", "/labels/data", 1),
        data_kinds=",".join(KINDS),
    )


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
    orphans = [record.ref for record in memory.records.orphans()]
    broken = {edge.source for edge in memory.records.broken_links()}
    if only == "orphans":
        return numbered(orphans, (), broken, set(orphans))
    whole = bool(visit.fields.get("all")) or bool(only)
    centre = ""
    edges = [] if ref and not whole else memory.records.overview()
    if ref:
        centre = memory.records.get(resolve(memory, ref)[0]).ref
    elif edges and not whole:
        centre = next(iter(ranked(edges)))
    if centre and not whole:
        edges = memory.records.links(centre, _depth(visit))
    if only == "broken":
        edges = [edge for edge in edges if edge.source in broken or edge.target in broken]
        edges += [Edge(source, source, "links") for source in sorted(broken)]
    kinds = set(visit.fields.all("kinds"))
    if kinds:
        edges = [edge for edge in edges if _chosen(edge, kinds, centre)]
    names = ranked(edges, centre)
    if whole and not only:
        names += [name for name in orphans if not kinds or name.partition(":")[0] in kinds]
    return numbered(names, edges, broken, set(orphans), centre)


def _chosen(edge: Edge, kinds: set[str], centre: str) -> bool:
    ends = (edge.source, edge.target)
    return all(end == centre or end.partition(":")[0] in kinds for end in ends)


def ranked(edges: Iterable[Edge], centre: str = "") -> list[str]:
    """The refs of edges: the centre, then those with the most links."""
    degrees: dict[str, int] = {centre: 1 << 30} if centre else {}
    for edge in edges:
        for ref in (edge.source, edge.target):
            if ref:
                degrees[ref] = degrees.get(ref, 0) + 1
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
    places = layout(count, graph.pairs).astype("<f4")
    pairs = np.array(graph.pairs, dtype="<u4")
    parts = (head, places, pairs, np.array(kinds, dtype="u1"), np.array(graph.marks, dtype="u1"))
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
                "title": excerpt(title_of(memory, ref), 100),
                "kind": graphview.label_of(ref.partition(":")[0]),
                "record": visit.record(ref),
                "around": visit.url("graph", ref=ref),
                "links": sum(number in pair for pair in graph.pairs),
            }
    return json.dumps(values).encode
