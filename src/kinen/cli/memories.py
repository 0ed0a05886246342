"""`kinen memories` and `kinen consolidate`: what was drawn from everything else."""

from __future__ import annotations

import click

from kinen import render
from kinen.cli.flags import for_scripts, in_space
from kinen.cli.run import FOUND, NOTHING, colours, note
from kinen.model.kinds import DISTILLERS, MEMORY_TYPES


@click.group()
def memories() -> None:
    """Decisions, lessons, patterns and insights, each with its sources."""


@memories.command("list")
@click.option("--type", "type_", type=click.Choice(MEMORY_TYPES), default=None, help="only these")
@click.option("--forgotten", is_flag=True, help="those that are no longer shown")
@in_space
@for_scripts
def list_(type_: str | None, forgotten: bool, space: str | None, as_json: bool) -> int:
    """All memories, newest first; exit 1 if there are none."""
    from kinen.memory import Memory
    from kinen.render.journal import learned_text, memory_json

    with Memory.open(space=space) as memory:
        found = memory.consolidation.memories(type_ or "", hidden=forgotten)
        listed = (
            [memory_json(one, memory.consolidation.origin(one)) for one in found] if as_json else []
        )
    if as_json:
        print(render.to_json({"memories": listed}))
    else:
        print("\n".join(learned_text(one, colours()) for one in found), end="\n" if found else "")
        if not (found or type_ or forgotten):
            note("no memories yet: `kinen consolidate` draws them from sessions and decisions")
    return FOUND if found else NOTHING


@memories.command()
@click.argument("name", metavar="ID")
@in_space
@for_scripts
def show(name: str, space: str | None, as_json: bool) -> int:
    """A memory with all its sources."""
    from kinen.memory import Memory
    from kinen.render.journal import learned_text, memory_json, origin_text

    with Memory.open(space=space) as memory:
        found = memory.consolidation.get(name)
        origin = memory.consolidation.origin(found)
    if as_json:
        print(render.to_json(memory_json(found, origin)))
    else:
        about = origin_text(origin)
        print(learned_text(found, colours(), sources=True), *([about] if about else []), sep="\n")
    return FOUND


@memories.command()
@click.argument("name", metavar="ID")
@in_space
@for_scripts
def forget(name: str, space: str | None, as_json: bool) -> int:
    """Show a memory no more; it is not drawn again, and `restore` brings it back."""
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        found = memory.consolidation.hide(name)
    print(render.to_json({"ref": found.ref}) if as_json else f"{found.ref}  forgotten")
    return FOUND


@memories.command()
@click.argument("name", metavar="ID")
@in_space
@for_scripts
def restore(name: str, space: str | None, as_json: bool) -> int:
    """Show a memory again that was forgotten."""
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        found = memory.consolidation.restore(name)
    print(render.to_json({"ref": found.ref}) if as_json else f"{found.ref}  restored")
    return FOUND


@click.command()
@click.option("--session", default="", help="from this session's folder")
@click.option("--capsule", default="", help="from this capsule")
@click.option("--since", default="", help="from what came since then: 3d, 1w, 2026-03-01")
@click.option("--dry-run", is_flag=True, help="say what would be drawn, and keep nothing")
@click.option(
    "--distiller",
    type=click.Choice(("configured", "auto", *DISTILLERS)),
    default="configured",
    help="who draws from sessions; consolidation.order if not given",
)
@in_space
@for_scripts
def consolidate(
    session: str,
    capsule: str,
    since: str,
    dry_run: bool,
    distiller: str,
    space: str | None,
    as_json: bool,
) -> int:
    """Draw memories from decision records, rounds, checkpoints, commits and sessions.

    By default from what came since the last time, and by rules, here: a model is asked only where
    you say so (consolidation.order). What they are drawn from stays searchable
    beside them. Exit 1 if there was nothing new.

    \b
    Examples:
      kinen consolidate --dry-run
      kinen consolidate --session 20251206-01
      kinen consolidate --distiller ollama
    """
    from kinen.memory import Memory
    from kinen.render.journal import consolidated_json, consolidated_text
    from kinen.text import now, parse_time

    begin = parse_time(since, now()) if since else ""
    with Memory.open(space=space) as memory:
        done = memory.consolidation.consolidate(
            session=session, capsule=capsule, since=begin, dry_run=dry_run, distiller=distiller
        )
    if as_json:
        print(render.to_json(consolidated_json(done)))
    else:
        print(consolidated_text(done, colours()))
    return FOUND if done.learned else NOTHING
