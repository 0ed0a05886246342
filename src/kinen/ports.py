"""Every protocol: what the parts of kinen require of each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from kinen.model.documents import Commit, Delta, Extract, State

if TYPE_CHECKING:
    from pathlib import Path

    from kinen.model.team import Page, Version


class Extractor(Protocol):
    """Turns the bytes of a file into text, or raises Unreadable with the reason."""

    def __call__(self, path: Path, data: bytes, most: int = ...) -> Extract:
        """At most `most` characters are read; Extract.cut says whether there are more."""
        ...


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


class Source(Protocol):
    """Somewhere that records come from."""

    name: str

    def delta(self, indexed: Mapping[str, State]) -> Delta:
        """The changes since the indexed state; files are read as the changes are consumed."""


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

    def push(self, versions: Sequence[Version]) -> None:
        """Merge versions into the team's; they are stored when this returns."""

    def pull(self, after: int, limit: int, *, erased: bool) -> Page:
        """Versions that changed after a cursor; with `erased` only what was erased."""

    def withdraw(self, machine: str) -> int:
        """Take back everything that this person wrote; returns how many entries."""

    def close(self) -> None:
        """End the connection."""
