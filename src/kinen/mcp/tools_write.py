"""Tools that write: checkpoints, plans, observations, pins."""

from typing import Any, Literal

from pydantic import Field

from kinen.api import entries, responses
from kinen.api.refs import pin_target, resolve
from kinen.api.requests import Request
from kinen.errors import NotFound, QueryError
from kinen.mcp.tool import Answer, Names, Part, Texts, Tool
from kinen.memory import Memory
from kinen.memory.pool import JOURNAL
from kinen.model import journal
from kinen.model.kinds import CHECKPOINT_TYPES, MEMORY_TYPES
from kinen.privacy.injected import without_injected
from kinen.render.journal import (
    checkpoint_json,
    entry_json,
    learned_text,
    memory_json,
    plan_json,
)
from kinen.text import estimate
from kinen.times import lifetime


class Checkpoint(Tool, Request):
    """Save work that was finished, and why. Branch, commit and changed files are added."""

    tool_name = "kinen_checkpoint"
    tool_title = "Save a checkpoint"
    writes = True
    idempotent = False
    unlisted = (
        *("impact", "confidence", "unknowns"),
        *("context", "decision", "alternatives", "evidence", "symbols"),
    )

    description: str = Field(min_length=1, description="markdown")
    type: str = Field("", json_schema_extra={"enum": [*CHECKPOINT_TYPES]})
    tags: Names = Field([])
    context: str = Field("")
    decision: str = ""
    alternatives: Texts = Field([])
    impact: str = ""
    evidence: Texts = Field([])
    symbols: Names = Field([])
    next: str = Field("", description="next step")
    confidence: int = Field(0, ge=0, le=5, description="1 a guess, 5 certain")
    unknowns: Texts = Field([])

    def answer(self, memory: Memory) -> Answer:
        fields = {key: value for key, value in self if value and key != "description"}
        drawn = memory.consolidation.of_client(self._client)  # first: a client may have to repeat
        checkpoint = memory.worklog.checkpoint(self.description, **fields)
        lines = [checkpoint.ref, *map(learned_text, drawn.learned), *drawn.notes]
        return Answer(entries.Checkpoint(**checkpoint_json(checkpoint)), "\n".join(lines))


class SaveMemory(Tool, Request):
    """Save what was decided or learned."""

    tool_name = "kinen_remember"
    writes = True

    text: str = Field(min_length=1)
    type: str = Field("", json_schema_extra={"enum": [*MEMORY_TYPES]})
    why: str = ""
    files: Texts = Field([])
    session: str = ""

    def answer(self, memory: Memory) -> Answer:
        entry = memory.consolidation.remember(
            without_injected(self.text),
            type=self.type,
            why=without_injected(self.why),
            files=[memory.git.inside(file) for file in self.files],
            scope={"session": self.session, "agent": self._client},
        )
        row = memory_json(entry, memory.consolidation.origin(entry))
        return Answer(responses.Memories(memories=[row]), learned_text(entry))


class Remember(Tool):
    """Save what was decided or learned, in one sentence. Type checkpoint: finished work and the
    next step; commit and changed files are added.
    """

    tool_name = "kinen_remember"
    tool_title = "Save a memory or a checkpoint"
    writes = True
    idempotent = False

    text: str
    type: Literal[*MEMORY_TYPES, "checkpoint"] = "insight"  # type: ignore[valid-type]
    why: str = ""
    files: list[str] = Field([])
    next: str = ""

    @classmethod
    def part(cls, arguments: dict[str, Any]) -> Part:
        if arguments.get("type") != "checkpoint":
            return SaveMemory, arguments
        fields = {"why": "context", "files": "evidence"}
        rest = {fields.get(name, name): value for name, value in arguments.items()}
        return Checkpoint, {name: value for name, value in rest.items() if name != "type"}


class Plan(Tool, Request):
    """Keep the plan of a task of several steps; every recall shows it."""

    tool_name = "kinen_plan"
    tool_title = "Save, read and update plans"
    writes = True
    idempotent = False
    unlisted = ("id", "tags", "status", "activate")

    action: Literal["save", "get", "list", "activate", "check", "update", "complete", "archive"]
    id: str = Field("", description="default: the active plan")
    title: str = ""
    content: str = Field("", description="markdown, - [ ] steps")
    tags: Names = Field([])
    status: str = Field("", json_schema_extra={"enum": ["active", "completed", "archived"]})
    activate: bool = Field(True, description="with save")
    step: int = Field(0, description="negative: uncheck")

    def answer(self, memory: Memory) -> Answer:
        if self.action == "list":
            plans = [plan_response(plan, whole=False) for plan in memory.worklog.plans()]
            lines = (f"{'*' if plan.current else '-'} {plan.id} {plan.title}" for plan in plans)
            return Answer(entries.Plans(plans=plans), "\n".join(lines) or "no plans")
        plan = self._run(memory)
        if plan is None:
            return Answer(entries.Plans(plans=[]), "no plan is active: save one, or list them")
        value = plan_response(plan, whole=self.action == "get")
        text = f"{plan.ref} {plan.status}\n{value.text}".strip()
        return Answer(entries.Plans(plans=[value]), text)

    def _run(self, memory: Memory) -> journal.Plan | None:
        content = without_injected(self.content)
        if self.action == "save":
            return memory.worklog.save_plan(
                self.title, content, id=self.id, tags=self.tags, activate=self.activate
            )
        plan = memory.worklog.plan(self.id)
        if self.action == "get":
            return plan
        if plan is None:
            raise NotFound("no plan is active", "give an id; the action list shows them")
        if self.action == "check":
            return memory.worklog.check_plan(abs(self.step), plan.id, done=self.step > 0)
        if self.action == "activate":
            return memory.worklog.activate_plan(plan.id)
        statuses = {"complete": "completed", "archive": "archived"}
        fields: dict[str, Any] = {
            "title": self.title,
            "text": content,
            "tags": self.tags,
            "status": statuses.get(self.action, self.status),
        }
        changes = {name: value for name, value in fields.items() if value}
        if not changes:
            raise QueryError("nothing to update", "give title, content, tags or status")
        return memory.worklog.update_plan(plan.id, **changes)


def plan_response(plan: journal.Plan, *, whole: bool) -> entries.Plan:
    """A plan with its text, or only with what that would cost."""
    fields = plan_json(plan)
    if not whole:
        fields["text"] = ""
    return entries.Plan(**fields, tokens=estimate(plan.text))


class Observe(Tool, Request):
    """Record an event: an error and its fix, a command's outcome, what the user said."""

    tool_name = "kinen_observe"
    tool_title = "Keep an observation"
    writes = True
    lane = JOURNAL
    idempotent = False
    unlisted = ("agent", "capsule", "session")

    content: str = Field(min_length=1)
    kind: str = Field("message", description="or command, error …")
    files: Texts = Field([], description="paths")
    session: str = ""
    agent: str = ""
    capsule: str = ""

    def answer(self, memory: Memory) -> Answer:
        observation = memory.observe(
            without_injected(self.content),
            kind=self.kind,
            files=[memory.git.inside(file) for file in self.files],
            scope={"session": self.session, "agent": self.agent or self._client},
            capsule=self.capsule,
        )
        return Answer(entries.StoredObservation(**entry_json(observation)), observation.ref)


class Pin(Tool, Request):
    """Pin a ref or a text so that every recall begins with it, or remove a pin."""

    tool_name = "kinen_pin"
    tool_title = "Pin or unpin"
    writes = True
    unlisted = ("session",)

    ref: str = Field(min_length=1, description="ref, path or text")
    note: str = Field("", description="why")
    ttl: str = Field("", description="12h, 7d, 2w, or a date")
    session: str = Field("", description="only in this session")
    remove: bool = False

    def answer(self, memory: Memory) -> Answer:
        if self.remove:
            unpinned = memory.journal.unpin(resolve(memory, self.ref)[0])
            value = entries.PinChanges(unpinned=unpinned)
            return Answer(value, "unpinned " + ", ".join(unpinned))
        name = pin_target(memory, self.ref)
        ttl = lifetime(self.ttl)
        pin = memory.journal.pin(name, self.note, ttl=ttl, scope={"session": self.session})
        value = entries.PinChanges(pins=[entries.StoredPin(**entry_json(pin))])
        return Answer(value, f"{pin.ref} {pin.target}")
