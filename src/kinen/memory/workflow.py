"""Steps of a workflow in the journal, whatever engine runs them.

step = memory.workflow.start("Research", flow=True)
node = memory.workflow.start("Search", within=step, params={"query": "lions"})
memory.workflow.output(node, found)
memory.workflow.end(node, "answer")
memory.workflow.end(step)
"""

from __future__ import annotations

import reprlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kinen.ids import ulid
from kinen.model.journal import Scope
from kinen.privacy import entrance

if TYPE_CHECKING:
    from kinen.memory.journal import Journal

LONGEST = 2_000
"""Characters of a parameter or an output that are recorded."""
SCANNED = 100_000
"""Characters of a text that are searched for secrets before it is cut."""
STEPS = 30
"""Nodes that the summary of a flow names."""


@dataclass(slots=True)
class Step:
    """A flow or node that is running."""

    name: str
    scope: Scope
    capsule: str
    """The capsule that its events are in: its own, or that of the step around it."""
    owner: bool
    """Whether the capsule is its own."""
    flow: bool
    """Whether it only has other steps in it, and no input and output."""
    began: float = field(default_factory=time.monotonic)
    steps: list[str] = field(default_factory=list)


class Workflow:
    """Records the steps of a workflow: a capsule for a flow, observations for its nodes."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def start(
        self,
        name: str,
        *,
        within: Step | None = None,
        params: Any = None,
        flow: bool = False,
        capsule: bool = False,
        agent: str = "workflow",
    ) -> Step:
        """Begin a flow, or a node of the step `within`.

        A flow, a node alone and, with `capsule`, any node has a capsule of its own.
        """
        owner = flow or capsule or within is None
        scope = within.scope if within else Scope(session=f"{agent}-{ulid()}", agent=agent)
        if owner and within:
            scope = scope._replace(session=f"{scope.session}.{ulid()}")
        place = within.capsule if within else ""
        if owner:
            place = self._journal.open_capsule(
                name, type="pocketflow_node", scope=scope, parent=place
            ).id
        if within:
            within.steps.append(name)
        step = Step(name, scope, place, owner, flow)
        if not flow:
            self._observe(step, "node_start", f"{name} started", params=brief_repr(params))
        return step

    def output(self, step: Step, value: Any) -> None:
        """Record what a node returned, cut to 2,000 characters."""
        self._observe(step, "node_output", brief_repr(value))

    def error(self, step: Step, error: BaseException | str, **provenance: Any) -> None:
        """Record an attempt that failed."""
        values = {
            name: brief_repr(value) for name, value in provenance.items() if name != "attempt"
        }
        attempt = {"attempt": provenance["attempt"]} if "attempt" in provenance else {}
        self._observe(step, "node_error", f"{step.name}: {described(error)}", **attempt, **values)

    def end(
        self, step: Step, action: Any = None, *, error: BaseException | str | None = None
    ) -> None:
        """End a step with the action that it chose, or the error that ended it."""
        result = "failed" if error else f"ended with {action_text(action)}"
        if not step.flow:
            spent = round((time.monotonic() - step.began) * 1000)
            self._observe(step, "node_end", f"{step.name} {result}", duration_ms=spent)
        if step.owner:
            names = " → ".join(step.steps[:STEPS]) + (" → …" if len(step.steps) > STEPS else "")
            result = f"failed: {described(error)}" if error else result
            summary = ": ".join(filter(None, (step.name, names, result)))
            self._journal.close_capsule(
                f"capsule:{step.capsule}", summary, confidence=0.5 if error else 1.0
            )

    def _observe(self, step: Step, kind: str, text: str, **provenance: Any) -> None:
        self._journal.observe(
            text,
            kind=kind,
            scope=step.scope,
            capsule=step.capsule,
            provenance={"node": step.name, **provenance},
        )


class _ShortRepr(reprlib.Repr):
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


def brief_repr(value: Any) -> str:
    """A parameter, input or output as text of at most `LONGEST` characters."""
    if isinstance(value, str):
        return _cut(value)
    try:
        return _cut(_ShortRepr().repr(value))
    except Exception:
        return f"<{type(value).__name__}>"


def action_text(action: Any) -> str:
    return _ShortRepr().repr(action)


def described(error: BaseException | str) -> str:
    text = _cut(str(error))
    return text if isinstance(error, str) else f"{type(error).__name__}: {text}"


def _cut(text: str) -> str:
    masked = entrance.name(text[:SCANNED])
    return masked if len(masked) <= LONGEST else masked[: LONGEST - 1] + "…"
