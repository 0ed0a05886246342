"""`kinen index`: bring the index up to date, look at it, rebuild it."""

from __future__ import annotations

import click

from kinen import render
from kinen.cli.flags import for_scripts, in_space
from kinen.cli.progress import bar
from kinen.cli.run import ERROR, colours, fail, note
from kinen.errors import Busy


def command() -> click.Command:
    return index


@click.group(invoke_without_command=True)
@click.option("--rebuild", is_flag=True, help="forget the index and build it from the files")
@click.option("--no-embed", is_flag=True, help="full text only, no vectors for now")
@click.option("--quiet", is_flag=True, help="say nothing, also when another kinen is indexing")
@click.option(
    "--wait",
    type=click.FloatRange(0, 86400),
    default=3600.0,
    help="how many seconds to wait for another kinen; an hour if not given",
)
@in_space
@for_scripts
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
    """Bring the index up to date: all full text first, vectors after. Safe to interrupt.

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
            return 0  # the other one, or the next, brings in what this one would have
        raise


@index.command()
@in_space
@for_scripts
def status(space: str | None, as_json: bool) -> int:
    """What is in the index, and which files could not be read or not all, each with its reason."""
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        state = memory.index.status()
        skipped = memory.index.skipped()
        partly = memory.index.partly_read()
    if as_json:
        shown = {
            "space": state.name,
            "synced": state.synced or None,
            "counts": render.counts_json(state.counts),
            "types": state.kinds,
            "pending": state.pending,
            "skipped": [
                {"path": path, "reason": reason, "partly": path in partly}
                for path, reason in skipped
            ],
        }
        print(render.to_json(shown))
        return 0
    counts = state.counts
    print(f"{counts.documents:,} documents, {counts.chunks:,} chunks, {counts.vectors:,} vectors")
    print(f"{counts.edges:,} links, {counts.broken:,} broken")
    print(f"last synced {state.synced or 'never'}")
    style = colours()
    if state.pending:
        print(f"{state.pending:,} chunks wait for their vectors")
    for path, reason in skipped:
        what = "cut" if path in partly else "skipped"
        print(f"{style('warn', what)} {path}: {reason}")
    return 0


@index.command()
@click.option("--session", default="", help="only the files of this session")
@click.option("--no-embed", is_flag=True, help="full text only, no vectors for now")
@in_space
@for_scripts
def rebuild(session: str, no_embed: bool, space: str | None, as_json: bool) -> int:
    """Build the index again from the files; vectors of unchanged text are reused."""
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
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        with bar(quiet=as_json or quiet) as tell:
            report = memory.sync(
                rebuild=rebuild, embed=embed, session=session, progress=tell, wait=wait
            )
        counts = memory.index.status().counts
    if quiet and not report.failure:
        return 0
    if as_json:
        shown = {**report._asdict(), "counts": render.counts_json(counts)}
        print(render.to_json(shown))
        return ERROR if report.failure else 0
    print(render.report_text(report))
    print(f"{counts.documents:,} documents, {counts.chunks:,} chunks, {counts.vectors:,} vectors")
    for remark in report.notes:
        note(remark)
    if counts.skipped:
        note(f"{counts.skipped:,} files could not be read in full: `kinen index status` says why")
    return fail(f"embedding stopped: {report.failure}") if report.failure else 0
