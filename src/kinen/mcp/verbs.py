"""What a tool is, verbs as tools, and the tools that join them."""

from __future__ import annotations

import re
from dataclasses import is_dataclass
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, TypeAdapter

from kinen.api import verbs as requests
from kinen.api.requests import Request
from kinen.errors import QueryError
from kinen.memory import Memory
from kinen.memory.memory import ASK, JOURNAL
from kinen.model.tuples import NamedTuple
from kinen.verbs.catalogue import verbs
from kinen.verbs.verb import Verb


class Answer(NamedTuple):
    """The result of a tool: as a value, and as text for clients that read no values."""

    value: Any
    """A response, or the JSON values of a verb's result."""
    text: str


class Tool(BaseModel):
    """One call of a tool. The docstring of each tool tells agents when to use it."""

    model_config = ConfigDict(str_strip_whitespace=True)
    tool_name: ClassVar[str]
    tool_title: ClassVar[str]
    writes: ClassVar[bool] = False
    lane: ClassVar[str] = ASK
    """Which of the space's memories answers; JOURNAL for what must not wait for a search."""
    idempotent: ClassVar[bool] = True
    unlisted: ClassVar[tuple[str, ...]] = ()
    """Parameters that are accepted, and left out of the definition to keep it short."""
    _client: str = PrivateAttr("")

    @classmethod
    def part(cls, arguments: dict[str, Any]) -> Part:
        """The tool that answers, and its arguments: of one that joins several, one of these."""
        return cls, arguments

    def parameters(self, *names: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names}

    def answer(self, memory: Memory) -> Answer:
        raise NotImplementedError


Part = tuple[type[Tool], dict[str, Any]]
"""A tool and its arguments."""
Names = Annotated[list[str], BeforeValidator(lambda value: requests.listed(value, ","))]
Texts = Annotated[list[str], BeforeValidator(lambda value: requests.listed(value, ""))]
AsOf = Annotated[str, Field(description="what was known at a time, or in a commit")]
Limit = Annotated[int, Field(ge=1, le=500)]
Offset = Annotated[int, Field(ge=0)]


def _tool(verb: type[Verb]) -> type[Tool]:
    typed = is_dataclass(verb.result) or isinstance(verb.result, UnionType)
    shape = TypeAdapter(verb.result) if typed else None

    class VerbTool(Tool, Request):
        tool_name = verb.tool
        tool_title = verb.title
        writes = verb.writes
        lane = JOURNAL if verb.journal_only else ASK
        idempotent = verb.idempotent
        unlisted = tuple(name for name, row in verb.params.items() if row.unlisted)

        def answer(self, memory: Memory) -> Answer:
            given = requests.values_of(verb, self)
            output = requests.answer(verb, given, memory, self._client)
            notes = map(in_parameters, output.notes)
            text = output.agent_text() if output.agent_text else output.rendered()
            data = output.data
            value = compact(shape, data) if shape else without_empty(data) or data
            names = verb.tool_fields or [*value]
            chosen = {name: value[name] for name in names if name in value}
            return Answer(chosen, "\n".join(filter(None, (text, *notes))))

    model = requests.request_model(verb, verb.__name__, VerbTool, for_tool=True)
    model.__doc__ = verb.guide
    return model


def compact(shape: TypeAdapter[Any], value: Any) -> Any:
    """A result as JSON values, without what equals its default: that saves tokens."""
    result = shape.validate_python(value)
    return shape.dump_python(result, mode="json", exclude_defaults=True, exclude_none=True)


def without_empty(value: Any) -> Any:
    """The same for entries, which have no defaults: without what is empty."""
    if isinstance(value, list):
        return [without_empty(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: without_empty(item) for name, item in value.items() if item}


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
