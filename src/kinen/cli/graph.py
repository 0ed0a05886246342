"""`kinen graph` and `kinen related`: links between notes, and what belongs together."""

from __future__ import annotations

import os

import click

from kinen import render
from kinen.cli.command import (
    FILE_NAME,
    Output,
    choice_option,
    group,
    list_option,
    listing,
    memory_command,
    number_option,
    openable_records,
    space_option,
)
from kinen.cli.run import colours
from kinen.memory import Memory
from kinen.paths import openable


@group()
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
        f"no links from or to {path}: [[{path}]] in another note makes one",
    )


@graph.command()
@memory_command
def broken(memory: Memory) -> Output:
    """List broken links as `path:line: target`. Exit 0 if there are none, 1 if there are some."""
    edges = memory.records.broken_links()
    return Output(
        {"edges": render.edges_json(edges)},
        render.broken_text(edges, lambda path: openable(memory.space.root, path, os.getcwd())),
        found=not edges,
        notes=[] if edges else ["no broken links: every link between notes leads somewhere"],
    )


@graph.command()
@memory_command
def orphans(memory: Memory) -> Output:
    """List notes that have no link to another note, in either direction. Exit 1 if there are none.

    \b
    Examples:
      kinen graph orphans
      kinen graph orphans --json | jq -r '.orphans[].path'
    """
    records = memory.records.orphans()
    return listing(
        {"orphans": [render.record_json(record) for record in records]},
        render.records_text(openable_records(memory, records), colours()),
        records,
        "no orphans: every note is linked",
    )


@click.command()
@click.argument("note", type=FILE_NAME)
@number_option("--limit -n", "maximum number of records", 10, least=1)
@list_option("--type -t", "types", "TYPE", "only records of this type, as in `kinen search`")
@memory_command
def related(memory: Memory, note: str, limit: int, types: tuple[str, ...]) -> Output:
    """Show what is related to a note: by links, by meaning and by tags. Exit 1 if nothing is.

    \b
    Examples:
      kinen related docs/auth.md
      kinen related docs/auth.md --type checkpoints --type memories
    """
    from kinen.query import kinds_of

    record, items, notes = memory.relations.related(note, limit, kinds_of(types))
    if not items:
        hint = "`kinen search` finds what is close to a question"
        notes = [*notes, f"nothing is related to {record.path or record.ref}: {hint}"]
    records = openable_records(memory, [item.record for item in items])
    shown = [item._replace(record=place) for item, place in zip(items, records, strict=True)]
    return Output(
        {**render.related_json(record, items), "notes": notes},
        render.related_text(shown, colours()),
        found=bool(items),
        notes=notes,
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
