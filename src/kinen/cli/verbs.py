"""Verbs as commands of click."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from functools import partial
from typing import Any

import click

from kinen.cli.clickargs import AliasedOption, split
from kinen.cli.command import (
    FILE_NAME,
    Output,
    files_command,
    memory_command,
    opener,
)
from kinen.cli.daemon_answer import daemon_started
from kinen.cli.run import piped, screen
from kinen.memory import Memory
from kinen.verbs.verb import Param, Verb, View, plain


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

    def call(memory: Memory, **values: Any) -> Output:
        return _output(verb(**values), memory)

    joined = next((row for row in verb.params.values() if row.joined), None)
    runner: Any = files_command(call) if verb.lists_files else memory_command(call)

    def run(**values: Any) -> Any:
        for key, row in verb.params.items():
            if row.joined:
                values[key] = _joined(row, values[key])
        return runner(**values)

    run.__doc__ = verb.__doc__
    run.__click_params__ = [  # type: ignore[attr-defined]
        *runner.__click_params__,
        *reversed([_click_param(key, row) for key, row in verb.params.items()]),
    ]
    return click.command(name, cls=TextCommand if joined else None)(run)


def _output(verb: Verb, memory: Memory) -> Output:
    if sys.stdout.isatty() and not click.get_current_context().params["as_json"]:
        verb.on_line = partial(print, flush=True)
    with daemon_started(memory) if verb.embeds else nullcontext():
        result = verb.run(memory)
    view = View(screen(), opener(memory))
    return Output(
        lambda: plain(result),
        verb.text(result, view),
        found=not verb.empty(result),
        notes=[*verb.notes(result)],
        paths=[view.place(path) for path in verb.files_in(result)] if verb.lists_files else (),
    )


def _joined(row: Param, texts: tuple[str, ...]) -> str:
    """The text of words, or of standard input where that is accepted."""
    text = " ".join(texts)
    if row.piped and not text and not sys.stdin.isatty():
        text = piped()
    if row.piped and not text.strip():
        raise click.UsageError(row.piped)
    return text


def _click_param(key: str, row: Param) -> click.Parameter:
    kind = _click_type(row)
    if not row.names:
        required = row.required and not row.piped
        metavar = row.metavar or None
        return click.Argument(
            [key], nargs=-1 if row.many else 1, required=required, type=kind, metavar=metavar
        )
    if row.type is bool:
        return AliasedOption([*row.names, key], rare=row.rare, is_flag=True, help=row.help)
    return AliasedOption(
        [*row.names, key],
        row.aliases,
        row.rare,
        callback=split if row.many and row.separator else None,
        type=kind,
        multiple=row.many,
        default=None if row.choices or row.many else row.default,
        show_default=bool(row.default) and not row.choices,
        metavar=row.metavar or None,
        help=f"{row.help}; repeatable" if row.many else row.help,
    )


def _click_type(row: Param) -> Any:
    if row.path:
        return FILE_NAME
    if row.choices:
        return click.Choice(row.choices)
    if row.type is int and row.least is not None:
        return click.IntRange(row.least, None if row.unbounded else row.most)
    return row.type
