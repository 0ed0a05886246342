"""The entries of a team as the tables that the queries of the journal read.

A team stores an entry as one version, in JSON (`kinen.team_entry`). Here its fields are columns
again, under the names that a local journal has, so that `kinen.journal.queries` reads both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kinen.journal.queries import NOUNS
from kinen.postgres.connection import Connection
from kinen.team.rows import SECTION
from kinen.transfer import fields as forms
from kinen.transfer.fields import SCOPE
from kinen.transfer.sections import REQUIRED, Field, Section

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

Values = Sequence[Any] | Mapping[str, Any]
_CASTS = {id(forms.TIME): "bigint", id(forms.RATIO): "double precision", id(forms.FLAG): "boolean"}
_PARAMETER = re.compile(r"\?|:(\w+)")
_WORDS = ((re.compile(r"\binstr\("), "strpos("), (re.compile(r"\buser\b"), '"user"'))
"""What SQLite calls otherwise; `user` is a function of PostgreSQL."""


class Rows(list[tuple[Any, ...]]):
    """The rows of a query, as a cursor gives them."""

    def fetchone(self) -> tuple[Any, ...] | None:
        return self[0] if self else None

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self


class Tables:
    """Reads the tables of one space; takes the place of a local journal's connection."""

    def __init__(
        self, transaction: Callable[[], AbstractContextManager[Connection]], space: str
    ) -> None:
        self._transaction = transaction
        self._space = space

    def execute(self, query: str, values: Values = ()) -> Rows:
        """The rows of a query in the words of SQLite; a parameter is `?` or `:name`."""
        for word, other in _WORDS:
            query = word.sub(other, query)
        named = values if isinstance(values, Mapping) else {}
        bound = {f"p{n}": value for n, value in enumerate(values)} if not named else dict(named)
        numbers = iter(range(len(bound)))

        def placeholder(match: re.Match[str]) -> str:
            return f"%({match[1] or f'p{next(numbers)}'})s"

        query = _PARAMETER.sub(placeholder, query)
        with self._transaction() as connection:
            rows = connection.execute(f"{_TABLES} {query}", {**bound, "space_": self._space})
            return Rows(rows.fetchall())


def _columns(field: Field) -> list[str]:
    """The columns of a field, as expressions over the version."""
    if field.form is forms.SCOPES:
        return [_column(f"scopeIds,{name}", column, "") for name, column in SCOPE.items()]
    empty: Any = "" if field.empty is REQUIRED else field.form.store(field.empty)[0]
    cast = _CASTS.get(id(field.form), "")
    return [_column(field.name, field.column, empty, cast)]


def _column(path: str, column: str, empty: Any, cast: str = "") -> str:
    value = f"v.data #>> '{{fields,{path}}}'"
    if not cast:
        return f'coalesce({value}, \'{empty}\') COLLATE "C" AS "{column}"'
    text = f"coalesce(({value})::{cast}, '{empty or 0}'::{cast})"
    return f'{text}::int AS "{column}"' if cast == "boolean" else f'{text} AS "{column}"'


def _table(section: Section) -> str:
    columns = [f'v.id COLLATE "C" AS "{section.key.column}"']  # all that a tombstone has
    columns += [text for field in section.fields[1:] for text in _columns(field)]
    buried = section.forgettable
    if buried:
        columns.append("(v.data ->> 'forgotten')::bigint AS forgotten_at")
    return (
        f"{section.table} AS NOT MATERIALIZED (SELECT {', '.join(columns)}"
        " FROM (SELECT id, version::json AS data, forgotten FROM kinen.team_entry"
        f" WHERE space = %(space_)s AND noun = '{section.noun}') v"
        " WHERE v.data #>> '{fields,withdrawn}' IS DISTINCT FROM 'true'"
        f"{'' if buried else ' AND NOT v.forgotten'})"
    )


_TABLES = "WITH " + ", ".join(_table(SECTION[noun.kind]) for noun in NOUNS.values())
