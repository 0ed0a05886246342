"""The query of a search as SQL: full text, with its early start in a cold one, and filters.

A command that searches spends as long on its imports as SQLite on the query, and SQLite runs
without the interpreter's lock: so `begun` starts the query in a thread, and `Reader.match` takes
its rows if it asks the same. No `typing` or `threading` at import.
"""

from __future__ import annotations

import _thread
import os
import sys

from kinen.errors import KinenError
from kinen.model.late import json
from kinen.storage import private
from kinen.storage.database import begins
from kinen.storage.sqlite import sqlite3
from kinen.text import pairs, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from kinen.model.records import Query

# title, heading, path, body, extra; chosen by measurement (docs/decisions/0004-ranking.md)
WEIGHTS = (1.0, 0.5, 0.5, 1.0, 1.5)

# Sorting by the function is a third faster than by FTS5's hidden column `rank`.
_RANK = f"bm25(search, {', '.join(map(str, WEIGHTS))})"

FEWEST = 200
"""How many candidates full text gives at least."""
WIDE = 2_000
"""How many it gives a recall, which asks for the messages among them, too."""
LARGE = 100_000
"""Chunks from which on every query gets as many, and words that tell little get less work."""
SWITCH = 1e-4
"""Seconds after which the imports let the query go on: 5 ms is usual."""
_TOUCHING = (
    "r.id IN (SELECT o.record FROM paths p JOIN touches t ON t.path = p.id"
    " JOIN commits o ON o.id = t.commit_id WHERE p.path GLOB ?)"
)
_NAMING = (
    "(r.kind IN ('checkpoint', 'observation') AND instr(r.metadata, ?) AND EXISTS (SELECT 1 FROM"
    " json_each(r.metadata, ?) j WHERE j.value = ? OR j.value GLOB ?))"
)
FEW = frozenset({"memory", "pin", "summary", "capsule"})
"""Kinds with few records, whose refs begin with the kind: their chunks can be listed."""
MINE = "by=me"
"""The condition of records that no colleague wrote."""


def depth(limit: int) -> int:
    """How many candidates are taken for a number of hits."""
    return max(5 * limit, FEWEST)


def expression(terms: Sequence[str]) -> str:
    """An FTS5 query for any of the terms; each is quoted, so that it is matched as it is."""
    return " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)


def statement(
    terms: Sequence[str],
    k: int,
    allowed: str = "",
    values: Sequence[Any] = (),
    *,
    listed: bool = False,
) -> tuple[str, tuple[Any, ...]]:
    """The query for the k best chunks with any of the terms, and its parameters.

    `allowed` selects the chunks `c` that pass the filters, with its own `values`; they are listed
    if they are few.
    """
    # Asked of each chunk with the words: to list all that pass takes as long as the index is large.
    # The plus keeps SQLite from running the full-text query again for each of them.
    one_by_one = f" AND EXISTS ({allowed} AND c.id = +search.rowid)" if allowed else ""
    among = f" AND +search.rowid IN ({allowed})" if listed else one_by_one
    sql = (
        f"SELECT rowid, -{_RANK} AS score FROM search WHERE search MATCH ?"
        f"{among} ORDER BY score DESC LIMIT ?"
    )
    return sql, (expression(terms), *values, k)


def outweighed(counts: Mapping[str, int], chunks: int) -> tuple[str, float]:
    """The commonest of some terms, if it takes most of the work and tells little; what it adds.

    A chunk that has none of the others scores at most that: k1 + 1 times its BM25 weight. Only of
    single words is it known how many chunks have them.
    """
    from math import log

    common = max(counts, key=counts.__getitem__)
    counted = all(term.isalnum() and count for term, count in counts.items())
    if not counted or 2 * counts[common] < sum(counts.values()):
        return "", 0.0
    rarity = {
        term: max(log((chunks - count + 0.5) / (count + 0.5)), 0.0)
        for term, count in counts.items()
    }
    most = 2.2 * rarity.pop(common)
    return (common, most) if rarity and 2 * most < sum(rarity.values()) else ("", 0.0)


class begun:  # noqa: N801
    """Runs the query for some terms during the block, in a thread and a connection of its own."""

    current: begun | None = None

    def __init__(self, path: str, terms: Sequence[str], k: int) -> None:
        self._path = path
        self._query = statement(terms, k)
        self._db: sqlite3.Connection | None = None
        self._version = -1
        self._done = False
        self._starting = _thread.allocate_lock()
        self._running = _thread.allocate_lock()

    def __enter__(self) -> None:
        if not os.path.exists(self._path):
            return
        try:
            self._db = sqlite3.connect(
                private.database(self._path), isolation_level=None, check_same_thread=False
            )
            self._db.execute("PRAGMA temp_store=MEMORY")
            self._version = _version(self._db)
            large = (self._db.execute("SELECT MAX(id) FROM chunks").fetchone()[0] or 0) >= LARGE
        except (OSError, KinenError, sqlite3.Error):
            return  # the search itself runs into it, and reports it
        if large:
            return  # the search itself weighs fewer chunks
        begun.current = self
        self._interval = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH)
        self._starting.acquire()
        self._running.acquire()
        _thread.start_new_thread(self._run, (self._db,))
        self._starting.acquire()  # while this thread sleeps, the other one gets a processor

    def __exit__(self, *_: object) -> None:
        if begun.current is self:
            begun.current = None
            sys.setswitchinterval(self._interval)
        if self._db is not None:
            self._db.interrupt()
            with self._running:
                self._db.close()

    def _run(self, db: sqlite3.Connection) -> None:
        self._starting.release()
        sql, values = self._query
        try:
            # Each row that is fetched takes the interpreter's lock: a table is filled without it.
            db.execute(f"CREATE TEMP TABLE early AS {sql}", values)
            self._done = True
        except sqlite3.Error:
            pass
        finally:
            self._running.release()

    def rows(self, path: str, query: tuple[str, tuple[Any, ...]]) -> list[tuple[int, float]] | None:
        """What the query gave, if it is the one that is asked and nothing was written since.

        It may have been asked for more rows.
        """
        asked, (*values, k) = query
        sql, (*own, most) = self._query
        if (path, asked, values) != (self._path, sql, own) or k > most:
            return None
        with self._running:
            if self._db is None or not self._done or self._version != _version(self._db):
                return None
            return self._db.execute("SELECT * FROM early ORDER BY _rowid_ LIMIT ?", (k,)).fetchall()


def _version(db: sqlite3.Connection) -> int:
    """A number that changes when another connection writes to the database."""
    return int(db.execute("PRAGMA data_version").fetchone()[0])


def conditions(query: Query, latest: int = 0) -> tuple[str, list[Any]]:
    """The query's filters as a WHERE clause over chunks c and records r.

    With `latest`, at most N chunks with the required words are looked at: those indexed last.
    """
    clauses: list[str] = []
    values: list[Any] = []
    if are_few(query):
        ranges = (f"(r.ref >= '{kind}:' AND r.ref < '{kind};')" for kind in query.kinds)
        clauses.append(f"({' OR '.join(ranges)})")
    for test, kinds in (("IN", query.kinds), ("NOT IN", query.omitted)):
        clauses += [f"r.kind {test} ({', '.join('?' * len(kinds))})"] if kinds else []
        values += kinds
    for tag in query.tags:
        clauses.append(
            "EXISTS (SELECT 1 FROM tags t WHERE t.record = r.id AND (t.tag = ? OR t.tag GLOB ?))"
        )
        values += [tag, literal(tag) + "/*"]
    if query.paths:
        either = ["r.path GLOB ?" for _ in query.paths]
        values += [folder_glob(path) for path in query.paths]
        if "commit" in query.kinds:  # a commit has no path, but it touched files
            either += [_TOUCHING for _ in query.paths]
            values += [folder_glob(path) for path in query.paths]
        clauses.append(f"({' OR '.join(either)})")
    by_words = _of_words(query, latest)
    for clause, more in (*by_words, *_of_kind(query), *map(_with_metadata, query.meta)):
        clauses.append(clause)
        values += more
    for parts in ([*map(_about_file, query.files)], [*map(_naming_symbol, query.symbols)]):
        clauses += [f"({' OR '.join(clause for clause, _ in parts)})"] if parts else []
        values += [value for _, bound in parts for value in bound]
    if query.refs or query.parents:
        listed = "IN (SELECT value FROM json_each(?))"
        clauses.append(f"(r.ref {listed} OR (r.parent != '' AND r.parent {listed}))")
        values += [json.dumps(query.refs), json.dumps(query.parents)]
    for name in ("session", "repo", "agent", "user"):
        value = getattr(query, name)
        if value:
            clauses.append(begins(f"r.{name}"))
            values.append(value)
    for clause, moment in (("r.at >= ?", query.since), ("r.at != '' AND r.at <= ?", query.until)):
        clauses += [clause] if moment else []
        values += [moment] if moment else []
    return (" WHERE " + " AND ".join(clauses) if clauses else ""), values


def are_few(query: Query) -> bool:
    """Whether a query asks only for kinds with few records."""
    return bool(query.kinds) and FEW.issuperset(query.kinds)


def _of_words(query: Query, latest: int) -> Iterator[tuple[str, list[str]]]:
    """Chunks with all required phrases in their text, heading or title, and no excluded word."""
    listed = "(SELECT rowid FROM search WHERE search MATCH ?{})"
    if every_word(query):
        newest = f" ORDER BY rowid DESC LIMIT {latest}" if latest else ""
        yield f"c.id IN {listed.format(newest)}", [every_word(query)]
    for phrase in query.required:
        yield "contains(c.title || char(10) || c.heading || char(10) || c.body, ?)", [phrase]
    for word in query.excluded:
        yield f"c.id NOT IN {listed.format('')}", [expression([word])]


def every_word(query: Query) -> str:
    """The FTS5 query for chunks with the words of all required phrases; empty if there are none."""
    return " AND ".join(
        expression([part])
        for phrase in query.required
        if words(phrase)
        for part in pairs(phrase) or [phrase]
    )


def _of_kind(query: Query) -> Iterator[tuple[str, list[str]]]:
    """Entries of some kinds, and commits by what their subject begins with: `fix(auth): …`."""
    if not query.events:
        return
    marks = ", ".join("?" * len(query.events))
    entries = f"r.event IN ({marks})"
    if "commit" in query.kinds:
        commits = f"(r.kind = 'commit' AND json_extract(r.metadata, '$.type') IN ({marks}))"
        yield f"({entries} OR {commits})", [*query.events, *query.events]
    else:
        yield entries, [*query.events]


def _with_metadata(condition: str) -> tuple[str, list[str]]:
    """Records whose metadata has a value, or a list with it: `status=complete`."""
    key, _, value = condition.partition("=")
    if condition == MINE:
        return "json_extract(r.metadata, '$.by') IS NULL", []
    spellings = value_spellings(value)
    text = "CASE WHEN j.type IN ('true', 'false', 'null') THEN j.type ELSE j.value END"
    start = f"substr({text}, 1, 10)" if is_date(value) else text
    marks = ", ".join(["lower(?)"] * len(spellings))
    values = f"SELECT 1 FROM json_each(r.whole, ?) j WHERE lower({start}) IN ({marks})"
    # SQLite's JSON path of a key; `a.b` is b in a.
    path = "$" + "".join(f'."{part}"' for part in key.replace('"', "").split("."))
    return f"EXISTS ({values})", [path, *spellings]


def value_spellings(value: str) -> list[str]:
    """A value as metadata may have it: `1.10` is also 1.1, and an empty one is null."""
    if not value:
        return ["", "null"]
    try:
        number = float(value)
    except ValueError:
        return [value]
    return [value, str(number), str(int(number))] if number.is_integer() else [value, str(number)]


def is_date(value: str) -> bool:
    """Whether a value is a day, such as 2026-03-01; times of that day have it, too."""
    parts = value.split("-")
    return [*map(len, parts)] == [4, 2, 2] and all(map(str.isdecimal, parts))


def _about_file(path: str) -> tuple[str, list[str]]:
    """Records that are a file, touched it, or name it by its path or the end of its path."""
    path = path.removeprefix("./").strip("/")
    below = "*/" + literal(path)
    inside = json.dumps(path, ensure_ascii=False)[1:-1]
    either = ("r.path = ?", "r.path GLOB ?", _TOUCHING, _TOUCHING, _NAMING)
    touched = [literal(path), below]
    return " OR ".join(either), [path, below, *touched, inside, "$.files", path, below]


def _naming_symbol(symbol: str) -> tuple[str, list[str]]:
    """Checkpoints that name a symbol, alone or at the end of a longer name."""
    inside = json.dumps(symbol, ensure_ascii=False)[1:-1]
    return _NAMING, [inside, "$.symbols", symbol, f"*[.:#]{literal(symbol)}"]


def folder_glob(path: str) -> str:
    """A path filter as SQLite's GLOB; a plain folder stands for all below it."""
    path = path.removeprefix("./")
    if any(mark in path for mark in "*?["):
        return path.replace("**/", "*").replace("**", "*")
    name = path.rstrip("/")
    return literal(path) if "." in name.rsplit("/", 1)[-1][1:] else literal(name) + "/*"


def literal(text: str) -> str:
    """A text as a GLOB that matches only it."""
    return "".join(f"[{mark}]" if mark in "*?[" else mark for mark in text)
