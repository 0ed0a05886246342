"""The values that travel between all parts: immutable, plain, standard library only.

They are named tuples and not dataclasses because `kinen search` starts a process per question:
importing `dataclasses` and building these classes with it costs more than the search itself
(docs/decisions/0002-cold-start.md). Annotations are evaluated here, not kept as text: `NamedTuple`
would compile each of them.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, overload

FILE_KINDS = ("round", "artifact", "resource", "note", "checkpoint", "plan")
JOURNAL_KINDS = ("observation", "capsule", "summary", "pin", "memory")
GIT_KINDS = ("file", "commit")
KINDS = (*FILE_KINDS, *GIT_KINDS, *JOURNAL_KINDS)
MODES = ("hybrid", "fulltext", "semantic", "rrf", "keyword-first", "rerank")
EDGE_TYPES = (
    *("links", "touches", "renames", "part_of", "summarizes", "pins", "derived_from"),
    *("reverts", "fixes", "refs"),
)


class Record(NamedTuple):
    """One remembered thing; `ref` (`kind:key`) names it everywhere."""

    ref: str
    kind: str
    title: str
    path: str = ""
    """POSIX path relative to the space, empty when the record is no file."""
    at: str = ""
    """When it happened: ISO 8601, UTC, ending in Z; sorts as text."""
    session: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] | None = None
    """Of the journal's records also `repo agent user event parent`, which queries filter by."""


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
    """A link as written, before anything is known about where it leads."""

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
    """False when nothing in it says when it happened, and `at` is the file's own time."""
    segment: str = ""
    """What it is embedded and shown with: the stretch of a session that it is part of."""
    cut: str = ""
    """Why only the beginning of its text was read; empty when all of it was."""


class Commit(NamedTuple):
    """A commit as an index takes it in."""

    sha: str
    parents: tuple[str, ...]
    at: str
    author: str
    subject: str
    texts: tuple[str, ...]
    """The message, in pieces that fit a chunk."""
    touches: tuple[tuple[str, str, str], ...]
    """What it did: A, M, T, D or R; the path; the path before, of a rename."""
    scope: str = ""
    ops: tuple[str, ...] = ()
    """Its line of tags: `+auth`, `-session`."""
    cites: tuple[tuple[str, str], ...] = ()
    """What it reverts, fixes or refers to, with the sha or its beginning."""
    about: str = "{}"
    """What else there is to know, as JSON."""


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
    """These, of all commits that touched either."""
    weight: float
    """The sum of 1/(n−1) over these commits, each of n files: large ones say little."""
    score: float
    """How likely it is to change when they do, from 0 to 1: what they are ordered by."""
    commits: tuple[tuple[str, str], ...]
    """Refs and subjects of those that say most."""


class Part(NamedTuple):
    """A stretch of extracted text: a PDF page, an EPUB chapter, a section of HTML."""

    text: str
    title: str = ""
    page: int = 0
    line: int = 0


class Extract(NamedTuple):
    """What an extractor found in a file."""

    parts: tuple[Part, ...]
    title: str = ""
    metadata: Mapping[str, Any] | None = None
    cut: str = ""
    """Why only the beginning was read; empty when all of it was."""


class State(NamedTuple):
    """What the index remembers of one key of a source, to tell what changed."""

    stamp: str
    digest: str
    reason: str = ""
    """Why it was skipped, or indexed only in part; empty when all of it was indexed."""


class Change(NamedTuple):
    """One key of a source that is no longer as the index knows it.

    With a document it is (re)indexed; with a reason and no document it is remembered as skipped;
    with neither, only its stamp moved. A key that vanished comes with `removed`.
    """

    key: str
    state: State | None
    """What to remember of the key; None where the source does not tell keys apart by it."""
    document: Document | None = None
    removed: bool = False
    at: str = ""
    """The file's own time, where only that moved."""


class Delta(NamedTuple):
    """How a source differs from what the index knows: a count for progress, then the changes."""

    total: int
    changes: Iterator[Change]
    anew: bool = False
    """Whether all that the index knows of the source is void."""


class Vote(NamedTuple):
    """What one retriever said of a hit; the shares of all votes add up to the hit's score."""

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
    """The lines around the match that make sense by themselves; None where the chunk does."""
    line: int = 0
    """The line of the file that says most of what was asked; 0 where lines have no numbers."""
    also: tuple[Any, ...] = ()
    """Further hits, each with its own score, whose matches the passage shows."""

    @property
    def shown(self) -> Chunk:
        """What a reader sees: the passage, or the chunk where there is none."""
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
    """The question's embedding, if the caller has it already."""
    events: tuple[str, ...] = ()
    """Kinds of observation (message, command, error, ...), types of checkpoints and memories."""
    repo: str = ""
    agent: str = ""
    user: str = ""
    """Who did it; of a commit, its author."""
    near: tuple[str, ...] = ()
    """Paths in question: commits that touched them count more."""
    recency: float = 0.0
    """The weight of what is newer; a recall has one, a plain search none."""
    budget: int = 0
    """Most tokens of a recall; 0 leaves it to the configuration."""
    files: tuple[str, ...] = ()
    """Paths, or ends of paths: what names one of them, touched it or is it."""
    symbols: tuple[str, ...] = ()
    """Checkpoints that name one of these symbols."""
    min_similarity: float = 0.0
    """Only what is at least so near in meaning, as a cosine."""
    required: tuple[str, ...] = ()
    """Phrases that a hit must contain; `"…"` in the text asks for the same."""
    excluded: tuple[str, ...] = ()
    """Words that no hit may contain; `-word` in the text asks for the same."""
    exact: bool = False
    """Whether a hit must contain the whole text as one phrase, as if it were quoted."""


class Hits:
    """The answer to a query: hits in order, and notes on how they were found."""

    __slots__ = ("hits", "mode", "notes", "query")

    def __init__(
        self, hits: tuple[Hit, ...], query: Query, mode: str, notes: tuple[str, ...] = ()
    ) -> None:
        self.hits, self.query, self.mode, self.notes = hits, query, mode, notes

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
    """How much an index holds; every figure is counted, none is estimated."""

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
    """Chunks that still wait for a vector."""
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    failure: str = ""
    """Why embedding stopped; full text is complete all the same."""


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
    """Keys of the space's own config that wait for `kinen trust`."""
    bytes: int
    epoch: int = 0
    """How often memories were drawn because enough was new."""
    surprise: float = 0.0
    """How much was met since then that is not known yet."""
