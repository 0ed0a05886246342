"""Every protocol: what the parts of kinen require of each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from kinen.model.documents import Commit, Counts, Delta, Extract, State
from kinen.model.records import Chunk, Query, Record

if TYPE_CHECKING:
    from pathlib import Path

    from kinen.model.team import Comparison, Page, Pushed, Version


class Extractor(Protocol):
    """Turns the bytes of a file into text, or raises Unreadable with the reason."""

    def __call__(self, path: Path, data: bytes, most: int = ...) -> Extract:
        """At most `most` characters are read; Extract.cut says whether there are more."""


class Embedder(Protocol):
    """Turns texts into unit vectors; the fingerprint says which vectors may be compared."""

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        """A float32 array of shape (len(texts), dimensions), rows of length one."""


class Allowed(Protocol):
    """The units that pass the filters of a query, and the chunk to cite for each.

    A unit is a segment of a session, known by its first chunk, or a chunk alone.
    """

    def __iter__(self) -> Iterator[int]: ...
    def __getitem__(self, unit: int, /) -> int: ...


class Vectors(Protocol):
    """The vectors of one model in an index."""

    def nearest(self, vector: Any, k: int, allowed: Any = None) -> list[tuple[int, float]]:
        """The k nearest units among those that are allowed, nearest first, with their cosines."""

    def of(self, vector: Any, ids: list[int]) -> dict[int, float]:
        """The cosines of given units; those without a vector are left out."""


class Index(Protocol):
    """What a search reads of an index, whichever engine has it. Chunks are named by numbers."""

    @property
    def ranks_files(self) -> bool:
        """Whether files are ranked by the commits that touched them (`kinen.recall.files`)."""

    def match(self, terms: Sequence[str], query: Query, k: int) -> list[tuple[int, float]]:
        """The k best chunks for any of the terms, with their BM25, best first."""

    def match_runs(self, runs: Sequence[Sequence[str]], query: Query, k: int) -> dict[int, str]:
        """The k best chunks that have one of some runs of words, with their text."""

    def allowed(self, query: Query) -> Allowed | None:
        """The units that pass the query's filters; None when it has no filter."""

    def anchors(self, ids: Sequence[int]) -> dict[int, int]:
        """The first chunk of the segment of each chunk that is not the first itself."""

    def segment(self, ref: str) -> list[Chunk]:
        """The chunks that an observation is shown with, in order; none if it stands alone."""

    def newest(self, query: Query, k: int) -> list[int]:
        """The first chunks of the newest records that pass the filters, newest first."""

    def ages(self, ids: Sequence[int]) -> dict[int, str]:
        """When the record of each chunk happened."""

    def latest(self) -> str:
        """When the newest record happened."""

    def load(self, ids: Sequence[int]) -> dict[int, tuple[Record, Chunk]]: ...
    def bodies(self, ids: Sequence[int]) -> list[str]: ...
    def chunk_count(self) -> int: ...
    def places(self, ids: Sequence[int]) -> dict[int, tuple[int | str, int]]:
        """The record and number of each chunk, or the capsule and number of its segment."""

    def between(self, ref: str, first: int, last: int) -> list[Chunk]:
        """The chunks of a record from n = first to last."""

    def chunks_at(self, paths: Sequence[str], query: Query) -> dict[str, list[int]]:
        """The chunks of each path that pass the query's filters, in order."""

    @property
    def empty(self) -> bool:
        """Whether there is no text at all."""

    def chunks_of_symbol(self, name: str, query: Query) -> list[int]:
        """The first chunk of each symbol of a name that passes the query's filters, by path."""

    def paths_named(self, text: str) -> list[str]:
        """The paths whose name a whole question is; none if many files have it."""

    def touched(self, ids: Sequence[int]) -> dict[int, list[int]]:
        """The files that the commits behind some chunks touched, as numbers."""

    def file_at(self, path: str) -> int:
        """The number of a file; 0 if no commit touched it."""

    def record(self, ref: str) -> Record | None: ...
    def refs_from(self, start: str, most: int) -> list[str]: ...
    def at_path(self, path: str) -> Record | None: ...
    def matching(self, query: Query) -> list[Record]:
        """All records that pass the filters of a query, by path."""

    def stems(self, words: Sequence[str]) -> dict[str, str]:
        """Each word as full text stores it."""

    def vocabulary(self, letter: str) -> list[tuple[str, int]]:
        """Stems that begin with a letter, with the number of chunks that each is in."""

    def document_counts(self, words: Sequence[str]) -> dict[str, int]:
        """How many chunks each word is in, by its stem."""

    def spelled(self, stem: str, like: str) -> str:
        """A word of the index that has this stem, the one most like what was typed."""

    def counts(self, vectors: int = 0) -> Counts: ...
    def close(self) -> None: ...


class Source(Protocol):
    """Somewhere that records come from."""

    name: str

    def delta(self, indexed: Mapping[str, State]) -> Delta:
        """The changes since the indexed state; files are read as the changes are consumed."""


class Walk(Protocol):
    """The paths that the last walk through a space found."""

    files: set[str]
    attachments: set[str]
    """Files that links may lead to although they are never records."""


class Past(Protocol):
    """A history that commits come from, newest first or in any order."""

    rules: str
    """Identifies the rules for reading commits; if it changes, all are read again."""
    notes: dict[str, str]
    """What could not be read, and why; the next sync tries again."""
    cuts: dict[str, str]
    """Commits whose message or files were read only in part, and why."""
    remarks: list[str]
    """Remarks for the user."""

    @property
    def inside(self) -> bool:
        """Whether only a folder of the repository counts: commits elsewhere are left out."""

    def head(self) -> str: ...
    def since(self, head: str, old: str = "") -> Iterator[Commit]: ...
    def among(self, head: str, indexed: set[str]) -> Iterator[Commit]: ...
    def tree(self, head: str) -> list[str] | None: ...


class Team(Protocol):
    """The memory of a team for one space, as one person may see it."""

    @property
    def person(self) -> str:
        """The name that entries of this person get."""

    def push(self, versions: Sequence[Version]) -> Pushed:
        """Merge versions into the team's; they are stored when this returns."""

    def pull(self, after: int, limit: int, *, erased: bool) -> Page:
        """Versions that changed after a cursor; with `erased` only what was erased."""

    def fetch(self, refs: Sequence[str]) -> Page:
        """The team's versions of some entries."""

    def compare(self) -> Comparison:
        """Digests of all that the team holds, by range."""

    def prints(self, range_: str) -> Mapping[str, str]:
        """The fingerprints of the entries of a range, by ref."""

    def withdraw(self, machine: str) -> int:
        """Take back everything that this person wrote; returns how many entries."""

    def close(self) -> None:
        """End the connection."""


class ToolClient(Protocol):
    """Who calls a tool over MCP, and how to ask them something while the call is answered."""

    name: str
    capabilities: dict[str, Any]
    modern: bool
    """Whether it repeats a call with `responses`, instead of answering requests."""
    responses: dict[str, dict[str, Any]]

    async def request(self, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        """What it answers; raises Refused or TimeoutError."""

    def report(self, progress: float, total: float, message: str) -> None:
        """Send the progress of the call; from any thread."""
