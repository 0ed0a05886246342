"""Tools for experience: how an error was fixed, how a command is called."""

from pydantic import Field

from kinen.api import responses
from kinen.api.requests import Request
from kinen.mcp.tool import Answer, Limit, Tool
from kinen.memory import Memory
from kinen.memory.experience import nearest
from kinen.render.experience import (
    NOT_KNOWN,
    NOT_USED,
    fix_json,
    fixes_text,
    invocation_json,
    invocations_text,
    latest_note,
    omitted_note,
)
from kinen.render.json import hits_json
from kinen.render.text import hits_text


class FixError(Tool, Request):
    """How an error was fixed before: what was changed or run until the same command succeeded.
    Look here before you debug.
    """

    tool_name = "kinen_fix"
    tool_title = "How an error was fixed before"
    unlisted = ("limit",)

    error: str = Field(min_length=1, max_length=100_000, description="the lines that name it")
    limit: Limit = 3

    def answer(self, memory: Memory) -> Answer:
        fixes, omitted = memory.experience.fix(self.error, self.limit)
        values = [responses.Fix(**fix_json(fix)) for fix in fixes]
        value = responses.Fixes(fixes=values, omitted=omitted)
        text = fixes_text(fixes)
        if not fixes:
            hits = nearest(memory.search, self.error)
            value.search = [responses.Hit(**hit) for hit in hits_json(hits)["results"]]
            text = f"{NOT_KNOWN}; search finds:\n{hits_text(hits)}" if hits else NOT_KNOWN
        return Answer(value, "\n".join(filter(None, (text, omitted_note(omitted)))))


class HowTo(Tool, Request):
    """Invocations of a command that worked in this repository, newest first."""

    tool_name = "kinen_how"
    tool_title = "How a command is called here"
    unlisted = ("limit",)

    command: str = Field(min_length=1, max_length=500, description="pytest, docker compose")
    failed: bool = Field(False, description="those that never worked")
    limit: Limit = 10

    def answer(self, memory: Memory) -> Answer:
        invocations, latest = memory.experience.how(self.command, self.limit, failed=self.failed)
        values = [responses.Invocation(**invocation_json(item)) for item in invocations]
        value = responses.Invocations(invocations=values, latest=latest)
        text = invocations_text(invocations) or NOT_USED
        return Answer(value, "\n".join(filter(None, (text, latest_note(latest)))))
