"""Verbs as tools."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from kinen.api import verbs as requests
from kinen.api.requests import Request
from kinen.mcp.tool import Answer, Tool
from kinen.memory import Memory
from kinen.verbs.catalogue import verbs
from kinen.verbs.verb import Verb, plain


def tools() -> dict[str, type[Tool]]:
    """The tools of all verbs, by name."""
    return {verb.tool: _tool(verb) for _, verb in verbs() if verb.tool}


def _tool(verb: type[Verb]) -> type[Tool]:
    class VerbTool(Tool, Request):
        tool_name = verb.tool
        tool_title = verb.title
        writes = verb.writes
        lane = verb.lane
        unlisted = tuple(name for name, row in verb.params.items() if row.unlisted)

        def answer(self, memory: Memory) -> Answer:
            call, result = requests.answer(verb, self, memory)
            notes = (in_parameters(note) for note in call.notes(result))
            text = call.agent_text(result)
            return Answer(compact(result), "\n".join(filter(None, (text, *notes))))

    model = requests.request_model(verb, verb.__name__, VerbTool, for_tool=True)
    model.__doc__ = verb.guide
    return model


def compact(value: Any) -> Any:
    """A result as JSON values, without what equals its default: that saves tokens."""
    if not is_dataclass(value):
        return (
            [compact(item) for item in value] if isinstance(value, (list, tuple)) else plain(value)
        )
    values = {}
    for row in fields(value):
        item = getattr(value, row.name)
        default = row.default_factory() if row.default_factory is not MISSING else row.default
        if item is not None and item != default:
            values[row.name] = compact(item)
    return values


def in_parameters(remark: str) -> str:
    """A remark with parameters in place of the options of the command line."""
    return re.sub(r"--([a-z]+(?:-[a-z]+)*)", lambda match: match[1].replace("-", "_"), remark)
