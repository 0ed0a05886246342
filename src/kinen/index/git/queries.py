"""Reads the git part of an index: files, their histories, and what changes together."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kinen.errors import Ambiguous
from kinen.index.git.lineage import SILENT, WIDE, Pair, together
from kinen.index.git.touches import OWNER, file_at
from kinen.index.match import conditions, expression, literal
from kinen.index.reader import RECORD, Reader, to_record
from kinen.model.documents import Revision
from kinen.model.records import Edge, Query, Record
from kinen.model.tuples import NamedTuple

# The touches of a file: at paths that are its own, and at paths that another file has now.
TOUCHED = (
    "SELECT t.commit_id, t.path, t.status, t.before, t.file"
    " FROM paths p JOIN touches t ON t.path = p.id"
    " WHERE p.file = {0} AND p.file != 0 AND t.file = 0 UNION ALL"
    " SELECT t.commit_id, t.path, t.status, t.before, t.file FROM touches t"
    " WHERE t.file = {0} AND t.file != 0"
)


class FileFilter(NamedTuple):
    """Which files to list."""

    tags: tuple[str, ...] = ()
    deleted: bool = False
    """Also deleted files."""
    source_only: bool = False
    """Only files in a folder called `src`."""
    ignored: frozenset[str] = frozenset()
    """Paths that are not listed."""


def files(db: sqlite3.Connection, chosen: FileFilter) -> list[Record]:
    """The files of a history, by path, each with all of its tags."""
    where = ["r.kind = 'file'"]
    values: list[Any] = []
    if not chosen.deleted:
        where.append("p.present")
    if chosen.source_only:
        where.append("('/' || r.path) GLOB '*/src/*'")
    for tag in chosen.tags:
        where.append(
            "EXISTS (SELECT 1 FROM tags t WHERE t.record = r.id AND (t.tag = ? OR t.tag GLOB ?))"
        )
        values += [tag, literal(tag) + "/*"]
    rows = db.execute(
        f"SELECT {RECORD}, f.commits FROM files f JOIN records r ON r.id = f.record"
        f" JOIN paths p ON p.id = f.path WHERE {' AND '.join(where)} ORDER BY r.path",
        values,
    )
    records = []
    for *row, commits in rows:
        record = to_record(row)
        if record.path not in chosen.ignored:
            metadata = {**(record.metadata or {}), "commits": commits}
            records.append(record._replace(metadata=metadata))
    return records


def tags(db: sqlite3.Connection) -> list[tuple[str, int]]:
    """Every tag of files that exist, with the number of files, the most frequent first."""
    return db.execute(
        "SELECT t.tag, COUNT(*) AS n FROM tags t JOIN files f ON f.record = t.record"
        " JOIN paths p ON p.id = f.path WHERE p.present GROUP BY t.tag ORDER BY n DESC, t.tag"
    ).fetchall()


def path_of(db: sqlite3.Connection, file: int) -> str:
    """The path that a file has now, or had last."""
    sql = "SELECT p.path FROM files f JOIN paths p ON p.id = f.path WHERE f.id = ?"
    return str(db.execute(sql, (file,)).fetchone()[0])


def revisions(
    db: sqlite3.Connection, file: int, derived: Callable[[str], Iterable[str]]
) -> list[Revision]:
    """What commits did to a file, oldest first, through renames, with its tags after each."""
    rows = db.execute(
        f"SELECT c.sha, c.at, c.ops, t.status, p.path, IFNULL(b.path, ''), r.user, r.title,"
        " r.id"
        f" FROM ({TOUCHED.format(':file')}) t JOIN commits c ON c.id = t.commit_id"
        " JOIN paths p ON p.id = t.path LEFT JOIN paths b ON b.id = t.before"
        " LEFT JOIN records r ON r.id = c.record ORDER BY c.place, p.path",
        {"file": file},
    )
    history = []
    tags = SILENT
    for sha, at, ops, status, path, before, author, subject, record in rows.fetchall():
        own = derived(path)
        tags = tags.apply(ops.split(), own) if ops else tags
        if subject is not None:  # a commit that was forgotten is not shown
            current = tuple(tags.current(own, hand=False))
            ref = f"commit:{sha}"
            texts = db.execute("SELECT body FROM chunks WHERE record = ? ORDER BY n", (record,))
            message = "\n".join(body for (body,) in texts)
            history.append(
                Revision(ref, at, author, subject, status, path, before, current, message)
            )
    return history


def changed_after(db: sqlite3.Connection, paths: Iterable[str], at: str) -> list[str]:
    """The files that a commit after a time changed, by the paths that they have now."""
    touched = TOUCHED.format(":file")
    sql = f"SELECT MAX(c.at) > :at FROM ({touched}) t JOIN commits c ON c.id = t.commit_id"
    files = dict.fromkeys(file_at(db, path) for path in paths)
    return sorted(
        path_of(db, file)
        for file in files
        if file and db.execute(sql, {"at": at, "file": file}).fetchone()[0]
    )


def ancestors(db: sqlite3.Connection, sha: str) -> set[str]:
    """The ids of a commit and of all before it; empty if the index does not have it."""
    parents = dict(db.execute("SELECT sha, parents FROM commits"))
    reached: set[str] = set()
    waiting = [sha]
    while waiting:
        current = waiting.pop()
        if current in reached or current not in parents:
            continue
        reached.add(current)
        waiting += parents[current].split()
    return reached


def by_hand(db: sqlite3.Connection, file: int) -> list[str]:
    """The tags of a file that were set by hand: `+tag` and `-tag`."""
    tags = db.execute("SELECT said FROM files WHERE id = ?", (file,)).fetchone()[0]
    added, removed = json.loads(tags)[2:] if tags else ((), ())
    return [*(f"+{tag}" for tag in added), *(f"-{tag}" for tag in removed)]


def companions(db: sqlite3.Connection, chosen: Sequence[int], limit: int) -> list[Pair]:
    """Existing files that are likely to change with some others, at least `limit`, best first."""
    histories = []
    for file in chosen:
        commits: dict[tuple[int, int], list[int]] = {}
        rows = db.execute(
            f"SELECT c.place, c.id, {OWNER} FROM ({TOUCHED.format(':file')}) m"
            f" JOIN commits c ON c.id = m.commit_id AND c.width <= {WIDE}"
            " AND c.record > 0"
            " JOIN touches t ON t.commit_id = m.commit_id JOIN paths p ON p.id = t.path"
            " ORDER BY c.place",
            {"file": file},
        )
        for place, commit, other in rows:
            files = commits.setdefault((place, commit), [])
            if other != file:
                files.append(other)
        histories.append(commits)

    def counts(file: int) -> int:
        if file in chosen:
            return 0
        sql = "SELECT f.commits FROM files f JOIN paths p ON p.id = f.path"
        row = db.execute(f"{sql} WHERE f.id = ? AND p.present AND f.record", (file,)).fetchone()
        return int(row[0]) if row else 0

    return together(histories, limit, counts)


def subjects(db: sqlite3.Connection, commits: Sequence[int]) -> list[tuple[str, str]]:
    """Refs and subjects of commits, in the order of their ids in `commits`."""
    marks = ", ".join("?" * len(commits))
    rows = db.execute(
        "SELECT c.id, r.ref, r.title FROM commits c JOIN records r ON r.id = c.record"
        f" WHERE c.id IN ({marks})",
        (*commits,),
    )
    subjects_by_id = {id_: (ref, title) for id_, ref, title in rows}
    return [subjects_by_id[id_] for id_ in commits if id_ in subjects_by_id]


def edges(db: sqlite3.Connection, ref: str) -> list[Edge]:
    """What a commit touched and cites, or what touched a file and which names it had."""
    kind, _, key = ref.partition(":")
    touching = (
        "SELECT 'commit:' || c.sha, 'file:' || IFNULL(n.path, p.path), 'touches', p.path,"
        " t.status, 0 FROM {0} JOIN commits c ON c.id = t.commit_id AND c.record > 0"
        " JOIN paths p ON p.id = t.path"
        f" LEFT JOIN files f ON f.id = {OWNER} LEFT JOIN paths n ON n.id = f.path"
    )
    if kind == "commit":
        rows = db.execute(
            f"{touching.format('touches t')} WHERE c.sha = :sha UNION ALL "
            "SELECT 'commit:' || c.sha, 'commit:' || o.sha, x.type, x.sha, '', 0 FROM cites x"
            " JOIN commits c ON c.id = x.commit_id JOIN commits o ON o.sha >= x.sha"
            " AND o.sha < x.sha || 'g' WHERE (c.sha = :sha OR o.sha = :sha) AND c.record > 0"
            " AND o.record > 0 ORDER BY 3, 1, 2",
            {"sha": key},
        )
    elif kind == "file":
        rows = db.execute(
            f"WITH mine AS ({TOUCHED.format(':file')}) {touching.format('mine t')} UNION ALL"
            " SELECT 'file:' || b.path, 'file:' || p.path, 'renames', '', substr(c.sha, 1, 12), 0"
            " FROM mine t JOIN commits c ON c.id = t.commit_id JOIN paths p ON p.id = t.path"
            " JOIN paths b ON b.id = t.before ORDER BY 3, 1, 2",
            {"file": file_at(db, key)},
        )
    else:
        return []
    return [Edge(*row) for row in rows]


def commit_named(reader: Reader, name: str) -> str:
    """The full ref of a commit by the beginning of its sha, if only one begins so."""
    refs = commits_named(reader, name)
    return refs[0] if len(refs) == 1 else ""


def commits_named(reader: Reader, name: str) -> list[str]:
    """The full refs of the commits whose sha begins so, up to as many as an error lists."""
    sha = name.removeprefix("commit:").lower()
    if not 4 <= len(sha) <= 64 or not set(sha) <= set("0123456789abcdef"):
        return []
    rows = reader.db.execute(
        "SELECT sha FROM commits WHERE sha >= ? AND sha < ? AND record > 0 ORDER BY sha LIMIT ?",
        (sha, sha + "g", Ambiguous.LISTED + 1),
    )
    return [f"commit:{row[0]}" for row in rows]


def match_names(db: sqlite3.Connection, words: Sequence[str]) -> dict[int, float]:
    """Files whose paths have one of the words, with their BM25."""
    if not words:
        return {}
    rows = db.execute(
        "SELECT rowid, -bm25(names) FROM names WHERE names MATCH ? ORDER BY 2 DESC LIMIT 500",
        (expression(words),),
    )
    return dict(rows.fetchall())


def records(reader: Reader, files: Sequence[int], query: Query) -> dict[int, Record]:
    """The existing files that pass a query's filters, as records.

    Files have no chunks, so the words of the query are not looked for in them.
    """
    of_commits = query._replace(kinds=(), since="", until="", user="", session="")
    where, values = conditions(of_commits._replace(required=(), excluded=()))
    marks = ", ".join("?" * len(files))
    rows = reader.db.execute(
        f"SELECT f.id, {RECORD} FROM files f JOIN records r ON r.id = f.record"
        f" JOIN paths p ON p.id = f.path{where or ' WHERE 1'} AND p.present AND f.id IN ({marks})",
        (*values, *files),
    )
    return {row[0]: to_record(row[1:]) for row in rows}


def commit_subjects(db: sqlite3.Connection, chunks: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Shas and subjects of the commits behind some chunks."""
    marks = ", ".join("?" * len(chunks))
    rows = db.execute(
        "SELECT k.id, substr(r.ref, 8), r.title FROM chunks k JOIN records r ON r.id = k.record"
        f" WHERE k.id IN ({marks})",
        (*chunks,),
    )
    return {chunk: (sha, subject) for chunk, sha, subject in rows}


def commit_hours(db: sqlite3.Connection, since: str, until: str) -> dict[int, int]:
    """How many commits there are by hour since 1970, of a time."""
    rows = db.execute(
        "SELECT CAST(strftime('%s', substr(at, 1, 13) || ':00') AS INTEGER) / 3600, COUNT(*)"
        " FROM commits WHERE record > 0 AND at >= ? AND at <= ? GROUP BY substr(at, 1, 13)",
        (since, until),
    )
    return dict(rows.fetchall())


def commits_between(db: sqlite3.Connection, since: str, until: str, limit: int) -> list[Record]:
    """The latest commits of a time, newest first."""
    rows = db.execute(
        f"SELECT {RECORD} FROM commits c JOIN records r ON r.id = c.record"
        " WHERE c.at >= ? AND c.at <= ? ORDER BY c.at DESC, c.id DESC LIMIT ?",
        (since, until, limit),
    )
    return [to_record(row) for row in rows]
