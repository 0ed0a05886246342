"""Verbs as requests: models made of their parameters, the same for MCP and HTTP."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, create_model

from kinen.api.refs import resolve
from kinen.memory import Memory
from kinen.verbs.verb import Param, Verb


def request_model(
    verb: type[Verb], name: str, *bases: type[BaseModel], for_tool: bool = False
) -> type[Any]:
    """The model of a request: a field for each parameter."""
    fields: dict[str, Any] = {
        key: _field(row, for_tool=for_tool) for key, row in verb.params.items()
    }
    return create_model(name, __base__=bases, __doc__=verb.__doc__, **fields)


def answer(verb: type[Verb], request: BaseModel, memory: Memory) -> tuple[Verb, Any]:
    """Run a verb as a request asks. Its paths are those of the space, never outside of it."""
    values = {key: getattr(request, key) for key in verb.params}
    for key, value in values.items():
        row = verb.params[key]
        if row.path and value:
            values[key] = (
                [_inside(memory, row, path) for path in value]
                if row.many
                else _inside(memory, row, value)
            )
    call = verb(**values)
    return call, call.run(memory)


def _inside(memory: Memory, row: Param, path: str) -> str:
    return resolve(memory, path)[0] if row.ref else memory.git.inside(path)


def _field(row: Param, *, for_tool: bool) -> tuple[Any, Any]:
    description = row.guide if for_tool else row.help
    default = row.default
    if row.unbounded:
        default = default or row.most
    if for_tool and row.tool_default is not None:
        default = row.tool_default
    if row.many and not row.joined:
        default = []
    facts: dict[str, Any] = {"description": description} if description else {}
    if row.example is not None:
        facts["examples"] = [row.example]
    return _type(row), Field(... if row.required else default, **facts)


def _type(row: Param) -> Any:
    if row.type is int:
        least = max(1, row.least or 0) if row.unbounded else row.least
        return Annotated[int, Field(ge=least, le=row.most)]
    if row.choices:
        return Literal[("", *row.choices)] if row.default == "" else Literal[row.choices]
    if row.type is not str:
        return row.type
    least = 1 if row.required else 0
    text = Annotated[str, Field(min_length=least, max_length=row.longest)]
    if row.many and not row.joined:
        several = Annotated[list[text], Field(min_length=least, max_length=100)]
        return Annotated[several, BeforeValidator(lambda value: listed(value, row.separator))]
    return text


def listed(value: Any, separator: str) -> Any:
    """Some clients send a list as one text: JSON, or its items."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        try:
            return json.loads(value)
        except ValueError:
            pass
    return [item.strip() for item in re.split(rf"[{separator}\n]", value) if item.strip()]
