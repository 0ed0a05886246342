"""Text and JSON of records, hits, journal entries and reports, the same for every surface."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kinen.render.graph import (
        broken_text,
        edges_json,
        graph_dot,
        graph_mermaid,
        links_text,
        related_json,
        related_text,
    )
    from kinen.render.json import (
        counts_json,
        hit_json,
        hits_json,
        record_json,
        status_json,
        tag_json,
        to_json,
        vote_json,
    )
    from kinen.render.text import (
        counts_text,
        hit_text,
        hits_text,
        record_text,
        records_text,
        report_text,
        search_text,
        status_text,
    )

__all__ = [
    "broken_text",
    "counts_json",
    "counts_text",
    "edges_json",
    "graph_dot",
    "graph_mermaid",
    "hit_json",
    "hit_text",
    "hits_json",
    "hits_text",
    "links_text",
    "record_json",
    "record_text",
    "records_text",
    "related_json",
    "related_text",
    "report_text",
    "search_text",
    "status_json",
    "status_text",
    "tag_json",
    "to_json",
    "vote_json",
]


def __getattr__(name: str) -> object:
    """Each name is loaded when it is used: a search in a terminal renders no JSON and no graph."""
    from importlib import import_module

    for module in ("text", "json", "graph"):
        loaded = import_module(f"kinen.render.{module}")
        if name in __all__ and hasattr(loaded, name):
            globals()[name] = getattr(loaded, name)
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
