"""Links between records: resolved after a sync that changed something."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from kinen.model.documents import Link
from kinen.postgres.writer import PostgresWriter

if TYPE_CHECKING:
    from kinen.index.graph import Name, Resolve


def relink(
    writer: PostgresWriter, stamp: str, resolver: Callable[[Iterable[Name]], Resolve]
) -> None:
    """Resolve every link again if records or attachments changed since the last time."""
    with writer.database.transaction() as connection:
        row = connection.execute(
            "SELECT linked FROM kinen.space WHERE id = %s", (writer.space,)
        ).fetchone()
        if row and row[0] == stamp:
            return
        names = connection.execute(
            "SELECT ref, path, aliases FROM kinen.record"
            " WHERE space = %s AND key <> '' AND source NOT IN ('symbols', 'git') ORDER BY ref",
            (writer.space,),
        )
        resolve = resolver((ref, path, tuple(aliases)) for ref, path, aliases in names)
        links = connection.execute(
            "SELECT l.record, l.n, r.path, l.written, l.heading, l.wiki, l.target"
            " FROM kinen.link l JOIN kinen.record r ON r.space = l.space AND r.id = l.record"
            " WHERE l.space = %s",
            (writer.space,),
        ).fetchall()
        moved = []
        for record, n, path, written, heading, wiki, target in links:
            found = resolve(Link(written, heading=heading, wiki=wiki), path)
            if found != target:
                moved.append((found, writer.space, record, n))
        with connection.cursor() as cursor:
            cursor.executemany(
                "UPDATE kinen.link SET target = %s WHERE space = %s AND record = %s AND n = %s",
                moved,
            )
        connection.execute(
            "UPDATE kinen.space SET linked = %s WHERE id = %s", (stamp, writer.space)
        )
