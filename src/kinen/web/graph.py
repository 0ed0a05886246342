"""The page Graph: the neighbourhood of a record as a picture and a list, and what has no links."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from kinen.api.refs import resolve
from kinen.memory import Memory
from kinen.model.records import Edge
from kinen.text import excerpt
from kinen.web import html
from kinen.web.html import Html
from kinen.web.page import Page, Visit, choices, empty, entry, notes, ref_link
from kinen.web.records import title_of

MOST = 300
"""Records in a picture: the nearest, by links; of the whole graph those with the most links."""
LABEL = 28
"""Characters of a title in the picture."""
LETTER = 8.0
LINE = 20.0
"""About how wide a letter and how high a line is."""
RADIUS = 6
LISTED = 100
STEPS = 150
"""Rounds of the layout."""
WIDTH = 1000
HEIGHT = 640
MARGIN = 40

Pairs = tuple[tuple[int, int], ...]
Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""


def page(memory: Memory, visit: Visit) -> Page:
    ref = visit.fields.get("ref")
    depth = max(1, visit.fields.number("depth", 2, 4))
    if ref:
        centre = memory.records.get(resolve(memory, ref)[0]).ref
        edges = memory.records.links(centre, depth)
    else:
        centre = ""
        edges = memory.records.graph()
    names, left_out = nodes(edges, centre)
    form = html.form(
        entry("ref", "Around", ref, placeholder="ref or path; empty for all notes"),
        choices("depth", "Steps", [(str(n), str(n)) for n in (1, 2, 3, 4)], str(depth)),
        html.button("Show", type="submit"),
        method="get",
        action=visit.url(),
        class_="fields",
    )
    remarks = [f"{left_out:,} records with fewer links are left out"] if left_out else []
    body = html.join(
        [
            form,
            notes(remarks),
            _picture(memory, visit, names, edges, centre) if names else empty("No links here."),
            _lists(memory, visit),
        ]
    )
    return Page("Graph", body)


def nodes(edges: Sequence[Edge], centre: str = "") -> tuple[list[str], int]:
    """The refs to draw, and how many are left out; the centre is first."""
    degrees: dict[str, int] = {centre: 1 << 30} if centre else {}
    for edge in edges:
        for ref in (edge.source, edge.target):
            if ref:
                degrees[ref] = degrees.get(ref, 0) + 1
    ranked = sorted(degrees, key=lambda ref: (-degrees[ref], ref))
    return ranked[:MOST], max(0, len(ranked) - MOST)


@lru_cache(maxsize=32)
def layout(count: int, pairs: Pairs) -> tuple[tuple[float, float], ...]:
    """Places of so many nodes from 0 to 1: links pull, everything else pushes. Always the same."""
    rng = np.random.default_rng(count)
    place = rng.random((count, 2)) - 0.5
    links = np.array(pairs, dtype=int).reshape(-1, 2)
    ideal = 1 / np.sqrt(max(count, 1))
    for step in range(STEPS):
        apart = place[:, None] - place[None]
        distance = np.maximum(np.linalg.norm(apart, axis=2), 1e-4)
        move = (apart * (ideal**2 / distance**2)[..., None]).sum(axis=1)
        if len(links):
            along = place[links[:, 0]] - place[links[:, 1]]
            pull = along * (np.linalg.norm(along, axis=1, keepdims=True) / ideal)
            np.add.at(move, links[:, 0], -pull)
            np.add.at(move, links[:, 1], pull)
        move -= place * 0.4  # parts without links between them stay near
        length = np.maximum(np.linalg.norm(move, axis=1, keepdims=True), 1e-9)
        place += move / length * np.minimum(length, 0.1 * (1 - step / STEPS))
    low = place.min(axis=0)
    size = np.maximum(place.max(axis=0) - low, 1e-9)
    return tuple((float(x), float(y)) for x, y in (place - low) / size)


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


def _picture(
    memory: Memory, visit: Visit, names: list[str], edges: Sequence[Edge], centre: str
) -> Html:
    numbers = {ref: number for number, ref in enumerate(names)}
    pairs = {
        (numbers[edge.source], numbers[edge.target])
        for edge in edges
        if edge.source in numbers and edge.target in numbers and edge.source != edge.target
    }
    spots = [
        (MARGIN + x * (WIDTH - 2 * MARGIN), MARGIN + y * (HEIGHT - 2 * MARGIN))
        for x, y in layout(len(names), tuple(sorted(pairs)))
    ]
    lines = [
        html.element(
            "line",
            x1=f"{spots[a][0]:.0f}",
            y1=f"{spots[a][1]:.0f}",
            x2=f"{spots[b][0]:.0f}",
            y2=f"{spots[b][1]:.0f}",
        )
        for a, b in sorted(pairs)
    ]
    titles = [title_of(memory, ref) for ref in names]
    labels = label_places(spots, [excerpt(title, LABEL) for title in titles])
    dots = []
    for number, ref in enumerate(names):
        x, y = spots[number]
        circle = html.element(
            "circle",
            html.element("title", titles[number]),
            cx=f"{x:.0f}",
            cy=f"{y:.0f}",
            r=RADIUS + 3 if ref == centre else RADIUS,
        )
        label = None
        if number in labels:
            place = {"x": f"{labels[number]:.0f}", "y": f"{y + 4:.0f}"}
            label = html.element("text", excerpt(titles[number], LABEL), **place)
        link = visit.record(ref) if ref == centre else visit.url(ref=ref)
        kind = ref.partition(":")[0]
        dots.append(
            html.a(circle, label, href=link, aria_label=titles[number], class_=f"dot kind-{kind}")
        )
    picture = html.element(
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
        [html.li(html.span("", class_=f"key kind-{kind}"), kind) for kind in kinds],
        class_="legend",
    )
    return html.join([picture, legend])


def _lists(memory: Memory, visit: Visit) -> list[Html]:
    """Links that lead nowhere, and notes without links."""
    broken = memory.records.broken_links()
    orphans = memory.records.orphans()
    parts = []
    if broken:
        items = [
            html.li(ref_link(visit, edge.source), " → ", html.span(edge.written, class_="broken"))
            for edge in broken[:LISTED]
        ]
        parts.append(html.section(html.h2(f"Broken links ({len(broken):,})"), html.ul(items)))
    if orphans:
        items = [
            html.li(ref_link(visit, record.ref, record.title or record.ref))
            for record in orphans[:LISTED]
        ]
        parts.append(html.section(html.h2(f"Without links ({len(orphans):,})"), html.ul(items)))
    return parts
