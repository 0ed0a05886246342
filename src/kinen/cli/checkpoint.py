"""`kinen checkpoint` and `kinen plan`: what is kept of the work, as files of the space."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from kinen import render
from kinen.cli.flags import for_scripts, in_space
from kinen.cli.run import FOUND, NOTHING, colours, piped
from kinen.model.kinds import CHECKPOINT_TYPES

if TYPE_CHECKING:
    from kinen.model.journal import Plan


class Texts(click.Command):
    """A command whose texts may begin with a hyphen, as a list does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Texts are told by their spaces, and set apart for as long as options are looked for."""
        marked = [f"\0{one}" if one[:1] == "-" and _SPACE.search(one) else one for one in args]
        rest = super().parse_args(ctx, marked)
        for name, value in ctx.params.items():
            if isinstance(value, str):
                ctx.params[name] = value.removeprefix("\0")
            elif isinstance(value, tuple):
                ctx.params[name] = tuple(one.removeprefix("\0") for one in value)
        return rest


_SPACE = re.compile(r"^-[^=]*\s")


@click.command(cls=Texts)
@click.argument("text", metavar="TEXT|-")
@click.option(
    "--type", "type", type=click.Choice(CHECKPOINT_TYPES), default=None, help="what it is"
)
@click.option("--tag", "tags", multiple=True, help="again for each further one")
@click.option("--context", default="", help="what led to it")
@click.option("--decision", default="", help="what was decided")
@click.option("--alternative", "alternatives", multiple=True, help="what else there was")
@click.option("--impact", default="", help="what it changes")
@click.option("--evidence", multiple=True, help="what shows it: a test, a figure, a commit")
@click.option("--symbol", "symbols", multiple=True, help="a function or class it is about")
@click.option("--next", default="", help="what comes next")
@click.option("--confidence", type=click.IntRange(1, 5), default=None, help="1 a guess, 5 certain")
@click.option("--unknown", "unknowns", multiple=True, help="what is not known yet")
@in_space
@for_scripts
def checkpoint(text: str, space: str | None, as_json: bool, **said: Any) -> int:
    """Keep what was done and why, with the branch, the commit and the changed files.

    It is a markdown file in .memories/, found by search and recall at once. `-` reads the text
    from standard input.

    \b
    Examples:
      kinen checkpoint 'Tokens now rotate; the refresh race is gone' --type learning --tag auth
      kinen checkpoint 'Postgres for sessions' --type decision --decision 'move off Redis' \\
        --alternative 'Redis with AOF' --impact 'one store less' --confidence 4
      git log -1 --format=%B | kinen checkpoint -
    """
    from kinen.memory import Memory
    from kinen.render.journal import checkpoint_json

    if text == "-":
        text = piped()
    given = {key: value for key, value in said.items() if value}
    with Memory.open(space=space) as memory:
        made = memory.worklog.checkpoint(text, **given)
    if as_json:
        print(render.to_json(checkpoint_json(made)))
    else:
        print(f"checkpoint:{made.path}")
    return FOUND


@click.group()
def plan() -> None:
    """What is being worked towards; the active plan comes first in every recall."""


def _told(plan: Plan, as_json: bool) -> int:
    from kinen.render.journal import plan_json

    print(render.to_json(plan_json(plan)) if as_json else f"{plan.ref}  {plan.status}")
    return FOUND


@plan.command(cls=Texts)
@click.argument("title")
@click.argument("text", metavar="TEXT|-", default="-")
@click.option("--id", "id_", default="", help="made of the title if not given")
@click.option("--tag", "tags", multiple=True, help="again for each further one")
@click.option("--activate", is_flag=True, help="work on it from now on")
@in_space
@for_scripts
def save(
    title: str,
    text: str,
    id_: str,
    tags: tuple[str, ...],
    activate: bool,
    space: str | None,
    as_json: bool,
) -> int:
    """Write a plan; `-` reads its text from standard input.

    \b
    Examples:
      kinen plan save 'Drop Redis' '- [ ] sessions to Postgres' --activate
      kinen plan save 'Drop Redis' - < plan.md
    """
    from kinen.memory import Memory

    if text == "-":
        text = piped()
    with Memory.open(space=space) as memory:
        made = memory.worklog.save_plan(title, text, id=id_, tags=tags, activate=activate)
    return _told(made, as_json)


@plan.command()
@click.argument("id_", metavar="[ID]", default="")
@in_space
@for_scripts
def show(id_: str, space: str | None, as_json: bool) -> int:
    """A plan, by default the active one. Exit 1 if none is."""
    from kinen.memory import Memory
    from kinen.render.journal import plan_json

    with Memory.open(space=space) as memory:
        found = memory.worklog.plan(id_)
    if as_json:
        print(render.to_json(plan_json(found) if found else None))
    elif found:
        print(f"{colours()('bold', found.title)}  {found.status}, {found.path}\n\n{found.text}")
    return FOUND if found else NOTHING


@plan.command("list")
@in_space
@for_scripts
def list_(space: str | None, as_json: bool) -> int:
    """All plans, the latest changed first; `*` is the active one. Exit 1 if there are none."""
    from kinen.memory import Memory
    from kinen.render.journal import plan_json

    with Memory.open(space=space) as memory:
        found = memory.worklog.plans()
    if as_json:
        print(render.to_json({"plans": [plan_json(one) for one in found]}))
    else:
        for one in found:
            sign = "*" if one.current else " "
            print(f"{sign} {colours()('path', one.id)}  {one.status}  {one.title}")
    return FOUND if found else NOTHING


@plan.command()
@click.argument("id_", metavar="ID")
@in_space
@for_scripts
def activate(id_: str, space: str | None, as_json: bool) -> int:
    """Work on this plan from now on."""
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        return _told(memory.worklog.activate_plan(id_), as_json)


@plan.command(cls=Texts)
@click.argument("id_", metavar="ID")
@click.argument("text", metavar="[TEXT|-]", default=None, required=False)
@click.option("--title", default=None, help="another title")
@click.option("--tag", "tags", multiple=True, help="these tags instead of the ones it has")
@click.option("--status", type=click.Choice(["active", "completed", "archived"]), default=None)
@in_space
@for_scripts
def update(
    id_: str,
    text: str | None,
    title: str | None,
    tags: tuple[str, ...],
    status: str | None,
    space: str | None,
    as_json: bool,
) -> int:
    """Change a plan's text, title, tags or status; what is not given stays.

    \b
    Examples:
      kinen plan update drop-redis - < plan.md
    """
    from kinen.memory import Memory

    if text == "-":
        text = piped()
    with Memory.open(space=space) as memory:
        changed = memory.worklog.update_plan(
            id_, text=text, title=title, tags=tags or None, status=status
        )
        return _told(changed, as_json)


def _ending(name: str, status: str, text: str) -> click.Command:
    @plan.command(name, help=text)
    @click.argument("id_", metavar="[ID]", default="")
    @in_space
    @for_scripts
    def end(id_: str, space: str | None, as_json: bool) -> int:
        from kinen.errors import NotFound
        from kinen.memory import Memory

        with Memory.open(space=space) as memory:
            current = memory.worklog.plan(id_)
            if current is None:
                raise NotFound("no plan is active", "`kinen plan list` shows them")
            return _told(memory.worklog.update_plan(current.id, status=status), as_json)

    return end


complete = _ending("complete", "completed", "It is done: by default the active one.")
archive = _ending("archive", "archived", "It is no longer of interest: by default the active one.")
