"""`kinen capsule`: open, close and show a bounded piece of work."""

from __future__ import annotations

import click

from kinen import render
from kinen.cli.flags import for_scripts, in_space
from kinen.cli.run import colours
from kinen.model.kinds import CAPSULE_TYPES


def command() -> click.Command:
    return capsule


@click.group()
def capsule() -> None:
    """A session, or a step of a workflow: what happens in it is kept and summed up together."""


@capsule.command("open")
@click.option("--intent", required=True, help="what it is for")
@click.option("--type", "type_", type=click.Choice(CAPSULE_TYPES), default="session")
@click.option("--session", default="", help="the session: its observations become part of it")
@click.option("--agent", default="", help="who works")
@click.option("--resume", is_flag=True, help="go on with one that is open for that session")
@in_space
@for_scripts
def open_(
    intent: str,
    type_: str,
    session: str,
    agent: str,
    resume: bool,
    space: str | None,
    as_json: bool,
) -> int:
    """Begin a capsule; its ref is printed.

    One that is still open for the same session was left by a crash: it is closed as abandoned, with
    a summary of what happened in it.

    \b
    Examples:
      kinen capsule open --intent 'find the flaky test' --session s1
    """
    from kinen.memory import Memory
    from kinen.render.journal import entry_json

    with Memory.open(space=space) as memory:
        scope = {"session": session, "agent": agent}
        opened = memory.journal.open_capsule(intent, type=type_, scope=scope, resume=resume)
    print(render.to_json(entry_json(opened)) if as_json else opened.ref)
    return 0


@capsule.command()
@click.argument("name", metavar="ID")
@click.option("--summary", default="", help="what it came to; made of what happened if not given")
@click.option("--confidence", type=float, default=1.0, help="in the summary, 0 to 1")
@in_space
@for_scripts
def close(name: str, summary: str, confidence: float, space: str | None, as_json: bool) -> int:
    """End a capsule and print its summary.

    \b
    Examples:
      kinen capsule close 01JD8X9Z3M --summary 'the test raced with the cache; now it waits'
    """
    from kinen.memory import Memory
    from kinen.render.journal import entry_json

    with Memory.open(space=space) as memory:
        closed, written = memory.journal.close_capsule(name, summary, confidence=confidence)
    if as_json:
        told = entry_json(written) if written else None
        print(render.to_json({**entry_json(closed), "summary": told}))
    else:
        print(closed.ref)
        if written:
            print(f"{written.ref}\n\n{written.content}")
    return 0


@capsule.command()
@click.argument("name", metavar="ID")
@in_space
@for_scripts
def show(name: str, space: str | None, as_json: bool) -> int:
    """A capsule with its summaries and what happened in it."""
    from kinen.memory import Memory
    from kinen.render.journal import capsule_text, entry_json

    with Memory.open(space=space) as memory:
        found, observations, summaries = memory.journal.capsule(name)
    if as_json:
        shown = {
            **entry_json(found),
            "summaries": [entry_json(one) for one in summaries],
            "observations": [entry_json(one) for one in observations],
        }
        print(render.to_json(shown))
    else:
        print(capsule_text(found, observations, summaries, colours()))
    return 0
