"""`kinen session capsule`: open, close and show a session, or a step of a workflow."""

from __future__ import annotations

import click

from kinen.cli.command import Output, choice_option, group, memory_command, text_option
from kinen.cli.run import colours
from kinen.memory import Memory
from kinen.model.kinds import CAPSULE_TYPES
from kinen.render.journal import capsule_text, entry_json


@group()
def capsule() -> None:
    """Sessions and steps of a workflow that a program records: events with one summary."""


@capsule.command("open")
@click.option("--intent", required=True, metavar="TEXT", help="what it is for")
@choice_option(
    "--type -t", CAPSULE_TYPES, "session, or step of a workflow", default="session", key="type_"
)
@text_option("--session", "ID", "session whose events become part of it")
@text_option("--agent", "NAME", "agent that does the work")
@text_option("--repo", "NAME", "repository it is about (default: this one)")
@text_option("--user", "NAME", "who it is for")
@text_option("--parent", "ID", "session that it is a part of")
@click.option("--resume", is_flag=True, help="reuse the one that is open for that session, if any")
@memory_command
def open_(
    memory: Memory, intent: str, type_: str, parent: str, resume: bool, **scope: str
) -> Output:
    """Open a session and print its ref.

    One that is still open under the same id was left by a crash: it is summarised and closed as
    abandoned.

    \b
    Examples:
      kinen session capsule open --intent 'find the flaky test' --session s1
    """
    capsule = memory.journal.open_capsule(
        intent, type=type_, scope=scope, resume=resume, parent=parent
    )
    return Output(entry_json(capsule), capsule.ref)


@capsule.command()
@click.argument("name", metavar="ID")
@text_option("--summary", "TEXT", "its result (default: made from its events)")
@click.option(
    "--confidence",
    default=1.0,
    show_default=True,
    metavar="X",
    help="confidence in the summary, 0 to 1",
)
@memory_command
def close(memory: Memory, name: str, summary: str, confidence: float) -> Output:
    """Close a session and print its summary.

    \b
    Examples:
      kinen session capsule close 01JD8X9Z3M --summary 'the test raced with the cache; now it waits'
    """
    capsule, written = memory.journal.close_capsule(name, summary, confidence=confidence)
    data = {**entry_json(capsule), "summary": entry_json(written) if written else None}
    text = capsule.ref
    if written:
        text += f"\n{written.ref}\n\n{written.content}"
    return Output(data, text)


@capsule.command()
@click.argument("name", metavar="ID")
@memory_command
def show(memory: Memory, name: str) -> Output:
    """Show a session with its parts, summaries and events."""
    capsule, observations, summaries = memory.journal.capsule(name)
    parts = memory.journal.parts(name)
    data = {
        **entry_json(capsule),
        "parts": [entry_json(part) for part in parts],
        "summaries": [entry_json(summary) for summary in summaries],
        "observations": [entry_json(observation) for observation in observations],
    }
    return Output(data, capsule_text(capsule, parts, observations, summaries, colours()))
