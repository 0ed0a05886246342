"""Requests of the API as queries, the same for endpoints and pages."""

from __future__ import annotations

from typing import Any

from kinen.api import requests
from kinen.api.verbs import moment
from kinen.memory import Memory
from kinen.model.records import Query
from kinen.query import recall_query, search_query


def search_of(memory: Memory, request: requests.Search) -> Query:
    """The query of a search request, with the defaults of the space."""
    drop = {"query", "explain", "verbose", "colour", "width", "space", "folder"}
    fields = request.model_dump(exclude=drop)
    fields["near"] = [memory.git.current_name(memory.git.inside(path)) for path in request.near]
    fields |= _period(request)
    return search_query(request.query, memory.config.search, **fields)


def recall_of(request: requests.Recall) -> Query:
    fields = request.model_dump(exclude={"query", "full", "distill", "distiller", "space"})
    return recall_query(request.query, **(fields | _period(request)))


def _period(request: requests.Search | requests.Recall) -> dict[str, Any]:
    return {"since": moment(request.since), "until": moment(request.until, end=True)}
