"""The whole of a memory, and what is asked of several."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kinen import config as configuration
from kinen import space as spaces
from kinen.errors import KinenError
from kinen.memory.importing import Importing
from kinen.memory.recalling import recall_spaces
from kinen.model import Hits, Query

__all__ = ["Memory", "ask_spaces", "recall_spaces", "search_spaces"]

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    T = TypeVar("T")


class Memory(Importing):
    """The memory of one space. Use it as a context manager, or close it."""


def search_spaces(names: Sequence[str], ask: Callable[[Memory], Query]) -> Hits:
    """Search several spaces and merge by score: scores lie in 0..1 and compare between them."""
    found, notes, query = [], [], Query("")
    for space in spaces.resolve_names(configuration.default_home(os.environ), names):
        with Memory(space, configuration.load(space.home, space.root)) as memory:
            query = ask(memory)
            hits = memory.search(query)
            found += [hit._replace(space=space.name) for hit in hits]
            notes += [f"{space.name}: {note}" for note in hits.notes]
    found.sort(key=lambda hit: (-hit.score, hit.space, hit.record.ref, hit.chunk.n))
    return Hits(tuple(found[: query.limit]), query, query.mode, tuple(notes))


def ask_spaces(
    names: Sequence[str], ask: Callable[[Memory], T], on_error: Callable[[str], None]
) -> list[T]:
    """What each of several spaces answers; `all` is every registered one.

    A space that cannot be read is left out, and `on_error` learns why.
    """
    answers: list[T] = []
    for space in spaces.resolve_names(configuration.default_home(os.environ), names):
        try:
            with Memory(space, configuration.load(space.home, space.root)) as memory:
                answers.append(ask(memory))
        except KinenError as error:
            on_error(f"{space.name}: {error}")
    return answers
