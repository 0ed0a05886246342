"""Options of the commands that must start fast, as rows: read directly when the line is plain.

click costs more to import than a full-text search takes. The same rows make the click command,
which handles everything else: help, completion, and every mistake.
"""

from __future__ import annotations

from kinen.characters import storable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Option:
    """One option of a command."""

    def __init__(
        self,
        names: tuple[str, ...],
        key: str,
        help: str,  # noqa: A002
        type: type = str,  # noqa: A002
        default: Any = None,
        many: bool = False,
        choices: tuple[str, ...] = (),
        path: bool = False,
    ) -> None:
        """An option; with `path` its bytes stay as they are, other text is made storable."""
        self.names, self.key, self.help, self.type = names, key, help, type
        self.default, self.many, self.choices, self.path = default, many, choices, path

    @property
    def flag(self) -> bool:
        return self.type is bool


def read(argv: list[str], rows: tuple[Option, ...]) -> tuple[list[str], dict[str, Any]] | None:
    """Words and options of a plain command line; None when click had better look at it."""
    by_name = {name: row for row in rows for name in row.names}
    values: dict[str, Any] = {row.key: () if row.many else row.default for row in rows}
    given: list[str] = []
    rest = iter(argv)
    for word in rest:
        if word == "--":
            given.extend(map(storable, rest))
            break
        if not word.startswith("-") or word == "-":
            given.append(storable(word))
            continue
        name, equals, value = word.partition("=")
        row = by_name.get(name)
        if row is None or (row.flag and equals):
            return None
        if row.flag:
            values[row.key] = True
            continue
        if not equals:
            value = next(rest, "")
        try:
            made = row.type(value if row.path else storable(value))
        except ValueError:
            return None
        if not value or (row.choices and made not in row.choices):
            return None
        values[row.key] = (*values[row.key], made) if row.many else made
    return given, values


def click_options(rows: tuple[Option, ...]) -> list[Any]:
    """The same rows as click's options."""
    import click

    made = []
    for row in rows:
        kind: Any = click.Choice(row.choices) if row.choices else row.type
        if row.path:
            kind = click.UNPROCESSED
        made.append(
            click.Option(
                [*row.names, row.key],
                help=row.help,
                type=None if row.flag else kind,
                default=False if row.flag else None if row.choices else row.default,
                is_flag=row.flag,
                multiple=row.many,
                show_default=bool(row.default) and not row.flag,
            )
        )
    return made
