"""`kinen index`: update, inspect and rebuild the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kinen import render
from kinen.cli.command import (
    Output,
    emit,
    group,
    json_option,
    memory_command,
    space_option,
    text_option,
)
from kinen.cli.progress import bar
from kinen.cli.run import ERROR, colours, fail
from kinen.errors import Busy
from kinen.memory import Memory

if TYPE_CHECKING:
    from kinen.model.records import Counts

no_embed_option = click.option(
    "--no-embed", is_flag=True, help="full text only, no vectors for now"
)


@group(invoke_without_command=True)
@click.option("--rebuild", is_flag=True, help="delete the index and build it again")
@no_embed_option
@click.option("--quiet", is_flag=True, help="print nothing, even if another kinen is indexing")
@click.option(
    "--wait",
    type=click.FloatRange(0, 86400),
    default=3600.0,
    show_default=True,
    metavar="SECONDS",
    help="how long to wait for another kinen that is indexing",
)
@space_option
@json_option
@click.pass_context
def index(
    ctx: click.Context,
    rebuild: bool,
    no_embed: bool,
    quiet: bool,
    wait: float,
    space: str | None,
    as_json: bool,
) -> int:
    """Update the index: full text first, then vectors. It can be interrupted at any time.

    \b
    Examples:
      kinen index
      kinen index --no-embed
      kinen index status
      kinen index rebuild --session 20251203-01-auth
    """
    if ctx.invoked_subcommand:
        return 0
    try:
        return run(
            space, as_json=as_json, rebuild=rebuild, embed=not no_embed, quiet=quiet, wait=wait
        )
    except Busy:
        if quiet:
            return 0  # the other process, or the next run, indexes the same files
        raise


@index.command()
@memory_command
def status(memory: Memory) -> Output:
    """Show what is in the index, and why files were skipped or read only in part."""
    state = memory.index.status()
    skipped = memory.index.skipped()
    partly = memory.index.partly_read()
    counts = state.counts
    data = {
        "space": state.name,
        "synced": state.synced or None,
        "counts": render.counts_json(counts),
        "types": state.kinds,
        "pending": state.pending,
        "skipped": [
            {"path": path, "reason": reason, "partly": path in partly} for path, reason in skipped
        ],
    }
    lines = [
        _counts_line(counts),
        f"{counts.edges:,} links, {counts.broken:,} broken",
        f"last synced {state.synced or 'never'}",
    ]
    if state.pending:
        lines.append(f"{state.pending:,} chunks without a vector: run `kinen index`")
    style = colours()
    for path, reason in skipped:
        word = "cut" if path in partly else "skipped"
        lines.append(f"{style('warn', word)} {path}: {reason}")
    return Output(data, "\n".join(lines))


@index.command()
@text_option("--session", "ID", "only the files of this session")
@no_embed_option
@space_option
@json_option
def rebuild(session: str, no_embed: bool, space: str | None, as_json: bool) -> int:
    """Build the index again from the files. Vectors of unchanged text are reused."""
    return run(space, as_json=as_json, rebuild=True, embed=not no_embed, session=session)


def run(
    space: str | None,
    *,
    as_json: bool,
    rebuild: bool,
    embed: bool,
    session: str = "",
    quiet: bool = False,
    wait: float = 3600.0,
) -> int:
    with Memory.open(space=space) as memory:
        with bar(quiet=as_json or quiet) as update:
            report = memory.sync(
                rebuild=rebuild, embed=embed, session=session, progress=update, wait=wait
            )
        counts = memory.index.status().counts
    if quiet and not report.failure:
        return 0
    notes = list(report.notes)
    if counts.skipped:
        notes.append(
            f"{counts.skipped:,} files could not be read in full: see `kinen index status`"
        )
    emit(
        Output(
            {**report._asdict(), "counts": render.counts_json(counts)},
            f"{render.report_text(report)}\n{_counts_line(counts)}",
            notes=notes,
        ),
        as_json,
    )
    if report.failure:
        return ERROR if as_json else fail(f"embedding stopped: {report.failure}")
    return 0


def _counts_line(counts: Counts) -> str:
    return render.counts_text(
        {"documents": counts.documents, "chunks": counts.chunks, "vectors": counts.vectors},
        zeros=True,
    )
