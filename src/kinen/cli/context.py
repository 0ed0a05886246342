"""`kinen context`, `kinen standup` and `kinen handoff`: what belongs to the work at hand."""

from __future__ import annotations

import click

from kinen import render
from kinen.cli.flags import FILE_NAME, for_scripts, in_space
from kinen.cli.run import FOUND, NOTHING, note


@click.command()
@click.option("--session", default="", help="around this session: its name, or a capsule's id")
@click.option(
    "--file", type=FILE_NAME, default="", help="around this file: its path, or the end of it"
)
@click.option("--depth", default=1, show_default=True, help="also around what was found")
@click.option("--budget", type=int, default=0, help="most tokens; recall.budget if not given")
@in_space
@for_scripts
def context(
    session: str, file: str, depth: int, budget: int, space: str | None, as_json: bool
) -> int:
    """Sessions, memories, checkpoints, commits and the open plan around a file or a session.

    Without either, around what is changed and not committed. Exit 1 if there is nothing.

    \b
    Examples:
      kinen context
      kinen context --file src/auth.py --budget 800
      kinen context --session s1 --depth 2
    """
    from kinen.errors import QueryError
    from kinen.memory import Memory
    from kinen.render.entries import recall_json, recall_text

    if budget < 0:
        raise QueryError(f"a budget of {budget} tokens holds nothing", "use --budget 1 or more")
    with Memory.open(space=space) as memory:
        found = memory.context(session=session, file=file, depth=depth, budget=budget)
    if as_json:
        print(render.to_json(recall_json(found)))
    else:
        for remark in found.notes:
            note(remark)
        if found.items:
            print(recall_text(found))
    return FOUND if found.items else NOTHING


@click.command()
@click.option("--since", default="1d", show_default=True, help="1d, 3d, 1w, today, 2026-03-01")
@in_space
@for_scripts
def standup(since: str, space: str | None, as_json: bool) -> int:
    """What was done since then, what was decided, what comes next and what is open.

    Exit 1 if there is nothing to say.

    \b
    Examples:
      kinen standup
      kinen standup --since 3d | pbcopy
    """
    from kinen.memory import Memory
    from kinen.text import now, parse_time

    with Memory.open(space=space) as memory:
        told = memory.standup(parse_time(since, now()))
    return _told(told, as_json)


@click.command()
@in_space
@for_scripts
def handoff(space: str | None, as_json: bool) -> int:
    """What the next one to work here has to know: state, plan, last steps, what is open.

    Exit 1 if there is nothing to say.

    \b
    Examples:
      kinen handoff > HANDOFF.md
    """
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        told = memory.handoff()
    return _told(told, as_json)


def _told(text: str, as_json: bool) -> int:
    if as_json:
        print(render.to_json({"markdown": text}))
    elif text:
        print(text)
    return FOUND if text else NOTHING
