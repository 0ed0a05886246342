"""Verbs as tools, and the tools that join them."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import Field, TypeAdapter

from kinen.api import verbs as requests
from kinen.api.requests import Request
from kinen.errors import QueryError
from kinen.mcp.tool import Answer, Limit, Offset, Part, Tool
from kinen.memory import Memory
from kinen.verbs.catalogue import verbs
from kinen.verbs.verb import Verb, plain


def _tool(verb: type[Verb]) -> type[Tool]:
    values = TypeAdapter(verb.result)

    class VerbTool(Tool, Request):
        tool_name = verb.tool
        tool_title = verb.title
        writes = verb.writes
        lane = verb.lane
        idempotent = verb.idempotent
        unlisted = tuple(name for name, row in verb.params.items() if row.unlisted)

        def answer(self, memory: Memory) -> Answer:
            given = requests.values_of(verb, self)
            call, result = requests.answer(verb, given, memory, self._client)
            notes = (in_parameters(note) for note in call.notes(result))
            text = call.agent_text(result)
            value = compact(values, plain(result), verb.tool_fields)
            return Answer(value, "\n".join(filter(None, (text, *notes))))

    model = requests.request_model(verb, verb.__name__, VerbTool, for_tool=True)
    model.__doc__ = verb.guide
    return model


def compact(shape: TypeAdapter[Any], value: Any, names: tuple[str, ...] = ()) -> Any:
    """A result as JSON values, without what equals its default: that saves tokens."""
    result = shape.validate_python(value)
    values = shape.dump_python(result, mode="json", exclude_defaults=True, exclude_none=True)
    return {name: values[name] for name in names if name in values} if names else values


def in_parameters(remark: str) -> str:
    """A remark with parameters in place of the options of the command line."""
    return re.sub(r"--([a-z]+(?:-[a-z]+)*)", lambda match: match[1].replace("-", "_"), remark)


VERB_TOOLS = {verb.tool: _tool(verb) for _, verb in verbs() if verb.tool}
"""The tools of all verbs, by name."""


class Fix(Tool):
    """How an error was fixed before: look here before you debug. Or how a command was called here
    when it worked.
    """

    tool_name = "kinen_fix"
    tool_title = "How an error was fixed, how a command is called"

    error: str = Field("", description="the lines that name it")
    command: str = ""

    @classmethod
    def part(cls, arguments: dict[str, Any]) -> Part:
        asks_how = "command" in arguments or "tool" in arguments
        return VERB_TOOLS["kinen_how" if asks_how else "kinen_fix"], arguments


class History(Tool, Request):
    """Commits of a file through renames, and the files that usually change with it: look here
    before and after an edit.
    """

    tool_name = "kinen_history"
    tool_title = "History of a file"
    unlisted = ("limit", "offset", "patch")

    path: str = Field(min_length=1)
    limit: Limit = 50
    offset: Offset = 0
    patch: bool = False

    def answer(self, memory: Memory) -> Answer:
        history = VERB_TOOLS["kinen_get_provenance"].model_validate(self.model_dump())
        companions = VERB_TOOLS["kinen_get_cochange"].model_validate({"paths": [self.path]})
        commits = history.answer(memory)
        others = companions.answer(memory)
        value = {**commits.value, "changes_with": others.value.get("files", [])}
        return Answer(value, f"{commits.text}\nusually changes with:\n{others.text}")


VIEWS: dict[str, type[Tool]] = {
    "index": VERB_TOOLS["kinen_index_status"],
    "standup": VERB_TOOLS["kinen_standup"],
    "handoff": VERB_TOOLS["kinen_handoff"],
    "memories": VERB_TOOLS["kinen_memories"],
    "tags": VERB_TOOLS["kinen_list_tags"],
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
