"""PocketFlow: a flow becomes a capsule, its nodes become observations in it.

    class Plan(Remembering, Node):   # a node or flow of your own: the mixin comes first
        ...

    remember(flow, memory)           # a flow that you do not own, with all its nodes

A flow inside a flow is a part of the outer capsule, and so is a node that runs alone. Whatever goes
wrong with the memory is logged; the flow never fails because of it.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

from kinen.frameworks.history import memory_of, quietly, recall
from kinen.ipc import extras
from kinen.memory import Memory
from kinen.memory.workflow import Step

try:
    from pocketflow import BaseNode, Flow, Node
except ImportError as error:
    raise ImportError(extras.missing("kinen.frameworks.pocketflow", "pocketflow")) from error


_quietly = partial(quietly, None)
_current: ContextVar[Run | None] = ContextVar("kinen_pocketflow", default=None)


class Remembering:
    """A mixin for nodes and flows; it goes before the class of PocketFlow.

    The memory is that of the enclosing flow, unless the object or its class has its own.
    """

    memory: Memory | None = None
    capsules = False
    """Whether each node has a capsule of its own, too."""

    def _run(self, shared: Any) -> Any:
        with _recorded(self) as run:
            run.action = super()._run(shared)  # type: ignore[misc]
        return run.action

    async def _run_async(self, shared: Any) -> Any:
        with _recorded(self) as run:
            run.action = await super()._run_async(shared)  # type: ignore[misc]
        return run.action

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
        return quietly(
            "", lambda: recall(self.memory or memory_of(os.getcwd()), question, self.budget)
        )

    def post(self, shared: Any, _question: str, answer: str) -> None:
        shared[self.answer] = answer


def remember(flow: BaseNode, memory: Memory, *, capsules: bool = False) -> BaseNode:
    """Make a flow and every node that it can reach record into a memory; returns the flow.

    With `capsules`, each node has a capsule of its own.
    """
    waiting = [flow]
    visited: set[int] = set()
    while waiting:
        node = waiting.pop()
        if node is None or id(node) in visited:
            continue
        visited.add(id(node))
        waiting += node.successors.values()
        waiting.append(getattr(node, "start_node", None))
        quietly(None, _record_into, node, memory, capsules)
    return flow


def _record_into(node: BaseNode, memory: Memory, capsules: bool) -> None:
    if not isinstance(node, (Remembering, Recall)):
        cls = type(node)
        names = {"__module__": cls.__module__, "__qualname__": cls.__qualname__}
        node.__class__ = type(cls.__name__, (Remembering, cls), names)
    node.memory = memory
    node.capsules = capsules


class Run:
    """A node or flow that is running, and the step that it is recorded as."""

    def __init__(self, memory: Memory | None, outer: Run | None) -> None:
        self.memory = memory
        self.outer = outer if outer and outer.memory is memory else None
        self.step: Step | None = None
        self.action: Any = None
        self.failures: dict[int, int] = {}
        self.recorded: BaseException | None = None

    def start(self, node: Any) -> None:
        within = self.outer.step if self.outer else None
        if self.memory is None or (self.outer and within is None):
            return
        self.step = self.memory.workflow.start(
            type(node).__name__,
            within=within,
            params=node.params,
            flow=isinstance(node, Flow),
            capsule=node.capsules,
            agent="pocketflow",
        )

    def call(self, act: str, *args: Any, **values: Any) -> None:
        """Call a method of the workflow; what goes wrong with the memory is logged."""
        if self.memory is not None and self.step is not None:
            _quietly(getattr(self.memory.workflow, act), self.step, *args, **values)

    def failed(self, item: Any, error: Exception) -> None:
        """Record an attempt that failed; several inputs of a batch are counted apart."""
        self.recorded = error
        self.failures[id(item)] = self.failures.get(id(item), 0) + 1
        self.call("error", error, attempt=self.failures[id(item)], input=item)


@contextmanager
def _recorded(node: Any) -> Iterator[Run]:
    """Record a node from its start to its end; a flow, or a node alone, in a capsule of its own."""
    outer = _current.get()
    memory = node.memory or (outer.memory if outer else None)
    if memory is None:
        memory = quietly(None, lambda: memory_of(os.getcwd()))
    run = Run(memory, outer)
    _quietly(run.start, node)
    token = _current.set(run)
    error: BaseException | None = None
    try:
        yield run
    except BaseException as raised:
        error = raised
        if not isinstance(node, Flow) and run.recorded is not raised:
            run.call("error", raised)
        raise
    finally:
        _current.reset(token)
        run.call("end", run.action, error=error)


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
        run.call("output", output)
    return output
