"""The pages Sessions and Session: what agents and people did, step by step, and what came of it."""

from __future__ import annotations

import contextlib
import io
from collections import Counter
from collections.abc import Callable, Container, Sequence

from kinen.characters import visible_line
from kinen.errors import NotFound
from kinen.journal import events
from kinen.journal.timeline import Gap, Step, fold, overview, select
from kinen.memory import Memory
from kinen.render.sessions import edited_files, hand_over, resume_command
from kinen.text import excerpt, iso
from kinen.times import milliseconds
from kinen.web.page import Page, Visit, of_all_spaces

MOST = 30
"""Sessions on a page at first."""
STEPS = 1_000
"""Steps on the page of a session that shows all of them."""
STRIP = 2_000
"""Steps in the strip."""
FILES = 12
"""Files that are named."""
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
        with contextlib.suppress(NotFound):  # one that travels with the repository
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
    shown = {step.ref for step in steps if isinstance(step, Step)}
    files = edited_files(timeline)
    tests = [step for step in timeline.steps if step.result]
    drawn = {memory.content for memory in timeline.memories}
    decided = timeline.parts.get("decided", "").splitlines()
    values = {
        "session": session,
        "timeline": timeline,
        "decided": "\n".join(line for line in decided if line.lstrip("- ") not in drawn).strip(),
        "steps": steps,
        "contents": contents,
        "solved": resolutions(timeline.steps),
        "shown": [("", "the gist"), ("all", "every step"), *((name, name) for name in FILTERS)],
        "strip": strip(visit, timeline.steps, shown),
        "files": files.most_common(FILES),
        "changed": memory.git.changed_since(session.ref)[0],
        "more_files": max(0, len(files) - FILES),
        "tests": tests[-1] if tests else None,
        "resume": resume_command(session),
        "handoff": hand_over(timeline),
        "kept": session.kind == "agent" and bool(contents),
    }
    title = excerpt(visible_line(session.title), 160) or "(no prompt)"
    return Page(title, "session.html", values, ("session.js",), live=session.status == "open")


def strip(visit: Visit, steps: Sequence[Step], shown: Container[str]) -> list[tuple[str, str, str]]:
    """All steps as bars: class, title, and the address of the step in the text."""
    bars = []
    for step in fold(steps):
        place = "" if step.ref in shown else visit.here(only="all", file="")
        known = step.kind != "command" or step.ok is not None
        state = "failed" if step.broken else "" if known else "unknown"
        words = f"{iso(step.at / 1000)[11:16]} {step.kind}: " if step.at else f"{step.kind}: "
        title = words + excerpt(" ".join((step.text or step.error).split()), 100)
        bars.append((f"{step.kind} {state}".strip(), title, f"{place}#{visit.anchor(step.ref)}"))
    return bars[:STRIP]


def share(memory: Memory, visit: Visit) -> Callable[[], bytes]:
    """One session as a page that needs no server."""
    session = memory.sessions.timeline(visit.fields.get("id")).overview
    if session.kind != "agent" or not session.session:
        raise NotFound(f"{session.ref} cannot be shared", "only recorded sessions can")
    out = io.StringIO()
    memory.transfer.export(out, session=session.session, form="html")
    return lambda: out.getvalue().encode("utf-8", "replace")


def erase_page(memory: Memory, visit: Visit) -> Page:
    """What would be erased, before it is."""
    erased = memory.journal.erasable(visit.fields.get("ref"))
    ref = erased.refs[0]
    kinds = Counter(name.partition(":")[0] for name in erased.refs)
    values = {
        "ref": ref,
        "name": memory.records.title(ref),
        "kinds": kinds,
        "memories": [
            (name, memory.records.title(name))
            for name in erased.refs[1:]
            if name.startswith("memory:")
        ],
        "also": [(name, memory.records.title(name)) for name in erased.also],
        "suppressed": erased.suppressed,
    }
    return Page("Erase", "erase.html", values)


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
