"""Links between records: resolved after a sync, and read in both directions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from kinen.index import issues
from kinen.index.git import queries
from kinen.model.documents import Link
from kinen.model.records import Edge
from kinen.storage.database import translated, writing

if TYPE_CHECKING:
    import sqlite3

    from kinen.index.writer import Writer

    Name = tuple[str, str, tuple[str, ...]]
    Resolve = Callable[[Link, str], str]

ATTACHMENT = "*"
"""The target of links to files that are not indexed, such as images."""

LINKING_KINDS = ("note", "artifact", "round", "plan")
"""Kinds of files that are expected to have links; resources and checkpoints are not."""
_PARENTAL = {"observation": "part_of", "summary": "summarizes", "pin": "pins"}
_EDGE = (
    "SELECT r.ref, l.target, 'links', l.written, l.text, l.line"
    " FROM links l JOIN records r ON r.id = l.record"
)
_ORDER = " ORDER BY r.ref, l.n"


def relink(writer: Writer, stamp: str, resolver: Callable[[Iterable[Name]], Resolve]) -> None:
    """Resolve every link again if records or attachments changed since the last time."""
    if writer.get("linked") == stamp:
        return
    names = [
        (ref, path, tuple(json.loads(aliases)))
        for ref, path, aliases in writer.db.execute(
            "SELECT ref, path, aliases FROM records INDEXED BY records_key"
            " WHERE key != '' AND source != 'symbols'"
            " ORDER BY ref"
        )
    ]
    resolve = resolver(names)
    rows = writer.db.execute(
        "SELECT l.record, l.n, r.path, l.written, l.heading, l.wiki, l.target"
        " FROM links l JOIN records r ON r.id = l.record"
    ).fetchall()
    moved = []
    for record, n, path, written, heading, wiki, before in rows:
        target = resolve(Link(written, heading=heading, wiki=bool(wiki)), path)
        if target != before:
            moved.append((target, record, n))
    with translated(writer.path), writing(writer.db):
        writer.db.executemany("UPDATE links SET target = ? WHERE record = ? AND n = ?", moved)
        writer.set("linked", stamp)


def outgoing(db: sqlite3.Connection, ref: str) -> list[Edge]:
    links = [*_edges(db, " WHERE r.ref = ? AND l.target != '*'", (ref,)), *_parents(db, "ref", ref)]
    drawn = _derived(db, " AND r.ref = ?", ref) if ref.startswith("memory:") else []
    return [*links, *drawn]


def incoming(db: sqlite3.Connection, ref: str) -> list[Edge]:
    links = [*_edges(db, " WHERE l.target = ?", (ref,)), *_parents(db, "parent", ref)]
    return [*links, *_derived(db, " AND j.value = ?", ref)]


def _derived(db: sqlite3.Connection, where: str, value: str) -> list[Edge]:
    """What memories were drawn from."""
    rows = db.execute(
        "SELECT r.ref, j.value FROM records r, json_each(r.metadata, '$.derived_from') j"
        " WHERE r.source = 'journal' AND r.key != '' AND r.key GLOB 'memory:*'"
        f"{where} ORDER BY r.ref, j.id",
        (value,),
    )
    return [Edge(source, target, "derived_from") for source, target in rows]


def _parents(db: sqlite3.Connection, column: str, ref: str) -> list[Edge]:
    """What the journal's records are part of, summarize or pin."""
    rows = db.execute(
        f"SELECT ref, parent, kind FROM records WHERE {column} = ? AND parent != '' ORDER BY ref",
        (ref,),
    )
    return [Edge(source, target, _PARENTAL[kind]) for source, target, kind in rows]


def broken(db: sqlite3.Connection) -> list[Edge]:
    return _edges(db, " WHERE l.target = ''", ())


def orphans(db: sqlite3.Connection) -> list[str]:
    """Refs of markdown files that have no link to another record, in either direction."""
    linked = (
        "SELECT r.ref FROM links l JOIN records r ON r.id = l.record"
        " WHERE l.target NOT IN ('', '*', r.ref) UNION SELECT l.target FROM links l"
        " JOIN records r ON r.id = l.record WHERE l.target NOT IN ('', '*', r.ref)"
    )
    marks = ", ".join("?" * len(LINKING_KINDS))
    rows = db.execute(
        f"SELECT ref FROM records WHERE kind IN ({marks}) AND ref NOT IN ({linked})"
        " AND (path LIKE '%.md' OR path LIKE '%.markdown' OR path LIKE '%.mdx') ORDER BY path",
        LINKING_KINDS,
    )
    return [ref for (ref,) in rows]


def edges(db: sqlite3.Connection) -> list[Edge]:
    return _edges(db, " WHERE l.target NOT IN ('', '*')", ())


def overview(db: sqlite3.Connection) -> list[Edge]:
    """Every link, what memories were drawn from, and the files that sessions changed.

    Observations count as the session that they are part of.
    """
    rows = db.execute(
        "SELECT r.ref, CASE WHEN s.kind = 'observation' THEN s.parent ELSE s.ref END"
        " FROM records r, json_each(r.metadata, '$.derived_from') j"
        " JOIN records s ON s.ref = j.value"
        " WHERE r.kind = 'memory'"
    )
    drawn = [Edge(source, target, "derived_from") for source, target in rows if target]
    paths = dict(  # a note is preferred to the file of the same path in the repository
        db.execute(
            "SELECT path, ref FROM records WHERE path != '' AND kind != 'symbol'"
            " ORDER BY kind != 'file'"
        )
    )
    rows = db.execute(
        "SELECT DISTINCT o.parent, j.value FROM records o, json_each(o.metadata, '$.files') j"
        " WHERE o.kind = 'observation' AND o.parent != '' AND instr(o.metadata, '\"files\"')"
    )
    changed = [Edge(session, paths[path], "touches") for session, path in rows if path in paths]
    return [*edges(db), *dict.fromkeys(drawn), *changed]


def around(db: sqlite3.Connection, ref: str, depth: int) -> list[Edge]:
    """The edges within `depth` steps of a record, each once, nearest first."""
    edges_by_distance: dict[Edge, None] = {}
    reached = {ref}
    frontier = [ref]
    for _ in range(depth):
        ahead: dict[str, None] = {}
        for here in frontier:
            own = (*outgoing(db, here), *incoming(db, here))
            for edge in (*own, *queries.edges(db, here), *issues.edges(db, here)):
                edges_by_distance[edge] = None
                ahead.update(dict.fromkeys(end for end in (edge.source, edge.target) if end))
        frontier = sorted(set(ahead) - reached)
        reached.update(frontier)
    return list(edges_by_distance)


def _edges(db: sqlite3.Connection, where: str, values: tuple[str, ...]) -> list[Edge]:
    return [Edge(*row) for row in db.execute(_EDGE + where + _ORDER, values)]
