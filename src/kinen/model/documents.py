"""What sources give to the index, and what the index and git's history tell of themselves.

Apart from `model.records` because a plain search does not need them.
"""

# Annotations are evaluated, as in `kinen.model.records`: named tuples would compile each of them.
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kinen.model.records import Chunk, Record
from kinen.model.tuples import NamedTuple


class Link(NamedTuple):
    """A link as written, not yet resolved."""

    target: str
    text: str = ""
    heading: str = ""
    line: int = 0
    embedded: bool = False
    wiki: bool = True


class Document(NamedTuple):
    """A record with everything that is derived from its text."""

    record: Record
    chunks: tuple[Chunk, ...]
    links: tuple[Link, ...] = ()
    aliases: tuple[str, ...] = ()
    dated: bool = True
    """False if the text has no date, and `at` is the file's time."""
    segment: str = ""
    """The part of a session that it is embedded and shown with."""
    cut: str = ""
    """Why only the beginning of the text was read; empty if all of it was."""


class Commit(NamedTuple):
    """A commit as the index stores it."""

    sha: str
    parents: tuple[str, ...]
    at: str
    author: str
    subject: str
    texts: tuple[str, ...]
    """The message, in pieces that fit a chunk."""
    touches: tuple[tuple[str, str, str], ...]
    """Status (A, M, T, D or R), path, and for a rename the former path."""
    scope: str = ""
    ops: tuple[str, ...] = ()
    """Its line of tags: `+auth`, `-session`."""
    cites: tuple[tuple[str, str], ...] = ()
    """Type of reference (reverts, fixes, refs), and the sha or its beginning."""
    about: str = "{}"
    """Further metadata as JSON."""


class Revision(NamedTuple):
    """What a commit did to a file, and the tags that the file had after it."""

    ref: str
    at: str
    author: str
    subject: str
    status: str
    """A, M, T, D or R."""
    path: str
    """The file's path then."""
    before: str
    tags: tuple[str, ...]
    message: str = ""
    """The whole commit message."""


class Companion(NamedTuple):
    """A file that usually changes together with others."""

    path: str
    support: int
    """Commits that they share."""
    jaccard: float
    """The share of these among all commits that touched either."""
    weight: float
    """The sum of 1/(n−1) over these commits of n files each, so that large commits count little."""
    score: float
    """How likely it changes when the others do, from 0 to 1; companions are ordered by it."""
    commits: tuple[tuple[str, str], ...]
    """Refs and subjects of the most telling commits."""


class Part(NamedTuple):
    """A part of an extracted text: a PDF page, an EPUB chapter, a section of HTML."""

    text: str
    title: str = ""
    page: int = 0
    line: int = 0


class Extract(NamedTuple):
    """The text of a file."""

    parts: tuple[Part, ...]
    title: str = ""
    metadata: Mapping[str, Any] | None = None
    cut: str = ""
    """Why only the beginning was read; empty if all of it was."""


class State(NamedTuple):
    """What the index stores for a key of a source to detect changes."""

    stamp: str
    digest: str
    reason: str = ""
    """Why it was skipped or indexed only in part; empty if all of it was indexed."""


class Change(NamedTuple):
    """A key of a source that differs from the index.

    With a document it is (re)indexed; with a reason and no document it is recorded as skipped;
    with neither, only its stamp changed. `removed` means that the key no longer exists.
    """

    key: str
    state: State | None
    """The new state of the key; None if the source does not use states."""
    document: Document | None = None
    removed: bool = False
    at: str = ""
    """The file's time, if only that changed."""
    others: tuple[Document, ...] = ()
    """Further documents of the same key."""
    empty: bool = False
    """Whether the key has no document any more, although it is there."""


class Delta(NamedTuple):
    """How a source differs from the index: a count for progress, and the changes."""

    total: int
    changes: Iterator[Change]
    anew: bool = False
    """Whether everything that the index has of the source is to be replaced."""
    erased: str = ""
    """How far the journal's erasures go in what the source has read; empty if it does not say."""


class Counts(NamedTuple):
    """The size of an index, exactly counted."""

    documents: int
    chunks: int
    edges: int
    broken: int
    skipped: int
    vectors: int


class Report(NamedTuple):
    """What a sync did."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    skipped: int = 0
    unchanged: int = 0
    embedded: int = 0
    pending: int = 0
    """Chunks without a vector."""
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    failure: str = ""
    """Why embedding stopped; the full-text index is complete."""

    @classmethod
    def total(cls, reports: "Sequence[Report]") -> "Report":
        """All of them together, without what is about vectors."""
        return cls(
            added=sum(report.added for report in reports),
            changed=sum(report.changed for report in reports),
            removed=sum(report.removed for report in reports),
            skipped=sum(report.skipped for report in reports),
            unchanged=sum(report.unchanged for report in reports),
            notes=tuple(note for report in reports for note in report.notes),
        )


class Status(NamedTuple):
    """The state of a space's memory, for people and scripts."""

    name: str
    root: str
    id: str
    origin: str
    data: str
    counts: Counts
    kinds: Mapping[str, int]
    provider: str
    model: str
    dimensions: int
    pending: int
    synced: str
    untrusted: tuple[str, ...]
    """Keys of the space's own config that are ignored or limited until `kinen trust`."""
    bytes: int
    epoch: int = 0
    """How often memories were drawn because enough was new."""
    surprise: float = 0.0
    """How much is new since then."""
    vectors_off: bool = False
    """Whether the last `kinen index` had --no-embed."""
