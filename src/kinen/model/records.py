"""The values that all parts exchange: immutable, plain, standard library only.

They are named tuples and not dataclasses because `kinen search` starts a process per question:
importing `dataclasses` and building these classes with it costs more than the search itself
(docs/decisions/0002-cold-start.md). Annotations are evaluated and not stored as text: `NamedTuple`
would compile each of them.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, overload

FILE_KINDS = ("round", "artifact", "resource", "note", "checkpoint", "plan")
JOURNAL_KINDS = ("observation", "capsule", "summary", "pin", "memory")
GIT_KINDS = ("file", "commit")
KINDS = (*FILE_KINDS, "symbol", *GIT_KINDS, *JOURNAL_KINDS)
EDGE_TYPES = tuple(
    "links touches renames part_of summarizes pins derived_from reverts fixes refs".split()
)


class Record(NamedTuple):
    """One remembered thing; `ref` (`kind:key`) names it everywhere."""

    ref: str
    kind: str
    title: str
    path: str = ""
    """POSIX path relative to the space, empty if the record is not a file."""
    at: str = ""
    """When it happened: ISO 8601, UTC, ending in Z; sorts as text."""
    session: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] | None = None
    """Records of the journal have `repo agent user event parent`, which queries filter by."""


class Chunk(NamedTuple):
    """The searchable unit of a record; `ref#n`, and its neighbours are n±1."""

    ref: str
    n: int
    text: str
    heading: str = ""
    """Where in the record it stands, outermost first: `Auth > Tokens`."""
    start_line: int = 0
    end_line: int = 0
    page: int = 0

    @property
    def id(self) -> str:
        return f"{self.ref}#{self.n}"


class Link(NamedTuple):
    """A link as written, not yet resolved."""

    target: str
    text: str = ""
    heading: str = ""
    line: int = 0
    embedded: bool = False
    wiki: bool = True


class Edge(NamedTuple):
    """A typed link between two records; `target` is empty while it is broken."""

    source: str
    target: str
    type: str
    written: str = ""
    """The link's target as the author wrote it."""
    text: str = ""
    line: int = 0


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


class TagCount(NamedTuple):
    """A tag, and how many files and notes have it."""

    tag: str
    total: int
    files: int
    notes: int


class Related(NamedTuple):
    """A record that has to do with another one, and why."""

    record: Record
    score: float
    reasons: tuple[str, ...]
    """`links to it`, `linked from it`, `close in meaning (0.71)`, `tags: tea`, …"""


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


class Vote(NamedTuple):
    """The rank and score of a hit in one retriever; the shares of all votes add up to its score."""

    retriever: str
    rank: int
    score: float
    share: float


class Hit(NamedTuple):
    """A chunk with its record, score, votes and neighbours."""

    record: Record
    chunk: Chunk
    """What matched."""
    score: float
    votes: tuple[Vote, ...]
    before: tuple[Chunk, ...] = ()
    after: tuple[Chunk, ...] = ()
    space: str = ""
    passage: Chunk | None = None
    """The match with the lines needed to understand it; None if the chunk is enough."""
    line: int = 0
    """The line of the file that matches best; 0 if lines have no numbers."""
    also: tuple[Any, ...] = ()
    """Further hits, each with its own score, whose matches the passage shows."""

    @property
    def display(self) -> Chunk:
        """The text to show: the passage, or the chunk if there is none."""
        return self.passage or self.chunk


class Query(NamedTuple):
    """A question with its filters; an empty field matches anything."""

    text: str
    limit: int = 10
    mode: str = "hybrid"
    kinds: tuple[str, ...] = ()
    session: str = ""
    tags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    context: int = 0
    min_score: float = 0.0
    vector: Any = None
    """The embedding of the question, if the caller has it."""
    events: tuple[str, ...] = ()
    """Kinds of observation (message, command, error, ...), types of checkpoints and memories."""
    repo: str = ""
    agent: str = ""
    user: str = ""
    """The user, or the author of a commit."""
    near: tuple[str, ...] = ()
    """Commits that touched these paths rank higher."""
    recency: float = 0.0
    """The weight of newer records; a recall has one, a search none."""
    budget: int = 0
    """Most tokens of a recall; 0 means as configured."""
    files: tuple[str, ...] = ()
    """Paths or ends of paths: records that name, touched or are one of these files."""
    symbols: tuple[str, ...] = ()
    """Checkpoints that name one of these symbols."""
    min_similarity: float = 0.0
    """The least cosine similarity of a hit."""
    required: tuple[str, ...] = ()
    """Phrases that a hit must contain; `"…"` in the text asks for the same."""
    excluded: tuple[str, ...] = ()
    """Words that no hit may contain; `-word` in the text asks for the same."""
    omitted: tuple[str, ...] = ()
    """Kinds of records that no hit has."""
    exact: bool = False
    """Whether a hit must contain the whole text as one phrase, as if it were quoted."""


class Hits:
    """The answer to a query: hits in order, and notes about the search."""

    __slots__ = ("hits", "mode", "notes", "query")

    def __init__(
        self, hits: tuple[Hit, ...], query: Query, mode: str, notes: tuple[str, ...] = ()
    ) -> None:
        self.hits = hits
        self.query = query
        self.mode = mode
        self.notes = notes

    @overload
    def __getitem__(self, at: int) -> Hit: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, at: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[at]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)


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
    """Keys of the space's own config that are ignored until `kinen trust`."""
    bytes: int
    epoch: int = 0
    """How often memories were drawn because enough was new."""
    surprise: float = 0.0
    """How much is new since then."""
