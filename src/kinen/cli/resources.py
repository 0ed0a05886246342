"""`kinen resources`: papers, docs, examples and data of a space."""

from __future__ import annotations

import os

import click

from kinen.memory import Memory
from kinen.model.records import Query
from kinen.render.json import hits_json, record_json
from kinen.render.text import hits_text, records_text
from kinen.verbs.params import option, param, tags, words
from kinen.verbs.records import openable
from kinen.verbs.verb import Output, group, listing, verb

EMPTY = "no resources yet: `kinen resources add FILE` adds one"
NO_MATCH = "no resource matches: `kinen resources list` lists them"


@verb()
def add(
    memory: Memory,
    file: str = param("", "what to add", required=True, path=True, metavar="FILE|URL"),
    folder: str = option(
        "--to", "FOLDER", "folder below resources/ (default: by the type of the file)"
    ),
    tags: tuple[str, ...] = tags("tag"),
    note: str = option("--note", "TEXT", "searchable note on the file"),
) -> Output:
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


@verb()
def remove(memory: Memory, file: str = param("", "a file", required=True, path=True)) -> Output:
    """Delete a file of resources/, with its tags and note.

    \b
    Examples:
      kinen resources remove papers/attention.pdf
    """
    path = memory.worklog.remove_resource(file)
    return Output({"removed": path}, f"removed {path}")


@verb()
def list_(memory: Memory) -> Output:
    """List the resources of the space with their tags. Exit 1 if there are none."""
    records = memory.records.select(["resource"])
    return listing(
        {"resources": [record_json(record) for record in records]},
        lambda view: records_text(openable(records, view), view.style),
        records,
        EMPTY,
    )


@verb()
def search(
    memory: Memory,
    query: str = words("what to look for"),
    limit: int = param("--limit -n", "maximum number of hits", 10, least=1, metavar="N"),
) -> Output:
    """Search the resources only. `kinen search --type resources` has more options."""
    hits = memory.search(Query(query, limit=limit, kinds=("resource",)))
    notes = [] if hits else [NO_MATCH if memory.records.select(["resource"]) else EMPTY]
    value = hits_json(hits)
    return Output(value, lambda view: hits_text(hits, view.screen), bool(hits), notes)


resources = group(
    "Papers, docs, examples and data of a space.",
    add=add,
    remove=remove,
    list=list_,
    search=search,
)
