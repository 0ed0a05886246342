"""`kinen plan`: plans of the work, as files of the space."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from kinen.characters import visible_line
from kinen.cli.editor import edit as open_editor
from kinen.cli.editor import rewrite
from kinen.cli.run import piped
from kinen.errors import NotFound, QueryError
from kinen.memory import Memory
from kinen.model.journal import Plan
from kinen.render.journal import plan_json, plans_text, progress_text
from kinen.verbs.params import AS_OF, flag, option, param, tags
from kinen.verbs.verb import Output, Verb, View, group, listing, verb

PLAN_HINT = "pass it: kinen plan save TITLE TEXT, or pipe it: kinen plan save TITLE < plan.md"
NO_PLAN = (
    "no plan is active: `kinen plan activate ID` makes one active, `kinen plan list` lists all"
)
ID = param("", "a plan (default: the active one)", metavar="[ID]")
GIVEN_ID = param("", "a plan", metavar="ID", required=True)
TEXT = param("", "its text", None, metavar="[TEXT|-]")


def _output(plan: Plan, notes: Sequence[str] = (), state: str = "") -> Output:
    return Output(plan_json(plan), f"{plan.ref}  {state or plan.status}", notes=notes)


@verb()
def save(
    memory: Memory,
    title: str = param("", "its title", required=True),
    text: str | None = TEXT,
    id_: str = option("--id", "ID", "id (default: made from the title)"),
    tags: tuple[str, ...] = tags("tag"),
    activate: bool | None = param(
        "--activate/--no-activate",
        "make it the active plan (default: if no plan is active)",
        None,
        type=bool,
    ),
) -> Output:
    """Save a plan. `-` reads its text from standard input.

    It becomes the active plan if there is none, or with --activate.

    Without TEXT, it is written in your editor, or read from standard input if that is piped.

    \b
    Examples:
      kinen plan save 'Drop Redis' '- [ ] sessions to Postgres' --activate
      kinen plan save 'Drop Redis' - < plan.md
    """
    if text == "-" or (not text and not sys.stdin.isatty()):
        text = piped()
    content = text or rewrite("", f"the plan {title!r}; `- [ ] ...` is a step", PLAN_HINT)
    active = memory.worklog.plan()
    activates = active is None if activate is None else activate
    saved = memory.worklog.save_plan(title, content, id=id_, tags=tags, activate=activates)
    hint = f"`kinen plan activate {saved.id}` makes it the active plan"
    notes = [] if saved.current or active else [hint]
    return _output(saved, notes, "" if saved.current else "saved")


@verb()
def show(memory: Memory, id_: str = ID, as_of: str = AS_OF) -> Output:
    """Show a plan (default: the active one). Exit 1 if no plan is active.

    With --as-of, the plan that was active then, as git has it.
    """
    notes = []
    plan: Plan | None = None
    if as_of:
        if id_:
            hint = "omit the id; `kinen history` has the versions of a file"
            raise QueryError("--as-of shows the plan that was active then", hint)
        moment = memory.past.moment(as_of)
        past = memory.past.plan(moment)
        if past is None:
            return Output(None, found=False, notes=[f"no plan: {memory.past.remark(moment)}"])
        plan = past.plan
        notes = [] if past.exact else ["git does not have its text of then: shown as it is today"]
    else:
        plan = memory.worklog.plan(id_)
    if plan is None:
        return Output(None, found=False, notes=[NO_PLAN])
    about = f"{plan.status}{progress_text(plan)}, {plan.path}"

    def text(view: View) -> str:
        return f"{view.style('bold', plan.title)}  {about}\n\n{plan.text}"

    return Output(plan_json(plan), text, notes=notes)


@verb(several=True)
def list_(memory: Memory) -> Output:
    """List all plans, the latest changed first; `*` marks the active one. Exit 1 if none."""
    plans = memory.worklog.plans()
    return listing(
        {"plans": [plan_json(plan) for plan in plans]},
        lambda view: plans_text(plans, view.screen),
        plans,
        "no plans yet: `kinen plan save TITLE TEXT` saves one",
    )


@verb()
def activate(memory: Memory, id_: str = GIVEN_ID) -> Output:
    """Make a plan the active one."""
    return _output(memory.worklog.activate_plan(id_))


@verb()
def update(
    memory: Memory,
    id_: str = GIVEN_ID,
    text: str | None = TEXT,
    title: str | None = param("--title", "new title", None, metavar="TEXT"),
    tags: tuple[str, ...] = tags("new tag, replacing all"),
    status: str = param("--status", "new status", choices=("active", "completed", "archived")),
) -> Output:
    """Change the text, title, tags or status of a plan; `-` reads the text from standard input.

    \b
    Examples:
      kinen plan update drop-redis - < plan.md
    """
    content = piped() if text == "-" else text
    return _output(
        memory.worklog.update_plan(
            id_, text=content, title=title, tags=tags or None, status=status or None
        )
    )


@verb()
def check(
    memory: Memory,
    number: int | None = param("", "a step", None, type=int, least=1, metavar="[N]"),
    id_: str = ID,
    undo: bool = flag("--undo", "clear the box"),
) -> Output:
    """Tick off step N of a plan (default: the active one). Without N, list the steps.

    Steps are lines such as `- [ ] write tests`.

    \b
    Examples:
      kinen plan check
      kinen plan check 2
      kinen plan check 2 --undo
    """
    from kinen.worklog.plans import steps

    plan = memory.worklog.plan(id_)
    if number is not None:
        plan = memory.worklog.check_plan(number, id_, done=not undo)
    if plan is None:
        return Output(None, found=False, notes=[NO_PLAN])
    rows = steps(plan.text)

    def text(view: View) -> str:
        lines = [f"{view.style('bold', visible_line(plan.title))}{progress_text(plan)}"]
        for step in rows:
            line = visible_line(f"{step.number:>3}. [{'x' if step.done else ' '}] {step.text}")
            lines.append(view.style("dim", line) if step.done else line)
        return "\n".join(lines)

    notes = [] if rows else ["the plan has no steps: add lines such as `- [ ] ...`"]
    return Output(plan_json(plan), text, notes=notes)


@verb()
def edit(memory: Memory, id_: str = ID) -> Output:
    """Open a plan (default: the active one) in your editor."""
    current = _existing(memory, id_)
    with memory.worklog.editing(current.path):
        open_editor(os.path.join(memory.space.root, current.path))
    memory.worklog.refresh()
    return _output(memory.worklog.plan(current.id) or current)


def _existing(memory: Memory, id_: str) -> Plan:
    """A plan by its id, or the active one; NotFound if none is active."""
    current = memory.worklog.plan(id_)
    if current is None:
        raise NotFound(*NO_PLAN.split(": ", 1))
    return current


def _with_status(status: str, description: str) -> type[Verb]:
    def run(memory: Memory, id_: str = ID) -> Output:
        return _output(memory.worklog.update_plan(_existing(memory, id_).id, status=status))

    run.__doc__ = f"{description} (default: the active one)."
    return verb()(run)


plan = group(
    "Plans. The active plan comes first in every recall.",
    save=save,
    show=show,
    list=list_,
    activate=activate,
    update=update,
    check=check,
    edit=edit,
    complete=_with_status("completed", "Mark a plan as done"),
    archive=_with_status("archived", "Archive a plan"),
)
