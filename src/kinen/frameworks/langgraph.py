"""LangGraph: a store for long-term memory, in the journal.

    graph.compile(store=KinenStore())

A value is an observation of a session that is named by its namespace and key. Putting a value again
adds an observation, and the newest counts; deleting one forgets all of them.
"""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, unquote

from kinen.frameworks.history import History, described, quietly
from kinen.ipc import extras
from kinen.memory import Memory
from kinen.model.journal import Observation
from kinen.model.records import Query

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        PutOp,
        SearchItem,
        SearchOp,
    )
except ImportError as error:
    raise ImportError(extras.missing("kinen.frameworks.langgraph", "langgraph")) from error


CANDIDATES = 100
"""Hits of a search that are looked at for values of a namespace."""
Namespace = tuple[str, ...]


class KinenStore(BaseStore):  # type: ignore[misc]
    """Implements LangGraph's `BaseStore`; the memory is that of the working folder if omitted.

    A search with a query ranks by words and meaning. Secrets in values are masked.
    """

    __slots__ = ("_history",)

    def __init__(self, memory: Memory | None = None) -> None:
        self._history = History(memory, "langgraph")

    def batch(self, ops: Iterable[Any]) -> list[Any]:
        """The results of operations, in their order."""
        return [self._result(op) for op in ops]

    async def abatch(self, ops: Iterable[Any]) -> list[Any]:
        return await asyncio.to_thread(self.batch, list(ops))

    def _result(self, op: Any) -> Any:
        if isinstance(op, GetOp):
            return quietly(None, self._get, op.namespace, op.key)
        if isinstance(op, PutOp):
            return quietly(None, self._put, op)
        if isinstance(op, SearchOp):
            return quietly(list[Any](), self._search, op)
        if isinstance(op, ListNamespacesOp):
            return quietly(list[Any](), self._namespaces, op)
        raise ValueError(f"unknown operation {type(op).__name__}")

    def _get(self, namespace: Namespace, key: str) -> Item | None:
        observations = self._history.observations(self._history.scope(_session(namespace, key)))
        return Item(**_fields(observations, namespace, key)) if observations else None

    def _put(self, op: PutOp) -> None:
        scope = self._history.scope(_session(op.namespace, op.key))
        if op.value is None:
            self._history.clear(scope)
        else:
            self._history.add(scope, [(described(op.value), op.value)])

    def _search(self, op: SearchOp) -> list[SearchItem]:
        prefix = tuple(op.namespace_prefix)
        ranked = self._ranked(op.query) if op.query else ((name, None) for name in self._all())
        items = []
        for (namespace, key), score in ranked:
            if namespace[: len(prefix)] != prefix:
                continue
            observations = self._history.observations(self._history.scope(_session(namespace, key)))
            if observations and _matches(observations[-1].provenance["value"], op.filter):
                items.append(SearchItem(**_fields(observations, namespace, key), score=score))
        return items[op.offset : op.offset + op.limit]

    def _ranked(self, query: str) -> Iterator[tuple[tuple[Namespace, str], float]]:
        """The names of values that match a query, best first, each once."""
        names: set[str] = set()
        question = Query(query, limit=CANDIDATES, agent="langgraph")
        for hit in self._history.memory.search(question):
            if hit.record.session not in names:
                names.add(hit.record.session)
                yield _name(hit.record.session), hit.score

    def _all(self) -> list[tuple[Namespace, str]]:
        return [_name(scope.session) for scope in self._history.sessions()]

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        namespaces = {
            namespace[: op.max_depth]
            for namespace, key in self._all()
            if self._get(namespace, key)
            and all(_fits(namespace, condition) for condition in op.match_conditions or ())
        }
        return sorted(namespaces)[op.offset : op.offset + op.limit]


def _session(namespace: Namespace, key: str) -> str:
    return "/".join(quote(part, safe="") for part in (*namespace, key))


def _name(session: str) -> tuple[Namespace, str]:
    *namespace, key = map(unquote, session.split("/"))
    return tuple(namespace), key


def _fields(observations: list[Observation], namespace: Namespace, key: str) -> dict[str, Any]:
    return {
        "namespace": namespace,
        "key": key,
        "value": observations[-1].provenance["value"],
        "created_at": _time(observations[0].ts),
        "updated_at": _time(observations[-1].ts),
    }


def _time(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def _matches(value: dict[str, Any], wanted: dict[str, Any] | None) -> bool:
    """Whether a value has the fields of a filter, each equal or compared by an operator."""
    for name, condition in (wanted or {}).items():
        operators = isinstance(condition, dict) and set(condition) <= set(_COMPARISONS)
        comparisons = condition if operators else {"$eq": condition}
        for comparison, other in comparisons.items():
            if name not in value or not _COMPARISONS[comparison](value[name], other):
                return False
    return True


def _fits(namespace: Namespace, condition: MatchCondition) -> bool:
    path = condition.path
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :]
    equal = (name in ("*", actual) for name, actual in zip(path, part, strict=False))
    return len(part) == len(path) and all(equal)
