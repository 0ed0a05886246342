"""What keys change, each with how it is undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kinen.errors import QueryError
from kinen.ids import short_ref
from kinen.memory import Memory
from kinen.model.tuples import NamedTuple

if TYPE_CHECKING:
    Undo = Callable[[Memory], object]


class Change(NamedTuple):
    """What was done, in words, and how to take it back."""

    message: str
    undo: Undo


def pin(memory: Memory, ref: str) -> Change:
    """Have every recall begin with a record."""
    pinned = memory.journal.pin(ref.partition("#")[0])
    return Change(
        f"pinned {short_ref(pinned.target)}", lambda memory: memory.journal.unpin(pinned.ref)
    )


def hide(memory: Memory, ref: str) -> Change:
    """Hide a memory; it is not drawn again."""
    hidden = memory.consolidation.hide(_memory(ref))
    return Change(
        f"hid {short_ref(hidden.ref)}", lambda memory: memory.consolidation.restore(hidden.ref)
    )


def edit(memory: Memory, ref: str, content: str) -> Change:
    """Give a memory another wording."""
    old = memory.consolidation.get(_memory(ref))
    new = memory.consolidation.edit(old.ref, content)

    def undo(memory: Memory) -> None:
        memory.consolidation.restore(old.ref)
        memory.consolidation.hide(new.ref)

    return Change(f"changed {short_ref(old.ref)}", undo)


def merge(memory: Memory, ref: str, into: str) -> Change:
    """Make a memory part of another one."""
    merged = memory.consolidation.get(_memory(ref))
    memory.consolidation.merge(merged.ref, _memory(into))
    return Change(
        f"merged {short_ref(merged.ref)}", lambda memory: memory.consolidation.restore(merged.ref)
    )


def supersede(memory: Memory, ref: str, by: str) -> Change:
    """Mark a memory as replaced by a newer one."""
    old = memory.consolidation.supersede(_memory(ref), _memory(by))
    return Change(
        f"superseded {short_ref(old.ref)}",
        lambda memory: memory.consolidation.supersede(old.ref, ""),
    )


def tick(memory: Memory, ref: str) -> Change:
    """Check a step of the active plan, or clear it."""
    from kinen.worklog.plans import steps  # slow to import

    number = ref.rpartition("#")[2]
    if not (ref.startswith("plan:") and number.isdecimal()):
        raise QueryError("no step of the plan", "press 1 for its open steps")
    plan = memory.worklog.plan()
    if plan is None:
        raise QueryError("no plan is active", "`kinen plan activate ID` makes one active")
    done = steps(plan.text)[int(number) - 1].done
    memory.worklog.check_plan(int(number), plan.id, done=not done)
    word = "cleared" if done else "checked"
    return Change(
        f"{word} step {number}",
        lambda memory: memory.worklog.check_plan(int(number), plan.id, done=done),
    )


def _memory(ref: str) -> str:
    if not ref.startswith("memory:"):
        raise QueryError(f"{ref or 'nothing'} is no memory", "press 3 for the memories")
    return ref
