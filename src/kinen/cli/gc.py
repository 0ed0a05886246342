"""`kinen gc`: delete indexes and vectors that nothing uses."""

from __future__ import annotations

import click

from kinen import paths
from kinen.cli.command import Output, dry_run_option, json_command
from kinen.cli.progress import working
from kinen.memory.garbage import collect, garbage
from kinen.render.text import size_text


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
