"""`kinen fix` and `kinen how`: experience with an error or a command."""

from __future__ import annotations

import sys

import click

from kinen.cli.command import Output, limit_option, listing, memory_command
from kinen.cli.run import colours, piped
from kinen.memory import Memory
from kinen.memory.experience import nearest
from kinen.render.experience import (
    NOT_KNOWN,
    NOT_USED,
    fix_json,
    fixes_text,
    invocation_json,
    invocations_text,
    latest_note,
    omitted_note,
)
from kinen.render.json import hits_json
from kinen.render.text import hits_text

NOT_RECORDED = "no commands recorded yet: `kinen install` records what agents run"


class TextCommand(click.Command):
    """A command whose text may begin with `-`: what is no option of it is text."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        params = self.get_params(ctx)
        options = {name for param in params for name in (*param.opts, *param.secondary_opts)}

        def is_option(arg: str) -> bool:
            short = arg[1:2] != "-" and arg[:2] in options and arg[2:].isdecimal()
            return arg in ("-", "--") or arg.partition("=")[0] in options or short

        # A space before it keeps click from reading text as an option.
        spaced = [f" {a}" if a.startswith("-") and not is_option(a) else a for a in args]
        return super().parse_args(ctx, spaced)


@click.command(cls=TextCommand)
@click.argument("error", nargs=-1)
@limit_option(5, "fixes")
@memory_command
def fix(memory: Memory, error: tuple[str, ...], limit: int) -> Output:
    """Show how an error was fixed before: what was changed or run until it was gone.

    ERROR is the text of the error or a part of one of its lines, as an argument or on standard
    input. Numbers, folders, times and addresses in it are ignored. Errors that users pasted count,
    too. A change is called the fix only if the same command passed afterwards and the error names
    what was changed. An unknown error is searched for everywhere, and the exit code is 1.

    \b
    Examples:
      kinen fix "ModuleNotFoundError: No module named 'yaml'"
      kinen fix no upstream branch
      pytest -q 2>&1 | kinen fix
      kinen fix --json 'error[E0382]: borrow of moved value'
    """
    text = " ".join(error)
    if not text and not sys.stdin.isatty():
        text = piped()
    if not text.strip():
        raise click.UsageError("no error text · pass it, or pipe it: make 2>&1 | kinen fix")
    fixes, omitted = memory.experience.fix(text, max(0, limit))
    if fixes:
        data = {"fixes": [fix_json(fix) for fix in fixes], "omitted": omitted}
        return listing(data, fixes_text(fixes, colours()), fixes, cut=omitted_note(omitted))
    hits = nearest(memory.search, text)
    remark = f"{NOT_KNOWN}; above is what search finds" if hits else NOT_KNOWN
    data = {"fixes": [], "omitted": omitted, "search": hits_json(hits)["results"]}
    return Output(data, hits_text(hits, style=colours()), found=False, notes=[remark])


@click.command(cls=TextCommand)
@click.argument("command", nargs=-1, required=True)
@click.option("--failed", is_flag=True, help="show invocations that never worked instead")
@limit_option(20, "invocations")
@memory_command
def how(memory: Memory, command: tuple[str, ...], failed: bool, limit: int) -> Output:
    """Show how a command was called here when it worked, newest first.

    COMMAND is words of a command line, wherever they stand in it, or the name of an agent's tool.
    Runs that differ in values only are shown once, by the latest. Exit 1 if there are none.

    \b
    Examples:
      kinen how pytest
      kinen how go test e2e
      kinen how Edit
      kinen how --failed cargo test
    """
    invocations, latest = memory.experience.how(" ".join(command), max(0, limit), failed=failed)
    hint = "omit --failed for those that worked" if failed else "--failed shows those that failed"
    return listing(
        {
            "invocations": [invocation_json(invocation) for invocation in invocations],
            "latest": latest,
        },
        invocations_text(invocations, colours()),
        invocations,
        f"{NOT_USED}: {hint}" if memory.core.store.exists else NOT_RECORDED,
        cut=latest_note(latest),
    )
