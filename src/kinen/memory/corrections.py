"""Memories that a person corrects: words, merges, successors, hiding; and undoing it."""

from __future__ import annotations

import json
from typing import cast

from kinen.consolidation.fold import memory_id
from kinen.errors import Ambiguous, NotFound, QueryError
from kinen.journal import erase, queries
from kinen.journal import memories as learn
from kinen.journal.authors import attributed
from kinen.memory.core import Core
from kinen.model.journal import Learned
from kinen.text import now

LONGEST = 2_000
"""Characters of a memory that a person words."""
REMEMBERED = 20
"""Corrections that can be undone, the last one first."""
HINT = "`kinen memories list` shows them"


class Corrections:
    """Memories by their ids, and what a person changes in them."""

    _core: Core

    def get(self, name: str) -> Learned:
        """A memory by its ref, its id or the start of its id."""
        if not self._core.store.exists:
            raise NotFound(f"no memory {name!r}", HINT)
        try:
            id_ = self._core.store.resolve(name, ["memory"])[1]
        except Ambiguous:
            raise
        except NotFound as error:
            raise NotFound(error.message, HINT) from None
        memory: Learned = self._core.store.entry("memory", id_)
        if memory.forgotten_at:
            raise NotFound(f"{memory.ref} was forgotten for good", HINT)
        return cast("Learned", attributed(self._core.store.db, [memory])[0])

    def hide(self, name: str) -> Learned:
        """Hide a memory everywhere; it is not drawn again, and can be restored."""
        memory = self.get(name)
        self._hide(memory.ref)
        self._remember("hide", memory.ref)
        return memory

    def restore(self, name: str) -> Learned:
        """Show a hidden memory again."""
        memory = self.get(name)
        self._show(memory.ref)
        self._remember("restore", memory.ref)
        return memory

    def edit(self, name: str, content: str) -> Learned:
        """Put a memory into other words: a new one with the same sources, and the old one hidden.

        A person's words are certain. The same words as before change nothing.
        """
        old = self.get(name)
        text = " ".join(content.split())
        if not text or len(text) > LONGEST:
            raise QueryError("no wording, or a long one", f"use 1 to {LONGEST:,} characters")
        new = old._replace(
            id=memory_id(old.type, text),
            content=text,
            confidence=1.0,
            created_at=round(now() * 1000),
            superseded_by="",
            redacted=False,
        )
        if new.id == old.id:
            return old
        self._store(new)
        self._show(new.ref)
        self._hide(old.ref)
        self._remember("edit", new.ref, old.ref)
        return self.get(new.ref)

    def merge(self, name: str, into: str) -> Learned:
        """Give the sources of a memory to another one, and hide it."""
        memory = self.get(name)
        other = self.get(into)
        if memory.id == other.id:
            raise QueryError("a memory cannot be merged into itself", "name another one")
        new = [ref for ref in memory.derived_from if ref not in other.derived_from]
        self._store(other._replace(derived_from=(*other.derived_from, *new)))
        self._hide(memory.ref)
        self._remember("merge", memory.ref, other.ref, *new)
        return self.get(other.ref)

    def supersede(self, name: str, by: str) -> Learned:
        """Mark a memory as superseded by a newer one; by none, as valid again."""
        memory = self.get(name)
        newer = self.get(by).id if by else ""
        if newer == memory.id:
            raise QueryError("a memory cannot supersede itself", "name another one")
        self._store(memory._replace(superseded_by=newer))
        self._remember("supersede", memory.ref, memory.superseded_by)
        return self.get(memory.ref)

    def undo(self) -> tuple[str, Learned]:
        """Take back the last correction; returns its name, and the memory as it is again."""
        corrections = self._corrections()
        if not corrections:
            raise NotFound(
                "no correction to undo", "edit, merge, supersede or forget a memory first"
            )
        action, ref, other, *sources = corrections.pop()
        if action == "supersede":
            self._store(self.get(ref)._replace(superseded_by=other))
        elif action == "edit":
            self._show(other)
            self._hide(ref)
            ref = other
        elif action == "restore":
            self._hide(ref)
        else:
            self._show(ref)
        if sources:
            with self._core.store.writing() as db:
                learn.drop_sources(db, other.removeprefix("memory:"), sources)
        self._write(corrections)
        return action, self.get(ref)

    def _store(self, memory: Learned) -> None:
        with self._core.store.translated():
            learn.learn(self._core.store.db, [memory])

    def _hide(self, ref: str) -> None:
        erase.suppress(self._core.store, ref, round(now() * 1000))

    def _show(self, ref: str) -> None:
        if ref in queries.suppressed(self._core.store.db):
            erase.unsuppress(self._core.store, ref)

    def _corrections(self) -> list[list[str]]:
        """The last corrections, oldest first: what was done, the ref, another ref or id.

        After those of a merge come the sources that the other memory got.
        """
        return list(json.loads(self._core.store.noted("corrections") or "[]"))

    def _remember(self, action: str, ref: str, other: str = "", *sources: str) -> None:
        self._write([*self._corrections(), [action, ref, other, *sources]][-REMEMBERED:])

    def _write(self, corrections: list[list[str]]) -> None:
        self._core.store.note("corrections", json.dumps(corrections))
