"""`kinen session` and `kinen round`: sessions of agents, and sessions written by hand."""

from __future__ import annotations

from typing import Any

import click

from kinen.cli.command import (
    Output,
    group,
    limit_option,
    listing,
    memory_command,
    moment,
    options,
    path_option,
    text_option,
)
from kinen.cli.options import AGENT, PERIOD, REPO, USER
from kinen.cli.progress import working
from kinen.cli.run import colours, screen
from kinen.errors import Ambiguous, NotFound
from kinen.memory import Memory
from kinen.render.journal import consolidated_json, consolidated_text
from kinen.render.sessions import (
    resume_command,
    session_json,
    sessions_text,
    timeline_json,
    timeline_text,
)
from kinen.text import spelled

KINDS = ("prompts", "edits", "commands", "errors", "messages")
EMPTY = (
    "no sessions yet: `kinen install claude-code` records them,"
    " `kinen import transcripts` imports past ones,"
    " `kinen session new TITLE` starts one by hand"
)


@group()
def session() -> None:
    """Sessions of agents, recorded or imported, and sessions written by hand in sessions/."""


@session.command()
@click.argument("words", nargs=-1, required=True, metavar="ID|WORDS...")
@memory_command
def resume(memory: Memory, words: tuple[str, ...]) -> Output:
    """Print the command that resumes a session in its agent: by its id, or by what was said.

    Exit 1 if no session matches, or its agent has no such command.

    \b
    Examples:
      kinen session resume 'the label printer'
      $(kinen session resume last)
    """
    try:
        overview = memory.sessions.timeline(" ".join(words)).overview
    except Ambiguous:
        raise
    except NotFound:
        refs = memory.sessions.matching(" ".join(words))
        if not refs:
            return Output(None, found=False, notes=["no session matches: `kinen session list`"])
        overview = memory.sessions.timeline(refs[0]).overview
    command = resume_command(overview)
    notes = [f"{overview.id}: {overview.title}"]
    if not command:
        notes.append(f"{overview.agent or 'a session by hand'} has no command that resumes it")
    return Output(session_json(overview), command, found=bool(command), notes=notes)


@session.command("list")
@limit_option(20, "sessions")
@options(AGENT, REPO, USER, *PERIOD)
@memory_command
def list_(memory: Memory, limit: int, since: str, until: str, **scope: Any) -> Output:
    """List sessions, newest first, with duration, intent and outcome. Exit 1 if there are none.

    \b
    Examples:
      kinen session list
      kinen session list --agent codex --since 1w
      kinen session list --json | jq -r '.sessions[].title'
    """
    end = moment(until, end=True)
    sessions = memory.sessions.overviews(limit, since=moment(since), until=end, **scope)
    filtered = since or until or any(scope.values())
    return listing(
        {"sessions": [session_json(session) for session in sessions]},
        sessions_text(sessions, screen()) if sessions else "",
        sessions,
        "no session matches: `kinen session list` lists all" if filtered else EMPTY,
    )


@session.command()
@click.argument("name", default="last", metavar="[ID]")
@click.option(
    "--only", type=click.Choice(KINDS), multiple=True, help="only steps of this kind; repeatable"
)
@path_option("--file -f", "PATH", "only steps that concern this file")
@click.option("--failed", is_flag=True, help="only steps that failed")
@click.option("--full", is_flag=True, help="all steps, with whole prompts and messages")
@memory_command
def show(
    memory: Memory, name: str, only: tuple[str, ...], file: str, failed: bool, full: bool
) -> Output:
    """Show a session as a timeline: prompts, edits, commands with ✓ or ✗, errors, outcome.

    ID is the beginning of an id, a part of a folder's name, or `last` (the default). A long
    session is cut to a page; the last line says how to see the rest.

    \b
    Examples:
      kinen session show
      kinen session show 01KX8JJZ --only errors
      kinen session show last --file src/auth.py
      kinen session show last --json | jq '.steps[] | select(.ok == false)'
    """
    path = spelled(file)
    timeline = memory.sessions.timeline(name)
    return Output(
        timeline_json(timeline, only, path, failed),
        timeline_text(timeline, only, path, failed, full, colours()),
    )


@session.command()
@click.argument("title")
@memory_command
def new(memory: Memory, title: str) -> Output:
    """Create the folder and files of a session and print its path.

    \b
    Examples:
      kinen session new 'Where sessions live'
    """
    path = memory.worklog.new_session(title)
    return Output({"ref": f"note:{path}/init.md", "path": path}, path)


@session.command()
@click.argument("name", default="", metavar="[NAME]")
@memory_command
def close(memory: Memory, name: str) -> Output:
    """Mark a session as complete, summarise it and extract its memories.

    NAME defaults to the newest open session. An existing summary is kept.

    \b
    Examples:
      kinen session close 20251206-01
    """
    with working("summarising the session and drawing its memories"):
        closed, result = memory.worklog.close_session(name)
    lines = [f"{closed.path}  {closed.status}", consolidated_text(result, colours())]
    return Output({**_session_json(closed), **consolidated_json(result)}, "\n".join(lines))


@group("round")
def round_() -> None:
    """Rounds of a session: questions, options and answers."""


@round_.command("new")
@click.argument("title")
@text_option("--session", "NAME", "session (default: the newest open one)")
@memory_command
def new_round(memory: Memory, title: str, session: str) -> Output:
    """Create the next round of a session, ready to be filled in, and print its path.

    \b
    Examples:
      kinen session round new 'Which store'
    """
    path = memory.worklog.new_round(title, session)
    return Output({"ref": f"round:{path}", "path": path}, path)


def _session_json(session: Any) -> dict[str, Any]:
    fields = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in session._asdict().items()
    }
    return {"name": fields.pop("name"), "path": session.path, **fields}
