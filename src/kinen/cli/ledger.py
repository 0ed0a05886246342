"""`kinen ledger`: what was sent to agents, and whether it was used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinen.characters import visible_line
from kinen.memory import Memory
from kinen.recall.passages import first_words
from kinen.render.screen import PLAIN, Screen, Style, distinct
from kinen.render.text import counted
from kinen.text import excerpt, iso
from kinen.times import milliseconds
from kinen.verbs.params import AGENT, SESSION, SINCE, limit, option, param
from kinen.verbs.verb import Output, listing, verb

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kinen.journal.ledger_queries import Injection, Total
    from kinen.memory.ledger import Impact
    from kinen.recall.usefulness import Share

WIDTH = 80
CAVEAT = (
    "This is an estimate. An entry counts as used if the agent afterwards is the first to name a"
    " file, symbol or command of it, or four words in a row; a line also if the user does. Entries"
    " are sent because they fit the work: a higher share does not prove that they helped."
)
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
        {"sessions": [total._asdict() for total in totals], "tokens": tokens},
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


def injection_json(injection: Injection, *, whole: bool = False) -> dict[str, Any]:
    """An injection; with `whole` also its text, its entries and what was dropped."""
    record: dict[str, Any] = {
        "id": injection.id,
        "at": iso(injection.at / 1000),
        "event": injection.event,
        "subject": injection.subject,
        "agent": injection.agent,
        "session": injection.session,
        "tokens": injection.tokens,
    }
    if not whole:
        return {
            **record,
            "entries": len(injection.entries),
            "dropped": len(injection.dropped),
            "first_line": injection.first_line,
        }
    dropped = [{"ref": ref, "reason": reason} for ref, reason in injection.dropped]
    return {
        **record,
        "entries": list(injection.entries),
        "dropped": dropped,
        "masked": injection.masked,
        "text": injection.text,
    }


def injection_line(injection: Injection, style: Style = PLAIN) -> str:
    words = [
        style("path", injection.id),
        style("dim", iso(injection.at / 1000)),
        visible_line(injection.occasion),
        visible_line(injection.agent),
        style("dim", f"({visible_line(injection.session) or 'no session'})"),
        counted(injection.tokens, "tokens"),
        counted(len(injection.entries), "entries"),
        visible_line(excerpt(injection.first_line, WIDTH)),
    ]
    return "  ".join(words).rstrip()


def injections_table(
    injections: Sequence[Injection], screen: Screen, names: Mapping[str, str]
) -> str:
    """Injections for a terminal, by day; `names` has the short id of each.

    Without a terminal, a line per injection with its whole id.
    """
    if not screen.terminal:
        return "\n".join(injection_line(injection, screen.style) for injection in injections)
    agents = distinct(injection.agent for injection in injections)

    def cells(injection: Injection) -> tuple[str, ...]:
        words = f"{injection.occasion.replace('_', ' ')}, {counted(injection.tokens, 'tokens')}"
        who = f" to {injection.agent}" if agents and injection.agent else ""
        name = names.get(injection.id, injection.id)
        return name, f"{words}{who}: {first_words(injection.first_line)}"

    return screen.by_day(injections, lambda injection: injection.at / 1000, cells)


def totals_text(totals: Sequence[Total], style: Style = PLAIN) -> str:
    """A line for each session, and a line for the sum."""

    def figures(tokens: int, times: int) -> str:
        return (
            f"{counted(tokens, 'tokens'):>15}  {'once' if times == 1 else f'{times:,} times':>11}"
        )

    lines = [
        f"{figures(total.tokens, total.injections)}  {visible_line(total.agent)}"
        f"  {style('dim', total.session or 'no session')}"
        for total in totals
    ]
    tokens = sum(total.tokens for total in totals)
    times = sum(total.injections for total in totals)
    return "\n".join([*lines, f"{figures(tokens, times)}  in total"])


def impact_json(impact: Impact) -> dict[str, Any]:
    use = impact.use
    return {
        "told": _share_json(use.told),
        "dropped": _share_json(use.dropped),
        "lines": _share_json(use.lines),
        "events": {event: _share_json(share) for event, share in use.events.items()},
        "repeats": impact.repeats,
        "used_days": use.used_days,
        "unused_days": use.unused_days,
        "injections": impact.injections,
        "tokens": impact.tokens,
        "enough": use.enough,
        "caveat": CAVEAT,
    }


def _share_json(share: Share) -> dict[str, Any]:
    ratio = round(share.used / share.entries, 3) if share.entries else None
    return {"entries": share.entries, "used": share.used, "share": ratio}


def impact_text(impact: Impact) -> str:
    use = impact.use
    rows = [
        ("sent", f"{_share_text(use.told, 'entries')} used afterwards"),
        *((f"  {event}", _share_text(share, "entries")) for event, share in use.events.items()),
        ("not sent", f"{_share_text(use.dropped, 'entries')} used afterwards"),
        ("lines sent", f"{_share_text(use.lines, 'lines')} used or confirmed afterwards"),
        ("repeats", f"{impact.repeats:,} entries sent again to a session that had them"),
        ("age", f"{_days(use.used_days)} if used, {_days(use.unused_days)} if not (median)"),
        ("cost", f"{counted(impact.tokens, 'tokens')} in {counted(impact.injections, 'texts')}"),
    ]
    width = max(len(name) for name, _ in rows)
    lines = [f"{name:<{width}}  {value}" for name, value in rows]
    if not use.enough:
        lines.append("Too few entries to compare.")
    return "\n".join([*lines, CAVEAT])


def _share_text(share: Share, noun: str) -> str:
    ratio = f"{share.used / share.entries:4.0%}" if share.entries else "   -"
    return f"{ratio}  {share.used:,} of {share.entries:,} {noun}"


def _days(days: float | None) -> str:
    return "unknown" if days is None else f"{days:.1f} days"
