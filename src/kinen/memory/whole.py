"""The whole of a memory, and what is asked of several."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from kinen import config as configuration
from kinen import paths
from kinen.errors import KinenError, NotFound
from kinen.memory.experience import Experience
from kinen.memory.recall import recall_spaces
from kinen.model.records import Hits, Query
from kinen.space import find as spaces

__all__ = ["Memory", "ask_spaces", "recall_spaces", "search_spaces"]

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    T = TypeVar("T")

    from kinen.journal.erase import Erased
    from kinen.memory.ledger import Ledger


class Memory(Experience):
    """The memory of one space. Use it as a context manager, or close it."""

    @property
    def ledger(self) -> Ledger:
        """What agents were told."""
        from kinen.memory.ledger import Ledger

        self._file("ledger.db")
        return Ledger(self.space.data, self._journal)

    def _erase(self, ref: str, *, forget: bool) -> Erased:
        """Take out an entry, and what agents were told of it."""
        text = self._text_of(ref)
        erased = super()._erase(ref, forget=forget)
        if not erased.suppressed:
            self.ledger.erase(erased.refs, [text] if text else [])
        return erased

    def _text_of(self, ref: str) -> str:
        """The text of an entry of the journal, before it goes."""
        from kinen.journal import queries

        with contextlib.suppress(NotFound):
            if self._journal.exists:
                kind, id_ = queries.resolve(self._journal.db, ref)
                return str(getattr(queries.entry(self._journal.db, kind, id_), "content", ""))
        return ""


def search_spaces(names: Sequence[str], ask: Callable[[Memory], Query]) -> Hits:
    """Search several spaces and merge by score: scores lie in 0..1 and compare between them."""
    found, notes, query = [], [], Query("")
    for space in spaces.resolve_names(paths.default_home(os.environ), names):
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
    for space in spaces.resolve_names(paths.default_home(os.environ), names):
        try:
            with Memory(space, configuration.load(space.home, space.root)) as memory:
                answers.append(ask(memory))
        except KinenError as error:
            on_error(f"{space.name}: {error}")
    return answers
