"""`kinen graph`: the links between notes."""

from __future__ import annotations

import click

from kinen import render
from kinen.cli.flags import FILE_NAME, for_scripts, in_space
from kinen.cli.run import FOUND, NOTHING, colours


def command() -> click.Command:
    return graph


@click.group()
def graph() -> None:
    """Links between the notes of a space: around one, broken ones, drawings."""


@graph.command()
@click.argument("path", type=FILE_NAME)
@click.option(
    "--depth", default=1, show_default=True, type=click.IntRange(1, 6), help="steps to go"
)
@in_space
@for_scripts
def show(path: str, depth: int, space: str | None, as_json: bool) -> int:
    """What a note links to, what links to it, and so on to a depth."""
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        record = memory.records.get(path)
        edges = memory.records.links(record.ref, depth)
    if as_json:
        print(render.to_json({"ref": record.ref, "edges": render.edges_json(edges)}))
    elif edges:
        print(render.links_text(record.ref, edges, colours()))
    return FOUND if edges else NOTHING


@graph.command()
@in_space
@for_scripts
def broken(space: str | None, as_json: bool) -> int:
    """Links that lead nowhere, `path:line` first. Exit 1 when there is none."""
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        edges = memory.records.broken_links()
    if as_json:
        print(render.to_json({"edges": render.edges_json(edges)}))
    else:
        for edge in edges:
            print(f"{edge.source.split(':', 1)[1]}:{edge.line or 1}: {edge.written}")
    return FOUND if edges else NOTHING


@graph.command()
@click.option(
    "--format",
    "form",
    type=click.Choice(["dot", "mermaid", "json"]),
    default="dot",
    show_default=True,
)
@in_space
def export(form: str, space: str | None) -> int:
    """All links as Graphviz, Mermaid or JSON: `kinen graph export | dot -Tsvg > graph.svg`."""
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        edges = memory.records.graph()
    if form == "json":
        print(render.to_json({"edges": render.edges_json(edges)}))
    else:
        print(render.graph_dot(edges) if form == "dot" else render.graph_mermaid(edges))
    return 0
