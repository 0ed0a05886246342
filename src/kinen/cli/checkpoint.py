"""`kinen save`, also `kinen checkpoint`: save, list, show and edit memories that somebody wrote."""

from __future__ import annotations

import os
from itertools import islice
from typing import Any

import click

from kinen.cli.clickargs import AliasedOption
from kinen.cli.command import (
    FILE_NAME,
    CommandGroup,
    Output,
    limit_option,
    list_option,
    listing,
    memory_command,
    moment,
    options,
    text_option,
)
from kinen.cli.editor import edit as open_editor
from kinen.cli.editor import text_or_editor
from kinen.cli.options import PERIOD, TAG, tags
from kinen.cli.run import colours, piped, screen
from kinen.memory import Memory
from kinen.model.kinds import CHECKPOINT_TYPES, LESSONS
from kinen.render.journal import checkpoint_json, checkpoint_text, checkpoints_text
from kinen.text import unspelled

EMPTY = "nothing saved yet: `kinen save 'what was done and why'` saves a memory"
REMARK = "what was done and why; an empty text saves nothing"
HINT = "pass it: kinen save 'what was done and why', or pipe it: ... | kinen save -"


@click.group(cls=CommandGroup)
@click.argument("words", metavar="[TEXT|-]", nargs=-1)
@click.option(
    "--type",
    "-t",
    type=click.Choice([*CHECKPOINT_TYPES, *LESSONS]),
    metavar="[decision|lesson|incident|checkpoint]",
    help="type (default: checkpoint)",
)
@options(tags("tag"))
@text_option("--context", "TEXT", "what led to it", rare=True)
@text_option("--decision", "TEXT", "what was decided")
@list_option("--alternative", "alternatives", "TEXT", "alternative that was considered", rare=True)
@text_option("--impact", "TEXT", "what it changes", rare=True)
@list_option("--evidence", "evidence", "TEXT", "evidence: a test, a figure, a commit", rare=True)
@list_option("--symbol", "symbols", "NAME", "function or class it concerns", rare=True)
@text_option("--next", "TEXT", "next step")
@click.option(
    "--confidence",
    cls=AliasedOption,
    rare=True,
    type=click.IntRange(1, 5),
    default=None,
    help="confidence: 1 is a guess, 5 is certain",
)
@list_option("--unknown", "unknowns", "TEXT", "open question", rare=True)
@memory_command
def save(memory: Memory, words: tuple[str, ...], **details: Any) -> Output:
    """Save what was done and why, with the branch, the commit and the changed files.

    It is a memory in a markdown file in .memories/, and can be found at once. Without TEXT, it is
    written in your editor; `-` reads it from standard input.

    \b
    Examples:
      kinen save 'Tokens now rotate; the refresh race is gone' --type lesson --tag auth
      kinen save 'Postgres for sessions' --type decision --decision 'move off Redis' \\
        --alternative 'Redis with AOF' --impact 'one store fewer' --confidence 4
      git log -1 --format=%B | kinen save -
      kinen save --list --since 1w
      kinen save --event 'the build is red again' --kind error
      kinen save --pin 'Never push to main: releases are cut from it'
    """
    details = {name: value for name, value in details.items() if value}
    text = " ".join(words)
    text = piped() if text == "-" else text_or_editor(text, REMARK, HINT)
    saved = memory.worklog.checkpoint(text, **details)
    return Output(checkpoint_json(saved), f"checkpoint:{saved.path}")


checkpoint = CommandGroup("checkpoint", params=save.params, callback=save.callback, help=save.help)


@checkpoint.command("list")
@options(*PERIOD, TAG)
@limit_option(20, "memories")
@memory_command
def list_(memory: Memory, since: str, until: str, tags: tuple[str, ...], limit: int) -> Output:
    """List the memories that were saved, newest first. Exit 1 if there are none."""
    end = moment(until, end=True)
    matches = (
        checkpoint
        for checkpoint in memory.worklog.checkpoints(moment(since), end)
        if set(tags) <= set(checkpoint.tags)
    )
    checkpoints = list(islice(matches, max(0, limit) or None))
    empty = "no saved memory matches" if since or until or tags else EMPTY
    return listing(
        {"checkpoints": [checkpoint_json(checkpoint) for checkpoint in checkpoints]},
        checkpoints_text(checkpoints, screen()),
        checkpoints,
        empty,
    )


@checkpoint.command()
@click.argument("name", metavar="[ID]", default="", type=FILE_NAME)
@memory_command
def show(memory: Memory, name: str) -> Output:
    """Show a saved memory (default: the newest). The beginning of its id is enough."""
    saved = memory.worklog.saved_checkpoint(name)
    return Output(checkpoint_json(saved), checkpoint_text(saved, colours()))


@checkpoint.command()
@click.argument("name", metavar="[ID]", default="", type=FILE_NAME)
@memory_command
def edit(memory: Memory, name: str) -> Output:
    """Open a saved memory (default: the newest) in your editor."""
    path = memory.worklog.saved_checkpoint(name).path
    file = os.fsdecode(unspelled(path))
    with memory.worklog.editing(file):
        open_editor(os.path.join(memory.space.root, file))
    memory.worklog.refresh()
    saved = memory.worklog.saved_checkpoint(path)
    return Output(checkpoint_json(saved), saved.ref)
