"""Tools that report: status, standup, handoff, memories; and the one that corrects a memory."""

from dataclasses import asdict
from typing import Any, Literal

from pydantic import Field

from kinen.api import responses
from kinen.api.corrections import ACTIONS, correct
from kinen.api.requests import Request
from kinen.errors import QueryError
from kinen.mcp.tool import Answer, AsOf, Limit, Part, Tool
from kinen.mcp.tools_search import IndexStatus, ListTags
from kinen.mcp.verbs import VERB_TOOLS
from kinen.memory import Memory
from kinen.memory.report_text import handoff_text, standup_text
from kinen.model.kinds import MEMORY_TYPES
from kinen.render.journal import learned_text, memory_json
from kinen.text import now, parse_time


class Standup(Tool, Request):
    """What was done, decided, comes next and is open since a time."""

    tool_name = "kinen_standup"
    tool_title = "Standup"

    since: str = Field("1d", description="1d, 1w")

    def answer(self, memory: Memory) -> Answer:
        report = memory.reports.standup_report(parse_time(self.since, now()))
        return report_answer(asdict(report), standup_text(report), "nothing was done")


class Handoff(Tool, Request):
    """What the next agent needs: state, plan, sessions and open points."""

    tool_name = "kinen_handoff"
    tool_title = "Handoff"

    def answer(self, memory: Memory) -> Answer:
        report = memory.reports.handoff_report()
        return report_answer(asdict(report), handoff_text(report), "nothing to hand off")


def report_answer(fields: dict[str, Any], text: str, empty: str) -> Answer:
    """A report for an agent: the text alone, which has all that the fields have."""
    return Answer(responses.Report(space=fields["space"], markdown=text), text or empty)


class Memories(Tool, Request):
    """Decisions, lessons, patterns and insights drawn from sessions, newest first."""

    tool_name = "kinen_memories"
    tool_title = "Memories"
    unlisted = ("as_of", "limit")

    type: str = Field("", json_schema_extra={"enum": [*MEMORY_TYPES]})
    session: str = ""
    as_of: AsOf = ""
    limit: Limit = 20

    def answer(self, memory: Memory) -> Answer:
        memories = memory.consolidation.memories(self.type, session=self.session, as_of=self.as_of)
        learned = memories[: self.limit]
        rows = [memory_json(entry, memory.consolidation.origin(entry)) for entry in learned]
        text = "\n".join(learned_text(entry) for entry in learned)
        return Answer(responses.Memories(memories=rows), text or "no memories")


class CorrectMemory(Tool, Request):
    """Correct a memory: edit, merge into other, supersede by other, forget, restore, undo."""

    tool_name = "kinen_correct_memory"
    tool_title = "Correct a memory"
    writes = True
    idempotent = False

    action: Literal[*ACTIONS]  # type: ignore[valid-type]
    id: str = ""
    other: str = ""
    content: str = ""

    def answer(self, memory: Memory) -> Answer:
        entry = correct(memory, **self.parameters("action", "id", "other", "content"))
        row = memory_json(entry, memory.consolidation.origin(entry))
        return Answer(responses.Memories(memories=[row]), learned_text(entry))


VIEWS: dict[str, type[Tool]] = {
    "index": IndexStatus,
    "standup": Standup,
    "handoff": Handoff,
    "memories": Memories,
    "tags": ListTags,
    "files": VERB_TOOLS["kinen_list_artifacts"],
}


class Status(Tool):
    """State of the index; what was done since a time (standup), what the next agent needs
    (handoff), decisions and lessons (memories), tags, files by tags.
    """

    tool_name = "kinen_status"
    tool_title = "Status and reports"

    view: Literal[*VIEWS] = "index"  # type: ignore[valid-type]
    since: str = ""
    tags: str = ""

    @classmethod
    def part(cls, arguments: dict[str, Any]) -> Part:
        view = arguments.get("view", "index")
        if view not in [*VIEWS]:
            raise QueryError(f"no view {view!r}", f"use one of {', '.join(VIEWS)}")
        return VIEWS[view], {name: arguments[name] for name in arguments if name != "view"}
