"""`kinen status`: what this space remembers."""

from __future__ import annotations

import click

from kinen import render
from kinen.cli.flags import for_scripts, in_space
from kinen.cli.run import colours
from kinen.render.daemon import daemon_text


def command() -> click.Command:
    return status


@click.command()
@in_space
@for_scripts
def status(space: str | None, as_json: bool) -> int:
    """What this space remembers, with which model, and what needs attention."""
    from kinen.daemon import control
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        state = memory.index.status()
        lost = memory.journal.lost()
        seen = control.look(memory.space.home)
    if as_json:
        print(
            render.to_json(
                {**render.status_json(state), "daemon": seen.state or None, "journal_lost": lost}
            )
        )
    else:
        style = colours()
        print(render.status_text(state, style))
        told = daemon_text(
            seen.state,
            seen.last,
            held=seen.held,
            refusal=seen.refusal,
            style=style,
            root=state.root,
        )
        print(f"{style('dim', 'daemon    ')} {told}")
        if lost:
            print(f"{style('warn', 'journal   ')} {lost}; see `kinen doctor`")
    return 0
