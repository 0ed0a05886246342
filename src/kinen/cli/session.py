"""`kinen session` and `kinen round`: sessions of agents, and sessions written by hand."""

from __future__ import annotations

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
from kinen.render.text import changed_line
from kinen.text import spelled
from kinen.verbs.params import AGENT, REPO, SINCE, UNTIL, USER, flag, limit, option, param, words
from kinen.verbs.verb import Output, group, listing, moment, verb

KINDS = ("prompts", "edits", "commands", "errors", "messages")
TITLE = param("", "its title", required=True)
EMPTY = (
    "no sessions yet: `kinen install claude-code` records them,"
    " `kinen import transcripts` imports past ones,"
    " `kinen session new TITLE` starts one by hand"
)


@verb()
def resume(
    memory: Memory, text: str = words("an id, or what was said", metavar="ID|WORDS...")
) -> Output:
    """Print the command that resumes a session in its agent: by its id, or by what was said.

    Exit 1 if no session matches, or its agent has no such command.

    \b
    Examples:
      kinen session resume 'the label printer'
      $(kinen session resume last)
    """
    try:
        overview = memory.sessions.timeline(text).overview
    except Ambiguous:
        raise
    except NotFound:
        refs = memory.sessions.matching(text)
        if not refs:
            return Output(None, found=False, notes=["no session matches: `kinen session list`"])
        overview = memory.sessions.timeline(refs[0]).overview
    command = resume_command(overview)
    notes = [f"{overview.id}: {overview.title}"]
    if not command:
        notes.append(f"{overview.agent or 'a session by hand'} has no command that resumes it")
    return Output(session_json(overview), command, found=bool(command), notes=notes)


@verb()
def list_(
    memory: Memory,
    limit: int = limit(20, "sessions"),
    agent: str = AGENT,
    repo: str = REPO,
    user: str = USER,
    since: str = SINCE,
    until: str = UNTIL,
) -> Output:
    """List sessions, newest first, with duration, intent and outcome. Exit 1 if there are none.

    \b
    Examples:
      kinen session list
      kinen session list --agent codex --since 1w
      kinen session list --json | jq -r '.sessions[].title'
    """
    end = moment(until, end=True)
    sessions = memory.sessions.overviews(
        limit, since=moment(since), until=end, agent=agent, repo=repo, user=user
    )
    filtered = since or until or agent or repo or user
    return listing(
        {"sessions": [session_json(session) for session in sessions]},
        lambda view: sessions_text(sessions, view.screen) if sessions else "",
        sessions,
        "no session matches: `kinen session list` lists all" if filtered else EMPTY,
    )


@verb()
def show(
    memory: Memory,
    name: str = param("", "a session", "last", metavar="[ID]"),
    only: tuple[str, ...] = param(
        "--only", "only steps of this kind", many=True, choices=KINDS, separator=""
    ),
    file: str = option("--file -f", "PATH", "only steps that concern this file", path=True),
    failed: bool = flag("--failed", "only steps that failed"),
    full: bool = flag("--full", "all steps, with whole prompts and messages"),
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
    changed, edited = memory.git.changed_since(timeline.overview.ref)
    notes = [changed_line(changed, edited)] if changed else []
    return Output(
        {**timeline_json(timeline, only, path, failed), "changed_since": changed},
        lambda view: timeline_text(timeline, only, path, failed, full, view.style),
        notes=notes,
    )


@verb()
def new(memory: Memory, title: str = TITLE) -> Output:
    """Create the folder and files of a session and print its path.

    \b
    Examples:
      kinen session new 'Where sessions live'
    """
    path = memory.worklog.new_session(title)
    return Output({"ref": f"note:{path}/init.md", "path": path}, path)


@verb(working="summarising the session and drawing its memories")
def close(memory: Memory, name: str = param("", "a session", metavar="[NAME]")) -> Output:
    """Mark a session as complete, summarise it and extract its memories.

    NAME defaults to the newest open session. An existing summary is kept.

    \b
    Examples:
      kinen session close 20251206-01
    """
    closed, result = memory.worklog.close_session(name)
    fields = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in closed._asdict().items()
    }
    head = f"{closed.path}  {closed.status}"
    return Output(
        {"name": closed.name, "path": closed.path, **fields, **consolidated_json(result)},
        lambda view: f"{head}\n{consolidated_text(result, view.style)}",
    )


session = group(
    "Sessions of agents, recorded or imported, and sessions written by hand in sessions/.",
    resume=resume,
    list=list_,
    show=show,
    new=new,
    close=close,
)


@verb()
def new_round(
    memory: Memory,
    title: str = TITLE,
    session: str = option("--session", "NAME", "session (default: the newest open one)"),
) -> Output:
    """Create the next round of a session, ready to be filled in, and print its path.

    \b
    Examples:
      kinen session round new 'Which store'
    """
    path = memory.worklog.new_round(title, session)
    return Output({"ref": f"round:{path}", "path": path}, path)


round_ = group("Rounds of a session: questions, options and answers.", new=new_round)
