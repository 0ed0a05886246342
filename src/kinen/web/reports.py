"""The pages Week and Errors: a standup to print, errors that came back and how they were fixed."""

from __future__ import annotations

from kinen.errors import QueryError
from kinen.memory import Memory
from kinen.recall.errors import Fixes
from kinen.text import iso, now
from kinen.times import milliseconds
from kinen.web.page import Page, Visit

WEEK = 7 * 86_400
LEAST = 2
"""Sessions in which an error was seen before it counts as one that comes back."""


def week_page(memory: Memory, visit: Visit) -> Page:
    """What was done since a time, by default in the last week."""
    since = visit.fields.get("since")
    begin = milliseconds(since) / 1000 if since else now() - WEEK
    values = {"report": memory.reports.standup_report(iso(begin)), "since": since or "1w"}
    return Page("Week", "week.html", values)


def errors_page(memory: Memory, visit: Visit) -> Page:
    """How an error was fixed before, and which errors come back."""
    error = visit.fields.get("q")
    fixes: Fixes | None = None
    problem = ""
    if error:
        try:
            fixes = memory.experience.fix(error)
        except QueryError as refusal:
            problem = f"{refusal.message}: {refusal.hint}"
    recurring, read = memory.experience.friction(LEAST)
    values = {
        "error": error,
        "fixes": fixes,
        "problem": problem,
        "recurring": recurring,
        "corrections": memory.experience.corrections(LEAST),
        "read": read,
        "least": LEAST,
    }
    return Page("Errors", "errors.html", values)
