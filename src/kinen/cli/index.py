"""`kinen index`: update, inspect and rebuild the index; its copies; what nothing uses."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

import click

from kinen import paths
from kinen.characters import visible_line
from kinen.cli.answer import emit, warn
from kinen.cli.command import (
    command,
    dry_run_option,
    group,
    json_command,
    json_option,
    options,
    space_option,
    spaces_option,
)
from kinen.cli.output import ERROR, note
from kinen.cli.run import bar, colours, fail, working
from kinen.errors import Busy, KinenError
from kinen.memory import Memory
from kinen.memory.garbage import collect, garbage
from kinen.render.history import snapshot_json, snapshot_text, snapshots_table
from kinen.render.json import counts_json, to_json
from kinen.render.text import counted, report_text, size_text
from kinen.space.find import is_several, resolve_names
from kinen.verbs.index import IndexStatus, counts_line
from kinen.verbs.params import flag, option, param
from kinen.verbs.verb import Output, listing, verb
from kinen.verbs.verb import group as verb_group

WAIT = 10.0
"""Seconds to wait for another process that indexes the same space."""
no_embed_option = click.option(
    "--no-embed",
    is_flag=True,
    help="full text only; searches and the daemon make no vectors either, until `kinen index`",
)


@group(invoke_without_command=True)
@click.option("--rebuild", is_flag=True, help="delete the index and build it again")
@no_embed_option
@click.option("--quiet", is_flag=True, help="print nothing, even if another kinen is indexing")
@click.option(
    "--wait",
    type=click.FloatRange(0, 86400),
    default=WAIT,
    show_default=True,
    metavar="SECONDS",
    help="how long to wait for another kinen that is indexing",
)
@click.option(
    "--engine",
    default="",
    metavar="URL",
    help="index into a PostgreSQL database: postgresql://…, or config for engine.url",
)
@click.option(
    "--repositories",
    multiple=True,
    type=click.Path(exists=True, file_okay=False),
    metavar="FOLDER",
    help="with --engine, every repository in this folder; repeatable",
)
@spaces_option
@json_option
@click.pass_context
def index(
    ctx: click.Context,
    rebuild: bool,
    no_embed: bool,
    quiet: bool,
    wait: float,
    engine: str,
    repositories: tuple[str, ...],
    spaces: tuple[str, ...],
    as_json: bool,
) -> int:
    """Update the index: full text first, then vectors. It can be interrupted at any time.

    \b
    Examples:
      kinen index
      kinen index --no-embed
      kinen index --space all
      kinen index status
      kinen index rebuild --session 20251203-01-auth
      kinen index --engine postgresql://search@db/kinen --repositories ~/work
    """
    if ctx.invoked_subcommand:
        return 0
    options = Options(rebuild=rebuild, embed=not no_embed, quiet=quiet, wait=wait)
    if engine:
        from kinen.cli.engine import index_engine

        return index_engine(
            engine,
            spaces,
            repositories,
            embed=not no_embed,
            rebuild=rebuild,
            quiet=quiet,
            as_json=as_json,
        )
    if repositories:
        raise click.UsageError("--repositories needs --engine")
    if is_several(spaces):
        return _run_several(spaces, options, as_json=as_json)
    try:
        code = run(spaces[0] if spaces else None, options, as_json=as_json)
        if quiet:  # as the hooks of git run it
            share(spaces[0] if spaces else None)
        return code
    except Busy:
        if quiet:
            return 0  # the other process, or the next run, indexes the same files
        raise


def share(space: str | None) -> None:
    """Let colleagues have what a commit brings; nothing without a team."""
    with Memory.open(space=space) as memory:
        if memory.config.team.url:
            memory.team.share()


index.add_command(command(IndexStatus, "status"))


@index.command()
@options(session=option("--session", "ID", "only the files of this session"))
@no_embed_option
@space_option
@json_option
def rebuild(session: str, no_embed: bool, space: str | None, as_json: bool) -> int:
    """Build the index again from the files. Vectors of unchanged text are reused."""
    options = Options(rebuild=True, embed=not no_embed, session=session)
    return run(space, options, as_json=as_json)


@dataclass(frozen=True, slots=True)
class Options:
    rebuild: bool = False
    embed: bool = True
    session: str = ""
    quiet: bool = False
    wait: float = WAIT


def run(space: str | None, options: Options, *, as_json: bool) -> int:
    """Index one space and print what was done."""
    with Memory.open(space=space) as memory:
        warn(memory)
        for remark in memory.core.untold("git", memory.index.sources.rules.notes):
            note(remark)
        output, failure = _index(memory, options)
    if options.quiet and not failure:
        return 0
    emit(output, as_json)
    if failure:
        return ERROR if as_json else fail(f"embedding stopped: {failure}")
    return 0


def _run_several(names: Sequence[str], options: Options, *, as_json: bool) -> int:
    """Index several spaces one after the other; one that fails does not stop the rest."""
    code = 0
    objects = []
    for space in resolve_names(paths.default_home(), names):
        if not as_json and not options.quiet:
            print(colours()("bold", visible_line(space.name)), flush=True)
        try:
            with Memory.open(space=space.id) as memory:
                output, failure = _index(memory, options)
            objects.append({"name": space.name, **dict(output.data)})
            if not as_json and not options.quiet:
                emit(output, as_json=False)
        except KinenError as error:
            failure = str(error)
            objects.append({"name": space.name, "failure": failure})
        if failure:
            code = ERROR
            fail(f"{space.name}: {failure}")
    if as_json:
        print(to_json({"spaces": objects}))
    return code


def _index(memory: Memory, options: Options) -> tuple[Output, str]:
    """Bring the index of a space up to date; what was done, and why embedding failed if it did."""

    def tell(who: str) -> None:
        if not options.quiet:
            note(f"{who}; waiting up to {options.wait:g} s, Ctrl-C stops")

    embed = options.embed
    if options.quiet and memory.index.vectors_off:  # a git hook does not undo --no-embed
        embed = False
    else:
        memory.index.switch_vectors(on=embed)
    try:
        with bar(quiet=options.quiet) as update:
            report = memory.sync(
                rebuild=options.rebuild,
                embed=embed,
                session=options.session,
                progress=update,
                wait=options.wait,
                on_wait=tell,
            )
    except KeyboardInterrupt:
        rest = "what was indexed is"
        with contextlib.suppress(KinenError):
            rest = f"{counts_line(memory.index.status().counts)} are"
        note(f"stopped; {rest} kept: `kinen index` continues from there")
        raise
    counts = memory.index.counts()
    notes = list(report.notes)
    if counts.skipped:
        files = counted(counts.skipped, "files")
        notes.append(f"{files} could not be read in full: see `kinen index status`")
    data = {**report._asdict(), "counts": counts_json(counts)}
    text = f"{report_text(report)}\n{counts_line(counts)}"
    return Output(data, text, notes=notes), report.failure


@verb(working="copying the index")
def create_snapshot(memory: Memory) -> Output:
    """Copy the index in its current state."""
    snapshot = memory.snapshots.create()
    return Output(snapshot_json(snapshot), snapshot_text(snapshot))


@verb()
def list_snapshots(memory: Memory) -> Output:
    """List the snapshots, newest first. Exit 1 if there are none."""
    snapshots = memory.snapshots.list_all()
    return listing(
        {"snapshots": [snapshot_json(snapshot) for snapshot in snapshots]},
        lambda view: snapshots_table(snapshots, view.screen),
        snapshots,
        "no snapshots yet: `kinen snapshot create` makes one",
    )


@verb()
def restore_snapshot(
    memory: Memory,
    name: str = param("", "a snapshot", metavar="[NAME|COMMIT]"),
    no_embed: bool = flag("--no-embed", "full text only, no vectors for now"),
) -> Output:
    """Restore the index from a snapshot (default: the newest), then update it."""
    snapshot = memory.snapshots.restore(name, embed=not no_embed)
    counts = memory.index.counts()
    return Output(
        {**snapshot_json(snapshot), "counts": counts_json(counts)},
        f"restored {snapshot.name} and updated it: {counts.documents:,} documents",
    )


@verb()
def prune_snapshots(
    memory: Memory,
    keep: int = param("--keep", "number of snapshots to keep", 3, least=0, metavar="N"),
) -> Output:
    """Delete all snapshots except the newest."""
    deleted = memory.snapshots.prune(keep)
    count = len(memory.snapshots.list_all())
    if deleted:
        text = "\n".join(f"removed {snapshot.name}" for snapshot in deleted)
    elif count:
        text = (
            f"nothing to remove: there are {count:,}, and --keep {keep} keeps the newest {keep:,}"
        )
    else:
        text = "nothing to remove: there are no snapshots"
    return Output({"removed": [snapshot_json(snapshot) for snapshot in deleted]}, text)


snapshot = verb_group(
    """Copies of the index, made by hand or every git.snapshot_frequency commits.

    The index can always be rebuilt; restoring a copy is faster if the history is long.

    \b
    Examples:
      kinen snapshot create
      kinen snapshot restore a43f9c1
      kinen snapshot prune --keep 1
    """,
    create=create_snapshot,
    list=list_snapshots,
    restore=restore_snapshot,
    prune=prune_snapshots,
)


@click.command()
@dry_run_option
@json_command
def gc(dry_run: bool) -> Output:
    """Delete what nothing uses: indexes of removed spaces, clones and worktrees, unused vectors.

    Journals are kept: `kinen space remove --purge` deletes a space for good. Exit 1 if there is
    nothing to delete.
    """
    home = paths.default_home()
    with working("looking for what nothing uses"):
        items = garbage(home) if dry_run else collect(home)
    total = sum(item.bytes for item in items)
    lines = [f"{size_text(item.bytes):>10}  {item.path}  ({item.reason})" for item in items]
    if items:
        lines.append(f"{size_text(total)} {'would be freed' if dry_run else 'freed'}")
    return Output(
        {"deleted": [item._asdict() for item in items], "bytes": total, "dry_run": dry_run},
        "\n".join(lines),
        found=bool(items),
        notes=() if items else ["nothing to delete"],
    )
