"""Queries are embedded by the daemon, whose model is loaded, until this process loads its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinen.ipc import client

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kinen.embed.onnx import OnnxEmbedder


class WarmEmbedder:
    """The vectors of another embedder, without loading its model for a query."""

    def __init__(self, own: OnnxEmbedder, home: str, space: str) -> None:
        self._own = own
        self._home = home
        self._space = space

    @property
    def name(self) -> str:
        return self._own.name

    @property
    def fingerprint(self) -> str:
        return self._own.fingerprint

    @property
    def dimensions(self) -> int:
        return self._own.dimensions

    @property
    def loaded(self) -> bool:
        """Whether the model is in the memory of this process."""
        return self._own.loaded

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        """One unit vector per text, in order."""
        if query and not self._own.loaded:
            vectors = self._by_daemon([*texts])
            if vectors is not None:
                return vectors
        return self._own.embed(texts, query=query)

    def fluency(self, text: str) -> float:
        """How well the model knows the words of a text, from 0 to 1."""
        return self._own.fluency(text)

    def _by_daemon(self, texts: list[str]) -> Any:
        import numpy as np

        body = {"texts": texts, "model": self.fingerprint}
        line = "POST /v1/vectors"
        answer = client.ask(self._home, line, body, space=self._space, accept="*/*")
        if answer is None or answer.code != 200:
            return None
        rows = np.frombuffer(answer.body, dtype="<f4").astype(np.float32)
        return rows.reshape(len(texts), -1) if len(rows) == len(texts) * self.dimensions else None
