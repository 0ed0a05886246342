"""Verbs as commands of click."""

from __future__ import annotations

import contextlib
import sys
from functools import partial
from importlib import import_module
from typing import Any

import click

from kinen.cli import answer
from kinen.cli.answer import daemon_started
from kinen.cli.command import (
    CommandGroup,
    PartsGroup,
    Texts,
    click_param,
    files_command,
    memory_command,
    options,
    spaces_command,
)
from kinen.cli.editor import rewrite
from kinen.cli.run import note, piped, working
from kinen.memory import Memory
from kinen.verbs.params import DAYS, Param
from kinen.verbs.verb import Output, Verb


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


def command(verb: type[Verb], name: str) -> click.Command:
    """The command of a verb, with the options that all commands of its kind have."""
    parts = {word: load(part, word) for word, part in verb.parts.items()}
    if verb.is_group():
        return PartsGroup(name, commands=parts, help=verb.__doc__)

    rows = {key: row for key, row in verb.params.items() if row.is_on("command")}
    if verb.quick:
        return quick_command(verb, name, rows)

    def call(memory: Memory, **values: Any) -> Output:
        return _output(verb(**values), memory)

    runner: Any = _surround(verb)(call)

    def run(**values: Any) -> Any:
        for key, row in rows.items():
            if row.joined or row.piped or row.editor:
                values[key] = _text(row, values[key])
        return runner(**values)

    run.__doc__ = verb.__doc__
    run.__click_params__ = [  # type: ignore[attr-defined]
        *runner.__click_params__,
        *reversed([click_param(key, row) for key, row in rows.items()]),
    ]
    if "since" in verb.params:
        run = options(days=DAYS)(run)
    if parts:
        group: click.Command = click.command(name, cls=CommandGroup, commands=parts)(run)
        return group
    if any(row.dashed for row in verb.params.values()):
        # The command without one-letter options: `-security` is a word of it.
        command = click.command(name)(run)
        command.context_settings = {"ignore_unknown_options": True, "help_option_names": ["--help"]}
        for option in command.params:
            option.opts = [name for name in option.opts if name[:1] != "-" or name[:2] == "--"]
        return command
    joined = any(row.joined and not row.path for row in verb.params.values())
    return click.command(name, cls=TextCommand if joined else Texts)(run)


def quick_command(verb: Any, name: str, rows: dict[str, Param]) -> click.Command:
    """The command of a verb that mostly runs without click."""

    def run(query: tuple[str, ...], **values: Any) -> int:
        chosen = {
            key: rows[key].default if value is None else value for key, value in values.items()
        }
        return answer.run(verb, [*query], chosen)

    params = [click_param(key, row) for key, row in rows.items()]
    return click.Command(name, params=params, callback=run, help=verb.__doc__)


def load(part: Any, word: str) -> click.Command:
    """A command from a verb, a command, a function that makes one, or its `module:name`."""
    if isinstance(part, str):
        module, _, attribute = part.partition(":")
        part = getattr(import_module(module), attribute or "command")
    if isinstance(part, click.Command):
        return part
    result: click.Command = command(part, word) if isinstance(part, type) else part()
    return result


def _surround(verb: type[Verb]) -> Any:
    if verb.lists_files:
        return files_command
    return spaces_command if verb.several else memory_command


def _output(verb: Verb, memory: Memory) -> Output:
    if sys.stdout.isatty() and not click.get_current_context().params["as_json"]:
        verb.on_line = partial(print, flush=True)
    verb.on_wait = lambda who: note(f"{who}; waiting for it")
    with contextlib.ExitStack() as stack:
        if verb.embeds:
            stack.enter_context(daemon_started(memory))
        if verb.working:
            stack.enter_context(working(verb.working))
        return verb.answer(memory)


def _text(row: Param, value: Any) -> Any:
    """A text argument: of words, of standard input, or written in the editor."""
    text = " ".join(value or ()) if row.joined else value or ""
    if row.piped and not text and not sys.stdin.isatty():
        text = piped()
    if row.editor:
        return piped() if text == "-" else text or rewrite("", *row.editor)
    if row.piped and not text.strip():
        raise click.UsageError(row.piped)
    return text
