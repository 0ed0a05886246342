"""What a framework hands over to be stored, in the journal: one observation for each value.

A value comes back as it was stored, except that secrets in it are masked. Removing one forgets its
observation for good. `quietly` is the one place that keeps a program from failing because of its
memory: what goes wrong is logged by the logger `kinen.frameworks`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any, TypeVar

from kinen.ids import key_id, milliseconds
from kinen.memory import Memory
from kinen.model.journal import Observation, Scope
from kinen.model.records import Query
from kinen.privacy.quote import quoted
from kinen.recall.tiers import shown
from kinen.text import excerpt

T = TypeVar("T")
INTENT = 120
"""Characters of what a session is about: its first text."""
PAGE = 1_000
"""Observations that are read at a time."""

log = logging.getLogger("kinen.frameworks")
lock = threading.RLock()
"""One memory serves all threads of a program, one call at a time."""


def quietly(default: T, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Call a function of the memory; what goes wrong is logged, and the default returned."""
    try:
        with lock:
            return function(*args, **kwargs)
    except Exception as error:
        log.warning("memory: %s", error)
        return default


async def in_thread(default: T, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """`quietly`, in a thread: a slow memory does not hold up the event loop."""
    return await asyncio.to_thread(partial(quietly, default, function, *args, **kwargs))


@cache
def memory_of(folder: str) -> Memory:
    """The memory of a folder, opened once."""
    return Memory.open(folder)


def recall(memory: Memory, question: str, budget: int = 600) -> str:
    """What the memory knows about a question, as text for a model."""
    return quoted(shown(memory.recall(Query(question, budget=budget))))


class History:
    """The values of one framework; each session of it is a capsule."""

    def __init__(self, memory: Memory | None, agent: str) -> None:
        """Without a memory, that of the working folder is opened when it is first needed."""
        self._memory = memory
        self._agent = agent
        self._last = 0

    @property
    def memory(self) -> Memory:
        return self._memory or memory_of(os.getcwd())

    def scope(self, session: str, task: str = "", user: str = "") -> Scope:
        return Scope(session=session, agent=self._agent, task=task, user=user)

    def add(
        self,
        scope: Scope,
        entries: Iterable[tuple[str, Any]],
        *,
        key: Callable[[Any], str] = lambda _: "",
        **provenance: Any,
    ) -> None:
        """Store values, each with its text; values with the same key in a scope are stored once."""
        capsule = ""
        for text, value in entries:
            words = text.strip() or self._agent
            if not capsule:
                journal = self.memory.journal
                capsule = journal.open_capsule(excerpt(words, INTENT), scope=scope, resume=True).id
            name = key(value)
            self._last = max(self._last + 1, milliseconds() * 1_000_000)
            self.memory.observe(
                words,
                scope=scope,
                capsule=capsule,
                provenance={**provenance, "place": self._last, "value": value},
                id=key_id(self._agent, scope.task, scope.session, name) if name else "",
            )

    def observations(self, scope: Scope) -> list[Observation]:
        """The observations of a scope, in the order in which they were added."""
        journal = self.memory.journal
        entries: list[Observation] = []
        past: tuple[int, str] | None = None
        while True:
            page, past = journal.page("observations", PAGE, scope=scope, redacted=False, past=past)
            entries += page
            if past is None:
                break
        stored = [entry for entry in entries if "value" in entry.provenance]
        return sorted(stored, key=lambda entry: (entry.provenance.get("place", 0), entry.id))

    def values(self, scope: Scope) -> list[Any]:
        return [entry.provenance["value"] for entry in self.observations(scope)]

    def sessions(self) -> list[Scope]:
        """The scopes of the framework's sessions, in the order of their names."""
        capsules = self.memory.journal.entries("capsules", agent=self._agent)[0]
        return sorted({capsule.scope for capsule in capsules if capsule.scope.agent == self._agent})

    def remove(self, observations: Sequence[Observation]) -> None:
        for observation in observations:
            self.memory.journal.forget(observation.ref)

    def clear(self, scope: Scope) -> None:
        """Forget a session with everything in it."""
        capsules = self.memory.journal.entries("capsules", session=scope.session)[0]
        for capsule in capsules:
            if capsule.scope._replace(repo="") == scope._replace(repo=""):
                self.memory.journal.forget(capsule.ref)
        self.remove(self.observations(scope))


def text_of(value: Any) -> str:
    """The readable text of a JSON value: its strings, as far as they are words and not names."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        for name in ("text", "content", "output", "message", "parts"):
            text = text_of(value[name]) if value.get(name) else ""
            if text:
                return text
        return ""
    if isinstance(value, Sequence):
        return "\n".join(filter(None, map(text_of, value)))
    return ""


def described(value: Mapping[str, Any]) -> str:
    """A value as text to be found by: its own, or its fields."""
    return text_of(value) or json.dumps(value, ensure_ascii=False, default=str)
