"""The values that all parts exchange: immutable, plain, standard library only.

They are named tuples and not dataclasses because `kinen search` starts a process per question:
importing `dataclasses` and building these classes with it costs more than the search itself
(docs/decisions/0002-cold-start.md).
"""

from __future__ import annotations

from kinen.model.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Self

FILE_KINDS = ("round", "artifact", "resource", "note", "checkpoint", "plan")
JOURNAL_KINDS = ("observation", "capsule", "summary", "pin", "memory")
GIT_KINDS = ("file", "commit")
WITHOUT_FILE = ("commit", *JOURNAL_KINDS)
"""Kinds of records that are in no file."""
KINDS = (*FILE_KINDS, "symbol", "issue", *GIT_KINDS, *JOURNAL_KINDS)


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


class Edge(NamedTuple):
    """A typed link between two records; `target` is empty while it is broken."""

    source: str
    target: str
    type: str
    written: str = ""
    """The link's target as the author wrote it."""
    text: str = ""
    line: int = 0
    sentence: str = ""
    """The sentence around a link in a text."""


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
    root: str = ""
    """The folder of the space, which the record's path begins at."""
    strength: int = 0
    """How close it is to the question, from 0 to 100: comparable between questions and modes."""

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
    meta: tuple[str, ...] = ()
    """Frontmatter and other metadata that a hit must have: `status=complete`."""
    issue: str = ""
    """The id of an issue: a recall shows it, and only what concerns it."""
    refs: tuple[str, ...] = ()
    """Only these records."""
    parents: tuple[str, ...] = ()
    """Only entries of these sessions, besides the records of `refs`."""
    as_of: str = ""
    """Go back to what was known then: a time, commit, branch or tag; empty for now."""
    floor: bool = False
    """Whether to leave out hits that are not close to the question (`kinen.recall.floor`)."""
    once: bool = False
    """Whether a record is shown once, by its best passage, as on a page that a person reads."""
    words_first: bool = False
    """Whether words may answer alone while the model is not loaded: nobody asked for a mode."""


class Hits(tuple[Hit, ...]):
    """The answer to a query: hits in order, and notes about the search."""

    query: Query
    mode: str
    notes: tuple[str, ...]

    def __new__(
        cls, hits: Iterable[Hit], query: Query, mode: str, notes: tuple[str, ...] = ()
    ) -> Self:
        answer = super().__new__(cls, hits)
        answer.query = query
        answer.mode = mode
        answer.notes = notes
        return answer
