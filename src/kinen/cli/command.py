"""Commands of click: those of verbs, and what all of them share."""

from __future__ import annotations

import contextlib
import functools
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from os.path import lexists
from typing import Any

import click
from click.core import ParameterSource

from kinen.characters import visible_line
from kinen.cli import answer
from kinen.cli.answer import daemon_started, emit, opened, rendered
from kinen.cli.complete import FileName
from kinen.cli.editor import rewrite
from kinen.cli.output import file_name, note, write_raw
from kinen.cli.run import piped, working
from kinen.errors import QueryError
from kinen.memory import Memory
from kinen.render.text import counted
from kinen.space.find import is_several
from kinen.text import nearest
from kinen.verbs import params as shared
from kinen.verbs.params import DAYS, Param, begin, items
from kinen.verbs.verb import Output, Verb

NAMED = 3
"""Spaces that a remark names."""
FEW = 12
"""The number of options that a help shows in any case."""
EVERY_OPTION = "every option"
"""The object of a context whose help shows options that are rare, too."""
_HYPHEN_TEXT = re.compile(r"^-[^=]*\s")
FILE_NAME = FileName()
"""Type of names of files, records and spaces: they may have bytes that are not UTF-8."""


def parse_texts(
    parse: Callable[[click.Context, list[str]], list[str]], ctx: click.Context, args: list[str]
) -> list[str]:
    """Texts are recognised by their spaces, and hidden from click's search for options."""
    rest = parse(ctx, [f"\0{word}" if _HYPHEN_TEXT.search(word) else word for word in args])
    for name, value in ctx.params.items():
        if isinstance(value, str):
            ctx.params[name] = value.removeprefix("\0")
        elif isinstance(value, tuple):
            ctx.params[name] = tuple(text.removeprefix("\0") for text in value)
    return rest


class Texts(click.Command):
    """A command whose texts may begin with a hyphen, as lists do."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return parse_texts(super().parse_args, ctx, args)


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


def click_param(key: str, row: Param) -> click.Parameter:
    """A parameter as click has it."""
    kind = _click_type(row)
    if not row.names:
        required = row.required and not row.piped and not row.editor
        metavar = row.metavar or None
        return click.Argument(
            [key], nargs=-1 if row.many else 1, required=required, type=kind, metavar=metavar
        )
    about: dict[str, Any] = {"help": row.help, "hidden": row.hidden}
    if not row.required:
        about["default"] = None if row.many or (row.choices and not row.default) else row.default
    if row.type is bool:
        return AliasedOption([*row.names, key], rare=row.rare, is_flag=True, **about)
    if row.many:
        about["help"] += "; repeatable"
    return AliasedOption(
        [*row.names, key],
        row.aliases,
        row.rare,
        callback=(lambda _ctx, _param, texts: items(texts, row.separator))
        if row.many and row.separator
        else None,
        type=kind,
        multiple=row.many,
        show_default=bool(row.default) and row.default != -1,
        metavar=row.metavar or None,
        required=row.required,
        **about,
    )


def _click_type(row: Param) -> Any:
    if row.path:
        return FILE_NAME
    if row.dashed:
        return click.UNPROCESSED
    if row.choices:
        return click.Choice(row.choices)
    if row.type is int and row.least is not None and not row.checked:
        return click.IntRange(row.least, None if row.unbounded else row.most)
    return row.type


class PartsGroup(click.Group):
    """A group that also has commands with another name: `kinen session round` is `kinen round`."""

    parts: Mapping[str, Callable[[], click.Command]] = {}
    """Words and options that are commands → what imports each (`kinen.verbs.catalogue`)."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *self.parts])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        part = self.parts.get(cmd_name)
        return part() if part else super().get_command(ctx, cmd_name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Without a word a group shows what there is: `kinen session` is `kinen session list`."""
        explicit = args and (args[0][:1] != "-" or args[0] in {*ctx.help_option_names, "--"})
        if ctx.parent and not (explicit or self.invoke_without_command or ctx.resilient_parsing):
            names = self.list_commands(ctx)
            args = [*[name for name in ("list", "show", "status") if name in names][:1], *args]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            path = ctx.command_path
            near = nearest(args[0], self.list_commands(ctx))
            hint = f"did you mean `{path} {near}`?" if near else f"see `{path} --help`"
            raise click.UsageError(f"no command {args[0]!r} · {hint}", ctx) from error


class CommandGroup(PartsGroup):
    """A command that also has subcommands: `kinen import FILE`, `kinen import transcripts`.

    A subcommand is the first word. One that is an option may stand anywhere. Texts of the command
    may begin with a hyphen.
    """

    allow_interspersed_args = True

    def __init__(self, name: str | None = None, **attributes: Any) -> None:
        super().__init__(name, invoke_without_command=True, subcommand_metavar="", **attributes)
        self.allow_extra_args = not any(isinstance(row, click.Argument) for row in self.params)

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> click.Context:
        end = args.index("--") if "--" in args else len(args)
        words = self.list_commands(click.Context(self))
        at = [n for n, arg in enumerate(args[:end]) if arg in words and (not n or arg[0] == "-")]
        if not at:
            return super().make_context(info_name, args, parent, **extra)
        word = args[at[0]]
        command = self.get_command(click.Context(self), word)
        assert command is not None
        rest = [*args[: at[0]], *args[at[0] + 1 :]]
        return command.make_context(f"{info_name} {word}", rest, parent, **extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return parse_texts(super().parse_args, ctx, args)


def with_parts(
    command: click.Command, parts: Mapping[str, Callable[[], click.Command]]
) -> click.Command:
    """The command as a group that has these parts, too."""
    if not isinstance(command, PartsGroup):
        command = CommandGroup(
            command.name,
            params=command.params,
            callback=command.callback,
            help=command.help,
            epilog=command.epilog,
            context_settings=command.context_settings,
        )
    command.parts = parts
    return command


def group(name: str | None = None, **attributes: Any) -> Callable[[Callable[..., Any]], PartsGroup]:
    """Make a function a `PartsGroup`."""
    return click.group(name, cls=PartsGroup, **attributes)


def options(**rows: Param) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add shared options to a command. --days arrives as the `since` that it stands for."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(*args: Any, **values: Any) -> Any:
            if "days" in values:
                source = click.get_current_context().get_parameter_source("since")
                if not values["since"] and source is ParameterSource.COMMANDLINE:
                    # A script's variable was empty.
                    raise QueryError("--since is empty", "give a time, or leave --since out")
                values["since"] = begin(values)
                del values["days"]
            return function(*args, **values)

        own = [click_param(key, row) for key, row in rows.items()]
        params = [*getattr(function, "__click_params__", ()), *reversed(own)]
        run.__click_params__ = params  # type: ignore[attr-defined]
        return run

    return decorate


space_option = options(space=shared.SPACE)
spaces_option = options(spaces=shared.SPACES)
json_option = options(as_json=shared.JSON)
dry_run_option = options(dry_run=shared.DRY_RUN)


def json_command(function: Callable[..., Output]) -> Callable[..., int]:
    """Add --json to a command, and print the `Output` that it returns."""

    @json_option
    @functools.wraps(function)
    def run(*args: Any, as_json: bool, **options: Any) -> int:
        return emit(function(*args, **options), as_json)

    return run


def spaces_command(function: Callable[..., Output]) -> Callable[..., int]:
    """As `memory_command`, with a repeatable --space, which may be `all`.

    Of several spaces each has a section in the text and an object in the JSON.
    """

    @spaces_option
    @json_option
    @functools.wraps(function)
    def run(*args: Any, spaces: tuple[str, ...], as_json: bool, **options: Any) -> int:
        def call(memory: Memory) -> Output:
            return function(memory, *args, **options)

        if is_several(spaces):
            return emit(_of_several(spaces, call), as_json)
        with opened(spaces[0] if spaces else None) as memory:
            output = rendered(call(memory), memory)
        return emit(output, as_json)

    return run


def _of_several(spaces: Sequence[str], call: Callable[[Memory], Output]) -> Output:
    """The outputs of several spaces as one; those without a result are left out."""
    from kinen.memory.federation import ask_spaces

    notes: list[str] = []
    outputs = ask_spaces(
        spaces,
        lambda memory: (memory.space.name, rendered(call(memory), memory)),
        on_error=notes.append,
    )
    results = [(name, output) for name, output in outputs if output.found]
    remarks: dict[str, list[str]] = {}
    for name, output in results or outputs:
        for remark in output.notes:
            remarks.setdefault(remark, []).append(name)
    notes += [f"{shortened(names)}: {remark}" for remark, names in remarks.items()]
    texts = [f"# {visible_line(name)}\n\n{output.text}" for name, output in results]

    def data() -> object:
        rows = []
        for name, output in results:
            value = output.data
            rows.append({"name": name, **(value if isinstance(value, dict) else {"value": value})})
        return {"spaces": rows}

    return Output(data, "\n\n".join(texts), found=bool(results), notes=notes)


def shortened(names: Sequence[str]) -> str:
    """The names of spaces in a remark, of many the first."""
    listed = ", ".join(names[:NAMED])
    more = len(names) - NAMED
    return f"{listed} and {counted(more, 'other spaces')}" if more > 0 else listed


def memory_command(function: Callable[..., Output]) -> Callable[..., int]:
    """Add --space and --json to a command, and call it with the memory of that space.

    The memory is closed before the returned `Output` is printed.
    """

    @space_option
    @json_option
    @functools.wraps(function)
    def run(*args: Any, space: str | None, as_json: bool, **options: Any) -> int:
        with opened(space) as memory:
            output = rendered(function(memory, *args, **options), memory)
        return emit(output, as_json)

    return run


def files_command(function: Callable[..., Output]) -> Callable[..., int]:
    """As `memory_command`, with -l and -0, which print only the files of the output.

    Files that are no longer there are left out, because they cannot be opened.
    """

    @click.option("--files", "-l", "files_only", is_flag=True, help="print only the paths")
    @click.option("--null", "-0", is_flag=True, help="with -l, end each path with a NUL character")
    @space_option
    @json_option
    @functools.wraps(function)
    def run(
        *args: Any, space: str | None, as_json: bool, files_only: bool, null: bool, **options: Any
    ) -> int:
        with opened(space) as memory:
            output = rendered(function(memory, *args, **options), memory)
        if files_only and not as_json:
            paths = [path for path in dict.fromkeys(output.paths) if lexists(file_name(path))]
            if paths and (null or not sys.stdout.isatty()):
                # With the bytes that the files' names have.
                write_raw("".join(file_name(path) + ("\0" if null else "\n") for path in paths))
            elif paths:
                print("\n".join(paths))
            output = output._replace(text="", found=bool(paths))
        return emit(output, as_json)

    return run


class TextCommand(click.Command):
    """A command whose text may begin with `-`: what is no option of it is text."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        params = self.get_params(ctx)
        names = {name for param in params for name in (*param.opts, *param.secondary_opts)}

        def is_option(arg: str) -> bool:
            short = arg[1:2] != "-" and arg[:2] in names and arg[2:].isdecimal()
            return arg in ("-", "--") or arg.partition("=")[0] in names or short

        # A space before it keeps click from reading text as an option.
        spaced = [f" {a}" if a.startswith("-") and not is_option(a) else a for a in args]
        return super().parse_args(ctx, spaced)


def command(verb: type[Verb], name: str) -> click.Command:
    """The command of a verb, with the options that all commands of its kind have."""
    parts = {word: command_of(part, word) for word, part in verb.parts.items()}
    if verb.is_group():
        return PartsGroup(name, commands=parts, help=verb.__doc__)

    rows = {key: row for key, row in verb.params.items() if row.is_on("command")}
    if verb.quick:
        return quick_command(verb, name, rows)

    def call(memory: Memory, **values: Any) -> Output:
        return _run_verb(verb(**values), memory)

    surround = spaces_command if verb.several else memory_command
    runner: Any = (files_command if verb.lists_files else surround)(call)

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
        with_words: click.Command = click.command(name, cls=CommandGroup, commands=parts)(run)
        return with_words
    if any(row.dashed for row in verb.params.values()):
        # The command without one-letter options: `-security` is a word of it.
        dashed = click.command(name)(run)
        dashed.context_settings = {"ignore_unknown_options": True, "help_option_names": ["--help"]}
        for option in dashed.params:
            option.opts = [name for name in option.opts if name[:1] != "-" or name[:2] == "--"]
        return dashed
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


def command_of(part: Any, word: str) -> click.Command:
    """A command from a verb, a command, a function that makes one, or its `module:name`."""
    if isinstance(part, str):
        module, _, attribute = part.partition(":")
        part = getattr(import_module(module), attribute or "command")
    if isinstance(part, click.Command):
        return part
    result: click.Command = command(part, word) if isinstance(part, type) else part()
    return result


def _run_verb(verb: Verb, memory: Memory) -> Output:
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
