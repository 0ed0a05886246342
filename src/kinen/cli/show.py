"""`kinen show`: a record, a file, or a part of it."""

from __future__ import annotations

from collections.abc import Sequence

import click

from kinen.cli.command import FILE_NAME, Output, emit, json_option, space_option
from kinen.cli.output import write_raw
from kinen.cli.run import FOUND, colours
from kinen.memory import Memory
from kinen.model.records import FILE_KINDS, GIT_KINDS, Chunk, Record
from kinen.query import place
from kinen.recall.passages import is_metadata
from kinen.render.graph import edges_json, links_text
from kinen.render.history import revisions_text
from kinen.render.json import record_json
from kinen.render.text import record_text

COMMITS = 5
"""Number of commits shown for a file."""


@click.command()
@click.argument("name", type=FILE_NAME, metavar="REF|PATH[:LINE]|PATH@COMMIT")
@click.option("--raw", "as_is", is_flag=True, help="print the text only, without escaping it")
@space_option
@json_option
def show(name: str, as_is: bool, space: str | None, as_json: bool) -> int:
    """Show a record, the chunk at a line of it, or a file as of a commit.

    Control characters are escaped (\\x1b), so that no file can take over the terminal; --raw
    prints the text as it is stored.

    \b
    Examples:
      kinen show note:docs/auth.md
      kinen show docs/auth.md:42
      kinen show src/auth.py@v1.2
      kinen show a43f9c1
      kinen show 'round:sessions/20251203-01-auth/rounds/01-foundation.md#3'
    """
    with Memory.open(space=space) as memory:
        path, at, commit = name.rpartition("@")
        if at and path and commit and not memory.records.knows(name):
            content = memory.git.read(path, commit)
            return _show_version(path, commit, content, as_is=as_is, as_json=as_json)
        record, chunks = memory.records.show(*place(name))
        output = _record_output(memory, record, chunks)
    if as_is and not as_json:
        write_raw("\n".join(chunk.text for chunk in chunks) + "\n")
        return FOUND
    return emit(output, as_json)


def _show_version(path: str, commit: str, content: str, *, as_is: bool, as_json: bool) -> int:
    """Print a file as of a commit, without adding a line break."""
    if as_json:
        return emit(Output({"path": path, "at": commit, "content": content}), as_json)
    if as_is:
        write_raw(content)
    else:
        print(content, end="")
    return FOUND


def _record_output(memory: Memory, record: Record, chunks: Sequence[Chunk]) -> Output:
    data = {**record_json(record), "chunks": [chunk._asdict() for chunk in chunks]}
    body = [chunk for chunk in chunks if not (record.kind in FILE_KINDS and is_metadata(chunk))]
    lines = [record_text(record, body or chunks, colours())]
    edges = []
    if record.kind in GIT_KINDS:
        edges = memory.records.links(record.ref)
        data["edges"] = edges_json(edges)
    revisions = memory.git.history(record.path)[-COMMITS:] if record.kind == "file" else []
    if revisions:
        lines.append(revisions_text(revisions, colours()))
    elif edges:
        lines.append(links_text(record.ref, edges, colours()))
    return Output(data, "\n".join(lines))
