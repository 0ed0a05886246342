"""`kinen ledger`: what agents were told."""

from __future__ import annotations

import click

from kinen import render
from kinen.cli.flags import for_scripts, in_space
from kinen.cli.output import write_raw
from kinen.cli.run import FOUND, NOTHING, colours, note
from kinen.times import milliseconds

EMPTY = (
    "no agent was told anything here; `kinen install claude-code` has sessions begin with what is"
    " known, `kinen config get hooks.budget` shows how much"
)


@click.group(invoke_without_command=True)
@click.option("--session", default="", help="of this session (its beginning will do)")
@click.option("--agent", default="", help="told to this agent")
@click.option("--event", default="", help="SessionStart, UserPromptSubmit, PreToolUse or mcp")
@click.option("--since", default="", help="not before: 2026-03-01, 2h, 3d, today")
@click.option("--limit", "-n", default=20, show_default=True, help="at most this many, 0 for all")
@in_space
@for_scripts
@click.pass_context
def ledger(
    context: click.Context,
    session: str,
    agent: str,
    event: str,
    since: str,
    limit: int,
    space: str | None,
    as_json: bool,
) -> int:
    """What kinen told agents: when, by which event, to whom, how many tokens, the first line.

    The newest first; exit 1 if there is nothing. Of the last 90 days, at most 5,000. It is never
    searched, recalled, exported or consolidated.

    \b
    Examples:
      kinen ledger --session 3a9810da
      kinen ledger --event PreToolUse --since 1d
      kinen ledger show 01KA3V9Q
      kinen ledger totals
      kinen ledger audit
    """
    if context.invoked_subcommand:
        return FOUND
    from kinen.memory import Memory
    from kinen.render.ledger import injection_json, injection_line

    with Memory.open(space=space) as memory:
        injections, count = memory.ledger.injections(
            session=session,
            agent=agent,
            event=event,
            since=milliseconds(since),
            limit=max(0, limit),
        )
    if as_json:
        records = [injection_json(injection) for injection in injections]
        print(render.to_json({"injections": records, "count": count}))
    else:
        for injection in injections:
            print(injection_line(injection, colours()))
        if count > len(injections):
            note(f"{len(injections):,} of {count:,}; --limit shows more")
        if not count:
            note(EMPTY)
    return FOUND if injections else NOTHING


@ledger.command()
@click.argument("name", metavar="ID")
@in_space
@for_scripts
def show(name: str, space: str | None, as_json: bool) -> int:
    """The text as the agent got it, byte for byte; with --json also its entries and what was left
    out, and why.
    """
    from kinen.memory import Memory
    from kinen.render.ledger import injection_json

    with Memory.open(space=space) as memory:
        injection = memory.ledger.injection(name)
    if as_json:
        print(render.to_json(injection_json(injection, whole=True)))
    else:
        write_raw(injection.text)
    return FOUND


@ledger.command()
@click.option("--agent", default="", help="told to this agent")
@click.option("--since", default="", help="not before: 2026-03-01, 2h, 3d, today")
@in_space
@for_scripts
def totals(agent: str, since: str, space: str | None, as_json: bool) -> int:
    """How many tokens each session was told, the latest first."""
    from kinen.memory import Memory
    from kinen.render.ledger import total_json, totals_text

    with Memory.open(space=space) as memory:
        sessions = memory.ledger.totals(agent=agent, since=milliseconds(since))
    if as_json:
        tokens = sum(total.tokens for total in sessions)
        print(render.to_json({"sessions": [total_json(one) for one in sessions], "tokens": tokens}))
    elif sessions:
        print(totals_text(sessions, colours()))
    else:
        note(EMPTY)
    return FOUND if sessions else NOTHING


@ledger.command()
@click.option("--session", default="", help="of this session (its beginning will do)")
@click.option("--agent", default="", help="told to this agent")
@click.option("--since", default="", help="not before: 2026-03-01, 2h, 3d, today")
@in_space
@for_scripts
def audit(session: str, agent: str, since: str, space: str | None, as_json: bool) -> int:
    """Was it used? The share of entries whose files, symbols or commands were used afterwards,
    beside that of entries that were found and not told. An estimate: see the guide.
    """
    from kinen.memory import Memory
    from kinen.render.ledger import estimate_json, estimate_text

    with Memory.open(space=space) as memory:
        estimate = memory.ledger.audit(session=session, agent=agent, since=milliseconds(since))
    print(render.to_json(estimate_json(estimate)) if as_json else estimate_text(estimate))
    return FOUND if estimate.told.entries or estimate.dropped.entries else NOTHING
