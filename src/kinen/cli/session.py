"""`kinen session` and `kinen round`: what happened in sessions, and conversations in folders."""

from __future__ import annotations

import shutil
import sys
from typing import Any

import click

from kinen import render
from kinen.cli.flags import FILE_NAME, for_scripts, in_space
from kinen.cli.run import FOUND, NOTHING, colours, note

KINDS = ("prompts", "edits", "commands", "errors", "messages")
PIPED_WIDTH = 200
"""Characters of a line that no terminal shows."""
EMPTY = (
    "no sessions yet: `kinen install claude-code` records them, `kinen import transcripts` takes"
)
EMPTY += " in past ones, `kinen session new TITLE` begins one by hand"


@click.group()
def session() -> None:
    """Sessions of agents, recorded or imported, and conversations kept in sessions/ by hand."""


@session.command("list")
@click.option("--limit", "-n", default=20, show_default=True, help="most sessions; 0 shows all")
@click.option("--agent", default="", help="only of this agent: claude-code, codex, ...")
@click.option("--since", default="", help="not older than: 2h, 3d, 1w, today, 2026-03-01")
@in_space
@for_scripts
def list_(limit: int, agent: str, since: str, space: str | None, as_json: bool) -> int:
    """Sessions, newest first: when, how long, what for, and what came of it.

    Recorded, imported and hand-kept sessions alike. Exit 1 if there are none.

    \b
    Examples:
      kinen session list
      kinen session list --agent codex --since 1w
      kinen session list --json | jq -r '.sessions[].title'
    """
    from kinen.memory import Memory
    from kinen.render.sessions import session_json, sessions_text
    from kinen.text import now, parse_time

    moment = parse_time(since, now()) if since else ""
    with Memory.open(space=space) as memory:
        sessions = memory.sessions.overviews(limit, agent=agent, since=moment)
    if as_json:
        print(render.to_json({"sessions": [session_json(one) for one in sessions]}))
    elif sessions:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPED_WIDTH
        print(sessions_text(sessions, width, colours()))
    else:
        note("no session matches" if agent or since else EMPTY)
    return FOUND if sessions else NOTHING


@session.command()
@click.argument("name", default="last", metavar="[ID]")
@click.option("--only", type=click.Choice(KINDS), multiple=True, help="only these; repeatable")
@click.option("--file", type=FILE_NAME, default="", help="only what concerns this file")
@click.option("--failed", is_flag=True, help="only what failed")
@click.option("--full", is_flag=True, help="everything, prompts and messages whole")
@in_space
@for_scripts
def show(
    name: str,
    only: tuple[str, ...],
    file: str,
    failed: bool,
    full: bool,
    space: str | None,
    as_json: bool,
) -> int:
    """A session as a timeline: prompts, edits, commands with ✓ or ✗, errors, outcome.

    ID is the beginning of an id, a part of a folder's name, or `last` (the default). A long
    session is shown on a page; its end says how to see the rest.

    \b
    Examples:
      kinen session show
      kinen session show 01KX8JJZ --only errors
      kinen session show last --file src/auth.py
      kinen session show last --json | jq '.steps[] | select(.ok == false)'
    """
    from kinen.memory import Memory
    from kinen.render.sessions import timeline_json, timeline_text
    from kinen.text import spelled

    path = spelled(file)
    with Memory.open(space=space) as memory:
        timeline = memory.sessions.timeline(name)
    if as_json:
        print(render.to_json(timeline_json(timeline, only, path, failed)))
    else:
        print(timeline_text(timeline, only, path, failed, full, colours()))
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
        path = memory.worklog.new_session(title)
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
    from kinen.render.journal import consolidated_json, consolidated_text

    with Memory.open(space=space) as memory:
        closed, done = memory.worklog.close_session(name)
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
        path = memory.worklog.new_round(title, session)
    return _made(path, f"round:{path}", as_json)


def _made(path: str, ref: str, as_json: bool) -> int:
    print(render.to_json({"ref": ref, "path": path}) if as_json else path)
    return FOUND


def _json(found: Any) -> dict[str, Any]:
    fields = {name: list(v) if isinstance(v, tuple) else v for name, v in found._asdict().items()}
    return {"name": fields.pop("name"), "path": found.path, **fields}
