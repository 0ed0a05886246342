"""`kinen status`: what this space remembers."""

from __future__ import annotations

import click

from kinen import render
from kinen.cli.flags import for_scripts, in_space
from kinen.cli.run import colours


def command() -> click.Command:
    return status


@click.command()
@in_space
@for_scripts
def status(space: str | None, as_json: bool) -> int:
    """What this space remembers, with which model, and what needs attention."""
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        state = memory.status()
    if as_json:
        print(render.to_json(render.status_json(state)))
    else:
        print(render.status_text(state, colours()))
    return 0
