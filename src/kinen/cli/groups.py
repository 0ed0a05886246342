"""The click side of the command line: every command behind its row of the table."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from kinen.characters import storable
from kinen.cli import COMMANDS, overview
from kinen.cli.run import ERROR, fail, guarded


class Root(click.Group):
    """`kinen` itself; a command's module is imported when the command is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [name for _, name, _, _ in COMMANDS]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        for _, known, module, _ in COMMANDS:
            if known == name:
                path, _, function = module.partition(":")
                found = getattr(import_module(path), function or "command")
                made: click.Command = found if isinstance(found, click.Command) else found()
                return with_storable_text(made)
        return None

    def get_help(self, ctx: click.Context) -> str:  # noqa: ARG002
        return overview()

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            near = get_close_matches(args[0], self.list_commands(ctx), 1)
            hint = f"did you mean `kinen {near[0]}`?" if near else "`kinen --help` lists them"
            raise click.UsageError(f"no command {args[0]!r} · {hint}", ctx) from error


class Text(click.types.StringParamType):
    """Text that can be stored: bytes of the command line that are not UTF-8 are replaced.

    Every parameter of type STRING has it. Names of files are `click.UNPROCESSED`, since a file may
    have such bytes in its name.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return storable(super().convert(value, param, ctx))


def with_storable_text(command: click.Command) -> click.Command:
    """The command, with storable text for each parameter of it and of its commands."""
    for param in command.params:
        if param.type is click.STRING:
            param.type = Text()
    for inner in getattr(command, "commands", {}).values():
        with_storable_text(inner)
    return command


def run(words: list[str]) -> int:
    """Run a command line through click; its own complaints also fit on one line."""

    def call() -> int:
        try:
            code = root.main(words, prog_name="kinen", standalone_mode=False)
        except click.exceptions.NoArgsIsHelpError as error:
            group, where = error.ctx.command, error.ctx.command_path
            names = ", ".join(group.commands) if isinstance(group, click.Group) else ""
            return fail(f"{where} needs a command: {names} · see `{where} --help`")
        except click.UsageError as error:
            where = error.ctx.command_path if error.ctx else "kinen"
            hint = "" if " · " in error.format_message() else f" · see `{where} --help`"
            return fail(error.format_message() + hint)
        except click.ClickException as error:
            return fail(error.format_message())
        except click.Abort as error:
            return 130 if isinstance(error.__cause__, KeyboardInterrupt) else ERROR
        return code if isinstance(code, int) else 0

    return guarded(call)


root = Root("kinen", context_settings={"help_option_names": ["-h", "--help"]})
