"""Text and JSON of sessions and their timelines."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from kinen.agents.client import load
from kinen.characters import visible, visible_line
from kinen.journal.authors import signature
from kinen.journal.timeline import (
    Gap,
    SessionOverview,
    SessionTimeline,
    Step,
    fold,
    overview,
    select,
)
from kinen.render.screen import PLAIN, Screen, Style, clock, columns, distinct, fit, readable
from kinen.render.text import counted
from kinen.text import epoch, excerpt, iso

TELLING = 30
"""Columns of letters from which on an outcome says what a session was about."""
FOLDER_NAME = len("20260114-01")
PROMPT = 280
"""Characters shown of a prompt or message."""
COMMAND = 140
"""Characters shown of any other step."""
MANY = 4
"""With more prompts than this on a page, prompts are cut to SHORT_PROMPT characters."""
SHORT_PROMPT = 150
OUTCOME_LINES = 12
LABELS = ("outcome", "next", "state", "unresolved", "earlier")
"""Parts of a summary, in order."""
FILES = 12
"""Files that are named."""
STRIP = 2_000
"""Steps in the strip of marks."""
FILTERED = 100
"""Maximum number of steps shown with a filter."""
WRAP = 92
_INDENT = " " * 9
_HEAD = ("ID", "DATE", "AGENT", "TIME", "PROMPTS", "EDITS", "COMMANDS", "ERRORS")
_STORY = "SESSION"
WHOLE = 1 << 30
"""Columns where nothing is cut."""


def resume_command(session: SessionOverview) -> str:
    """The command that resumes a session in its agent; empty where there is none."""
    client = load(session.agent) if session.agent else None
    plain = all(letter.isalnum() or letter in "-_." for letter in session.session)
    if client is None or not client.resume or not session.session or not plain:
        return ""
    return client.resume.format(session.session)


def edited_files(timeline: SessionTimeline) -> Counter[str]:
    """The files that were edited in a session, each with how often."""
    return Counter(path for step in timeline.steps if step.kind == "edit" for path in step.files)


def hand_over(timeline: SessionTimeline) -> str:
    """A session in a few lines for whoever goes on with it."""
    parts = timeline.parts
    labels = (
        ("outcome", "Outcome"),
        ("state", "State"),
        ("decided", "Decided"),
        ("next", "Next"),
        ("unresolved", "Still fails"),
    )
    lines = [f"# {timeline.overview.title or timeline.overview.id}"]
    lines += [f"## {title}\n{parts[name].strip()}" for name, title in labels if parts.get(name)]
    named = ", ".join(edited_files(timeline))
    lines += [f"## Files\n{named}"] if named else []
    resume = resume_command(timeline.overview)
    lines += [f"Resume: {resume}"] if resume else []
    return visible("\n\n".join([*lines, f"[{timeline.overview.ref}]"]))


def session_text(timeline: SessionTimeline, style: Style = PLAIN) -> str:
    """A session with its outcome first, all steps as a strip of marks, and then its page."""
    session = timeline.overview
    resume = resume_command(session)
    tests = [step for step in timeline.steps if step.result][-1:]
    files = edited_files(timeline)
    named = [f"{path} ×{count}" if count > 1 else path for path, count in files.most_common(FILES)]
    if len(files) > FILES:
        named.append(f"{len(files) - FILES:,} more")
    folded = list(fold(timeline.steps))
    turns: list[str] = []
    for step in folded[:STRIP]:
        mark, colour = _mark(step)
        mark = style(colour, mark) if colour else mark
        if step.kind == "prompt" or not turns:
            turns.append(mark)
        else:
            turns[-1] += mark
    lines = [_heading(session, style), *([f"resume with: {resume}"] if resume else [])]
    lines += _parts(timeline, ("outcome",), False, style)
    lines += ["", style("bold", "Steps"), f"  {' '.join(turns)}"]
    if tests:
        lines += ["", style("bold", "Tests")]
        lines += [f"  {_mark(step)[0]} {visible_line(step.result)}" for step in tests]
    if named:
        lines += ["", style("bold", "Files"), f"  {visible_line(', '.join(named))}"]
    lines += [*_outcome(timeline, False, style, LABELS[1:]), ""]
    page = folded if session.kind == "folder" else overview(timeline.steps)
    return "\n".join([*lines, *_step_lines(page, full=False, style=style)])


def session_json(session: SessionOverview) -> dict[str, Any]:
    return {
        **asdict(session),
        "seconds": session.seconds,
        "resume": resume_command(session) or None,
    }


def sessions_text(sessions: Sequence[SessionOverview], screen: Screen) -> str:
    """Sessions for a terminal, by day; otherwise a table with whole ids and times."""
    if screen.terminal:
        return _sessions_table(sessions, screen)
    rows = [_HEAD, *map(_cells, sessions)]
    widths = [max(columns(row[n]) for row in rows) for n in range(len(_HEAD))]
    lines = ["  ".join([*_aligned(rows[0], widths), _STORY])]
    for row, session in zip(rows[1:], sessions, strict=True):
        story = _story(session, WHOLE) + visible_line(signature(session.by))
        lines.append("  ".join([*_aligned(row, widths), story]))
    return "\n".join(line.rstrip() for line in lines)


def _sessions_table(sessions: Sequence[SessionOverview], screen: Screen) -> str:
    """Sessions by day: id, time, the agent if there are several, and what each was about."""

    def began(session: SessionOverview) -> float:
        return epoch(session.started) / 1000

    agents = distinct(session.agent for session in sessions)
    beside = [
        (_name(session), clock(began(session), screen.now), agent_name(session) if agents else "")
        for session in sessions
    ]
    widths = [max(map(columns, column)) for column in zip(*beside, strict=True)]
    room = screen.width - sum(width + 2 for width in widths if width)

    def cells(session: SessionOverview) -> tuple[str, ...]:
        author = signature(session.by)
        story = _story(session, room - columns(author)) + author
        return _name(session), agent_name(session) if agents else "", story

    return screen.by_day(sessions, began, cells)


def agent_name(session: SessionOverview) -> str:
    """The first word of an agent's name; `claude` for `claude-code`."""
    return session.agent.partition("-")[0] or "by hand"


def _name(session: SessionOverview) -> str:
    """What `kinen session show` finds a session by: an id, or the day and number of a folder."""
    return visible_line(session.id if session.kind == "agent" else session.id[:FOLDER_NAME])


def _cells(session: SessionOverview) -> tuple[str, ...]:
    date = visible_line(session.started)
    if session.kind == "folder":
        rounds = counted(session.rounds, "rounds")
        return (visible_line(session.id), date, "by hand", rounds, "", "", "", "")
    tally = (session.prompts, session.edits, session.commands, session.errors)
    agent = visible_line(session.agent) or "-"
    id_ = session.ref.partition(":")[2]
    return (id_, date, agent, duration(session.seconds), *(f"{count:,}" for count in tally))


def _aligned(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Align text left and numbers right."""
    cells = []
    for n, (cell, size) in enumerate(zip(row, widths, strict=True)):
        space = " " * (size - columns(cell))
        cells.append(space + cell if n > 2 else cell + space)
    return cells


def _story(session: SessionOverview, room: int) -> str:
    """`title → outcome` in some columns.

    Where not both have room, the outcome if it can stand for itself, else what there is room for.
    """
    outcome = visible_line(session.outcome)
    if session.status in ("open", "in-progress"):
        outcome = f"(open) {outcome}".strip()
    both = " → ".join(filter(None, (visible_line(session.title), outcome)))
    # It tells of something if it says more than `Committed as b01e554` or `Tests pass.`
    prose = "".join(session.outcome.split("`")[::2])
    telling = columns("".join(filter(str.isalpha, prose))) >= TELLING
    return fit(outcome if telling and columns(both) > room else both, room)


def duration(seconds: int) -> str:
    """A duration such as `45s`, `12m`, `1h 05m` or `3d 2h`."""
    if seconds < 60:
        return f"{seconds}s"
    minutes = seconds // 60
    if minutes < 60:
        return f"{minutes}m"
    if minutes < 24 * 60:
        return f"{minutes // 60}h {minutes % 60:02}m"
    return f"{minutes // 1440}d {minutes % 1440 // 60}h"


def timeline_json(
    timeline: SessionTimeline, only: Sequence[str] = (), file: str = "", failed: bool = False
) -> dict[str, Any]:
    """A session with the steps that match the filter."""
    chosen = fold(select(timeline.steps, only, file, failed))
    fields = {
        **session_json(timeline.overview),
        "summary": timeline.parts,
        "steps": [
            {
                **asdict(step),
                "at": iso(step.at / 1000) if step.at else None,
                "files": list(step.files),
            }
            for step in chosen
        ],
        "memories": [
            {"ref": memory.ref, "type": memory.type, "content": memory.content, "by": memory.by}
            for memory in timeline.memories
        ],
    }
    if timeline.overview.kind == "folder":
        fields["path"] = f"sessions/{timeline.overview.session}"
        fields["rounds"] = list(timeline.rounds)
        fields["artifacts"] = list(timeline.artifacts)
        fields["summary"] = timeline.summary_file
    return fields


def timeline_text(
    timeline: SessionTimeline,
    only: Sequence[str] = (),
    file: str = "",
    failed: bool = False,
    full: bool = False,
    style: Style = PLAIN,
) -> str:
    """A session on a page, or with `full` all matching steps with their whole text."""
    session = timeline.overview
    filtered = bool(only or file or failed)
    page: list[Step | Gap]
    if filtered or full or session.kind == "folder":
        page = list(fold(select(timeline.steps, only, file, failed)))
        if not full and len(page) > FILTERED:
            page = [*page[:FILTERED], Gap(len(page) - FILTERED)]
    else:
        page = overview(timeline.steps)
    lines = [_heading(session, style), ""]
    lines += _step_lines(page, full, style)
    if filtered and not page:
        lines.append("no step of this session matches")
    if not filtered:
        lines += _outcome(timeline, full, style)
    omitted = sum(step.steps for step in page if isinstance(step, Gap))
    if omitted and not full:
        kinds = "".join(f" --only {kind}" for kind in only)
        command = f"kinen session show {visible_line(session.id)}{kinds} --full"
        rest = f"{omitted:,} more step{'s' if omitted > 1 else ''}: `{command}`"
        lines += ["", style("dim", rest)]
    return "\n".join(line.rstrip() for line in lines)


def _heading(session: SessionOverview, style: Style) -> str:
    title = excerpt(visible_line(session.title), PROMPT) or "(no prompt)"
    if session.kind == "folder":
        about = [f"sessions/{session.session}", session.status, session.started]
        return f"{style('bold', title)}\n{style('dim', visible_line(', '.join(about)))}"
    names = ("prompts", "edits", "commands", "errors")
    tally = [counted(getattr(session, name), name) for name in names]
    span = f"{_minute(session.started)} to {_minute(session.ended)} UTC"
    agent = f"{session.agent or 'agent'}{signature(session.by)}"
    about = [agent, span, duration(session.seconds), session.status, *tally]
    where = f"{session.ref}, session {session.session}" if session.session else session.ref
    details = [visible_line(", ".join(about)), visible_line(where)]
    return "\n".join([style("bold", title), *(style("dim", line) for line in details)])


def _minute(at: str) -> str:
    return at[:16].replace("T", " ")


def _step_lines(page: Sequence[Step | Gap], full: bool, style: Style) -> list[str]:
    lines: list[str] = []
    day = ""
    prompts = sum(isinstance(step, Step) and step.kind == "prompt" for step in page)
    limit = 0 if full else SHORT_PROMPT if prompts > MANY else PROMPT
    for step in page:
        if isinstance(step, Gap):
            turns = f" for {counted(step.prompts, 'prompts')}" if step.prompts else ""
            lines.append(style("dim", f"{_INDENT}… {counted(step.steps, 'more steps')}{turns}"))
            continue
        moment = iso(step.at / 1000) if step.at else ""
        if step.kind == "prompt" and lines:
            lines.append("")
        if moment and moment[:10] != day:
            lines += [style("dim", moment[:10])] if day else []
            day = moment[:10]
        lines += _step_text(step, moment[11:16], limit, style)
    return lines


def _step_text(step: Step, clock: str, limit: int, style: Style) -> list[str]:
    """A step as lines: time, mark and text, then its error or result. A limit of 0 is none."""
    if not limit:
        texts = [visible_line(line) for line in step.text.splitlines() if line.strip()] or [""]
    elif step.kind in ("prompt", "message"):
        texts = textwrap.wrap(visible_line(excerpt(step.text, limit)), WRAP) or [""]
    else:
        texts = [visible_line(excerpt(step.text, COMMAND))]
    times = f" ×{step.count:,}" if step.count > 1 else ""
    mark, colour = _mark(step)
    code = f" (exit {step.code})" if step.failed and step.code else ""
    texts[-1] += f"{times}{code}{visible_line(signature(step.by))}"
    head = f"{clock:<5}  {mark} {texts[0]}" if clock else f"{mark} {texts[0]}"
    lines = [style(colour, head) if colour else head]
    lines += [style(colour, _INDENT + line) if colour else _INDENT + line for line in texts[1:]]
    note = step.error if step.failed else step.result
    if note:
        lines.append(style("dim", f"{_INDENT}  {visible_line(excerpt(note, COMMAND))}"))
    return lines


def _mark(step: Step) -> tuple[str, str]:
    if step.kind == "prompt":
        return ">", "bold"
    if step.kind in ("message", "round"):
        return "·", ""
    if step.failed:
        return "✗", "" if step.look else "warn"
    if step.kind == "edit":
        return "✎", ""
    if step.kind == "command" and step.ok is None:
        return "?", ""
    return "✓" if step.ok else "·", ""


def _parts(timeline: SessionTimeline, labels: Sequence[str], full: bool, style: Style) -> list[str]:
    """Parts of the summary of a session below their names."""
    parts = readable(timeline.parts, lines=True)
    lines: list[str] = []
    for name in labels:
        text = [line for line in parts.get(name, "").splitlines() if line.strip()]
        if text:
            room = len(text) if full or name != "outcome" else OUTCOME_LINES
            more = [_INDENT + "…"] if len(text) > room else []
            lines += [
                "",
                style("bold", name.title()),
                *(f"  {line}" for line in text[:room]),
                *more,
            ]
    return lines


def _outcome(
    timeline: SessionTimeline, full: bool, style: Style, labels: Sequence[str] = LABELS
) -> list[str]:
    """The outcome of a session, its next steps, and the memories extracted from it."""
    lines = _parts(timeline, labels, full, style)
    if timeline.overview.kind == "folder":
        paths = (*timeline.rounds, *timeline.artifacts, timeline.summary_file)
        lines += ["", *(style("path", visible_line(path)) for path in paths if path)]
    memories = [
        f"{memory.type}: {visible_line(memory.content + signature(memory.by))}"
        for memory in timeline.memories
    ]
    return [*lines, "", *memories] if memories else lines
