"""The pages Sessions and Session: what agents and people did, step by step, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence

from kinen.characters import visible_line
from kinen.journal import events
from kinen.journal.timeline import (
    Gap,
    SessionOverview,
    SessionTimeline,
    Step,
    fold,
    overview,
    select,
)
from kinen.memory import Memory
from kinen.memory.report_text import handoff_text
from kinen.model.journal import Observation
from kinen.render.sessions import duration
from kinen.text import excerpt, iso
from kinen.times import milliseconds
from kinen.web import html
from kinen.web.html import Html
from kinen.web.markdown import code_block, code_line, inline, markdown, passage
from kinen.web.page import (
    Page,
    Visit,
    about,
    cards,
    choices,
    date,
    empty,
    entry,
    fields_form,
    notes,
    of_all_spaces,
    ref_link,
)

MOST = 30
"""Sessions on a page at first."""
STEPS = 1_000
"""Steps on the page of a session that shows all of them."""
OUTPUT = 8_000
"""Characters of an output that are shown."""
SAID = 4_000
"""Characters of a prompt or message."""
FILTERS = ("prompts", "edits", "commands", "errors", "messages")
MARKS = {"prompt": ">", "message": "·", "round": "·", "edit": "✎", "command": "$", "error": "✗"}
LABELS = ("outcome", "next", "state", "unresolved", "earlier")
"""Parts of a summary in their order."""


def list_page(memory: Memory, visit: Visit) -> Page:
    """Sessions, newest first."""
    words = visit.fields.get("q")
    since = visit.fields.get("since")
    at = iso(milliseconds(since) / 1000) if since else ""
    most = visit.fields.number("n", MOST, 1_000)
    agent = visit.fields.get("agent")
    chosen = memory.sessions.overviews(most + 1, agent=agent, since=at, words=words)
    form = fields_form(
        visit.url(),
        "Filter",
        entry("q", "Words or id", words, type="search"),
        entry("agent", "Agent", agent),
        entry("since", "Since", since, placeholder="2w, 2026-03-01"),
    )
    items = [card(visit, session) for session in chosen[:most]]
    more = len(chosen) - len(items)
    body = html.join(
        [
            form,
            cards(items, "No session matches."),
            html.p(html.a("older ones too", href=visit.here(n=2 * most + MOST)))
            if more > 0
            else None,
        ]
    )
    return Page("Sessions", body, live=True)


def page_of_all(visit: Visit) -> Page:
    """The latest sessions of all spaces."""
    pairs, remarks = of_all_spaces(
        lambda memory: memory.sessions.overviews(MOST), lambda session: session.started
    )
    items = [card(visit, session, space) for space, session in pairs[:MOST]]
    body = html.join([notes(remarks), cards(items, "No session in any space.")])
    return Page("Sessions", body, live=True)


def card(visit: Visit, session: SessionOverview, space: str = "") -> Html:
    title = excerpt(visible_line(session.title), 160) or "(no prompt)"
    where = html.span(space, class_="chip") if space else None
    return html.li(
        html.h2(html.a(code_line(title), href=visit.url("session", space, id=_name(session)))),
        about([where, *_facts(session)]),
        html.p("→ ", code_line(visible_line(session.outcome))) if session.outcome else None,
    )


def _name(session: SessionOverview) -> str:
    return session.session if session.kind == "folder" else session.ref.partition(":")[2]


def _facts(session: SessionOverview) -> list[object]:
    counts = [
        f"{count:,} {noun if count != 1 else noun[:-1]}"
        for noun in ("prompts", "edits", "commands", "errors", "rounds")
        if (count := getattr(session, noun))
    ]
    seconds = session.seconds
    return [
        html.span(session.agent or "by hand", class_="chip"),
        date(session.started),
        html.span(duration(seconds)) if seconds else None,
        html.span(session.status, class_="chip") if session.status != "closed" else None,
        html.span(", ".join(counts)) if counts else None,
    ]


def page(memory: Memory, visit: Visit) -> Page:
    timeline = memory.sessions.timeline(visit.fields.get("id", "last"))
    session = timeline.overview
    contents: dict[str, Observation] = {}
    if session.kind == "agent":
        observations = memory.journal.capsule(session.ref)[1]
        contents = {observation.ref: observation for observation in observations}
    title = excerpt(visible_line(session.title), 160) or "(no prompt)"
    body = html.div(
        html.div(
            about([*_facts(session), html.code(session.ref)]),
            _filters(visit),
            _steps(visit, timeline, contents),
        ),
        html.aside(
            _outcome(timeline), _memories(visit, timeline), _handoff(memory), aria_label="Outcome"
        ),
        class_="split",
    )
    return Page(title, body, live=session.status == "open")


def _filters(visit: Visit) -> Html:
    kinds = [("", "the gist"), ("all", "every step"), *((name, name) for name in FILTERS)]
    return fields_form(
        visit.url(),
        "Filter",
        html.input_(type="hidden", name="id", value=visit.fields.get("id", "last")),
        choices("only", "Show", kinds, visit.fields.get("only")),
        entry("file", "File", visit.fields.get("file")),
    )


def _steps(visit: Visit, timeline: SessionTimeline, contents: dict[str, Observation]) -> Html:
    only = visit.fields.get("only")
    file = visit.fields.get("file")
    steps: list[Step | Gap]
    if only or file or timeline.overview.kind == "folder":
        kinds = [only] if only in FILTERS else []
        steps = list(fold(select(timeline.steps, kinds, file)))
        if len(steps) > STEPS:
            steps = [*steps[:STEPS], Gap(len(steps) - STEPS)]
    else:
        steps = overview(timeline.steps)
    if not steps:
        return empty("No step matches.")
    solved = resolutions(timeline.steps)
    items = [
        _step(visit, step, contents, solved.get(step.ref) if isinstance(step, Step) else None)
        for step in steps
    ]
    return html.ol(items, class_="steps")


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


def _step(
    visit: Visit, step: Step | Gap, contents: dict[str, Observation], solved: Step | None
) -> Html:
    if isinstance(step, Gap):
        link = html.a(f"{step.steps:,} more steps", href=visit.here(only="all"))
        return html.li(html.span(), html.span("…"), html.span(link))
    clock = iso(step.at / 1000)[11:16] if step.at else ""
    times = f" ×{step.count:,}" if step.count > 1 else ""
    code = f" (exit {step.code})" if step.failed and step.code else ""
    mark = "✗" if step.failed else MARKS.get(step.kind, "·")
    note = step.error if step.failed else step.result
    text = html.p(code_line(step.text[:SAID]), times, code, class_="said") if step.text else None
    if step.kind == "message":
        text = html.div(passage(step.text[:SAID]), class_="passage")
    if step.kind == "round":
        text = html.p(ref_link(visit, f"round:{step.ref}", step.text), class_="said")
    anchor = step.ref.partition(":")[2] if step.ref.startswith("observation:") else None
    return html.li(
        html.span(clock, class_="quiet"),
        html.span(mark, class_="failed" if step.broken else None, aria_hidden="true"),
        html.div(
            html.span(f"{step.kind}: ", class_="hidden"),
            text,
            html.p(code_line(note), class_="quiet failed" if step.broken else "quiet")
            if note
            else None,
            _resolved(visit, solved) if solved else None,
            _content(step, contents.get(step.ref)),
        ),
        class_=step.kind,
        id=anchor,
    )


def _resolved(visit: Visit, solved: Step) -> Html:
    place = visit.here(only="all") + "#" + solved.ref.partition(":")[2]
    clock = iso(solved.at / 1000)[11:16]
    return html.p("worked again at ", html.a(clock, href=place), class_="good")


def _content(step: Step, observation: Observation | None) -> Html | None:
    """The diff of an edit, or the output of a command, folded."""
    if observation is None or step.kind in ("prompt", "message"):
        return None
    content = events.body(observation).strip()
    if not content:
        return None
    cut = len(content) - OUTPUT
    block = code_block(content[:OUTPUT], "diff" if step.kind == "edit" else "")
    more = html.p(f"{cut:,} characters more", class_="quiet") if cut > 0 else None
    title = "the change" if step.kind == "edit" else "output"
    return html.details(html.summary(title), block, more)


def _outcome(timeline: SessionTimeline) -> list[Html]:
    return [
        html.section(html.h2(name.capitalize()), html.div(markdown(text), class_="prose"))
        for name in LABELS
        if (text := timeline.parts.get(name, "").strip())
    ]


def _memories(visit: Visit, timeline: SessionTimeline) -> Html | None:
    if not timeline.memories:
        return None
    items = [
        html.li(
            html.span(memory.type, class_="chip"),
            " ",
            ref_link(visit, memory.ref, inline(memory.content)),
        )
        for memory in timeline.memories
    ]
    return html.section(html.h2("Drawn from it"), html.ul(items))


def _handoff(memory: Memory) -> Html | None:
    """What the next agent needs, of the whole space, to copy."""
    text = handoff_text(memory.reports.handoff_report())
    if not text:
        return None
    return html.details(
        html.summary("Hand-over text"),
        html.label(
            "For the next person or agent", html.textarea(text, readonly=True, id="handoff")
        ),
        html.button("Copy", type="button", data_copy_from="handoff", class_="scripted"),
    )
