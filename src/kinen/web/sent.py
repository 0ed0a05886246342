"""The pages Told: what an agent would be sent now, token by token, and all that was sent."""

from __future__ import annotations

from collections import Counter

from kinen.journal.ledger import cites
from kinen.journal.ledger_queries import Injection
from kinen.memory import Memory
from kinen.query import MOST, recall_query
from kinen.text import estimate
from kinen.times import milliseconds
from kinen.web.page import Page, Visit, past_moment, past_remark, past_slider

MOST_ENTRIES = 100
"""Entries of a session start that are listed."""
LISTED = 10
"""Entries that are shown of those that fit, and of those that do not, before one asks for more."""
MOST_SENT = 100
FILTERS = ("session", "agent", "event", "since")
DONE = {"hidden": "Dropped: agents are not told of it any more."}


def page(memory: Memory, visit: Visit) -> Page:
    question = visit.fields.get("q")
    agent = visit.fields.get("agent")
    start = visit.fields.number("start", memory.config.hooks.budget, MOST["budget"])
    budget = visit.fields.number("budget", memory.config.recall.budget, MOST["budget"])
    at = past_moment(memory, visit)
    recall = memory.recall(
        recall_query(question, budget=max(1, budget), as_of=visit.fields.get("as_of"))
    )
    brief, refs = ("", []) if at else memory.journal.start("", agent, start).brief()
    pinned = {pin.target for pin in memory.journal.entries("pins")[0]}
    sizes: Counter[str] = Counter()
    for item in recall.items:
        sizes[item.tier] += item.tokens
    rest = recall.tokens - sizes.total()
    values = {
        "remark": past_remark(memory, at),
        "slider": past_slider(memory, visit),
        "question": question,
        "agent": agent,
        "start": start,
        "budget": budget,
        "brief": brief,
        "brief_tokens": estimate(brief),
        "sections": sections(brief),
        "entries": [
            (ref, memory.records.title(ref), cites(brief, ref), ref in pinned)
            for ref in refs[:MOST_ENTRIES]
        ],
        "listed": LISTED,
        "done": DONE,
        "recall": recall,
        "tiers": [*sizes.items(), *([("headings", rest)] if rest > 0 else [])],
    }
    return Page("Told", "told.html", values)


def sections(brief: str) -> list[tuple[str, int]]:
    """The parts of a brief by their headings, each with its tokens."""
    parts: list[tuple[str, int]] = []
    title = "Introduction"
    lines: list[str] = []
    for line in [*brief.splitlines(), "## "]:
        if line.startswith("## "):
            if lines:
                parts.append((title, estimate("\n".join(lines))))
            title = line.removeprefix("## ")
            lines = []
        lines.append(line)
    return parts


def sent_page(memory: Memory, visit: Visit) -> Page:
    """What agents were sent, the latest first, and by session."""
    filters = {name: visit.fields.get(name) for name in FILTERS if name != "since"}
    since = milliseconds(visit.fields.get("since"))
    injections, count = memory.ledger.injections(**filters, since=since, limit=MOST_SENT)
    values = {
        "filters": FILTERS,
        "injections": injections,
        "count": count,
        "totals": memory.ledger.totals(**filters, since=since)[:MOST_SENT],
    }
    return Page("Told", "ledger.html", values, live=True)


def injection_page(memory: Memory, visit: Visit) -> Page:
    """One text that an agent was sent: its entries, what was left out, and the text itself."""
    injection = memory.ledger.injection(visit.fields.get("id"))
    values = {
        "injection": injection,
        "steps": _steps(memory, visit, injection),
        "entries": [(ref, _title(memory, ref)) for ref in injection.entries],
        "dropped": [(ref, _title(memory, ref), reason) for ref, reason in injection.dropped],
    }
    return Page(f"Sent at {injection.occasion}", "injection.html", values)


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
    title = memory.records.title(ref)
    return title if title != ref else ""
