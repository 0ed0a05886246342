"""Issues of the space's tracker: lists, what names them, and import of exports."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from kinen.errors import Busy, NotFound, StoreError
from kinen.index import issues as stored
from kinen.memory.sources import ISSUES
from kinen.model.issues import Issue, ready, references, relation, state_words, urgency
from kinen.model.tuples import NamedTuple
from kinen.recall.clip import cut
from kinen.recall.tiers import item
from kinen.storage import private, regular
from kinen.text import iso, nearest, now

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kinen.index.issues import Mention
    from kinen.index.reader import Reader
    from kinen.memory.core import Core
    from kinen.memory.index import Index
    from kinen.memory.journal import Journal
    from kinen.memory.records import Records
    from kinen.model.journal import Item, Observation
    from kinen.model.records import Edge, Query, Record

EXPORT_SECONDS = 60
"""How long `bd export` may take."""
MOST_EXPORT = 200 << 20
RELATIONS = 8
"""Dependencies of an issue that are shown with it."""


class Details(NamedTuple):
    """An issue with everything around it."""

    issue: Issue
    text: str
    edges: tuple[Edge, ...]
    """Dependencies in both directions, and links made by hand."""
    mentions: tuple[Mention, ...]


class Work(NamedTuple):
    """The issues that somebody works on, those that can be begun, and how many there are."""

    in_progress: tuple[Issue, ...]
    ready: tuple[Issue, ...]
    total: int


class Issues:
    """Reads issues; the tracker itself writes them."""

    def __init__(self, core: Core, index: Index, records: Records, journal: Journal) -> None:
        self._core = core
        self._index = index
        self._records = records
        self._journal = journal

    def all(self, *, deleted: bool = False) -> list[Issue]:
        """Every issue, the most urgent first; those that were deleted only on request."""
        self._catch_up()
        return self._sorted(deleted=deleted)

    def _sorted(self, *, deleted: bool = False) -> list[Issue]:
        """As `all`, from the index as it is."""
        issues = stored.issues(self._core.reader.db)
        return sorted((issue for issue in issues if deleted or not issue.is_deleted), key=urgency)

    def ready(self) -> list[Issue]:
        """Issues that can be begun: open, and nothing open blocks them."""
        return ready(self.all(), iso(now()))

    def at_work(self) -> Work | None:
        """What is in progress and what is ready, from the index as it is; None without issues."""
        every = self._sorted()
        if not every:
            return None
        going = [issue for issue in every if issue.status == "in_progress"]
        return Work(tuple(going), tuple(ready(every, iso(now()))), len(every))

    def get(self, name: str) -> Issue:
        """The issue of an id, which may be written `#12` or as a ref."""
        self._catch_up()
        id_ = name.strip().removeprefix("issue:").lstrip("#")
        ids = stored.known_ids(self._core.reader.db)
        record = self._core.reader.record(f"issue:{ids.get(id_.lower(), id_)}")
        if record is not None:
            return stored.to_issue(record)
        near = nearest(id_, ids.values())
        hint = f"did you mean {near}?" if near else "`kinen issues` lists them"
        raise NotFound(f"no issue {id_!r}", hint)

    def show(self, name: str) -> Details:
        """An issue with its text, its dependencies and what names it.

        An issue that is only named, such as `#12` in a commit, has no text.
        """
        try:
            issue = self.get(name)
        except NotFound:
            id_ = name.strip().removeprefix("issue:").lstrip("#")
            mentions = stored.mentions(self._core.reader.db, id_)
            if not mentions or not any(references(f"#{id_} {id_}", ())):
                raise
            return Details(Issue(id_, "", "unknown"), "", (), tuple(mentions))
        db = self._core.reader.db
        edges = tuple(edge for edge in stored.edges(db, issue.ref) if edge.type in _DEPENDENCIES)
        text = self._records.whole_text(issue.ref)
        return Details(issue, text, edges, tuple(stored.mentions(db, issue.id)))

    def link(self, name: str, ref: str) -> Observation:
        """Record that a record concerns an issue; the tracker is not changed."""
        issue = self.get(name)
        record = self._records.get(ref)
        return self._journal.observe(
            f"{issue.id} concerns {record.title or record.ref}",
            provenance={"issue": issue.id, "concerns": record.ref},
        )

    def import_export(self, path: str) -> int:
        """Store an export of another tracker with the space; returns how many issues it has."""
        from kinen.transfer.issues import MOST_BYTES, lines

        name = os.path.basename(path)
        try:
            rows = list(lines(regular.read(path, MOST_BYTES), name))
        except FileNotFoundError:
            raise StoreError(f"no file {path}", "give the export of a tracker") from None
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror}", "check the file") from error
        self._store(os.path.splitext(name)[0] or "export", rows)
        self._catch_up(wait=60)
        return len(rows)

    def refresh(self) -> int:
        """Ask `bd export` for the issues as they are now; returns how many there are.

        Only where a person asks for it: `bd` is a program of its own, which reads the repository.
        """
        import shutil
        import subprocess

        from kinen.sources.issues import EXPORTED
        from kinen.transfer.issues import lines

        program = shutil.which("bd")
        if program is None:
            raise NotFound("`bd` is not installed", "install beads, or run `bd export` elsewhere")
        try:
            result = subprocess.run(
                [program, "export"],
                cwd=self._core.space.root,
                capture_output=True,
                timeout=EXPORT_SECONDS,
                stdin=subprocess.DEVNULL,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise StoreError(f"`bd export` failed: {error}", "run it by hand") from error
        if result.returncode or len(result.stdout) > MOST_EXPORT:
            reason = result.stderr.decode("utf-8", "replace").strip().splitlines()
            raise StoreError(
                f"`bd export` failed: {reason[-1] if reason else result.returncode}",
                "run it by hand",
            )
        rows = list(lines(result.stdout, "bd export"))
        self._store(os.path.splitext(EXPORTED)[0], rows)
        self._catch_up(wait=60)
        return len(rows)

    def age(self) -> float | None:
        """Seconds since the tracker wrote its file; None if it has none."""
        from kinen.sources.issues import FOLDER, NAMES

        for name in NAMES:
            with contextlib.suppress(OSError):
                path = os.path.join(self._core.space.root, FOLDER, name)
                return max(0.0, now() - os.stat(path).st_mtime)
        return None

    def _store(self, name: str, rows: Sequence[str]) -> None:
        folder = private.folder(os.path.join(self._core.space.data, ISSUES))
        private.write(os.path.join(folder, f"{name}.jsonl"), "".join(f"{row}\n" for row in rows))

    def _catch_up(self, wait: float = 0.2) -> None:
        """Index the lines of the tracker's files that are new."""
        from kinen.index.lock import sync_lock
        from kinen.index.writer import Writer

        self._index.prepare()
        if self._core.frozen:
            return
        index = self._core.file("index.db")
        with (
            contextlib.suppress(Busy),
            sync_lock(self._core.file("sync.lock"), wait),
            contextlib.closing(Writer(index, erasures=self._core.erasures)) as writer,
        ):
            hidden = self._index.sources.suppressed()
            writer.sync(self._index.sources.issues(hidden), lambda *_: None)
            writer.count_chunks()


def concerning(reader: Reader, details: Details) -> list[Record]:
    """The records that name an issue, newest first, then those that were linked by hand."""
    records = {mention.record.ref: mention.record for mention in details.mentions}
    for edge in details.edges:
        ref = relation(details.issue, edge)[1]
        if not ref.startswith("issue:") and (record := reader.record(ref)):
            records.setdefault(ref, record)
    return list(records.values())


def issue_item(reader: Reader, details: Details, tokens: int) -> Item | None:
    """An issue with its state, its dependencies and its text; None if no text of it is known."""
    issue = details.issue
    if not issue.title:
        return None
    relations = (_relation_line(reader, details, edge) for edge in details.edges[:RELATIONS])
    body = details.text.removeprefix(issue.title).strip()
    lines = (f"{issue.id} {issue.title}", state_words(issue), *relations, body)
    text = "\n".join(filter(None, lines))
    return item("issue", issue.ref, cut(text, tokens), at=issue.updated or issue.created)


def _relation_line(reader: Reader, details: Details, edge: Edge) -> str:
    """A dependency with the title and status of the other issue; empty for other records."""
    word, ref = relation(details.issue, edge)
    if not ref.startswith("issue:"):
        return ""
    record = reader.record(ref)
    if record is None:
        return f"{word} {ref.removeprefix('issue:')}"
    other = stored.to_issue(record)
    return f"{word} {other.id} {other.title} ({other.status.replace('_', ' ')})"


def narrowed(reader: Reader, query: Query, records: Sequence[Record]) -> Query:
    """The query, for these records only.

    With a question, everything that was said in their sessions may answer it. Without one,
    sessions are shown by their summaries.
    """
    sessions = tuple(record.ref for record in records if record.kind == "capsule")
    refs = (*(record.ref for record in records), *stored.summaries(reader.db, sessions))
    # An empty list would be no filter.
    return query._replace(refs=refs or ("",), parents=sessions if query.text.strip() else ())


_DEPENDENCIES = ("blocks", "part_of", "refs")
