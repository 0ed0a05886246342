"""`kinen graph`: links between notes."""

from __future__ import annotations

import click

from kinen import render
from kinen.cli.command import (
    FILE_NAME,
    Output,
    choice_option,
    listing,
    memory_command,
    space_option,
)
from kinen.cli.run import colours
from kinen.memory import Memory


@click.group()
def graph() -> None:
    """Links between the notes of a space."""


@graph.command()
@click.argument("path", type=FILE_NAME)
@click.option(
    "--depth",
    default=1,
    show_default=True,
    type=click.IntRange(1, 6),
    help="number of links to follow",
)
@memory_command
def show(memory: Memory, path: str, depth: int) -> Output:
    """Show what a note links to and what links to it. Exit 1 if there are no links."""
    record = memory.records.get(path)
    edges = memory.records.links(record.ref, depth)
    return listing(
        {"ref": record.ref, "edges": render.edges_json(edges)},
        render.links_text(record.ref, edges, colours()),
        edges,
        f"no links from or to {path}",
    )


@graph.command()
@memory_command
def broken(memory: Memory) -> Output:
    """List broken links as `path:line: target`. Exit 1 if there are none."""
    edges = memory.records.broken_links()
    lines = [f"{edge.source.split(':', 1)[1]}:{edge.line or 1}: {edge.written}" for edge in edges]
    return listing(
        {"edges": render.edges_json(edges)},
        "\n".join(lines),
        edges,
        "no broken links",
    )


@graph.command()
@choice_option("--format", ["dot", "mermaid", "json"], "output format", default="dot", key="form")
@space_option
def export(form: str, space: str | None) -> int:
    """Print all links as Graphviz, Mermaid or JSON.

    \b
    Examples:
      kinen graph export | dot -Tsvg > graph.svg
    """
    with Memory.open(space=space) as memory:
        edges = memory.records.graph()
    if form == "json":
        print(render.to_json({"edges": render.edges_json(edges)}))
    else:
        print(render.graph_dot(edges) if form == "dot" else render.graph_mermaid(edges))
    return 0
