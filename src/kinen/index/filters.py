"""The filters of a query as SQL over chunks and records."""

from __future__ import annotations

from kinen.index.match import expression
from kinen.model.late import json
from kinen.storage.database import begins
from kinen.text import pairs, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from kinen.model.records import Query

_TOUCHING = (
    "r.id IN (SELECT o.record FROM paths p JOIN touches t ON t.path = p.id"
    " JOIN commits o ON o.id = t.commit_id WHERE p.path GLOB ?)"
)
_NAMING = (
    "(r.kind IN ('checkpoint', 'observation') AND instr(r.metadata, ?) AND EXISTS (SELECT 1 FROM"
    " json_each(r.metadata, ?) j WHERE j.value = ? OR j.value GLOB ?))"
)


MINE = "by=me"
"""The condition of records that no colleague wrote."""


def conditions(query: Query, latest: int = 0) -> tuple[str, list[Any]]:
    """The query's filters as a WHERE clause over chunks c and records r.

    With `latest`, at most N chunks with the required words are looked at: those indexed last.
    """
    clauses: list[str] = []
    values: list[Any] = []
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
    return f"EXISTS ({values})", [_json_path(key), *spellings]


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


def _json_path(key: str) -> str:
    """A key of the metadata as SQLite's JSON path; `a.b` is b in a."""
    return "$" + "".join(f'."{part}"' for part in key.replace('"', "").split("."))


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
