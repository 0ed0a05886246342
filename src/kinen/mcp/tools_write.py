"""Tools that tell the memory something: checkpoints, plans, observations, pins."""

from datetime import datetime
from typing import Any, Literal

from pydantic import AliasChoices, Field

from kinen.errors import NotFound, QueryError
from kinen.api import responses as models
from kinen.mcp.tool import Answer, Names, Texts, Tool, place
from kinen.memory import Memory
from kinen.memory.pool import JOURNAL
from kinen.model import journal
from kinen.model.kinds import EVENTS
from kinen.privacy.injected import marked, without_injected
from kinen.render.journal import checkpoint_json, entry_json, plan_json
from kinen.text import estimate, now, parse_time

TYPES = ("checkpoint", "decision", "incident", "learning")


class Checkpoint(Tool):
    """Save a checkpoint when something is worth finding again: work finished, a decision and its
    reason, a cause found, a lesson learned. One clear paragraph is enough; branch, commit and
    changed files are added. Stored as markdown, searchable at once.
    """

    called = "kinen_checkpoint"
    titled = "Save a checkpoint"
    gives = models.Checkpoint
    writes = True
    repeats = False

    description: str = Field(
        min_length=1,
        description="what was done or learned, and why; markdown",
        validation_alias=AliasChoices("description", "text", "content", "message", "summary"),
    )
    type: str = Field("", json_schema_extra={"enum": [*TYPES]})
    tags: Names = Field([])
    context: str = Field("", description="what led to it")
    decision: str = Field("", description="what was decided")
    alternatives: Texts = Field([], description="what else there was")
    impact: str = ""
    evidence: Texts = Field([], description="a test, a figure, a commit")
    symbols: Names = Field([], description="functions or classes it is about")
    next: str = Field("", description="what comes next")
    confidence: int = Field(0, ge=0, le=5, description="1 a guess, 5 certain")
    unknowns: Texts = Field([])

    def answer(self, memory: Memory) -> Answer:
        said = {key: value for key, value in self if value and key != "description"}
        made = memory.worklog.checkpoint(self.description, **said)
        return Answer(models.Checkpoint(**checkpoint_json(made)), made.ref)


class Plan(Tool):
    """Keep the plan of the work: save one for a task of several steps (it becomes the active plan
    that every recall begins with), get it, tick steps off by update, complete it when done.
    """

    called = "kinen_plan"
    titled = "Save, read and update plans"
    gives = models.Plans
    writes = True
    repeats = False

    action: Literal["save", "get", "list", "activate", "update", "complete", "archive"]
    id: str = Field(
        "",
        description="of a plan; the active one if empty",
        validation_alias=AliasChoices("id", "planId", "plan_id", "briefId", "brief_id"),
    )
    title: str = ""
    content: str = Field(
        "",
        description="markdown; steps as - [ ] and - [x]",
        validation_alias=AliasChoices("content", "text", "plan", "description"),
    )
    tags: Names = Field([])
    status: str = Field("", json_schema_extra={"enum": ["active", "completed", "archived"]})
    activate: bool = Field(True, description="with save: work on it from now on")

    def answer(self, memory: Memory) -> Answer:
        if self.action == "list":
            plans = [told(one, whole=False) for one in memory.worklog.plans()]
            lines = (f"{'*' if one.current else '-'} {one.id} {one.title}" for one in plans)
            return Answer(models.Plans(plans=plans), "\n".join(lines) or "no plans")
        plan = self._done(memory)
        if plan is None:
            return Answer(models.Plans(plans=[]), "no plan is active: save one, or list them")
        value = told(plan, whole=self.action == "get")
        text = marked(value.text) if value.text else ""
        return Answer(models.Plans(plans=[value]), f"{plan.ref} {plan.status}\n{text}".strip())

    def _done(self, memory: Memory) -> journal.Plan | None:
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
        if self.action == "activate":
            return memory.worklog.activate_plan(plan.id)
        given: dict[str, Any] = {"title": self.title, "text": content, "tags": self.tags}
        ends = {"complete": "completed", "archive": "archived"}
        given["status"] = ends.get(self.action, self.status)
        changed = {key: value for key, value in given.items() if value}
        if not changed:
            raise QueryError("nothing to update", "give title, content, tags or status")
        return memory.worklog.update_plan(plan.id, **changed)


def told(plan: journal.Plan, *, whole: bool) -> models.Plan:
    """A plan with its text, or with what that would cost."""
    shown = plan_json(plan)
    if not whole:
        shown["text"] = ""
    return models.Plan(**shown, tokens=estimate(plan.text))


class Observe(Tool):
    """Keep something that happened and may matter later: an error and what fixed it, a command's
    outcome, what the user said. For conclusions, kinen_checkpoint fits better. Secrets are masked.
    """

    called = "kinen_observe"
    titled = "Keep an observation"
    gives = models.Observation
    writes = True
    lane = JOURNAL
    repeats = False

    content: str = Field(
        min_length=1, validation_alias=AliasChoices("content", "text", "message", "description")
    )
    kind: str = Field(
        "message",
        validation_alias=AliasChoices("kind", "type"),
        json_schema_extra={"enum": [*EVENTS]},
    )
    files: Texts = Field(
        [], description="that it is about", validation_alias=AliasChoices("files", "file")
    )
    session: str = Field("", validation_alias=AliasChoices("session", "sessionId"))
    agent: str = Field("", description="who did it; the client's name if empty")
    capsule: str = Field("", description="the capsule that it is part of")

    def answer(self, memory: Memory) -> Answer:
        kept = memory.observe(
            without_injected(self.content),
            kind=self.kind,
            files=[memory.git.inside(file) for file in self.files],
            scope={"session": self.session, "agent": self.agent or self._client},
            capsule=self.capsule,
        )
        return Answer(models.Observation(**entry_json(kept)), kept.ref)


class Pin(Tool):
    """Pin a ref so that every recall begins with it: a convention, a constraint, a decision that
    must stay in view. With remove it is taken away again.
    """

    called = "kinen_pin"
    titled = "Pin or unpin"
    gives = models.Pins
    writes = True

    ref: str = Field(
        min_length=1,
        description="of any answer, or a path",
        validation_alias=AliasChoices("ref", "id", "path", "target", "targetId"),
    )
    note: str = Field("", description="why", validation_alias=AliasChoices("note", "reason"))
    ttl: str = Field("", description="for how long: 12h, 7d, 2w; for good if empty")
    session: str = Field(
        "",
        description="only for recalls of this session",
        validation_alias=AliasChoices("session", "sessionId"),
    )
    remove: bool = False

    def answer(self, memory: Memory) -> Answer:
        name, _, _ = place(memory, self.ref)
        if self.remove:
            gone = memory.journal.unpin(name)
            return Answer(models.Pins(unpinned=gone), "unpinned " + ", ".join(gone))
        made = memory.journal.pin(
            name, self.note, ttl=lasting(self.ttl), scope={"session": self.session}
        )
        return Answer(
            models.Pins(pins=[models.Pin(**entry_json(made))]), f"{made.ref} {made.target}"
        )


def lasting(phrase: str) -> float:
    """Seconds that a duration takes, or that are left until a date; 0 for none."""
    if not phrase:
        return 0.0
    at = now()
    return abs(datetime.fromisoformat(parse_time(phrase, at)).timestamp() - at)
