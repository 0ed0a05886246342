"""`kinen snapshot`: copies of the index, each tied to a commit."""

from __future__ import annotations

import click

from kinen import render
from kinen.cli.flags import for_scripts, in_space
from kinen.cli.run import FOUND, NOTHING, colours
from kinen.render import history as shown


def command() -> click.Command:
    return snapshot


@click.group()
def snapshot() -> None:
    """Copies of the index, made by hand or every git.snapshot_frequency commits.

    The index can always be built again; a copy saves the time where a history is long.

    \b
    Examples:
      kinen snapshot create
      kinen snapshot restore a43f9c1
      kinen snapshot prune --keep 1
    """


@snapshot.command()
@in_space
@for_scripts
def create(space: str | None, as_json: bool) -> int:
    """Copy the index as it is now."""
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        made = memory.index.create_snapshot()
    print(render.to_json(shown.snapshot_json(made)) if as_json else shown.snapshot_text(made))
    return FOUND


@snapshot.command(name="list")
@in_space
@for_scripts
def listing(space: str | None, as_json: bool) -> int:
    """List the copies there are, the newest first."""
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        found = memory.index.snapshots()
    if as_json:
        print(render.to_json({"snapshots": [shown.snapshot_json(one) for one in found]}))
    else:
        for one in found:
            print(shown.snapshot_text(one, colours()))
    return FOUND if found else NOTHING


@snapshot.command()
@click.argument("name", default="", metavar="[NAME|COMMIT]")
@click.option("--no-embed", is_flag=True, help="catch up in full text only")
@in_space
@for_scripts
def restore(name: str, no_embed: bool, space: str | None, as_json: bool) -> int:
    """Put the index back to a copy, the newest if none is named, and catch up from there."""
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        chosen = memory.index.restore_snapshot(name, embed=not no_embed)
        counts = memory.index.status().counts
    if as_json:
        restored = {**shown.snapshot_json(chosen), "counts": render.counts_json(counts)}
        print(render.to_json(restored))
    else:
        print(f"restored {chosen.name} and caught up: {counts.documents:,} documents")
    return FOUND


@snapshot.command()
@click.option("--keep", type=click.IntRange(0), default=3, show_default=True, help="how many")
@in_space
@for_scripts
def prune(keep: int, space: str | None, as_json: bool) -> int:
    """Remove all copies but the newest."""
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        gone = memory.index.prune_snapshots(keep)
    if as_json:
        print(render.to_json({"removed": [shown.snapshot_json(one) for one in gone]}))
    else:
        print("\n".join(f"removed {one.name}" for one in gone) or "nothing to remove")
    return FOUND
