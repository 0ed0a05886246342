"""Every protocol there is: what the parts ask of one another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from kinen.model.records import Commit, Delta, Extract, State


class Extractor(Protocol):
    """Turns the bytes of one file into text, or raises Unreadable with the reason."""

    def __call__(self, path: Path, data: bytes, most: int = ...) -> Extract:
        """`most` is how many characters of text are read; Extract.cut says if there are more."""
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

    def delta(self, known: Mapping[str, State]) -> Delta:
        """What differs from what is known; reading happens as the changes are consumed."""


class Past(Protocol):
    """A history that commits come from, newest first or in any order."""

    rules: str
    """Names what decides how commits are read; another value means to read them again."""
    notes: dict[str, str]
    """What could not be read, and why; it is tried again."""
    cuts: dict[str, str]
    """Commits of whose message or files only a part was read, and why."""
    remarks: list[str]
    """What else there is to say."""

    @property
    def inside(self) -> bool:
        """Whether it is of a folder of the repository: commits elsewhere are of no concern."""

    def head(self) -> str: ...
    def since(self, head: str, old: str = "") -> Iterator[Commit]: ...
    def among(self, head: str, known: set[str]) -> Iterator[Commit]: ...
    def tree(self, head: str) -> list[str] | None: ...
