"""The git part of an index: commits and the paths they touched, written once each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kinen.index.bulk import Loading
from kinen.index.git.lineage import Step, Touch, tag_operations
from kinen.index.writer import above, encode
from kinen.storage.database import translated, writing
from kinen.text import digest, identifier_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kinen.index.writer import Writer
    from kinen.model.records import Commit

SOURCE = "git"
BATCH = 2000
MOST_TOUCHES = 200_000
"""Touched files after which a batch is written, so that huge commits do not add up in memory."""
HIDDEN = -1
"""The record of a commit that the user forgot."""
# Of git's records none has a key, and an author is its user. What is the same in all is not bound.
COMMIT_RECORD = (
    "INSERT INTO records VALUES"
    " (?, ?, 'commit', ?, '', ?, '', ?, ?, '[]', 1, 'git', '', '', '', ?, '', '')"
)
FILE_RECORD = (
    "INSERT INTO records VALUES"
    " (?, ?, 'file', ?, ?, ?, '', ?, ?, '[]', 1, 'git', '', '', '', '', '', '')"
)


class Hand(NamedTuple):
    """A tag given or taken by hand, when a commit was the last."""

    path: str
    op: str
    head: str


class Settings(NamedTuple):
    """What files are tagged by, besides the commits."""

    derived: Callable[[str], Iterable[str]]
    rules: str
    """Names the rules behind `derived`."""
    hands: Sequence[Hand] = ()
    hidden: frozenset[str] = frozenset()
    """Refs that are not to be shown."""


class History:
    """Writes the git part of one index."""

    def __init__(self, writer: Writer, settings: Settings) -> None:
        self.writer, self.db, self.settings = writer, writer.db, settings
        self._paths: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._met: list[tuple[int, str]] = []
        self.new: dict[str, tuple[int, tuple[str, ...]]] = {}
        """Ids and parents of the commits that were added."""
        self.steps: list[Step] = []
        """What they did."""
        self.fresh = not self.one("SELECT EXISTS (SELECT 1 FROM commits)")
        """Whether no commit was known when it began."""
        self.tree_is_cut = False
        """Whether files at the head were left out before."""
        self.left_out: int | None = None
        """How many files at the head are left out; None if the tree was not looked at."""
        self.loading = Loading(writer, bulk=self.fresh)
        self._last_path = self.one("SELECT MAX(id) FROM paths")
        self._empty = not self._last_path

    def one(self, sql: str, *values: object) -> int:
        row = self.db.execute(sql, values).fetchone()
        return int(row[0] or 0) if row else 0

    # Commits

    def known(self) -> set[str]:
        return {row[0] for row in self.db.execute("SELECT sha FROM commits")}

    def add(self, commits: Iterable[Commit], *, inside: bool, done: Callable[[int], None]) -> int:
        """Take in commits that are not known, and count them; `inside` leaves out those that touch
        nothing.
        """
        count = added = 0
        if not self.fresh:
            commits = (one for one in commits if not self._knows(one.sha))
        for batch in _batches(commits):
            self.loading.wait()
            with translated(self.writer.path), writing(self.db):
                added += self._batch(batch, inside)
                self.writer.bump()
            self.loading.text()
            count += len(batch)
            done(count)
        return added

    def _knows(self, sha: str) -> bool:
        return bool(self.one("SELECT EXISTS (SELECT 1 FROM commits WHERE sha = ?)", sha))

    def _batch(self, batch: list[Commit], inside: bool) -> int:
        record = self.one("SELECT MAX(id) FROM records") + 1
        first = self.one("SELECT MAX(id) FROM commits") + 1
        rows: list[tuple[object, ...]] = []
        records: list[tuple[object, ...]] = []
        chunks: list[tuple[object, ...]] = []
        touches: list[tuple[int, int, str, int]] = []
        tags, cites = [], []
        hidden, path, known, steps = self.settings.hidden, self.path, self._paths.get, self.steps
        for id_, one in enumerate(batch, first):
            ref, width = f"commit:{one.sha}", len(one.touches)
            ops = tag_operations(one.ops, one.scope, width) if one.ops or one.scope else []
            self.new[one.sha] = (id_, one.parents)
            shown = record
            if ref in hidden:
                shown = HIDDEN
            elif inside and not width:
                shown = 0
            above = " ".join(one.parents)
            rows.append((id_, shown, one.sha, above, one.at, width, " ".join(ops)))
            its = [
                Touch(known(name) or path(name), status, path(before) if before else 0)
                for status, name, before in one.touches
            ]
            touches += [(id_, where, status, old) for where, status, old in its]
            steps.append(Step(id_, its, ops))
            cites += [(id_, *cited) for cited in one.cites]
            if shown > 0:
                added = sorted({op[1:] for op in ops if op[0] == "+"}) if ops else []
                said = encode(added) if added else "[]"
                row = (record, ref, one.subject, one.at, said, one.about, one.author)
                records.append(row)
                chunks += _chunks(record, one)
                tags += [(tag, record) for tag in added]
                record += 1
        insert = self.db.executemany
        self.keep_paths()
        insert("INSERT INTO commits VALUES (?, ?, ?, ?, ?, ?, ?, 0)", rows)
        insert(COMMIT_RECORD, records)
        insert(
            "INSERT INTO chunks(record, n, title, heading, path, body, extra, start_line,"
            " end_line, page, digest, segment) VALUES (?, ?, ?, '', '', ?, ?, 0, 0, 0, ?, '')",
            chunks,
        )
        insert("INSERT OR IGNORE INTO touches VALUES (?, ?, ?, ?, 0)", touches)
        insert("INSERT INTO tags VALUES (?, ?)", sorted(tags))
        insert("INSERT OR IGNORE INTO cites VALUES (?, ?, ?)", cites)
        return len(records)

    def path(self, path: str) -> int:
        """The number of a path, a new one if it was never met."""
        found = self._paths.get(path, 0)
        if not found:
            if not self._empty:
                found = self.one("SELECT id FROM paths WHERE path = ?", path)
            if not found:
                self._last_path += 1
                found = self._last_path
                self._met.append((found, path))
            self._paths[path], self._names[found] = found, path
        return found

    def keep_paths(self) -> None:
        """Write the paths that were met."""
        self.db.executemany("INSERT INTO paths(id, path) VALUES (?, ?)", self._met)
        self._met = []

    def name(self, path: int) -> str:
        found = self._names.get(path)
        if found is None:
            row = self.db.execute("SELECT path FROM paths WHERE id = ?", (path,)).fetchone()
            found = self._names[path] = row[0]
        return found

    def derived(self, path: int) -> Iterable[str]:
        return self.settings.derived(self.name(path))

    def drop_commits(self, shas: Iterable[str]) -> None:
        """Forget commits, to read them once more."""
        ids = [self.one("SELECT id FROM commits WHERE sha = ?", sha) for sha in shas]
        with translated(self.writer.path), writing(self.db):
            self.remove(id_ for id_ in ids if id_)

    def hide(self) -> bool:
        """Take out the commits that were forgotten, and forget those that are to be seen again.

        Whether there are such.
        """
        hidden = self.settings.hidden
        with translated(self.writer.path), writing(self.db):
            rows = self.db.execute("SELECT id, sha, record FROM commits WHERE record = -1")
            again = [(id_,) for id_, sha, _ in rows.fetchall() if f"commit:{sha}" not in hidden]
            for table, key in (("commits", "id"), ("touches", "commit_id"), ("cites", "commit_id")):
                self.db.executemany(f"DELETE FROM {table} WHERE {key} = ?", again)
            for ref in sorted(ref for ref in hidden if ref.startswith("commit:")):
                record = self.one("SELECT id FROM records WHERE ref = ?", ref)
                if record:
                    self.drop([record])
                    sql = "UPDATE commits SET record = -1 WHERE record = ?"
                    self.db.execute(sql, (record,))
        return bool(again)

    def drop(self, records: Iterable[int]) -> None:
        gone = [(record,) for record in records]
        for table in ("chunks", "tags"):
            self.db.executemany(f"DELETE FROM {table} WHERE record = ?", gone)
        self.db.executemany("DELETE FROM records WHERE id = ?", gone)

    def remove(self, commits: Iterable[int]) -> None:
        """Take out commits that the head no longer leads to."""
        gone = [(id_,) for id_ in commits]
        rows = [self.one("SELECT record FROM commits WHERE id = ?", id_) for (id_,) in gone]
        self.drop(record for record in rows if record > 0)
        for table, key in (("commits", "id"), ("touches", "commit_id"), ("cites", "commit_id")):
            self.db.executemany(f"DELETE FROM {table} WHERE {key} = ?", gone)

    def void(self) -> None:
        """Take out all of it."""
        with translated(self.writer.path), writing(self.db):
            self.writer.void(SOURCE)
            for table in ("commits", "touches", "cites", "paths", "files", "names"):
                self.db.execute(f"DELETE FROM {table}")
            self.writer.bump()
        self._paths, self._names, self.new, self.steps = {}, {}, {}, []
        self._last_path, self._empty, self.fresh = 0, True, True


def _chunks(record: int, commit: Commit) -> list[tuple[object, ...]]:
    """What is searched of a commit; of a merge that says nothing else than that, nothing."""
    if len(commit.parents) > 1 and commit.texts == (commit.subject,):
        return []
    subject, found = commit.subject, list[tuple[object, ...]]()
    for n, text in enumerate(commit.texts):
        head = "" if text.startswith(subject) and ">" not in subject else above(subject, "", text)
        found.append((record, n, subject, text, identifier_parts(text), digest(f"{head}\0{text}")))
    return found


def _batches(commits: Iterable[Commit]) -> Iterator[list[Commit]]:
    batch: list[Commit] = []
    touches = 0
    for commit in commits:
        batch.append(commit)
        touches += len(commit.touches)
        if len(batch) == BATCH or touches > MOST_TOUCHES:
            yield batch
            batch = []
            touches = 0
    if batch:
        yield batch
