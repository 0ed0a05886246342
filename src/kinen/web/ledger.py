"""The pages of the ledger: everything that agents were sent, by session, byte for byte."""

from __future__ import annotations

from kinen.journal.ledger_queries import Injection
from kinen.memory import Memory
from kinen.times import milliseconds
from kinen.web.page import Page, Visit
from kinen.web.records import title_of

MOST = 100
FILTERS = ("session", "agent", "event", "since")


def page(memory: Memory, visit: Visit) -> Page:
    filters = {name: visit.fields.get(name) for name in FILTERS if name != "since"}
    since = milliseconds(visit.fields.get("since"))
    injections, count = memory.ledger.injections(**filters, since=since, limit=MOST)
    values = {
        "filters": FILTERS,
        "injections": injections,
        "count": count,
        "totals": memory.ledger.totals(**filters, since=since)[:MOST],
    }
    return Page("Told", "ledger.html", values, live=True)


def injection_page(memory: Memory, visit: Visit) -> Page:
    """One text that an agent was sent: its entries, what was left out, and the text itself."""
    injection = memory.ledger.injection(visit.fields.get("id"))
    event = injection.subject if injection.event == "mcp" else injection.event
    values = {
        "injection": injection,
        "steps": _steps(memory, visit, injection),
        "entries": [(ref, _title(memory, ref)) for ref in injection.entries],
        "dropped": [(ref, _title(memory, ref), reason) for ref, reason in injection.dropped],
    }
    return Page(f"Sent at {event}", "injection.html", values)


def _steps(memory: Memory, visit: Visit, injection: Injection) -> list[tuple[str, str]]:
    """Links to what the same session was sent before and after, to follow it from text to text."""
    if not injection.session:
        return []
    sent = memory.ledger.injections(session=injection.session, limit=0)[0]
    ids = [other.id for other in sent if other.session == injection.session]
    at = ids.index(injection.id)
    places = (("earlier", at + 1), ("later", at - 1))
    return [(label, visit.url(id=ids[place])) for label, place in places if 0 <= place < len(ids)]


def _title(memory: Memory, ref: str) -> str:
    """The title of an entry; empty if it is no more."""
    title = title_of(memory, ref)
    return title if title != ref else ""
