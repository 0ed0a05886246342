"""The pages Sessions and Session: what agents and people did, step by step, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence

from kinen.characters import visible_line
from kinen.journal import events
from kinen.journal.timeline import Gap, Step, fold, overview, select
from kinen.memory import Memory
from kinen.memory.report_text import handoff_text
from kinen.text import excerpt, iso
from kinen.times import milliseconds
from kinen.web.page import Page, Visit, of_all_spaces

MOST = 30
"""Sessions on a page at first."""
STEPS = 1_000
"""Steps on the page of a session that shows all of them."""
FILTERS = ("prompts", "edits", "commands", "errors", "messages")


def list_page(memory: Memory, visit: Visit) -> Page:
    """Sessions, newest first."""
    since = visit.fields.get("since")
    most = visit.fields.number("n", MOST, 1_000)
    chosen = memory.sessions.overviews(
        most + 1,
        agent=visit.fields.get("agent"),
        since=iso(milliseconds(since) / 1000) if since else "",
        words=visit.fields.get("q"),
    )
    older = visit.here(n=2 * most + MOST) if len(chosen) > most else ""
    values = {"sessions": [(session, "") for session in chosen[:most]], "older": older}
    return Page("Sessions", "sessions.html", values, live=True)


def page_of_all(_: Visit) -> Page:
    """The latest sessions of all spaces."""
    pairs, remarks = of_all_spaces(
        lambda memory: memory.sessions.overviews(MOST), lambda session: session.started
    )
    sessions = [(session, space) for space, session in pairs[:MOST]]
    values = {"sessions": sessions, "older": "", "remarks": remarks}
    return Page("Sessions", "sessions.html", values, live=True)


def page(memory: Memory, visit: Visit) -> Page:
    timeline = memory.sessions.timeline(visit.fields.get("id", "last"))
    session = timeline.overview
    contents: dict[str, str] = {}
    if session.kind == "agent":
        observations = memory.journal.capsule(session.ref)[1]
        contents = {event.ref: events.body(event).strip() for event in observations}
    only = visit.fields.get("only")
    file = visit.fields.get("file")
    steps: list[Step | Gap]
    if only or file or session.kind == "folder":
        steps = list(fold(select(timeline.steps, [only] if only in FILTERS else [], file)))
        if len(steps) > STEPS:
            steps = [*steps[:STEPS], Gap(len(steps) - STEPS)]
    else:
        steps = overview(timeline.steps)
    values = {
        "session": session,
        "timeline": timeline,
        "steps": steps,
        "contents": contents,
        "solved": resolutions(timeline.steps),
        "shown": [("", "the gist"), ("all", "every step"), *((name, name) for name in FILTERS)],
        "handoff": handoff_text(memory.reports.handoff_report()),
    }
    title = excerpt(visible_line(session.title), 160) or "(no prompt)"
    return Page(title, "session.html", values, live=session.status == "open")


def resolutions(steps: Sequence[Step]) -> dict[str, Step]:
    """For each command that failed, by its ref, the same command when it worked again."""
    waiting: dict[str, list[Step]] = {}
    solved = {}
    for step in steps:
        if step.kind != "command":
            continue
        if step.failed:
            waiting.setdefault(step.text, []).append(step)
        elif step.ok:
            solved.update({failed.ref: step for failed in waiting.pop(step.text, ())})
    return solved
