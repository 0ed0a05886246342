"""The page Told: what an agent would be sent now, token by token, and what would be left out."""

from __future__ import annotations

from kinen.journal.ledger import cites
from kinen.memory import Memory
from kinen.model.journal import Recall
from kinen.query import MOST, recall_query
from kinen.text import estimate
from kinen.web import asof
from kinen.web.page import Page, Visit
from kinen.web.records import title_of

MOST_ENTRIES = 100
"""Entries of a session start that are listed."""
DONE = {"hidden": "Dropped: agents are not told of it any more."}


def page(memory: Memory, visit: Visit) -> Page:
    question = visit.fields.get("q")
    agent = visit.fields.get("agent")
    start = visit.fields.number("start", memory.config.hooks.budget, MOST["budget"])
    budget = visit.fields.number("budget", memory.config.recall.budget, MOST["budget"])
    at = asof.moment(memory, visit)
    recall = memory.recall(
        recall_query(question, budget=max(1, budget), as_of=visit.fields.get("as_of"))
    )
    brief, refs = ("", []) if at else memory.journal.start("", agent, start).brief()
    pinned = {pin.target for pin in memory.journal.entries("pins")[0]}
    values = {
        "remark": asof.remark(memory, at),
        "slider": asof.slider(memory, visit),
        "question": question,
        "agent": agent,
        "start": start,
        "budget": budget,
        "brief": brief,
        "brief_tokens": estimate(brief),
        "sections": sections(brief),
        "entries": [
            (ref, title_of(memory, ref), cites(brief, ref), ref in pinned)
            for ref in refs[:MOST_ENTRIES]
        ],
        "done": DONE,
        "recall": recall,
        "tiers": _tiers(recall),
    }
    return Page("Told", "told.html", values)


def sections(brief: str) -> list[tuple[str, int]]:
    """The parts of a brief by their headings, each with its tokens."""
    parts: list[tuple[str, int]] = []
    title = "preamble"
    lines: list[str] = []
    for line in [*brief.splitlines(), "## "]:
        if line.startswith("## "):
            if lines:
                parts.append((title, estimate("\n".join(lines))))
            title = line.removeprefix("## ")
            lines = []
        lines.append(line)
    return parts


def _tiers(recall: Recall) -> list[tuple[str, int]]:
    sizes: dict[str, int] = {}
    for item in recall.items:
        sizes[item.tier] = sizes.get(item.tier, 0) + item.tokens
    rest = recall.tokens - sum(sizes.values())
    return [*sizes.items(), *([("headings", rest)] if rest > 0 else [])]
