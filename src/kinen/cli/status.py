"""`kinen status`: contents and state of a space."""

from __future__ import annotations

from kinen.characters import visible_line
from kinen.cli.run import colours, progress_line, screen, synced_text
from kinen.memory import Memory, erasing
from kinen.memory.traces import Traces, counts_line
from kinen.render.daemon import activity_json, activity_rows, daemon_text
from kinen.render.issues import work_json, work_line
from kinen.render.journal import plan_json, progress_text
from kinen.render.json import status_json
from kinen.render.ledger import (
    impact_json,
    impact_text,
    injection_json,
    injections_table,
    total_json,
    totals_text,
)
from kinen.render.text import counted, status_text
from kinen.storage import tables
from kinen.text import now
from kinen.times import milliseconds
from kinen.verbs.params import AGENT, SESSION, SINCE, limit, option, param
from kinen.verbs.verb import Output, listing, verb


@verb(several=True)
def status(memory: Memory) -> Output:
    """Show what is in this space, its model, and what needs attention."""
    from kinen.daemon import control

    state = memory.index.status()
    replaced = tables.set_aside(memory.space.home, new=True)
    lost = memory.journal.lost()
    seen = control.look(memory.space.home)
    style = colours()
    daemon = daemon_text(
        seen.state, seen.last, held=seen.held, refusal=seen.refusal, style=style, root=state.root
    )
    activity = memory.journal.recent_activity()
    plan = memory.worklog.plan()
    rows = activity_rows(activity, screen())
    if plan:
        rows.append(("plan", f"{visible_line(plan.title)}{progress_text(plan)}"))
    issues = memory.issues.at_work()
    if issues:
        rows.append(("issues", work_line(issues)))
    traces = Traces(memory.core).counts()
    if traces:
        rows.append(("traces", visible_line(counts_line(traces))))
    fetch = Traces(memory.core).fetch_command()
    if fetch:
        rows.append(("notes", f"Git AI's notes are not here: `{fetch}`"))
    rows.append(("daemon", daemon))
    work = memory.index.work()
    if work:
        rows.append(("working", progress_line(work, now())))
    erased = len(erasing.pending(memory.core))
    if erased:
        who = "when that ends" if work else "by the next `kinen index`"
        hidden = counted(erased, "entries")
        rows.append(("erasing", f"{hidden} hidden; the last bytes are removed {who}"))
    lines = [status_text(state, style, synced_text(state.synced))]
    lines += [f"{style('dim', f'{name:<10}')} {value}" for name, value in rows]
    if lost:
        lines.append(f"{style('warn', 'journal   ')} {lost}; see `kinen doctor`")
    data = {
        **status_json(state),
        "activity": activity_json(activity),
        "plan": plan_json(plan) if plan else None,
        "issues": work_json(issues) if issues else None,
        "traces": [
            {"origin": origin, "agent": agent, "sessions": count} for origin, agent, count in traces
        ],
        "daemon": seen.state or None,
        "work": work._asdict() if work else None,
        "erasing": erased,
        "journal_lost": lost,
        "set_aside": replaced,
    }
    notes = [f"{path} was damaged and is replaced; nothing reads it any more" for path in replaced]
    return Output(data, "\n".join(lines), notes=notes)


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
