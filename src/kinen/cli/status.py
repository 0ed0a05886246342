"""`kinen status`: contents and state of a space."""

from __future__ import annotations

import click

from kinen import render
from kinen.cli.command import Output, spaces_command
from kinen.cli.run import colours
from kinen.memory import Memory
from kinen.render.daemon import daemon_text


@click.command()
@spaces_command
def status(memory: Memory) -> Output:
    """Show what is in this space, its model, and what needs attention."""
    from kinen.daemon import control

    state = memory.index.status()
    lost = memory.journal.lost()
    seen = control.look(memory.space.home)
    style = colours()
    daemon = daemon_text(
        seen.state,
        seen.last,
        held=seen.held,
        refusal=seen.refusal,
        style=style,
        root=state.root,
    )
    lines = [render.status_text(state, style), f"{style('dim', 'daemon    ')} {daemon}"]
    if lost:
        lines.append(f"{style('warn', 'journal   ')} {lost}; see `kinen doctor`")
    data = {**render.status_json(state), "daemon": seen.state or None, "journal_lost": lost}
    return Output(data, "\n".join(lines))
