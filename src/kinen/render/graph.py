"""Links between records as text, JSON, Graphviz and Mermaid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinen.render.screen import PLAIN, Style, readable
from kinen.render.text import title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kinen.model.records import Edge, Related


def graph_dot(edges: Iterable[Edge]) -> str:
    head = ["digraph kinen {", "  rankdir=LR; node [shape=box, fontname=Helvetica];"]
    arrows = [
        f"  {_quoted(_name(edge.source))} -> {_quoted(_name(edge.target))};"
        for edge in map(readable, edges)
    ]
    return "\n".join([*head, *arrows, "}"])


def graph_mermaid(edges: Sequence[Edge]) -> str:
    edges = readable(edges)
    refs = dict.fromkeys(end for edge in edges for end in (edge.source, edge.target))
    ids = {ref: f"n{number}" for number, ref in enumerate(refs)}
    nodes = [f'  {ids[ref]}["{_name(ref).replace(chr(34), "&quot;")}"]' for ref in refs]
    arrows = [f"  {ids[edge.source]} --> {ids[edge.target]}" for edge in edges]
    return "\n".join(["graph LR", *nodes, *arrows])


def links_text(
    ref: str, edges: Sequence[Edge], style: Style = PLAIN, places: Mapping[str, str] | None = None
) -> str:
    """What a record links to, what links to it, and links further away.

    `places` has the paths to print for some refs; others are printed without their type.
    """
    ref = readable(ref)
    paths: Mapping[str, str] = readable(places or {})

    def place(end: str) -> str:
        return paths.get(end, _name(end))

    groups: dict[str, list[str]] = {"links to": [], "linked from": [], "further": []}
    for edge in readable(edges):
        line = f":{edge.line}" if edge.line else ""
        about = f"{edge.type}{' ' + edge.text if edge.text else ''}"
        rest = "" if edge.type == "links" else f"  ({about})"
        if edge.sentence:
            rest += f"\n    {style('dim', edge.sentence)}"
        if edge.source == ref:
            end = place(edge.target) if edge.target else style("warn", f"{edge.written} (broken)")
            groups["links to"].append(f"{end}{rest}")
        elif edge.target == ref:
            groups["linked from"].append(f"{style('path', place(edge.source))}{line}{rest}")
        else:
            end = place(edge.target) if edge.target else f"{edge.written} (broken)"
            groups["further"].append(f"{place(edge.source)} → {end}")
    lines = []
    for name, links in groups.items():
        if links:
            lines += [style("bold", name), *(f"  {link}" for link in dict.fromkeys(links))]
    return "\n".join(lines)


def broken_text(edges: Sequence[Edge], shown: Callable[[str], str] = str) -> str:
    """Broken links as `path:line: target`; `shown` gives a path as it is printed."""
    return "\n".join(
        f"{shown(_name(edge.source))}:{edge.line or 1}: {edge.written}" for edge in edges
    )


def related_text(related: Iterable[Related], style: Style = PLAIN) -> str:
    """A line per record with its title, and one with the reasons."""
    lines = []
    for item in related:
        place = item.record.path or item.record.ref
        name = title(item.record)
        lines.append(style("path", readable(place)) + (f"  {name}" if name != place else ""))
        lines.append(style("dim", f"    {readable('; '.join(item.reasons))}"))
    return "\n".join(lines)


def _name(ref: str) -> str:
    return ref.split(":", 1)[-1]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
