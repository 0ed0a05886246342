"""`kinen session` and `kinen round`: conversations kept as folders of markdown."""

from __future__ import annotations

from typing import Any

import click

from kinen import render
from kinen.cli.flags import for_scripts, in_space
from kinen.cli.run import FOUND, NOTHING, colours


@click.group()
def session() -> None:
    """A conversation in rounds, as a folder: sessions/YYYYMMDD-NN-slug."""


@session.command("list")
@in_space
@for_scripts
def list_(space: str | None, as_json: bool) -> int:
    """All sessions, newest first. Exit 1 if there are none."""
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        found = memory.sessions()
    if as_json:
        print(render.to_json({"sessions": [_json(one) for one in found]}))
    else:
        style = colours()
        for one in found:
            count = f"{len(one.rounds)} rounds"
            print(f"{style('path', one.name)}  {one.status}  {count}  {one.title}")
    return FOUND if found else NOTHING


@session.command()
@click.argument("name", default="", metavar="[NAME]")
@in_space
@for_scripts
def show(name: str, space: str | None, as_json: bool) -> int:
    """A session with its rounds, artifacts and memories; by default the newest that goes on."""
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        found = memory.session(name)
        drawn = memory.drawn_from(found.name)
    if as_json:
        told = [{"ref": one.ref, "type": one.type, "content": one.content} for one in drawn]
        print(render.to_json({**_json(found), "memories": told}))
    else:
        style = colours()
        print(f"{style('bold', found.title)}  {found.status}, {found.path}, {found.started}")
        for path in (*found.rounds, *found.artifacts, *filter(None, [found.summary])):
            print(style("path", path))
        for one in drawn:
            print(f"{one.type}: {one.content}")
    return FOUND


@session.command()
@click.argument("title")
@in_space
@for_scripts
def new(title: str, space: str | None, as_json: bool) -> int:
    """Make the folder and files of a session; its path is printed.

    \b
    Examples:
      kinen session new 'Where sessions live'
    """
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        path = memory.new_session(title)
    return _made(path, f"note:{path}/init.md", as_json)


@session.command()
@click.argument("name", default="", metavar="[NAME]")
@in_space
@for_scripts
def close(name: str, space: str | None, as_json: bool) -> int:
    """Say that a session is complete, sum it up, and draw memories from it.

    By default the newest that goes on. A summary that somebody wrote stays.

    \b
    Examples:
      kinen session close 20251206-01
    """
    from kinen.memory import Memory
    from kinen.render.entries import consolidated_json, consolidated_text

    with Memory.open(space=space) as memory:
        closed, done = memory.close_session(name)
    if as_json:
        print(render.to_json({**_json(closed), **consolidated_json(done)}))
    else:
        print(f"{closed.path}  {closed.status}")
        print(consolidated_text(done, colours()))
    return FOUND


@click.group("round")
def round_() -> None:
    """The rounds of a session: questions, options and answers."""


@round_.command("new")
@click.argument("title")
@click.option("--session", default="", help="of this session; the newest that goes on if not given")
@in_space
@for_scripts
def new_round(title: str, session: str, space: str | None, as_json: bool) -> int:
    """Write the next round of a session, ready to be filled in; its path is printed.

    \b
    Examples:
      kinen round new 'Which store'
    """
    from kinen.memory import Memory

    with Memory.open(space=space) as memory:
        path = memory.new_round(title, session)
    return _made(path, f"round:{path}", as_json)


def _made(path: str, ref: str, as_json: bool) -> int:
    print(render.to_json({"ref": ref, "path": path}) if as_json else path)
    return FOUND


def _json(found: Any) -> dict[str, Any]:
    fields = {name: list(v) if isinstance(v, tuple) else v for name, v in found._asdict().items()}
    return {"name": fields.pop("name"), "path": found.path, **fields}
