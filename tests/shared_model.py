"""One loaded copy of the shipped model for a whole process, and for what it forks.

Loading it takes most of the time of a short search. With one thread it has no pool of threads that
a fork would lose.
"""

from __future__ import annotations

import functools

from kinen.embed.onnx import Loaded, OnnxEmbedder

opened = OnnxEmbedder._open


@functools.cache
def shipped() -> Loaded:
    return opened(OnnxEmbedder(threads=1))


def share() -> None:
    """Every embedder of this process uses one shipped model, loaded when the first needs it."""
    OnnxEmbedder._open = lambda self: (  # type: ignore[method-assign]
        shipped() if self._shipped else opened(self)
    )
