"""`kinen snapshot` and `kinen gc`: copies of the index, and what nothing uses."""

from __future__ import annotations

import click

from kinen import paths
from kinen.cli.command import dry_run_option, json_command
from kinen.cli.run import working
from kinen.memory import Memory
from kinen.memory.garbage import collect, garbage
from kinen.render.history import snapshot_json, snapshot_text, snapshots_table
from kinen.render.json import counts_json
from kinen.render.text import size_text
from kinen.verbs.params import flag, param
from kinen.verbs.verb import Output, group, listing, verb


@verb(working="copying the index")
def create(memory: Memory) -> Output:
    """Copy the index in its current state."""
    snapshot = memory.snapshots.create()
    return Output(snapshot_json(snapshot), snapshot_text(snapshot))


@verb()
def list_(memory: Memory) -> Output:
    """List the snapshots, newest first. Exit 1 if there are none."""
    snapshots = memory.snapshots.list_all()
    return listing(
        {"snapshots": [snapshot_json(snapshot) for snapshot in snapshots]},
        lambda view: snapshots_table(snapshots, view.screen),
        snapshots,
        "no snapshots yet: `kinen snapshot create` makes one",
    )


@verb()
def restore(
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
def prune(
    memory: Memory,
    keep: int = param("--keep", "number of snapshots to keep", 3, least=0, metavar="N"),
) -> Output:
    """Delete all snapshots except the newest."""
    deleted = memory.snapshots.prune(keep)
    lines = [f"removed {snapshot.name}" for snapshot in deleted]
    return Output(
        {"removed": [snapshot_json(snapshot) for snapshot in deleted]},
        "\n".join(lines) or _nothing_to_remove(len(memory.snapshots.list_all()), keep),
    )


def _nothing_to_remove(count: int, keep: int) -> str:
    if not count:
        return "nothing to remove: there are no snapshots"
    return f"nothing to remove: there are {count:,}, and --keep {keep} keeps the newest {keep:,}"


snapshot = group(
    """Copies of the index, made by hand or every git.snapshot_frequency commits.

    The index can always be rebuilt; restoring a copy is faster if the history is long.

    \b
    Examples:
      kinen snapshot create
      kinen snapshot restore a43f9c1
      kinen snapshot prune --keep 1
    """,
    create=create,
    list=list_,
    restore=restore,
    prune=prune,
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
