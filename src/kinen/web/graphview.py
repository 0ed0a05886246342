"""A graph without scripts: a picture of its most linked records, and lists."""

from __future__ import annotations

from collections.abc import Sequence

from kinen.memory import Memory
from kinen.text import excerpt, plural
from kinen.web import html
from kinen.web.html import Html
from kinen.web.layout import Graph, layout
from kinen.web.page import Visit, ref_link
from kinen.web.records import title_of

DRAWN = 150
"""Records in the picture."""
LABEL = 28
"""Characters of a title in the picture."""
LETTER = 8.0
LINE = 20.0
"""About how wide a letter and how high a line is."""
RADIUS = 6
LISTED = 100
WIDTH = 1000
HEIGHT = 640
MARGIN = 40

Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""


def label_of(kind: str) -> str:
    return "session" if kind == "capsule" else kind


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


def picture(memory: Memory, visit: Visit, graph: Graph) -> Html:
    """The first records and their links as SVG; scripts put the canvas in its place."""
    names = graph.names[:DRAWN]
    pairs = [pair for pair in graph.pairs if max(pair) < len(names)]
    spots = [
        (MARGIN + float(x) * (WIDTH - 2 * MARGIN), MARGIN + float(y) * (HEIGHT - 2 * MARGIN))
        for x, y in layout(len(names), tuple(pairs))
    ]
    lines = [
        html.element(
            "line",
            x1=f"{spots[a][0]:.0f}",
            y1=f"{spots[a][1]:.0f}",
            x2=f"{spots[b][0]:.0f}",
            y2=f"{spots[b][1]:.0f}",
        )
        for a, b in pairs
    ]
    titles = [title_of(memory, ref) for ref in names]
    labels = label_places(spots, [excerpt(title, LABEL) for title in titles])
    dots = []
    for number, ref in enumerate(names):
        x, y = spots[number]
        label = None
        if number in labels:
            place = {"x": f"{labels[number]:.0f}", "y": f"{y + 4:.0f}"}
            label = html.element("text", excerpt(titles[number], LABEL), **place)
        dots.append(_dot(visit, graph, ref, titles[number], (x, y), label))
    drawing = html.element(
        "svg",
        html.element("g", lines, class_="lines"),
        dots,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="group",
        aria_label="Records and the links between them",
        class_="graph",
    )
    kinds = dict.fromkeys(ref.partition(":")[0] for ref in names)
    legend = html.ul(
        [html.li(html.span("", class_=f"key kind-{kind}"), label_of(kind)) for kind in kinds],
        class_="legend",
    )
    scrolled = html.div(
        drawing, class_="wide unscripted", tabindex="0", role="region", aria_label="Picture"
    )
    return html.join([scrolled, legend])


def _dot(
    visit: Visit, graph: Graph, ref: str, title: str, place: tuple[float, float], label: Html | None
) -> Html:
    circle = html.element(
        "circle",
        html.element("title", title),
        cx=f"{place[0]:.0f}",
        cy=f"{place[1]:.0f}",
        r=RADIUS + 3 if ref == graph.centre else RADIUS,
    )
    link = visit.record(ref) if ref == graph.centre else visit.url("graph", ref=ref)
    kind = ref.partition(":")[0]
    return html.a(circle, label, href=link, aria_label=title, class_=f"dot kind-{kind}")


def lists(memory: Memory, visit: Visit, graph: Graph) -> list[Html]:
    """The records of the graph, links that lead nowhere, and notes without links."""
    broken = memory.records.broken_links()
    orphans = memory.records.orphans()
    parts = []
    if graph.names:
        items = [
            html.li(ref_link(visit, ref, title_of(memory, ref))) for ref in graph.names[:LISTED]
        ]
        more = len(graph.names) - len(items)
        rest = html.li(f"{more:,} more") if more > 0 else None
        title = f"As a list: {len(graph.names):,} records, {len(graph.pairs):,} links"
        parts.append(html.details(html.summary(title), html.ul(items, rest)))
    if broken:
        targets: dict[str, dict[str, Html]] = {}
        for edge in broken:
            written = html.span(edge.written, class_="broken")
            targets.setdefault(edge.source, {})[edge.written] = written
        items = [
            html.li(ref_link(visit, source), " → ", html.join(names.values(), ", "))
            for source, names in list(targets.items())[:LISTED]
        ]
        parts.append(_folded(f"Broken links ({len(broken):,})", items))
    if orphans:
        items = [
            html.li(ref_link(visit, record.ref, record.title or plural(record.kind)))
            for record in orphans[:LISTED]
        ]
        parts.append(_folded(f"Without links ({len(orphans):,})", items))
    return parts


def _folded(title: str, items: list[Html]) -> Html:
    return html.details(html.summary(title), html.ul(items))
