"""Questions to several spaces at once, without indexing any of them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from kinen import config as configuration
from kinen import paths
from kinen.errors import EmbedError, KinenError, NotFound, QueryError, StoreError
from kinen.memory.memory import Memory
from kinen.model.journal import Item, Recall
from kinen.model.records import Hit, Hits, Query
from kinen.query import storable_query
from kinen.recall import tiers
from kinen.recall.floor import NOTHING_CLOSE, in_order
from kinen.recall.order import arranged
from kinen.recall.search import worded
from kinen.space import find as spaces

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from kinen.space.registry import Space

    T = TypeVar("T")
    Open = Callable[[Space], AbstractContextManager[Memory]]

SHARES = 3
"""Spaces up to which each gets its part of the budget; more of them compete for thirds."""
THREADS = 8
"""Spaces that are asked at the same time."""


def _chosen(names: Sequence[str]) -> Sequence[Space]:
    return spaces.resolve_names(paths.default_home(os.environ), names)


def _open(space: Space) -> Memory:
    return Memory(space, configuration.load(space.home, space.root))


class _Vectors:
    """Vectors of questions: a question is embedded once for all spaces with the same model."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._vectors: dict[tuple[object, ...], Any] = {}

    def add(self, memory: Memory, query: Query) -> Query:
        """The query with the vector of its text, if its mode needs one."""
        text = worded(storable_query(query)).text
        if query.mode == "fulltext" or query.vector is not None or not text.strip():
            return query
        try:
            embedder = memory.core.embedder
            if embedder is None:
                return query
            key = (text, embedder.fingerprint)
            with self._lock:
                if key not in self._vectors:
                    self._vectors[key] = embedder.embed([text], query=True)[0]
        except EmbedError:  # the search of each space reports it
            return query
        return query._replace(vector=self._vectors[key])


def ask_spaces(
    names: Sequence[str],
    ask: Callable[[Memory], T],
    on_error: Callable[[str], None],
    *,
    opener: Open | None = None,
    threads: int = THREADS,
) -> list[T]:
    """What each of several spaces answers, in the order of their names; `all` is every one.

    `threads` are asked at a time, and none is indexed for it. A space that cannot be read is left
    out, and `on_error` gets the reason.
    """

    def work(space: Space) -> T | KinenError:
        try:
            with (opener or _open)(space) as memory:
                memory.core.frozen = True
                return ask(memory)
        except KinenError as error:
            return error
        except sqlite3.DatabaseError as error:
            return StoreError(f"a database is damaged: {error}", "run `kinen doctor` there")

    chosen = _chosen(names)
    answers: list[T] = []
    with ThreadPoolExecutor(min(threads, max(1, len(chosen)))) as pool:
        for space, answer in zip(chosen, pool.map(work, chosen), strict=True):
            if isinstance(answer, KinenError):
                on_error(f"{space.name}: {answer}")
            else:
                answers.append(answer)
    return answers


def search_spaces(
    names: Sequence[str], ask: Callable[[Memory], Query], *, opener: Open | None = None
) -> Hits:
    """Search several spaces and merge by score: scores lie in 0..1 and compare between them.

    One after the other: a space does not load what has a lower score than enough hits of those
    before it, which saves more time than threads do.
    """
    notes: list[str] = []
    vectors = _Vectors()
    best: list[float] = []

    def answer(memory: Memory) -> tuple[str, Query, Hits]:
        query = ask(memory)
        own_query = vectors.add(memory, query)
        if len(best) >= query.limit:
            own_query = own_query._replace(min_score=max(query.min_score, best[query.limit - 1]))
        try:
            hits = memory.search(own_query)
        except QueryError as error:
            if error.parameter != "paths":  # they are in another space
                raise
            hits = Hits((), query, query.mode)
        best.extend(hit.score for hit in hits)
        best.sort(reverse=True)
        return memory.space.name, query, hits

    merged: list[Hit] = []
    query = Query("")
    mode = ""
    for name, own_query, hits in ask_spaces(names, answer, notes.append, opener=opener, threads=1):
        query = own_query
        mode = mode or hits.mode
        merged += [hit._replace(space=name) for hit in hits]
        notes += [f"{name}: {note}" for note in hits.notes]
    if merged:  # weak hits of other spaces do not count
        notes = [note for note in notes if NOTHING_CLOSE not in note]
    merged.sort(key=lambda hit: (-hit.score, hit.space, hit.record.ref, hit.chunk.n))
    return in_order(Hits(tuple(merged[: query.limit]), query, mode or query.mode, tuple(notes)))


def recall_spaces(
    names: Sequence[str], query: Query, *, full: bool = False, opener: Open | None = None
) -> Recall:
    """Recall from several spaces: the pins of each, and the best hits of all."""
    shares = max(1, min(len(_chosen(names)), SHARES))
    vectors = _Vectors()

    def answer(memory: Memory) -> tuple[int, list[Item], list[Item], list[str]]:
        name = memory.space.name
        budget = query.budget or memory.config.recall.budget
        try:
            collection = memory.recaller.collect(vectors.add(memory, query), budget, 0)
        except NotFound:
            if query.issue:  # it is in another space
                return budget, [], [], []
            raise
        pins = [item for item in collection.always if item.tier in ("issue", "pins")]
        items, _ = memory.recaller.items(query, collection.hits, budget // shares, full=full)
        return (
            budget,
            [tiers.priced(pin._replace(space=name)) for pin in pins],
            [tiers.priced(item._replace(space=name)) for item in items],
            [f"{name}: {note}" for note in (*collection.notes, *collection.hits.notes)],
        )

    always: list[Item] = []
    hits: list[Item] = []
    notes: list[str] = []
    budget = 0
    for size, pins, items, remarks in ask_spaces(names, answer, notes.append, opener=opener):
        budget = max(budget, size)
        always += pins
        hits += items
        notes += remarks
    if query.issue and not (always or hits):
        notes.append(f"no issue {query.issue!r} in these spaces")
    hits.sort(key=lambda item: (-item.score, item.space, item.ref))
    hits = arranged(query.text, hits[: query.limit])
    method = query.mode if query.text.strip() else "recent"
    recall = tiers.tiers(query.text, budget, always, hits, notes)
    return recall._replace(search_method=method)
