"""Words of chunks as PostgreSQL stores them: split and stemmed by SQLite's own tokenizer.

Both engines therefore have the same words. A `tsvector` holds each word with its places, and the
label of a place says in which column it stands: the columns have different weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from kinen.index.match import WEIGHTS
from kinen.index.schema import TOKENIZE
from kinen.model.tuples import NamedTuple
from kinen.storage.sqlite import sqlite3

COLUMNS = ("title", "heading", "path", "body", "extra")
LABELS = dict(zip(COLUMNS, "BCCBA", strict=True))
LABEL_WEIGHTS = {LABELS[name]: weight for name, weight in zip(COLUMNS, WEIGHTS, strict=True)}
"""The weight of a word by the label of its place; columns with a label weigh the same."""
STARTS = dict(zip(COLUMNS, (1, 1000, 2000, 3000, 14_000), strict=True))
"""The places that columns begin at: a phrase does not reach from one into the next."""
LAST_PLACE = 16_383
"""The last place that a `tsvector` can tell apart."""
LONGEST_WORD = 500
"""Longer words, such as encoded data, are not indexed."""


def _case(values: Mapping[str, object]) -> str:
    return " ".join(f"WHEN '{name}' THEN {value!r}" for name, value in values.items())


_VECTORS = (
    "SELECT doc, count(*), coalesce(group_concat(CASE WHEN length(term) <= :longest THEN"
    " replace(quote(term), '\\', '\\\\') || ':'"
    f" || min({LAST_PLACE}, offset + CASE col {_case(STARTS)} END)"
    f" || CASE col {_case(LABELS)} END END, ' '), '') FROM instances GROUP BY doc"
)
"""The words of each text as a `tsvector`, which joins the places of equal words."""


class Words(NamedTuple):
    vector: str = ""
    """As a literal of type `tsvector`."""
    length: int = 0


class Tokenizer:
    """Splits texts into stems. Not safe to share between threads."""

    def __init__(self) -> None:
        self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        columns = ", ".join(COLUMNS)
        self._db.execute(
            f"CREATE VIRTUAL TABLE t USING fts5({columns}, content='', tokenize='{TOKENIZE}')"
        )
        for name, kind in (("instances", "instance"), ("terms", "row")):
            self._db.execute(f"CREATE VIRTUAL TABLE {name} USING fts5vocab(t, {kind})")

    def close(self) -> None:
        self._db.close()

    def words(self, rows: Sequence[Sequence[str]]) -> tuple[list[Words], dict[str, int]]:
        """The words of rows with the texts of `COLUMNS`, and how many rows have each word."""
        marks = ", ".join("?" * len(COLUMNS))
        longest = {"longest": LONGEST_WORD}
        words = [Words()] * len(rows)
        self._db.execute("BEGIN")
        self._db.executemany(
            f"INSERT INTO t(rowid, {', '.join(COLUMNS)}) VALUES (?, {marks})",
            ((number, *row) for number, row in enumerate(rows)),
        )
        for number, length, vector in self._db.execute(_VECTORS, longest):
            words[number] = Words(vector, length)
        counted = "SELECT term, doc FROM terms WHERE length(term) <= :longest"
        counts = dict(self._db.execute(counted, longest))
        self._db.execute("ROLLBACK")
        return words, counts

    def stems(self, text: str) -> list[str]:
        self._db.execute("BEGIN")
        self._db.execute("INSERT INTO t(rowid, body) VALUES (0, ?)", (text,))
        rows = self._db.execute("SELECT term FROM instances ORDER BY offset").fetchall()
        self._db.execute("ROLLBACK")
        return [term for (term,) in rows]


@lru_cache(1 << 16)
def quoted(term: str) -> str:
    """A word as a literal of `tsvector` and `tsquery`."""
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"


def phrase_query(stems: Iterable[str]) -> str:
    """A `tsquery` for stems that follow each other."""
    return " <-> ".join(map(quoted, stems))
