"""The click side of the command line."""

from __future__ import annotations

import os
from contextlib import suppress
from copy import copy
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import click

from kinen.characters import storable
from kinen.cli.command import EVERY_OPTION, PartsGroup, command_of, with_parts
from kinen.cli.output import ERROR
from kinen.cli.run import fail, guarded, overview
from kinen.errors import KinenError
from kinen.verbs import catalogue

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

FORMER_OPTIONS = {
    "--engine": "it goes after `kinen search` or `kinen index`; for the entries of a team set"
    " team.url and run `kinen sync`",
}
"""Options of other tools and of earlier versions, and what to use instead."""


SCOPE = "--scope"


class Root(PartsGroup):
    """`kinen` itself; it imports the module of a command when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return catalogue.names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        return load(cmd_name, cmd_name) if cmd_name in catalogue.names() else None

    def get_help(self, ctx: click.Context) -> str:  # noqa: ARG002
        return overview()

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands that are listed; others once their beginning was typed."""
        from click.shell_completion import CompletionItem

        listed = {name: about for _, name, _, about in catalogue.COMMANDS}
        names = catalogue.names() if incomplete else listed
        items = [
            CompletionItem(name, help=listed.get(name))
            for name in names
            if name.startswith(incomplete)
        ]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]


def load(name: str, path: str) -> click.Command:
    """The command with a name of the catalogue, for the help of the words that were typed."""
    command = copy(command_of(catalogue.target(name), name))
    parts = catalogue.parts(name)
    if parts:
        loaders = {word: partial(load, other, f"{name} {word}") for word, other in parts.items()}
        command = with_parts(command, loaders)
    others = catalogue.also(path)
    if others:
        also = f"Also: {', '.join(f'kinen {other}' for other in others)}"
        command.epilog = "\n\n".join(filter(None, (command.epilog, also)))
    if "_KINEN_COMPLETE" in os.environ:
        from kinen.cli.complete import add_completion

        add_completion(command)
    return with_storable_text(command)


class Text(click.types.StringParamType):
    """Text that can be stored: bytes of the command line that are not UTF-8 are replaced.

    Every parameter of type STRING gets it. Names of files are `click.UNPROCESSED`, since a file
    may have such bytes in its name.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return storable(super().convert(value, param, ctx))


def with_storable_text(command: click.Command) -> click.Command:
    """The command, with `Text` for each text parameter of it and of its subcommands."""
    for param in command.params:
        if param.type is click.STRING:
            param.type = Text()
    for inner in getattr(command, "commands", {}).values():
        with_storable_text(inner)
    return command


def _with_scope(words: list[str]) -> list[str]:
    """The words of a command with `--session` or `--repo` for Kindling's `--scope`."""
    from kinen.memory import Memory

    at = next(n for n, word in enumerate(words) if word.partition("=")[0] == SCOPE)
    value = words[at].partition("=")[2] or next(iter(words[at + 1 :]), "")
    names = [word for name, word in pairwise(words) if name in ("-s", "--space")]
    part = "session"
    with suppress(KinenError), Memory.open(space=names[0] if names else None) as memory:
        part = memory.journal.part_of_scope(value)
    return [*words[:at], words[at].replace(SCOPE, f"--{part}", 1), *words[at + 1 :]]


def _with_help(words: list[str]) -> tuple[list[str], str]:
    """A command line without the --all of `--help --all`, and what its help shows."""
    end = words.index("--") if "--" in words else len(words)
    before = words[:end]
    if "--all" not in before or not {"-h", "--help"} & {*before}:
        return words, ""
    return [*(word for word in before if word != "--all"), *words[end:]], EVERY_OPTION


def run(words: list[str]) -> int:
    """Run a command line through click and return its exit code; errors are one line each."""
    words, shown = _with_help(words)

    def call(words: list[str] = words) -> int:
        try:
            code = root.main(words, prog_name="kinen", standalone_mode=False, obj=shown)
        except click.exceptions.NoArgsIsHelpError as error:
            group = error.ctx.command
            path = error.ctx.command_path
            names = (
                ", ".join(group.list_commands(error.ctx)) if isinstance(group, click.Group) else ""
            )
            return fail(f"{path} needs a command: {names} · see `{path} --help`")
        except click.UsageError as error:
            path = error.ctx.command_path if error.ctx else "kinen"
            name = getattr(error, "option_name", "")
            rows = error.ctx.command.params if error.ctx else []
            if name == SCOPE and {"session", "repo"} <= {row.name for row in rows}:
                return call(_with_scope(words))
            if name in FORMER_OPTIONS:
                return fail(f"no option {name} · {FORMER_OPTIONS[name]}")
            hint = "" if " · " in error.format_message() else f" · see `{path} --help`"
            return fail(error.format_message() + hint)
        except click.ClickException as error:
            return fail(error.format_message())
        except click.Abort as error:
            return 130 if isinstance(error.__cause__, KeyboardInterrupt) else ERROR
        return code if isinstance(code, int) else 0

    return guarded(call)


root = Root("kinen", context_settings={"help_option_names": ["-h", "--help"]})
