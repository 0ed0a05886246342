"""Memory: the façade that every surface uses, and the only place that wires parts together.

It is built in layers, each a module. What is named here is loaded when it is asked for: a search
needs the lowest of them (docs/decisions/0002-cold-start.md).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kinen.memory.whole import Memory, ask_spaces, recall_spaces, search_spaces

__all__ = ["Memory", "ask_spaces", "recall_spaces", "search_spaces"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kinen.memory import whole

    return getattr(whole, name)
