"""Every protocol there is: what the parts ask of one another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kinen.model import Delta, Extract, State


class Extractor(Protocol):
    """Turns the bytes of one file into text, or raises Unreadable with the reason."""

    def __call__(self, path: Path, data: bytes) -> Extract: ...


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
