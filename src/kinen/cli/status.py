"""`kinen status`: contents and state of a space."""

from __future__ import annotations

from kinen.characters import visible_line
from kinen.cli.run import colours, progress_line, screen, synced_text
from kinen.memory import Memory, erasing
from kinen.memory.traces import Traces, counts_line
from kinen.render.daemon import activity_json, activity_rows, daemon_text
from kinen.render.issues import work_json, work_line
from kinen.render.journal import plan_json, progress_text
from kinen.render.json import status_json
from kinen.render.text import counted, status_text
from kinen.storage import tables
from kinen.text import now
from kinen.verbs.verb import Output, verb


@verb(several=True)
def status(memory: Memory) -> Output:
    """Show what is in this space, its model, and what needs attention."""
    from kinen.daemon import control

    state = memory.index.status()
    replaced = tables.set_aside(memory.space.home, new=True)
    lost = memory.journal.lost()
    seen = control.look(memory.space.home)
    style = colours()
    daemon = daemon_text(
        seen.state, seen.last, held=seen.held, refusal=seen.refusal, style=style, root=state.root
    )
    activity = memory.journal.recent_activity()
    plan = memory.worklog.plan()
    rows = activity_rows(activity, screen())
    if plan:
        rows.append(("plan", f"{visible_line(plan.title)}{progress_text(plan)}"))
    issues = memory.issues.at_work()
    if issues:
        rows.append(("issues", work_line(issues)))
    traces = Traces(memory.core).counts()
    if traces:
        rows.append(("traces", visible_line(counts_line(traces))))
    fetch = Traces(memory.core).fetch_command()
    if fetch:
        rows.append(("notes", f"Git AI's notes are not here: `{fetch}`"))
    rows.append(("daemon", daemon))
    work = memory.index.work()
    if work:
        rows.append(("working", progress_line(work, now())))
    erased = len(erasing.pending(memory.core))
    if erased:
        who = "when that ends" if work else "by the next `kinen index`"
        hidden = counted(erased, "entries")
        rows.append(("erasing", f"{hidden} hidden; the last bytes are removed {who}"))
    lines = [status_text(state, style, synced_text(state.synced))]
    lines += [f"{style('dim', f'{name:<10}')} {value}" for name, value in rows]
    if lost:
        lines.append(f"{style('warn', 'journal   ')} {lost}; see `kinen doctor`")
    data = {
        **status_json(state),
        "activity": activity_json(activity),
        "plan": plan_json(plan) if plan else None,
        "issues": work_json(issues) if issues else None,
        "traces": [
            {"origin": origin, "agent": agent, "sessions": count} for origin, agent, count in traces
        ],
        "daemon": seen.state or None,
        "work": work._asdict() if work else None,
        "erasing": erased,
        "journal_lost": lost,
        "set_aside": replaced,
    }
    notes = [f"{path} was damaged and is replaced; nothing reads it any more" for path in replaced]
    return Output(data, "\n".join(lines), notes=notes)
