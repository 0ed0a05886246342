"""One loaded copy of each shipped model, and of the certificates, for a process and what it forks.

Loading one takes most of the time of a short search or request. With one thread a model has no pool
of threads that a fork would lose.
"""

from __future__ import annotations

import functools

import httpx._transports.default as http

from kinen.embed.onnx import MODELS, Loaded, OnnxEmbedder

opened = OnnxEmbedder._open


@functools.cache
def shipped(model: str) -> Loaded:
    return opened(OnnxEmbedder(model=model, threads=1))


def share() -> None:
    """Every embedder and every client of this process uses one copy, loaded for the first."""
    http.create_ssl_context = functools.cache(http.create_ssl_context)
    names = {model.file: name for name, model in MODELS.items()}
    OnnxEmbedder._open = lambda self: (  # type: ignore[method-assign]
        shipped(names[self._shipped.file]) if self._shipped else opened(self)
    )
