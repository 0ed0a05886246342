"""`kinen list`: entries of the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kinen.cli.command import TIMES, Output, limit_option, memory_command, text_option
from kinen.cli.run import colours
from kinen.render.journal import entries_text, entry_json
from kinen.times import milliseconds

if TYPE_CHECKING:
    from kinen.memory import Memory

PLURALS = ("capsules", "observations", "summaries", "pins", "memories")


@click.command("list")
@click.argument("plural", type=click.Choice(PLURALS))
@text_option("--session", "ID", "only this session (a prefix is enough)")
@text_option("--repo", "NAME", "only this repository (a prefix is enough)")
@text_option("--agent", "NAME", "only this agent")
@text_option("--kind", "KIND", "only this kind, or type of capsule or memory")
@text_option("--after", "TIME", f"only since this time: {TIMES}")
@text_option("--before", "TIME", "only until this time")
@limit_option(20)
@click.option("--audit", is_flag=True, help="include forgotten entries and expired pins")
@memory_command
def list_(
    memory: Memory,
    plural: str,
    session: str,
    repo: str,
    agent: str,
    kind: str,
    after: str,
    before: str,
    limit: int,
    audit: bool,
) -> Output:
    """List entries of the journal, newest first. Exit 1 if there are none.

    \b
    Examples:
      kinen list observations --kind error --after 2d
      kinen list capsules --session s1 --json | jq -r '.capsules[].ref'
      kinen list pins --audit
    """
    if kind and plural in ("summaries", "pins"):
        raise click.UsageError(f"{plural} have no kind · omit --kind")
    entries, count = memory.journal.entries(
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
    notes = []
    if not entries:
        notes.append(f"no {plural}")
    elif count > len(entries):
        notes.append(f"{len(entries):,} of {count:,}; --limit shows more")
    return Output(
        lambda: {plural: [entry_json(entry) for entry in entries], "count": count},
        entries_text(entries, colours()),
        found=bool(entries),
        notes=notes,
    )
