"""What a tool is, verbs as tools, and the tools that join or add to them."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import is_dataclass
from threading import Event, Thread
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, TypeAdapter

from kinen.errors import KinenError, QueryError
from kinen.ipc import client
from kinen.memory import Memory
from kinen.memory.memory import ASK, JOURNAL
from kinen.model.kinds import MEMORY_TYPES
from kinen.model.tuples import NamedTuple
from kinen.render.journal import learned_text
from kinen.render.json import counts_json
from kinen.render.text import report_text
from kinen.verbs import requests
from kinen.verbs.catalogue import verbs
from kinen.verbs.memories import AddMemory
from kinen.verbs.requests import Request
from kinen.verbs.verb import Verb

PHASES = ("read", "history", "embed")
BUSY_SECONDS = 5.0
"""How long a rebuild waits for another process that indexes the same space."""
Progress = Callable[[str, int, int], None]


class Answer(NamedTuple):
    """The result of a tool: as a value, and as text for clients that read no values."""

    value: dict[str, Any]
    """The JSON values of a result."""
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
Texts = Annotated[list[str], BeforeValidator(lambda value: requests.listed(value, ""))]
Limit = Annotated[int, Field(ge=1, le=500)]
Offset = Annotated[int, Field(ge=0)]


def _tool(verb: type[Verb]) -> type[Tool]:
    result = requests.result_of(verb.tool_result or verb.result)
    typed = is_dataclass(result) or isinstance(result, UnionType)
    shape = TypeAdapter(result) if typed else None

    class VerbTool(Tool, Request):
        tool_name = verb.tool
        tool_title = verb.title
        writes = verb.writes
        lane = JOURNAL if verb.journal_only else ASK
        idempotent = verb.idempotent
        unlisted = tuple(name for name, row in verb.params.items() if row.unlisted)

        def answer(self, memory: Memory) -> Answer:
            given = requests.values_of(verb, self)
            call = requests.call_of(verb, given, memory, self._client)
            spaces = given.get("space")
            output = call.answer_of(spaces) if spaces else call.answer(memory)
            if verb.embeds:
                start_daemon(memory)
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


def start_daemon(memory: Memory) -> None:
    """Have a daemon embed the next query, so that not every agent's server loads a model."""
    pid = client.start(memory.space.home) if memory.config.daemon.auto_start else 0
    if pid and hasattr(os, "waitpid"):  # reap it if it ends before this process
        Thread(target=os.waitpid, args=(pid, 0), daemon=True).start()


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
    (handoff), memories, tags, files by tags.
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


class IndexRebuild(Tool, Request):
    """Rebuild the index, if kinen_index_status shows a fault."""

    tool_name = "kinen_index_rebuild"
    tool_title = "Rebuild the index"
    writes = True
    unlisted = ("session", "embed")

    session: str = Field("", description="only its files")
    embed: bool = Field(True, description="with vectors")

    def answer(self, memory: Memory, progress: Progress | None = None) -> Answer:
        scope = self.parameters("embed", "session")
        report = memory.sync(rebuild=True, progress=progress, wait=BUSY_SECONDS, **scope)
        always = {"added": report.added, "seconds": report.seconds}
        rest = without_empty({**report._asdict(), "notes": [*report.notes]})
        value = {**always, **rest, "counts": counts_json(memory.index.counts())}
        return Answer(value, report_text(report))


def report_progress(send: Callable[[float, float, str], object], cancelled: Event) -> Progress:
    """Send a client the progress of a rebuild, and end it once the client has cancelled."""
    last_value = -1.0
    last_sent = 0.0

    def report(phase: str, done: int, total: int) -> None:
        nonlocal last_value, last_sent
        if cancelled.is_set():
            raise KinenError("cancelled", "the index is incomplete: rebuild it again")
        part = done / total if total else done / (done + 1000)
        value = PHASES.index(phase) + min(1.0, part)
        at = time.monotonic()
        if value > last_value and (at - last_sent > 0.1 or not done):
            last_value = value
            last_sent = at
            send(round(value, 3), float(len(PHASES)), phase)

    return report


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
        fields = self.parameters("type", "why", "files", "session")
        call = AddMemory(content=self.text, **fields)
        call.client = self._client
        return Answer({"memories": [call.run(memory)]}, learned_text(call.record))


class Remember(Tool):
    """Save what was decided or learned, in one sentence. Type checkpoint: finished work and the
    next step; commit and changed files are added.
    """

    tool_name = "kinen_remember"
    tool_title = "Save a memory"
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
        return VERB_TOOLS["kinen_checkpoint"], {
            name: value for name, value in rest.items() if name != "type"
        }
