"""`kinen ledger`: what kinen sent to agents."""

from __future__ import annotations

import click

from kinen.cli.command import (
    Output,
    emit,
    group,
    json_option,
    limit_option,
    listing,
    memory_command,
    options,
    space_option,
    text_option,
)
from kinen.cli.options import AGENT, BEGIN, SESSION
from kinen.cli.output import write_raw
from kinen.cli.run import FOUND, colours, screen
from kinen.memory import Memory
from kinen.render.ledger import (
    estimate_json,
    estimate_text,
    injection_json,
    injections_table,
    total_json,
    totals_text,
)
from kinen.times import milliseconds

EMPTY = (
    "nothing was sent to an agent yet: `kinen install` lists the agents that it can connect,"
    " hooks.budget sets how much a session starts with"
)

NO_MATCH = "nothing that was sent matches"


@group(invoke_without_command=True)
@options(SESSION, AGENT)
@text_option(
    "--event", "NAME", "only this event: SessionStart, UserPromptSubmit, PreToolUse or mcp"
)
@options(*BEGIN)
@limit_option(20)
@space_option
@json_option
@click.pass_context
def ledger(
    ctx: click.Context,
    session: str,
    agent: str,
    event: str,
    since: str,
    limit: int,
    space: str | None,
    as_json: bool,
) -> int:
    """List what kinen sent to agents: time, event, agent, tokens and first line.

    Newest first; exit 1 if there is nothing. The ledger has the last 90 days, at most 5,000
    entries. It is never searched, recalled, exported or consolidated.

    \b
    Examples:
      kinen ledger --session 3a9810da
      kinen ledger --event PreToolUse --since 1d
      kinen ledger show 01KA3V9Q
      kinen ledger totals
      kinen ledger audit
    """
    if ctx.invoked_subcommand:
        return FOUND
    with Memory.open(space=space) as memory:
        injections, count = memory.ledger.injections(
            session=session,
            agent=agent,
            event=event,
            since=milliseconds(since),
            limit=max(0, limit),
        )
        names = memory.ledger.short_ids()
    filtered = session or agent or event or since
    output = listing(
        {"injections": [injection_json(injection) for injection in injections], "count": count},
        injections_table(injections, screen(), names),
        injections,
        f"{NO_MATCH}: `kinen ledger` lists everything" if filtered else EMPTY,
        count,
    )
    return emit(output, as_json)


@ledger.command()
@click.argument("name", metavar="ID")
@space_option
@json_option
def show(name: str, space: str | None, as_json: bool) -> int:
    """Print the text that was sent, byte for byte.

    --json adds its entries, and what was left out and why.
    """
    with Memory.open(space=space) as memory:
        injection = memory.ledger.injection(name)
    if as_json:
        return emit(Output(injection_json(injection, whole=True)), as_json)
    write_raw(injection.text)
    return FOUND


@ledger.command()
@options(AGENT)
@options(*BEGIN)
@memory_command
def totals(memory: Memory, agent: str, since: str) -> Output:
    """Show how many tokens were sent to each session, latest first."""
    totals = memory.ledger.totals(agent=agent, since=milliseconds(since))
    tokens = sum(total.tokens for total in totals)
    return listing(
        {"sessions": [total_json(total) for total in totals], "tokens": tokens},
        totals_text(totals, colours()) if totals else "",
        totals,
        f"{NO_MATCH}: `kinen ledger totals` lists all sessions" if agent or since else EMPTY,
    )


@ledger.command()
@options(SESSION, AGENT)
@options(*BEGIN)
@memory_command
def audit(memory: Memory, session: str, agent: str, since: str) -> Output:
    """Estimate whether what was sent was used.

    Shows the share of entries whose files, symbols or commands were used afterwards, beside that
    of entries that were found but not sent.
    """
    estimate = memory.ledger.audit(session=session, agent=agent, since=milliseconds(since))
    found = bool(estimate.told.entries or estimate.dropped.entries)
    empty = EMPTY
    if session or agent or since:
        empty = f"{NO_MATCH}: `kinen ledger` lists everything"
    elif memory.ledger.injections(limit=1)[1]:
        empty = "no entry can be traced yet: it takes a session that was recorded and continued"
    notes = [] if found else [empty]
    text = estimate_text(estimate) if found else ""
    return Output(estimate_json(estimate), text, found=found, notes=notes)
