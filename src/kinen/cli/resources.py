"""`kinen resources`: papers, docs, examples and data of a space."""

from __future__ import annotations

import click

from kinen import render
from kinen.cli.flags import for_scripts, in_space
from kinen.cli.run import FOUND, NOTHING, colours


def command() -> click.Command:
    return resources


@click.group()
def resources() -> None:
    """Papers, docs, examples and data of a space."""


@resources.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--to", "folder", default="", help="folder below resources/; by the file's type if not given"
)
@click.option("--tag", "tags", multiple=True, help="a tag; again for each further one")
@click.option("--note", "remark", default="", help="a word on what it is for; searchable")
@in_space
@for_scripts
def add(
    file: str, folder: str, tags: tuple[str, ...], remark: str, space: str | None, as_json: bool
) -> int:
    """Copy a file into resources/, note its tags, and index it.

    \b
    Examples:
      kinen resources add ~/Downloads/attention.pdf --to papers --tag ml
      kinen resources add schema.sql --note 'the billing tables as of March'
    """
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        record = memory.worklog.add_resource(file, to=folder, tags=tags, note=remark)
    print(render.to_json(render.record_json(record)) if as_json else f"added {record.path}")
    return 0


@resources.command("list")
@in_space
@for_scripts
def list_(space: str | None, as_json: bool) -> int:
    """The resources of the space, with their tags."""
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        found = memory.records.select(["resource"])
    if as_json:
        print(render.to_json({"resources": [render.record_json(record) for record in found]}))
    elif found:
        print(render.records_text(found, colours()))
    return FOUND if found else NOTHING


@resources.command()
@click.argument("query", nargs=-1, required=True)
@click.option("--limit", "-n", default=10, show_default=True, type=click.IntRange(1))
@in_space
@for_scripts
def search(query: tuple[str, ...], limit: int, space: str | None, as_json: bool) -> int:
    """Search the resources alone; `kinen search --type resources` has every option."""
    from kinen.memory import Memory
    from kinen.model.records import Query

    with Memory.open(space=space) as memory:
        hits = memory.search(Query(" ".join(query), limit=limit, kinds=("resource",)))
    if as_json:
        print(render.to_json(render.hits_json(hits)))
    elif hits:
        print(render.hits_text(hits, style=colours()))
    return FOUND if hits else NOTHING
