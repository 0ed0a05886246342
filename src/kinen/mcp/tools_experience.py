"""Tools that ask for experience: how an error was fixed, how a command is called."""

from pydantic import AliasChoices, Field

from kinen.api import responses as models
from kinen.mcp.tool import Answer, Limit, Tool
from kinen.memory import Memory
from kinen.render.experience import (
    NOT_KNOWN,
    NOT_USED,
    fix_json,
    fixes_text,
    invocation_json,
    invocations_text,
)


class FixError(Tool):
    """Look up an error before you debug it: the same error in past sessions, what was changed or
    run until the same command succeeded, and the commit. Paste the lines that name the error.
    """

    called = "kinen_fix"
    titled = "How an error was fixed before"
    gives = models.Fixes

    error: str = Field(
        min_length=1,
        max_length=100_000,
        description="the error's text; numbers, folders and times in it do not matter",
        validation_alias=AliasChoices("error", "text", "query"),
    )
    limit: Limit = 3

    def answer(self, memory: Memory) -> Answer:
        fixes = memory.experience.fix(self.error, self.limit)
        value = models.Fixes(fixes=[models.Fix(**fix_json(one)) for one in fixes])
        return Answer(value, fixes_text(fixes) or NOT_KNOWN)


class HowTo(Tool):
    """The exact invocations of a command that worked in this repository, with their flags, newest
    first: before you guess how tests, builds or servers are run here.
    """

    called = "kinen_how"
    titled = "How a command is called here"
    gives = models.Invocations

    command: str = Field(
        min_length=1,
        max_length=500,
        description="a program with its first words (pytest, docker compose), or a tool of yours",
        validation_alias=AliasChoices("command", "tool", "query"),
    )
    failed: bool = Field(False, description="those that never worked instead")
    limit: Limit = 10

    def answer(self, memory: Memory) -> Answer:
        invocations = memory.experience.how(self.command, self.limit, failed=self.failed)
        values = [models.Invocation(**invocation_json(one)) for one in invocations]
        return Answer(
            models.Invocations(invocations=values), invocations_text(invocations) or NOT_USED
        )
