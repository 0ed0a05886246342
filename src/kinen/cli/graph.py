"""`kinen files graph`: links between the markdown files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os.path import join, lexists

import click

from kinen.cli.command import (
    FILE_NAME,
    Output,
    choice_option,
    files_command,
    group,
    listing,
    memory_command,
    number_option,
    openable_records,
    opener,
    space_option,
)
from kinen.cli.run import colours
from kinen.memory import Memory
from kinen.model.records import Edge
from kinen.render.graph import (
    broken_text,
    edges_json,
    graph_dot,
    graph_mermaid,
    links_text,
)
from kinen.render.json import record_json, to_json
from kinen.render.text import records_text


@group()
def graph() -> None:
    """Links between the markdown files of a space."""


@graph.command()
@click.argument("path", type=FILE_NAME)
@number_option("--depth", "number of links to follow", 1, least=1, most=6)
@files_command
def show(memory: Memory, path: str, depth: int) -> Output:
    """Show what a file links to and what links to it. Exit 1 if there are no links.

    \b
    Examples:
      kinen files graph show docs/auth.md
      kinen files graph show -l docs/auth.md | xargs less
    """
    record = memory.records.get(path)
    edges = memory.records.links(record.ref, depth)
    places = _openable_ends(memory, edges)
    output = listing(
        {"ref": record.ref, "edges": edges_json(edges)},
        links_text(record.ref, edges, colours(), places),
        edges,
        f"no links from or to {path}: [[{path}]] in another file makes one",
    )
    return replace(output, paths=[places[ref] for ref in places if ref != record.ref])


def _openable_ends(memory: Memory, edges: Sequence[Edge]) -> dict[str, str]:
    """The refs at the ends of links that are files, each with a path that opens from here."""
    openable = opener(memory)
    refs = dict.fromkeys(ref for edge in edges for ref in (edge.source, edge.target) if ref)
    names = {ref: ref.partition(":")[2] for ref in refs}
    root = memory.space.root
    return {ref: openable(name) for ref, name in names.items() if lexists(join(root, name))}


@graph.command()
@memory_command
def broken(memory: Memory) -> Output:
    """List broken links as `path:line: target`. Exit 0 if there are none, 1 if there are some."""
    edges = memory.records.broken_links()
    return Output(
        {"edges": edges_json(edges)},
        broken_text(edges, opener(memory)),
        found=not edges,
        notes=[] if edges else ["no broken links: every link between files leads somewhere"],
    )


@graph.command()
@files_command
def orphans(memory: Memory) -> Output:
    """List markdown files without a link to another one, in either direction. Exit 1 if none.

    \b
    Examples:
      kinen files graph orphans
      kinen files graph orphans --json | jq -r '.orphans[].path'
    """
    records = memory.records.orphans()
    rows = openable_records(memory, records)
    output = listing(
        {"orphans": [record_json(record) for record in records]},
        records_text(rows, colours()),
        records,
        "no orphans: every markdown file is linked",
    )
    return replace(output, paths=[record.path for record in rows])


@graph.command()
@choice_option("--format", ["dot", "mermaid", "json"], "output format", default="dot", key="form")
@space_option
def export(form: str, space: str | None) -> int:
    """Print all links as Graphviz, Mermaid or JSON.

    \b
    Examples:
      kinen files graph export | dot -Tsvg > graph.svg
    """
    with Memory.open(space=space) as memory:
        edges = memory.records.graph()
    if form == "json":
        print(to_json({"edges": edges_json(edges)}))
    else:
        print(graph_dot(edges) if form == "dot" else graph_mermaid(edges))
    return 0
