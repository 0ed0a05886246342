"""The git part of an index: commits and the paths they touched, written once each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from threading import Thread

from kinen.index.git.lineage import Step, Touch, tag_operations
from kinen.index.schema import TRIGGERS
from kinen.index.writer import STALE_TEXT, Writer, above, encode
from kinen.model.documents import Commit
from kinen.model.tuples import NamedTuple
from kinen.storage.database import statements, writing
from kinen.text import digest, identifier_parts

SOURCE = "git"
BATCH = 2000
MOST_TOUCHES = 200_000
"""Touched files after which a batch is written: huge commits must not add up in memory."""
HIDDEN = -1
"""The record number of a commit that the user had kinen forget."""
# Records of git have no key, and the author is their user. Constant columns are not bound.
COMMIT_RECORD = (
    "INSERT INTO records VALUES"
    " (?, ?, 'commit', ?, '', ?, '', ?, ?, '[]', 1, 'git', '', '', '', ?, '', '')"
)
FILE_RECORD = (
    "INSERT INTO records VALUES"
    " (?, ?, 'file', ?, ?, ?, '', ?, ?, '[]', 1, 'git', '', '', '', '', '', '')"
)


class Hand(NamedTuple):
    """A tag that was set by hand, and the last commit at that time."""

    path: str
    op: str
    head: str


class Settings(NamedTuple):
    """What decides about a history besides its commits."""

    derived: Callable[[str], Iterable[str]]
    rules: str
    """Names the rules behind `derived`."""
    hands: Sequence[Hand] = ()
    hidden: Collection[str] = frozenset()
    """Refs that are not shown."""
    excluded: str = ""
    """Names the globs whose files `hidden` contains, besides the refs that it lists."""
    snapshot_frequency: int = 0
    """After how many commits the index is copied; 0 for never."""


class History:
    """Writes the git part of one index."""

    def __init__(self, writer: Writer, settings: Settings) -> None:
        self.writer = writer
        self.db = writer.db
        self.settings = settings
        self._paths: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._new_paths: list[tuple[int, str]] = []
        self.new: dict[str, tuple[int, tuple[str, ...]]] = {}
        """Ids and parents of the commits that were added."""
        self.steps: list[Step] = []
        """What the added commits did."""
        self.fresh = not self.scalar("SELECT EXISTS (SELECT 1 FROM commits)")
        """Whether the index had no commit at the start."""
        self.tree_is_cut = False
        """Whether files at the head were left out before."""
        self.left_out: int | None = None
        """How many files at the head are left out; None if the tree was not looked at."""
        self.loading = Loading(writer, bulk=self.fresh)
        self._last_path = self.scalar("SELECT MAX(id) FROM paths")
        self._empty = not self._last_path

    def hidden(self) -> Callable[[str], bool]:
        """Whether a ref is not shown: asked in a transaction, since more are hidden meanwhile."""
        gone = self.writer.gone()
        return lambda ref: ref in self.settings.hidden or ref in gone

    def scalar(self, sql: str, *values: object) -> int:
        row = self.db.execute(sql, values).fetchone()
        return int(row[0] or 0) if row else 0

    def shas(self) -> set[str]:
        return {row[0] for row in self.db.execute("SELECT sha FROM commits")}

    def add(self, commits: Iterable[Commit], *, inside: bool, done: Callable[[int], None]) -> int:
        """Index the commits that are new, and return how many; `inside` leaves out commits that
        touch nothing.
        """
        count = 0
        added = 0
        for batch in _batches(self.missing(commits)):
            self.loading.wait()
            with writing(self.db):
                added += self.write(batch, inside)
                self.writer.bump()
            self.loading.text()
            count += len(batch)
            done(count)
        return added

    def missing(self, commits: Iterable[Commit]) -> Iterator[Commit]:
        """The commits that the index does not have."""
        sql = "SELECT EXISTS (SELECT 1 FROM commits WHERE sha = ?)"
        for commit in commits:
            if self.fresh or not self.scalar(sql, commit.sha):
                yield commit

    def write(self, batch: list[Commit], inside: bool) -> int:
        """Index new commits in the current transaction; see `add`."""
        record = self.scalar("SELECT MAX(id) FROM records") + 1
        first = self.scalar("SELECT MAX(id) FROM commits") + 1
        rows: list[tuple[object, ...]] = []
        records: list[tuple[object, ...]] = []
        chunks: list[tuple[object, ...]] = []
        touches: list[tuple[int, int, str, int]] = []
        tags: list[tuple[str, int]] = []
        cites: list[tuple[object, ...]] = []
        number = self._paths.get
        is_hidden = self.hidden()
        for id_, commit in enumerate(batch, first):
            ref = f"commit:{commit.sha}"
            width = len(commit.touches)
            ops = tag_operations(commit.ops, commit.scope, width)
            self.new[commit.sha] = (id_, commit.parents)
            visible = record
            if is_hidden(ref):
                visible = HIDDEN
            elif inside and not width:
                visible = 0
            above = " ".join(commit.parents)
            rows.append((id_, visible, commit.sha, above, commit.at, width, " ".join(ops)))
            commit_touches = [
                Touch(number(name) or self.path(name), status, self.path(before) if before else 0)
                for status, name, before in commit.touches
            ]
            touches += [(id_, where, status, old) for where, status, old in commit_touches]
            self.steps.append(Step(id_, commit_touches, ops))
            cites += [(id_, *cited) for cited in commit.cites]
            if visible > 0:
                added = sorted({op[1:] for op in ops if op[0] == "+"}) if ops else []
                tags_json = encode(added) if added else "[]"
                row = (
                    record,
                    ref,
                    commit.subject,
                    commit.at,
                    tags_json,
                    commit.about,
                    commit.author,
                )
                records.append(row)
                chunks += _chunks(record, commit)
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
        """The number of a path; a new path gets the next one."""
        number = self._paths.get(path, 0)
        if not number:
            if not self._empty:
                number = self.scalar("SELECT id FROM paths WHERE path = ?", path)
            if not number:
                self._last_path += 1
                number = self._last_path
                self._new_paths.append((number, path))
            self._paths[path] = number
            self._names[number] = path
        return number

    def keep_paths(self) -> None:
        """Write the new paths."""
        self.db.executemany("INSERT INTO paths(id, path) VALUES (?, ?)", self._new_paths)
        self._new_paths = []

    def name(self, path: int) -> str:
        name = self._names.get(path)
        if name is None:
            row = self.db.execute("SELECT path FROM paths WHERE id = ?", (path,)).fetchone()
            name = self._names[path] = row[0]
        return name

    def derived(self, path: int) -> Iterable[str]:
        return self.settings.derived(self.name(path))

    def drop_commits(self, shas: Iterable[str]) -> None:
        """Remove commits, so that they are read again."""
        ids = [self.scalar("SELECT id FROM commits WHERE sha = ?", sha) for sha in shas]
        with writing(self.db):
            self.remove(id_ for id_ in ids if id_)

    def hide(self) -> bool:
        """Remove the text of hidden commits, and remove commits that are no longer hidden.

        Returns whether there are commits of the second sort: they have to be read again.
        """
        hidden = self.settings.hidden
        with writing(self.db):
            rows = self.db.execute("SELECT id, sha, record FROM commits WHERE record = -1")
            again = [(id_,) for id_, sha, _ in rows.fetchall() if f"commit:{sha}" not in hidden]
            for table, key in (("commits", "id"), ("touches", "commit_id"), ("cites", "commit_id")):
                self.db.executemany(f"DELETE FROM {table} WHERE {key} = ?", again)
            for ref in sorted(ref for ref in hidden if ref.startswith("commit:")):
                record = self.scalar("SELECT id FROM records WHERE ref = ?", ref)
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
        """Remove commits that cannot be reached from the head any more."""
        gone = [(id_,) for id_ in commits]
        rows = [self.scalar("SELECT record FROM commits WHERE id = ?", id_) for (id_,) in gone]
        self.drop(record for record in rows if record > 0)
        for table, key in (("commits", "id"), ("touches", "commit_id"), ("cites", "commit_id")):
            self.db.executemany(f"DELETE FROM {table} WHERE {key} = ?", gone)

    def void(self) -> None:
        """Remove the whole git part."""
        with writing(self.db):
            self.writer.void(SOURCE)
            for table in ("commits", "touches", "cites", "paths", "files", "names"):
                self.db.execute(f"DELETE FROM {table}")
            self.writer.bump()
        self._paths = {}
        self._names = {}
        self.new = {}
        self.steps = []
        self._last_path = 0
        self._empty = True
        self.fresh = True


def _chunks(record: int, commit: Commit) -> list[tuple[object, ...]]:
    """The searchable text of a commit; none for a merge without a message of its own."""
    if len(commit.parents) > 1 and commit.texts == (commit.subject,):
        return []
    subject = commit.subject
    chunks: list[tuple[object, ...]] = []
    for n, text in enumerate(commit.texts):
        head = "" if text.startswith(subject) and ">" not in subject else above(subject, "", text)
        chunks.append((record, n, subject, text, identifier_parts(text), digest(f"{head}\0{text}")))
    return chunks


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


class Loading:
    """A bulk load, which builds full text in a thread of its own.

    While that thread runs, the connection must not be used: call `wait` first.
    """

    def __init__(self, writer: Writer, *, bulk: bool) -> None:
        self._writer = writer
        self._bulk = bulk
        self._thread: Thread | None = None
        self._failure: BaseException | None = None
        self._done = 0
        """The last chunk that has its full text."""

    def begin(self) -> None:
        db = self._writer.db
        self._writer.triggers(on=True)
        if self._bulk:
            # Pages are kept until they are full, and moved from the log a few times only.
            db.execute("PRAGMA cache_size=-65536")
            db.execute("PRAGMA wal_autocheckpoint=16384")
            # After a power failure the index is damaged and is built again.
            db.execute("PRAGMA synchronous=OFF")
            self._done = db.execute("SELECT IFNULL(MAX(id), 0) FROM chunks").fetchone()[0]
            self._writer.triggers(on=False)

    def text(self, *, last: bool = False) -> None:
        """Start to build the full text of what was added; `last` also restores the triggers."""
        if self._bulk:
            self.wait()
            self._thread = Thread(target=self._build, args=(last,))
            self._thread.start()
            self._bulk = not last

    def wait(self) -> None:
        """Wait for the full text of what was added; raises what the thread raised."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._failure is not None:
            failure = self._failure
            self._failure = None
            raise failure

    def _build(self, last: bool) -> None:
        db = self._writer.db
        try:
            with writing(db):
                end = db.execute("SELECT IFNULL(MAX(id), 0) FROM chunks").fetchone()[0]
                db.execute(
                    "INSERT INTO search(rowid, title, heading, path, body, extra) SELECT id, title,"
                    " heading, path, body, extra FROM chunks WHERE id > ? AND id <= ?",
                    (self._done, end),
                )
                self._done = end
                if last and self._writer.get(STALE_TEXT):
                    self._writer.rebuild_text()
                for statement in statements(TRIGGERS) if last else ():
                    db.execute(statement)
                if last:
                    self._writer.build_indexes()
        except BaseException as error:
            self._failure = error
