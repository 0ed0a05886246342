"""The memory of one space: `Memory`, and the parts that it is made of."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kinen.memory.memory import Memory

__all__ = ["Memory"]


def __getattr__(name: str) -> object:
    """`Memory` is loaded when it is used: its modules import this package."""
    if name != "Memory":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kinen.memory.memory import Memory

    globals()[name] = Memory
    return Memory
