"""Questions to several spaces at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from kinen import config as configuration
from kinen import paths
from kinen.errors import KinenError
from kinen.memory.memory import Memory
from kinen.model.journal import Item, Recall
from kinen.model.records import Hit, Hits, Query
from kinen.space import find as spaces

if TYPE_CHECKING:
    from kinen.space.registry import Space

    T = TypeVar("T")

SHARES = 3
"""Spaces up to which each gets its part of the budget; more of them compete for thirds."""


def _chosen(names: Sequence[str]) -> Sequence[Space]:
    return spaces.resolve_names(paths.default_home(os.environ), names)


def _open(space: Space) -> Memory:
    return Memory(space, configuration.load(space.home, space.root))


def _memories(names: Sequence[str]) -> Iterator[Memory]:
    """The memory of each space; `all` is every registered one."""
    for space in _chosen(names):
        with _open(space) as memory:
            yield memory


def search_spaces(names: Sequence[str], ask: Callable[[Memory], Query]) -> Hits:
    """Search several spaces and merge by score: scores lie in 0..1 and compare between them."""
    merged: list[Hit] = []
    notes: list[str] = []
    query = Query("")
    for memory in _memories(names):
        name = memory.space.name
        query = ask(memory)
        hits = memory.search(query)
        merged += [hit._replace(space=name) for hit in hits]
        notes += [f"{name}: {note}" for note in hits.notes]
    merged.sort(key=lambda hit: (-hit.score, hit.space, hit.record.ref, hit.chunk.n))
    return Hits(tuple(merged[: query.limit]), query, query.mode, tuple(notes))


def recall_spaces(names: Sequence[str], query: Query, *, full: bool = False) -> Recall:
    """Recall from several spaces: the pins of each, and the best hits of all."""
    from kinen.recall import tiers

    always: list[Item] = []
    hits: list[Item] = []
    notes: list[str] = []
    budget = 0
    shares = max(1, min(len(_chosen(names)), SHARES))
    for memory in _memories(names):
        name = memory.space.name
        budget = max(budget, query.budget or memory.config.recall.budget)
        collected = memory.recaller.collect(query, budget, 0)
        pins = [item for item in collected.always if item.tier == "pins"]
        always += [tiers.item("pins", pin.ref, pin.text, space=name) for pin in pins]
        items, _ = memory.recaller.items(query, collected.hits, budget // shares, full=full)
        hits += [tiers.in_space(item, name) for item in items]
        notes += [f"{name}: {note}" for note in (*collected.notes, *collected.hits.notes)]
    hits.sort(key=lambda item: (-item.score, item.space, item.ref))
    return tiers.tiers(query.text, budget, always, hits[: query.limit], notes)


def ask_spaces(
    names: Sequence[str], ask: Callable[[Memory], T], on_error: Callable[[str], None]
) -> list[T]:
    """What each of several spaces answers; `all` is every registered one.

    A space that cannot be read is left out, and `on_error` learns why.
    """
    answers: list[T] = []
    for space in _chosen(names):
        try:
            with _open(space) as memory:
                answers.append(ask(memory))
        except KinenError as error:
            on_error(f"{space.name}: {error}")
    return answers
