"""One loaded copy of each shipped model for a whole process, and for what it forks.

Loading one takes most of the time of a short search. With one thread it has no pool of threads that
a fork would lose.
"""

from __future__ import annotations

import functools

from kinen.embed.onnx import MODELS, Loaded, OnnxEmbedder

opened = OnnxEmbedder._open


@functools.cache
def shipped(model: str = "english") -> Loaded:
    return opened(OnnxEmbedder(model=model, threads=1))


def share() -> None:
    """Every embedder of this process uses one copy, loaded when the first needs it."""
    names = {model.file: name for name, model in MODELS.items()}
    OnnxEmbedder._open = lambda self: (  # type: ignore[method-assign]
        shipped(names[self._shipped.file]) if self._shipped else opened(self)
    )
