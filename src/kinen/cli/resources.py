"""`kinen resources`: papers, docs, examples and data of a space."""

from __future__ import annotations

import os

import click

from kinen.cli.command import (
    FILE_NAME,
    Output,
    group,
    listing,
    memory_command,
    number_option,
    openable_records,
    options,
    text_option,
)
from kinen.cli.options import tags
from kinen.cli.run import colours, screen
from kinen.memory import Memory
from kinen.model.records import Query
from kinen.render.json import hits_json, record_json
from kinen.render.text import hits_text, records_text

EMPTY = "no resources yet: `kinen resources add FILE` adds one"
NO_MATCH = "no resource matches: `kinen resources list` lists them"


@group()
def resources() -> None:
    """Papers, docs, examples and data of a space."""


@resources.command()
@click.argument("file", type=FILE_NAME, metavar="FILE|URL")
@text_option(
    "--to", "FOLDER", "folder below resources/ (default: by the type of the file)", "folder"
)
@options(tags("tag"))
@text_option("--note", "TEXT", "searchable note on the file")
@memory_command
def add(memory: Memory, file: str, folder: str, tags: tuple[str, ...], note: str) -> Output:
    """Copy a file into resources/, save its tags and note, and index it.

    Of an address (http or https), what it answers is downloaded and kept as a file. This is the
    only time that kinen fetches something: later searches read the file. A name that leads to a
    private network is refused, an address written out (`http://192.168.1.7/…`) is not.

    \b
    Examples:
      kinen resources add https://www.sqlite.org/wal.html --tag sqlite
      kinen resources add ~/Downloads/attention.pdf --to papers --tag ml
      kinen resources add schema.sql --note 'the billing tables as of March'
    """
    from kinen.sources.web import is_url

    if not is_url(file) and (os.path.isdir(file) or not os.path.exists(file)):
        problem = "is a folder" if os.path.isdir(file) else "does not exist"
        raise click.UsageError(f"{file} {problem} · give a file, or an address with https://")
    record = memory.worklog.add_resource(file, to=folder, tags=tags, note=note)
    return Output(record_json(record), f"added {record.path}")


@resources.command()
@click.argument("file", type=FILE_NAME)
@memory_command
def remove(memory: Memory, file: str) -> Output:
    """Delete a file of resources/, with its tags and note.

    \b
    Examples:
      kinen resources remove papers/attention.pdf
    """
    path = memory.worklog.remove_resource(file)
    return Output({"removed": path}, f"removed {path}")


@resources.command("list")
@memory_command
def list_(memory: Memory) -> Output:
    """List the resources of the space with their tags. Exit 1 if there are none."""
    records = memory.records.select(["resource"])
    return listing(
        {"resources": [record_json(record) for record in records]},
        records_text(openable_records(memory, records), colours()),
        records,
        EMPTY,
    )


@resources.command()
@click.argument("query", nargs=-1, required=True)
@number_option("--limit -n", "maximum number of hits", 10, least=1)
@memory_command
def search(memory: Memory, query: tuple[str, ...], limit: int) -> Output:
    """Search the resources only. `kinen search --type resources` has more options."""
    hits = memory.search(Query(" ".join(query), limit=limit, kinds=("resource",)))
    notes = [] if hits else [NO_MATCH if memory.records.select(["resource"]) else EMPTY]
    text = hits_text(hits, screen())
    return Output(hits_json(hits), text, found=bool(hits), notes=notes)
