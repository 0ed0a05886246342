"""Rows of options as options and commands of click."""

from __future__ import annotations

from typing import Any

import click

from kinen.cli.fastargs import Option, items

FEW = 12
"""The number of options that a help shows in any case."""
EVERY_OPTION = "every option"
"""The object of a context whose help shows options that are rare, too."""


class AliasedOption(click.Option):
    """An option of click with further names that the help leaves out.

    Of a command with more than a few options, help shows one that is `rare` with --all only.
    """

    def __init__(
        self,
        names: list[str],
        aliases: tuple[str, ...] = (),
        rare: bool = False,
        **attributes: Any,
    ) -> None:
        super().__init__([*names[:-1], *aliases, names[-1]], **attributes)
        self.aliases = aliases
        self.rare = rare

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        if self.rare and ctx.obj != EVERY_OPTION:
            options = [row for row in ctx.command.params if isinstance(row, click.Option)]
            options_shown = [row for row in options if not row.hidden]
            left_out = [row for row in options_shown if getattr(row, "rare", False)]
            if len(options_shown) > FEW:
                more = f"show {len(left_out)} more options"
                return ("--help --all", more) if self is left_out[-1] else None
        names = self.opts
        self.opts = [name for name in names if name not in self.aliases]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = names


def _type(row: Option) -> Any:
    if row.is_flag:
        return None
    if row.path:
        return click.UNPROCESSED
    return click.Choice(row.choices) if row.choices else row.type


def _default(row: Option) -> Any:
    if row.is_flag:
        return False
    return None if row.choices or row.many else row.default


def split(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:
    return items(texts)


def click_options(rows: tuple[Option, ...]) -> list[click.Option]:
    return [
        AliasedOption(
            [*row.names, row.key],
            row.aliases,
            help=row.help,
            type=_type(row),
            default=_default(row),
            is_flag=row.is_flag,
            multiple=row.many,
            metavar=row.metavar or None,
            show_default=bool(row.default) and row.default != -1,
            hidden=row.hidden,
            rare=row.rare,
            callback=split if row.split else None,
        )
        for row in rows
    ]


def click_command(
    function: Any, argument: dict[str, Any], rows: tuple[Option, ...], summary: str, epilog: str
) -> click.Command:
    """The click command of a function of a text; `argument` describes the text to click."""

    def run(**options: Any) -> int:
        text = options.pop(argument["param_decls"][0])
        defaults = {row.key: row.default for row in rows if row.choices}
        chosen = {key: value or defaults.get(key, value) for key, value in options.items()}
        if function.__name__ == "search":
            chosen["arguments"] = text
        return int(function(text if isinstance(text, str) else " ".join(text), **chosen))

    return click.Command(
        function.__name__,
        params=[click.Argument(**argument), *click_options(rows)],
        callback=run,
        help=summary,
        epilog="\b\n" + epilog,
    )
