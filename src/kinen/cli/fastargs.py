"""Options of the commands that must start fast, as rows that are read without click.

Importing click takes longer than a full-text search. The same rows make the click command, which
handles everything else: help, completion and every invalid command line.
"""

from __future__ import annotations

from kinen.characters import storable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Option:
    """An option of a command."""

    def __init__(
        self,
        names: str,
        key: str,
        metavar: str,
        help: str,  # noqa: A002
        *,
        type: type = str,  # noqa: A002
        default: Any = "",
        many: bool = False,
        choices: tuple[str, ...] = (),
        path: bool = False,
        aliases: str = "",
        split: bool = False,
        hidden: bool = False,
        rare: bool = False,
    ) -> None:
        """An option with its names separated by spaces, and the key of its value.

        With `many` it is repeatable, with `split` a value may be several with commas. With `path`
        its bytes stay as they are; other text is made storable. Help does not show `aliases`, and
        of a command with many options it shows a `rare` one with --all only.
        """
        self.names = tuple(names.split())
        self.aliases = tuple(aliases.split())
        self.split = split
        self.hidden = hidden
        self.rare = rare
        self.key = key
        self.metavar = metavar
        self.help = f"{help}; repeatable" if many else help
        self.type = type
        self.is_flag = type is bool
        self.default = default
        self.many = many
        self.choices = choices
        self.path = path


def read(argv: list[str], rows: tuple[Option, ...]) -> tuple[list[str], dict[str, Any]] | None:
    """Arguments and option values of a plain command line; None leaves it to click."""
    by_name = {name: row for row in rows for name in (*row.names, *row.aliases)}
    values: dict[str, Any] = {row.key: () if row.many else row.default for row in rows}
    arguments: list[str] = []
    rest = iter(argv)
    for word in rest:
        if word == "--":
            arguments.extend(map(storable, rest))
            break
        if not word.startswith("-") or word == "-":
            arguments.append(storable(word))
            continue
        name, equals, text = word.partition("=")
        row = by_name.get(name)
        if row is None or (row.is_flag and equals):
            return None
        if row.is_flag:
            values[row.key] = True
            continue
        if not equals:
            text = next(rest, "")
        try:
            value = row.type(text if row.path else storable(text))
        except ValueError:
            return None
        if not text or (row.choices and value not in row.choices):
            return None
        if row.many:
            values[row.key] = (*values[row.key], *(items((value,)) if row.split else (value,)))
        else:
            values[row.key] = value
    return arguments, values


def items(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Values that may come one by one, or several in a text with commas."""
    parts = [part.strip() for text in texts for part in text.split(",")]
    return tuple(part for part in parts if part)


def flag(names: str, key: str, help: str, *, rare: bool = False) -> Option:  # noqa: A002
    return Option(names, key, "", help, type=bool, default=False, rare=rare)
