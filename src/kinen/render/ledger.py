"""Text and JSON of the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kinen.characters import visible_line
from kinen.render.style import PLAIN, Style
from kinen.text import excerpt, iso

if TYPE_CHECKING:
    from kinen.journal.ledger_queries import Injection, Total
    from kinen.recall.usefulness import Estimate, Share

WIDTH = 80
SHORT_SESSION = 8
CAVEAT = (
    "This is an estimate: an entry counts as used if a later action of the session is the first to"
    " name a file, symbol or command of it. Entries are sent because they fit the work, so a higher"
    " share does not prove that they helped."
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
    event = injection.event
    if injection.event == "mcp":
        event = injection.subject
    count = len(injection.entries)
    words = [
        style("path", injection.id),
        style("dim", f"{iso(injection.at / 1000)[:16]}Z"),
        visible_line(event),
        visible_line(injection.agent),
        style("dim", f"({visible_line(injection.session[:SHORT_SESSION]) or 'no session'})"),
        f"{injection.tokens} tokens",
        f"{count} {'entry' if count == 1 else 'entries'}",
        visible_line(excerpt(injection.first_line, WIDTH)),
    ]
    return "  ".join(words).rstrip()


def total_json(total: Total) -> dict[str, Any]:
    return dict(total._asdict())


def totals_text(totals: Sequence[Total], style: Style = PLAIN) -> str:
    """A line for each session, and a line for the sum."""
    lines = [
        f"{total.tokens:>8,} tokens  {total.injections:>5,} times  {visible_line(total.agent)}"
        f"  {style('dim', total.session or 'no session')}"
        for total in totals
    ]
    tokens = sum(total.tokens for total in totals)
    times = sum(total.injections for total in totals)
    return "\n".join([*lines, f"{tokens:>8,} tokens  {times:>5,} times  in total"])


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    return {
        "told": _share_json(estimate.told),
        "dropped": _share_json(estimate.dropped),
        "enough": estimate.enough,
        "caveat": CAVEAT,
    }


def _share_json(share: Share) -> dict[str, Any]:
    ratio = round(share.used / share.entries, 3) if share.entries else None
    return {"entries": share.entries, "used": share.used, "share": ratio}


def estimate_text(estimate: Estimate) -> str:
    lines = [
        f"sent      {_share_text(estimate.told)}",
        f"not sent  {_share_text(estimate.dropped)}",
    ]
    if not estimate.enough:
        lines.append("Too few entries to compare.")
    return "\n".join([*lines, CAVEAT])


def _share_text(share: Share) -> str:
    ratio = f"{share.used / share.entries:.0%}" if share.entries else "-"
    return f"{share.used:,} of {share.entries:,} entries used afterwards  {ratio}"
