"""Links between records: resolved after a sync, and read in both directions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Set
from typing import TYPE_CHECKING

from kinen.index import issues
from kinen.index.git import queries
from kinen.model.documents import Link
from kinen.model.records import Edge
from kinen.storage.database import translated, writing
from kinen.text.links import link_keys

if TYPE_CHECKING:
    import sqlite3

    from kinen.index.writer import Writer

    Name = tuple[str, str, tuple[str, ...]]
    Resolve = Callable[[Link, str], str]
    Resolver = Callable[[Iterable[Name], Set[str] | None], Resolve]
    """Names, and the keys of the links that are to be resolved (all of them with None)."""
    Written = tuple[int, int, str, Link, str | None]
    """A link: record and number, the path of the record, as written, and where it leads."""

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


def relink(writer: Writer, stamp: str, resolver: Resolver) -> None:
    """Resolve links after records or attachments changed since the last time.

    These are new links, and those that look for a name that a record got or lost. If attachments
    changed, which the stamp says, or many names, it is every link.
    """
    if writer.get("linked") == stamp:
        return
    changed = writer.changed_names() if writer.get("links_of") == stamp else None
    moved = []
    if changed is None:
        links = list(_links(writer.db))
        resolve = resolver(_names(writer.db), None)
    else:
        links = list(_links_to(writer.db, changed))
        keys = {key for _, _, path, link, _ in links for key in link_keys(link, path)}
        resolve = resolver(_names(writer.db) if links else (), keys)
    for record, n, path, link, before in links:
        target = resolve(link, path)
        if target != before:
            moved.append((target, record, n))
    with translated(writer.path), writing(writer.db):
        writer.db.executemany("UPDATE links SET target = ? WHERE record = ? AND n = ?", moved)
        writer.forget_changed_names()
        writer.set("links_of", stamp)
        writer.set("linked", stamp)


def _names(db: sqlite3.Connection) -> list[Name]:
    """Everything that a link can lead to."""
    rows = db.execute(
        "SELECT ref, path, aliases FROM records INDEXED BY records_key"
        " WHERE key != '' AND source != 'symbols' AND (path != '' OR aliases != '[]')"
        " ORDER BY ref"
    )
    return [
        (ref, path, tuple(json.loads(aliases)) if aliases != "[]" else ())
        for ref, path, aliases in rows
    ]


def _links(db: sqlite3.Connection, where: str = "") -> Iterator[Written]:
    rows = db.execute(
        "SELECT l.record, l.n, r.path, l.written, l.heading, l.wiki, l.target"
        f" FROM links l JOIN records r ON r.id = l.record{where}"
    )
    for record, n, path, written, heading, wiki, target in rows:
        yield record, n, path, Link(written, heading=heading, wiki=bool(wiki)), target


def _links_to(db: sqlite3.Connection, changed: Set[str]) -> Iterator[Written]:
    """Links that are new, or look for one of some names."""
    if not changed:
        yield from _links(db, " WHERE l.target IS NULL")
        return
    for written in _links(db):
        _, _, path, link, target = written
        if target is None or not changed.isdisjoint(link_keys(link, path)):
            yield written


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
        " WHERE r.source = 'journal' AND r.ref GLOB 'memory:*'"
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
