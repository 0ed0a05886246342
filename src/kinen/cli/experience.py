"""`kinen fix` and `kinen how`: what experience says about an error or a command."""

from __future__ import annotations

import sys

import click

from kinen import render
from kinen.cli.flags import for_scripts, in_space
from kinen.cli.run import FOUND, NOTHING, colours, note, piped

LIMIT = 5
LIMIT_INVOCATIONS = 20


@click.command()
@click.argument("error", nargs=-1)
@click.option("--limit", "-n", default=LIMIT, show_default=True, help="at most this many, 0: all")
@in_space
@for_scripts
def fix(error: tuple[str, ...], limit: int, space: str | None, as_json: bool) -> int:
    """The same error before, and what was changed or run until it was gone.

    ERROR is the text of the error, as an argument or on standard input. Numbers, folders, times and
    addresses in it do not matter. Exit 1 if the error is not known.

    \b
    Examples:
      kinen fix "ModuleNotFoundError: No module named 'yaml'"
      pytest -q 2>&1 | kinen fix
      kinen fix --json 'error[E0382]: borrow of moved value'
    """
    from kinen.memory import Memory
    from kinen.render.experience import NOT_KNOWN, fix_json, fixes_text

    text = " ".join(error)
    if not text and not sys.stdin.isatty():
        text = piped()
    if not text.strip():
        raise click.UsageError(
            "no error is given · pass its text, or pipe it: make 2>&1 | kinen fix"
        )
    with Memory.open(space=space) as memory:
        fixes = memory.experience.fix(text, max(0, limit))
    if as_json:
        print(render.to_json({"fixes": [fix_json(one) for one in fixes]}))
    elif fixes:
        print(fixes_text(fixes, colours()))
    else:
        note(f"{NOT_KNOWN}; `kinen search` with its words looks further")
    return FOUND if fixes else NOTHING


@click.command()
@click.argument("command", nargs=-1, required=True)
@click.option("--failed", is_flag=True, help="those that never worked instead")
@click.option(
    "--limit", "-n", default=LIMIT_INVOCATIONS, show_default=True, help="at most this many, 0: all"
)
@in_space
@for_scripts
def how(
    command: tuple[str, ...], failed: bool, limit: int, space: str | None, as_json: bool
) -> int:
    """The exact invocations of a command that worked here, newest first, equal ones once.

    COMMAND is a program with its first words, or the name of an agent's tool. Exit 1 if it was not
    used.

    \b
    Examples:
      kinen how pytest
      kinen how docker compose
      kinen how Edit
      kinen how --failed cargo test
    """
    from kinen.memory import Memory
    from kinen.render.experience import NOT_USED, invocation_json, invocations_text

    with Memory.open(space=space) as memory:
        invocations = memory.experience.how(" ".join(command), max(0, limit), failed=failed)
    if as_json:
        print(render.to_json({"invocations": [invocation_json(one) for one in invocations]}))
    elif invocations:
        print(invocations_text(invocations, colours()))
    else:
        other = "worked" if failed else "did not work"
        option = "without --failed" if failed else "with --failed"
        note(f"{NOT_USED}; {option} it lists invocations that {other}")
    return FOUND if invocations else NOTHING
