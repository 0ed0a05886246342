"""kinen: local, lossless, explained memory for AI coding agents.

from kinen import Memory, Query

with Memory.open("path/to/space") as memory:
    memory.sync()
    hits = memory.search(Query("why did we drop redis?"))
    memory.observe("we moved sessions to Postgres", scope={"session": "s1"})
    recall = memory.recall(Query("sessions", budget=500))
    memory.git.history("src/auth.py"), memory.git.cochanged(["src/auth.py"])
"""

from __future__ import annotations

# As typing.TYPE_CHECKING, without its 4 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from kinen.errors import KinenError
    from kinen.memory import Memory
    from kinen.model.documents import Companion, Report, Revision
    from kinen.model.journal import Capsule, Observation, Pin, Recall, Scope, Summary
    from kinen.model.records import Chunk, Edge, Hit, Hits, Query, Record, Vote

__version__ = "0.1.0"
__all__ = [
    "Capsule",
    "Chunk",
    "Companion",
    "Edge",
    "Hit",
    "Hits",
    "KinenError",
    "Memory",
    "Observation",
    "Pin",
    "Query",
    "Recall",
    "Record",
    "Report",
    "Revision",
    "Scope",
    "Summary",
    "Vote",
    "__version__",
]


def __getattr__(name: str) -> object:
    """Public names are loaded when they are used: `import kinen` itself costs nothing."""
    if name not in __all__:
        raise AttributeError(f"module 'kinen' has no attribute {name!r}")
    from importlib import import_module

    homes = {"Memory": "memory", "KinenError": "errors"}
    homes |= dict.fromkeys(
        ("Capsule", "Observation", "Pin", "Recall", "Scope", "Summary"), "model.journal"
    )
    homes |= dict.fromkeys(("Companion", "Report", "Revision"), "model.documents")
    home = homes.get(name, "model.records")
    found: object = getattr(import_module(f"kinen.{home}"), name)
    return found
