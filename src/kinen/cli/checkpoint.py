"""`kinen checkpoint` and `kinen plan`: notes on the work, as files of the space."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from kinen.cli.command import (
    Output,
    choice_option,
    list_option,
    listing,
    memory_command,
    text_option,
)
from kinen.cli.run import colours, piped
from kinen.errors import NotFound
from kinen.model.kinds import CHECKPOINT_TYPES
from kinen.render.journal import checkpoint_json, plan_json

if TYPE_CHECKING:
    from kinen.memory import Memory
    from kinen.model.journal import Plan

_HYPHEN_TEXT = re.compile(r"^-[^=]*\s")


class Texts(click.Command):
    """A command whose texts may begin with a hyphen, as lists do."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Texts are recognised by their spaces, and hidden from click's search for options."""
        marked = [f"\0{word}" if _HYPHEN_TEXT.search(word) else word for word in args]
        rest = super().parse_args(ctx, marked)
        for name, value in ctx.params.items():
            if isinstance(value, str):
                ctx.params[name] = value.removeprefix("\0")
            elif isinstance(value, tuple):
                ctx.params[name] = tuple(text.removeprefix("\0") for text in value)
        return rest


@click.command(cls=Texts)
@click.argument("text", metavar="TEXT|-")
@choice_option("--type", CHECKPOINT_TYPES, "type (default: checkpoint)", key="type")
@list_option("--tag", "tags", "TAG", "tag")
@text_option("--context", "TEXT", "what led to it")
@text_option("--decision", "TEXT", "what was decided")
@list_option("--alternative", "alternatives", "TEXT", "alternative that was considered")
@text_option("--impact", "TEXT", "what it changes")
@list_option("--evidence", "evidence", "TEXT", "evidence: a test, a figure, a commit")
@list_option("--symbol", "symbols", "NAME", "function or class it concerns")
@text_option("--next", "TEXT", "next step")
@click.option(
    "--confidence",
    type=click.IntRange(1, 5),
    default=None,
    help="confidence: 1 is a guess, 5 is certain",
)
@list_option("--unknown", "unknowns", "TEXT", "open question")
@memory_command
def checkpoint(memory: Memory, text: str, **details: Any) -> Output:
    """Save what was done and why, with the branch, the commit and the changed files.

    A checkpoint is a markdown file in .memories/, and can be found at once. `-` reads the text
    from standard input.

    \b
    Examples:
      kinen checkpoint 'Tokens now rotate; the refresh race is gone' --type learning --tag auth
      kinen checkpoint 'Postgres for sessions' --type decision --decision 'move off Redis' \\
        --alternative 'Redis with AOF' --impact 'one store fewer' --confidence 4
      git log -1 --format=%B | kinen checkpoint -
    """
    details = {name: value for name, value in details.items() if value}
    saved = memory.worklog.checkpoint(piped() if text == "-" else text, **details)
    return Output(checkpoint_json(saved), f"checkpoint:{saved.path}")


@click.group()
def plan() -> None:
    """Plans. The active plan comes first in every recall."""


def _output(plan: Plan) -> Output:
    return Output(plan_json(plan), f"{plan.ref}  {plan.status}")


@plan.command(cls=Texts)
@click.argument("title")
@click.argument("text", metavar="TEXT|-", default="-")
@text_option("--id", "ID", "id (default: made from the title)", "id_")
@list_option("--tag", "tags", "TAG", "tag")
@click.option("--activate", is_flag=True, help="make it the active plan")
@memory_command
def save(
    memory: Memory, title: str, text: str, id_: str, tags: tuple[str, ...], activate: bool
) -> Output:
    """Save a plan; `-` reads its text from standard input.

    \b
    Examples:
      kinen plan save 'Drop Redis' '- [ ] sessions to Postgres' --activate
      kinen plan save 'Drop Redis' - < plan.md
    """
    content = piped() if text == "-" else text
    return _output(memory.worklog.save_plan(title, content, id=id_, tags=tags, activate=activate))


@plan.command()
@click.argument("id_", metavar="[ID]", default="")
@memory_command
def show(memory: Memory, id_: str) -> Output:
    """Show a plan (default: the active one). Exit 1 if no plan is active."""
    plan = memory.worklog.plan(id_)
    if plan is None:
        return Output(None, found=False, notes=["no plan is active: `kinen plan list` lists plans"])
    head = f"{colours()('bold', plan.title)}  {plan.status}, {plan.path}"
    return Output(plan_json(plan), f"{head}\n\n{plan.text}")


@plan.command("list")
@memory_command
def list_(memory: Memory) -> Output:
    """List all plans, the latest changed first; `*` marks the active one. Exit 1 if none."""
    plans = memory.worklog.plans()
    style = colours()
    lines = [
        f"{'*' if plan.current else ' '} {style('path', plan.id)}  {plan.status}  {plan.title}"
        for plan in plans
    ]
    return listing(
        {"plans": [plan_json(plan) for plan in plans]},
        "\n".join(lines),
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
@list_option("--tag", "tags", "TAG", "new tag, replacing all")
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


def _set_status(name: str, status: str, description: str) -> None:
    """Add a command that gives a plan another status."""

    @plan.command(name, help=f"{description} (default: the active one).")
    @click.argument("id_", metavar="[ID]", default="")
    @memory_command
    def run(memory: Memory, id_: str) -> Output:
        current = memory.worklog.plan(id_)
        if current is None:
            raise NotFound("no plan is active", "`kinen plan list` lists plans")
        return _output(memory.worklog.update_plan(current.id, status=status))


_set_status("complete", "completed", "Mark a plan as done")
_set_status("archive", "archived", "Archive a plan")
