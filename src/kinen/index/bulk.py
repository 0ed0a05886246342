"""Takes in much at once: full text is built in the background, while more is being read."""

from __future__ import annotations

from threading import Thread

from kinen.index.schema import LATE, TRIGGERS
from kinen.index.writer import Writer
from kinen.storage.database import statements, translated, writing


class Loading:
    """A bulk load that only adds. While SQLite works for it, nobody else may use the connection:
    who wants to, waits first.
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
        with translated(self._writer.path):
            self._writer.triggers(on=True)
            self._indexed()  # some are gone where a process was killed while it loaded
            if self._bulk:
                # Pages are kept until they are full, and moved from the log a few times only.
                db.execute("PRAGMA cache_size=-65536")
                db.execute("PRAGMA wal_autocheckpoint=16384")
                # Should the power fail just now, the index is built anew.
                db.execute("PRAGMA synchronous=OFF")
                self._done = db.execute("SELECT IFNULL(MAX(id), 0) FROM chunks").fetchone()[0]
                self._writer.triggers(on=False)
                for name in LATE:
                    db.execute(f"DROP INDEX IF EXISTS {name}")

    def text(self, *, last: bool = False) -> None:
        """Begin to build the full text of what was added; with the last of it, all is as before."""
        if self._bulk:
            self.wait()
            self._thread = Thread(target=self._build, args=(last,))
            self._thread.start()
            self._bulk = not last

    def wait(self) -> None:
        """Until the full text of what was added is there."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._failure is not None:
            failure = self._failure
            self._failure = None
            raise failure

    def _indexed(self) -> None:
        for name, what in LATE.items():
            self._writer.db.execute(f"CREATE INDEX IF NOT EXISTS {name} ON {what}")

    def _build(self, last: bool) -> None:
        db = self._writer.db
        try:
            with translated(self._writer.path), writing(db):
                end = db.execute("SELECT IFNULL(MAX(id), 0) FROM chunks").fetchone()[0]
                db.execute(
                    "INSERT INTO search(rowid, title, heading, path, body, extra) SELECT id, title,"
                    " heading, path, body, extra FROM chunks WHERE id > ? AND id <= ?",
                    (self._done, end),
                )
                self._done = end
                for statement in statements(TRIGGERS) if last else ():
                    db.execute(statement)
                if last:
                    self._indexed()
        except BaseException as error:
            self._failure = error
