"""`kinen list`: what the journal has."""

from __future__ import annotations

import click

from kinen import render
from kinen.cli.flags import for_scripts, in_space
from kinen.cli.run import FOUND, NOTHING, colours, note
from kinen.times import milliseconds

PLURALS = ("capsules", "observations", "summaries", "pins", "memories")


def command() -> click.Command:
    return list_


@click.command("list")
@click.argument("plural", type=click.Choice(PLURALS))
@click.option("--session", default="", help="of this session (its beginning will do)")
@click.option("--repo", default="", help="of this repository (its beginning will do)")
@click.option("--agent", default="", help="of this agent")
@click.option("--kind", default="", help="of this kind, or type of capsule or memory")
@click.option("--after", default="", help="not before: 2026-03-01, 2h, 3d, today")
@click.option("--before", default="", help="not after, in the same words")
@click.option("--limit", "-n", default=20, show_default=True, help="at most so many, 0 for all")
@click.option("--audit", is_flag=True, help="also what was forgotten, and pins that expired")
@in_space
@for_scripts
def list_(
    plural: str,
    session: str,
    repo: str,
    agent: str,
    kind: str,
    after: str,
    before: str,
    limit: int,
    audit: bool,
    space: str | None,
    as_json: bool,
) -> int:
    """What the journal has, newest first. Exit 1 if there is nothing.

    \b
    Examples:
      kinen list observations --kind error --after 2d
      kinen list capsules --session s1 --json | jq -r '.capsules[].ref'
      kinen list pins --audit
    """
    from kinen.memory import Memory
    from kinen.render.journal import entries_text, entry_json

    if kind and plural in ("summaries", "pins"):
        raise click.UsageError(f"{plural} have no kind")
    with Memory.open(space=space) as memory:
        found, count = memory.journal.entries(
            plural,
            session=session,
            repo=repo,
            agent=agent,
            kind=kind,
            after=milliseconds(after),
            before=milliseconds(before, end=True),
            limit=max(0, limit),
            audit=audit,
        )
    if as_json:
        print(render.to_json({plural: [entry_json(one) for one in found], "count": count}))
    elif found:
        print(entries_text(found, colours()))
        if count > len(found):
            note(f"{len(found):,} of {count:,}; --limit shows more")
    return FOUND if found else NOTHING
