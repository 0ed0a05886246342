"""`kinen plan`: plans of the work, as files of the space."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from kinen.characters import visible_line
from kinen.cli.command import (
    Output,
    Texts,
    choice_option,
    group,
    listing,
    memory_command,
    options,
    spaces_command,
    text_option,
)
from kinen.cli.editor import edit as open_editor
from kinen.cli.editor import text_or_editor
from kinen.cli.options import AS_OF, tags
from kinen.cli.run import colours, piped, screen
from kinen.errors import NotFound, QueryError
from kinen.memory import Memory
from kinen.model.journal import Plan
from kinen.render.journal import plan_json, plans_text, progress_text
from kinen.render.style import Style

PLAN_HINT = "pass it: kinen plan save TITLE TEXT, or pipe it: kinen plan save TITLE < plan.md"
NO_PLAN = (
    "no plan is active: `kinen plan activate ID` makes one active, `kinen plan list` lists all"
)


@group()
def plan() -> None:
    """Plans. The active plan comes first in every recall."""


def _output(plan: Plan, notes: Sequence[str] = (), state: str = "") -> Output:
    return Output(plan_json(plan), f"{plan.ref}  {state or plan.status}", notes=notes)


@plan.command(cls=Texts)
@click.argument("title")
@click.argument("text", metavar="[TEXT|-]", default="")
@text_option("--id", "ID", "id (default: made from the title)", "id_")
@options(tags("tag"))
@click.option(
    "--activate/--no-activate",
    default=None,
    help="make it the active plan (default: if no plan is active)",
)
@memory_command
def save(
    memory: Memory, title: str, text: str, id_: str, tags: tuple[str, ...], activate: bool | None
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
    content = text_or_editor(text, f"the plan {title!r}; `- [ ] ...` is a step", PLAN_HINT)
    active = memory.worklog.plan()
    activates = active is None if activate is None else activate
    saved = memory.worklog.save_plan(title, content, id=id_, tags=tags, activate=activates)
    hint = f"`kinen plan activate {saved.id}` makes it the active plan"
    notes = [] if saved.current or active else [hint]
    return _output(saved, notes, "" if saved.current else "saved")


@plan.command()
@click.argument("id_", metavar="[ID]", default="")
@options(AS_OF)
@memory_command
def show(memory: Memory, id_: str, as_of: str) -> Output:
    """Show a plan (default: the active one). Exit 1 if no plan is active.

    With --as-of, the plan that was active then, as git has it.
    """
    if as_of:
        return _past_output(memory, id_, as_of)
    plan = memory.worklog.plan(id_)
    if plan is None:
        return Output(None, found=False, notes=[NO_PLAN])
    return Output(plan_json(plan), _shown(plan))


def _shown(plan: Plan) -> str:
    head = f"{colours()('bold', plan.title)}  {plan.status}{progress_text(plan)}, {plan.path}"
    return f"{head}\n\n{plan.text}"


def _past_output(memory: Memory, id_: str, as_of: str) -> Output:
    """The plan that was active at an earlier time."""
    if id_:
        hint = "omit the id; `kinen history` has the versions of a file"
        raise QueryError("--as-of shows the plan that was active then", hint)
    moment = memory.past.moment(as_of)
    past = memory.past.plan(moment)
    if past is None:
        return Output(None, found=False, notes=[f"no plan: {memory.past.remark(moment)}"])
    notes = [] if past.exact else ["git does not have its text of then: shown as it is today"]
    return Output(plan_json(past.plan), _shown(past.plan), notes=notes)


@plan.command("list")
@spaces_command
def list_(memory: Memory) -> Output:
    """List all plans, the latest changed first; `*` marks the active one. Exit 1 if none."""
    plans = memory.worklog.plans()
    return listing(
        {"plans": [plan_json(plan) for plan in plans]},
        plans_text(plans, screen()),
        plans,
        "no plans yet: `kinen plan save TITLE TEXT` saves one",
    )


@plan.command()
@click.argument("id_", metavar="ID")
@memory_command
def activate(memory: Memory, id_: str) -> Output:
    """Make a plan the active one."""
    return _output(memory.worklog.activate_plan(id_))


@plan.command(cls=Texts)
@click.argument("id_", metavar="ID")
@click.argument("text", metavar="[TEXT|-]", default=None, required=False)
@click.option("--title", default=None, metavar="TEXT", help="new title")
@options(tags("new tag, replacing all"))
@choice_option("--status", ["active", "completed", "archived"], "new status")
@memory_command
def update(
    memory: Memory,
    id_: str,
    text: str | None,
    title: str | None,
    tags: tuple[str, ...],
    status: str | None,
) -> Output:
    """Change the text, title, tags or status of a plan; `-` reads the text from standard input.

    \b
    Examples:
      kinen plan update drop-redis - < plan.md
    """
    content = piped() if text == "-" else text
    return _output(
        memory.worklog.update_plan(id_, text=content, title=title, tags=tags or None, status=status)
    )


@plan.command()
@click.argument("number", metavar="[N]", type=click.IntRange(1), required=False)
@click.argument("id_", metavar="[ID]", default="")
@click.option("--undo", is_flag=True, help="clear the box")
@memory_command
def check(memory: Memory, number: int | None, id_: str, undo: bool) -> Output:
    """Tick off step N of a plan (default: the active one). Without N, list the steps.

    Steps are lines such as `- [ ] write tests`.

    \b
    Examples:
      kinen plan check
      kinen plan check 2
      kinen plan check 2 --undo
    """
    from kinen.worklog.plans import steps

    if number is not None:
        updated = memory.worklog.check_plan(number, id_, done=not undo)
        return Output(plan_json(updated), _steps_text(updated, colours()))
    current = memory.worklog.plan(id_)
    if current is None:
        return Output(None, found=False, notes=[NO_PLAN])
    notes = [] if steps(current.text) else ["the plan has no steps: add lines such as `- [ ] ...`"]
    return Output(plan_json(current), _steps_text(current, colours()), notes=notes)


def _steps_text(plan: Plan, style: Style) -> str:
    from kinen.worklog.plans import steps

    lines = [f"{style('bold', visible_line(plan.title))}{progress_text(plan)}"]
    for step in steps(plan.text):
        line = visible_line(f"{step.number:>3}. [{'x' if step.done else ' '}] {step.text}")
        lines.append(style("dim", line) if step.done else line)
    return "\n".join(lines)


@plan.command()
@click.argument("id_", metavar="[ID]", default="")
@memory_command
def edit(memory: Memory, id_: str) -> Output:
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


def _set_status(name: str, status: str, description: str) -> None:
    """Add a command that gives a plan another status."""

    @plan.command(name, help=f"{description} (default: the active one).")
    @click.argument("id_", metavar="[ID]", default="")
    @memory_command
    def run(memory: Memory, id_: str) -> Output:
        current = _existing(memory, id_)
        return _output(memory.worklog.update_plan(current.id, status=status))


_set_status("complete", "completed", "Mark a plan as done")
_set_status("archive", "archived", "Archive a plan")
