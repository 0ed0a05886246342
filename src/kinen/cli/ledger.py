"""`kinen ledger`: what kinen sent to agents."""

from __future__ import annotations

from kinen.memory import Memory
from kinen.render.ledger import (
    impact_json,
    impact_text,
    injection_json,
    injections_table,
    total_json,
    totals_text,
)
from kinen.times import milliseconds
from kinen.verbs.params import AGENT, SESSION, SINCE, limit, option, param
from kinen.verbs.verb import Output, listing, verb

EMPTY = (
    "nothing was sent to an agent yet: `kinen install` lists the agents that it can connect,"
    " hooks.budget sets how much a session starts with"
)
NO_MATCH = "nothing that was sent matches"


@verb()
def show(memory: Memory, name: str = param("", "an id", required=True, metavar="ID")) -> Output:
    """Print the text that was sent, byte for byte.

    --json adds its entries, and what was left out and why.
    """
    injection = memory.ledger.injection(name)
    return Output(injection_json(injection, whole=True), raw=injection.text)


@verb()
def totals(memory: Memory, agent: str = AGENT, since: str = SINCE) -> Output:
    """Show how many tokens were sent to each session, latest first."""
    totals = memory.ledger.totals(agent=agent, since=milliseconds(since))
    tokens = sum(total.tokens for total in totals)
    return listing(
        {"sessions": [total_json(total) for total in totals], "tokens": tokens},
        lambda view: totals_text(totals, view.style) if totals else "",
        totals,
        f"{NO_MATCH}: `kinen ledger totals` lists all sessions" if agent or since else EMPTY,
    )


@verb()
def impact(
    memory: Memory, session: str = SESSION, agent: str = AGENT, since: str = SINCE
) -> Output:
    """Estimate whether what was sent was used: entries, lines, repeats, age and tokens.

    Shows the share of entries whose files, symbols, commands or words were used afterwards, beside
    that of entries that were found but not sent. Looks at the newest 500 texts.
    """
    impact = memory.ledger.impact(session=session, agent=agent, since=milliseconds(since))
    use = impact.use
    found = bool(use.told.entries or use.dropped.entries or use.lines.entries)
    empty = EMPTY
    if session or agent or since:
        empty = f"{NO_MATCH}: `kinen ledger` lists everything"
    elif impact.injections:
        empty = "no entry can be traced yet: it takes a session that was recorded and continued"
    text = impact_text(impact) if found else ""
    return Output(impact_json(impact), text, found=found, notes=[] if found else [empty])


@verb(parts={"show": show, "totals": totals, "impact": impact, "audit": impact})
def ledger(
    memory: Memory,
    session: str = SESSION,
    agent: str = AGENT,
    event: str = option(
        "--event", "NAME", "only this event: SessionStart, UserPromptSubmit, PreToolUse or mcp"
    ),
    since: str = SINCE,
    limit: int = limit(20, "entries"),
) -> Output:
    """List what kinen sent to agents: time, event, agent, tokens and first line.

    Newest first; exit 1 if there is nothing. The ledger has the last 90 days, at most 5,000
    entries. It is never searched, recalled, exported or consolidated.

    \b
    Examples:
      kinen ledger --session 3a9810da
      kinen ledger --event PreToolUse --since 1d
      kinen ledger show 01KA3V9Q
      kinen ledger totals
      kinen ledger impact
    """
    injections, count = memory.ledger.injections(
        session=session, agent=agent, event=event, since=milliseconds(since), limit=limit
    )
    names = memory.ledger.short_ids()
    filtered = session or agent or event or since
    return listing(
        {"injections": [injection_json(injection) for injection in injections], "count": count},
        lambda view: injections_table(injections, view.screen, names),
        injections,
        f"{NO_MATCH}: `kinen ledger` lists everything" if filtered else EMPTY,
        count,
    )
