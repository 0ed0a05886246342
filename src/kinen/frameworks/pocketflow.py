"""PocketFlow: a flow becomes a capsule, its nodes become observations in it.

    class Plan(Remembering, Node):   # a node or flow of your own: the mixin comes first
        ...

    remember(flow, memory)           # a flow that you do not own, with all its nodes

A flow inside a flow is a part of the outer capsule, and so is a node that runs alone. Whatever goes
wrong with the memory is logged; the flow never fails because of it.
"""

from __future__ import annotations

import os
import reprlib
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

from kinen.frameworks.history import memory_of, quietly, recall
from kinen.ids import ulid
from kinen.ipc import extras
from kinen.memory import Memory
from kinen.model.journal import Scope
from kinen.privacy import entrance

try:
    from pocketflow import BaseNode, Flow, Node
except ImportError as error:
    raise ImportError(extras.missing("kinen.frameworks.pocketflow", "pocketflow")) from error


LONGEST = 2_000
"""Characters of a parameter or an output that are recorded."""
SCANNED = 100_000
"""Characters of a text that are searched for secrets before it is cut."""
STEPS = 30
"""Nodes that the summary of a flow names."""

_quietly = partial(quietly, None)
_current: ContextVar[Run | None] = ContextVar("kinen_pocketflow", default=None)


class Remembering:
    """A mixin for nodes and flows; it goes before the class of PocketFlow.

    The memory is that of the enclosing flow, unless the object or its class has its own.
    """

    memory: Memory | None = None

    def _run(self, shared: Any) -> Any:
        with _recorded(self) as run:
            action = super()._run(shared)  # type: ignore[misc]
            run.action = action
        return action

    async def _run_async(self, shared: Any) -> Any:
        with _recorded(self) as run:
            action = await super()._run_async(shared)  # type: ignore[misc]
            run.action = action
        return action

    def _exec(self, prepared: Any) -> Any:
        run = _current.get()
        if hasattr(self, "exec_async"):
            return self._exec_async(run, prepared)
        with _watched(self, "exec", _attempts, run):
            output = super()._exec(prepared)  # type: ignore[misc]
        return _output(run, output)

    async def _exec_async(self, run: Run | None, prepared: Any) -> Any:
        with _watched(self, "exec_async", _async_attempts, run):
            output = await super()._exec(prepared)  # type: ignore[misc]
        return _output(run, output)


class Recall(Node):  # type: ignore[misc]
    """A node that asks the memory: the answer to `shared[question]` goes to `shared[answer]`.

    The memory is that of the working folder if omitted.
    """

    def __init__(
        self,
        memory: Memory | None = None,
        *,
        question: str = "question",
        answer: str = "memory",
        budget: int = 600,
    ) -> None:
        super().__init__()
        self.memory = memory
        self.question = question
        self.answer = answer
        self.budget = budget

    def prep(self, shared: Any) -> str:
        return str(shared.get(self.question, ""))

    def exec(self, question: str) -> str:
        return quietly("", self._recall, question)

    def _recall(self, question: str) -> str:
        return recall(self.memory or memory_of(os.getcwd()), question, self.budget)

    def post(self, shared: Any, _question: str, answer: str) -> None:
        shared[self.answer] = answer


def remember(flow: BaseNode, memory: Memory) -> BaseNode:
    """Make a flow and every node that it can reach record into a memory; returns the flow."""
    waiting = [flow]
    visited: set[int] = set()
    while waiting:
        node = waiting.pop()
        if node is None or id(node) in visited:
            continue
        visited.add(id(node))
        waiting += node.successors.values()
        waiting.append(getattr(node, "start_node", None))
        quietly(None, _record_into, node, memory)
    return flow


def _record_into(node: BaseNode, memory: Memory) -> None:
    if not isinstance(node, (Remembering, Recall)):
        node.__class__ = _remembering(type(node))
    node.memory = memory


def _remembering(cls: type) -> type:
    """A subclass that records, with the name of the class."""
    names = {"__module__": cls.__module__, "__qualname__": cls.__qualname__}
    return type(cls.__name__, (Remembering, cls), names)


class Run:
    """A node or flow that is running, and the capsule that it is recorded in."""

    def __init__(self, memory: Memory | None, name: str, scope: Scope, outer: Run | None) -> None:
        self.memory = memory
        self.name = name
        self.scope = scope
        self.outer = outer
        self.capsule: str = outer.capsule if outer else ""
        self.action: Any = None
        self.steps: list[str] = []
        self.failures: dict[int, int] = {}
        self.recorded: BaseException | None = None
        self.began = time.monotonic()

    def observe(self, kind: str, text: str, **provenance: Any) -> None:
        if self.memory is None:
            return
        self.memory.observe(
            text,
            kind=kind,
            scope=self.scope,
            capsule=self.capsule,
            provenance={"node": self.name, **provenance},
        )

    def failed(self, item: Any, error: Exception) -> None:
        """Record an attempt that failed; several inputs of a batch are counted apart."""
        self.recorded = error
        self.failures[id(item)] = self.failures.get(id(item), 0) + 1
        text = f"{self.name}: {_described(error)}"
        attempt = self.failures[id(item)]
        _quietly(self.observe, "node_error", text, attempt=attempt, input=_shown(item))

    def open(self) -> None:
        if self.memory is None:
            return
        capsule = self.memory.journal.open_capsule(
            self.name,
            type="pocketflow_node",
            scope=self.scope,
            parent=self.outer.capsule if self.outer else "",
        )
        self.capsule = capsule.id

    def close(self, error: BaseException | None) -> None:
        if self.memory is None or not self.capsule:
            return
        steps = " → ".join(self.steps[:STEPS]) + (" → …" if len(self.steps) > STEPS else "")
        result = f"failed: {_described(error)}" if error else f"ended with {_action(self.action)}"
        summary = ": ".join(filter(None, (self.name, steps, result)))
        self.memory.journal.close_capsule(
            f"capsule:{self.capsule}", summary, confidence=0.5 if error else 1.0
        )


@contextmanager
def _recorded(node: Any) -> Iterator[Run]:
    """Record a node from its start to its end; a flow, or a node alone, in a capsule of its own."""
    outer = _current.get()
    memory = node.memory or (outer.memory if outer else None)
    name = type(node).__name__
    if memory is None:
        memory = quietly(None, lambda: memory_of(os.getcwd()))
    scope = outer.scope if outer else Scope(session=f"pocketflow-{ulid()}", agent="pocketflow")
    is_flow = isinstance(node, Flow)
    if is_flow and outer:
        scope = scope._replace(session=f"{outer.scope.session}.{ulid()}")
    run = Run(memory, name, scope, outer)
    owns_capsule = is_flow or outer is None
    if owns_capsule:
        _quietly(run.open)
    if outer:
        outer.steps.append(name)
    token = _current.set(run)
    if not is_flow:
        _quietly(run.observe, "node_start", f"{name} started", params=_shown(node.params))
    error: BaseException | None = None
    try:
        yield run
    except BaseException as raised:
        error = raised
        if not is_flow and run.recorded is not raised:
            _quietly(run.observe, "node_error", f"{name}: {_described(raised)}")
        raise
    finally:
        _current.reset(token)
        if not is_flow:
            spent = round((time.monotonic() - run.began) * 1000)
            ended = "failed" if error else f"ended with {_action(run.action)}"
            _quietly(run.observe, "node_end", f"{name} {ended}", duration_ms=spent)
        if owns_capsule:
            _quietly(run.close, error)


@contextmanager
def _watched(node: Any, method: str, watch: Callable[..., Any], run: Run | None) -> Iterator[None]:
    """Put a watched method in the place of a node's own, for PocketFlow's loop of retries."""
    if run is None:
        yield
        return
    patched = node.__dict__.get(method)
    setattr(node, method, watch(run, getattr(node, method)))
    try:
        yield
    finally:
        if patched is None:
            delattr(node, method)
        else:
            setattr(node, method, patched)


def _attempts(run: Run, method: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The method, with an observation for each attempt that fails."""

    def attempt(item: Any) -> Any:
        try:
            return method(item)
        except Exception as error:
            run.failed(item, error)
            raise

    return attempt


def _async_attempts(
    run: Run, method: Callable[[Any], Awaitable[Any]]
) -> Callable[[Any], Awaitable[Any]]:
    async def attempt(item: Any) -> Any:
        try:
            return await method(item)
        except Exception as error:
            run.failed(item, error)
            raise

    return attempt


def _output(run: Run | None, output: Any) -> Any:
    if run and output is not None:
        _quietly(run.observe, "node_output", _shown(output))
    return output


class _Shown(reprlib.Repr):
    """Values as bounded text, with the secrets in each string masked before it is cut."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 5
        self.maxdict = self.maxlist = self.maxtuple = self.maxset = 30

    def repr_str(self, text: str, _level: int) -> str:
        return repr(_cut(text))

    def repr_instance(self, value: Any, _level: int) -> str:
        try:
            return _cut(repr(value))
        except Exception:
            return f"<{type(value).__name__}>"


def _shown(value: Any) -> str:
    """A parameter, input or output as text of at most `LONGEST` characters."""
    if isinstance(value, str):
        return _cut(value)
    try:
        return _cut(_Shown().repr(value))
    except Exception:
        return f"<{type(value).__name__}>"


def _action(action: Any) -> str:
    return _Shown().repr(action)


def _cut(text: str) -> str:
    masked = entrance.name(text[:SCANNED])
    return masked if len(masked) <= LONGEST else masked[: LONGEST - 1] + "…"


def _described(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {_cut(str(error))}" if error else ""
