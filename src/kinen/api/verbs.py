"""Verbs as requests: models made of their parameters, the same for MCP and HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, create_model, model_validator

from kinen.errors import QueryError
from kinen.journal.schema import LATEST
from kinen.memory import Memory
from kinen.text import iso, now, parse_time
from kinen.verbs.refs import resolve
from kinen.verbs.verb import Param, Verb


def request_model(
    verb: type[Verb],
    name: str,
    *bases: type[BaseModel],
    for_tool: bool = False,
    omit: Collection[str] = (),
) -> type[Any]:
    """The model of a request: a field for each parameter."""
    fields: dict[str, Any] = {
        key: field_of(row, for_tool=for_tool)
        for key, row in verb.params.items()
        if not row.local and key not in omit
    }
    more: dict[str, Any] = {}
    if verb.accept is not Verb.accept:
        more["__validators__"] = {"accept": model_validator(mode="before")(verb.accept)}
    return create_model(name, __base__=bases, __doc__=verb.__doc__, **more, **fields)


def answer(
    verb: type[Verb], values: dict[str, Any], memory: Memory, client: str = ""
) -> tuple[Verb, Any]:
    """Run a verb as a request asks. Its paths are those of the space, never outside of it."""
    for key, value in values.items():
        row = verb.params[key]
        if row.path and value:
            values[key] = (
                [_inside(memory, row, path) for path in value]
                if row.many and not row.joined
                else _inside(memory, row, value)
            )
        elif row.time and isinstance(value, int):
            values[key] = moment(value)
    call = verb(**values)
    call.client = client
    return call, call.run(memory)


def values_of(verb: type[Verb], request: BaseModel) -> dict[str, Any]:
    """The parameters of a request."""
    return {key: getattr(request, key) for key in verb.params if key in type(request).model_fields}


def _inside(memory: Memory, row: Param, path: str) -> str:
    if not row.ref:
        inside = memory.git.inside(path)
        return path if row.end else inside
    name, line, chunk = resolve(memory, path)
    if row.line and max(line, chunk) >= 0:
        return f"{name}#{chunk}" if chunk >= 0 else f"{name}:{line}"
    return name


def moment(value: int | str, *, end: bool = False) -> str:
    """A time of a request as ISO; empty for none."""
    text = str(value).strip()
    if not text:
        return ""
    try:
        if isinstance(value, int):
            return iso(int(text) / 1000)
        return parse_time(text, now(), end=end)
    except (OverflowError, ValueError, OSError) as error:
        hint = "use a date between years 1 and 9999"
        raise QueryError(f"invalid time {text!r}", hint) from error


def field_of(row: Param, *, for_tool: bool) -> tuple[Any, Any]:
    description = row.guide if for_tool else row.help
    default = row.default
    if row.unbounded:
        default = default or row.request_default or row.most
    if for_tool and row.tool_default is not None:
        default = row.tool_default
    if row.many and not row.joined:
        default = []
    facts: dict[str, Any] = {"description": description} if description else {}
    if row.example is not None:
        facts["examples"] = [row.example]
    return _type(row, for_tool=for_tool), Field(... if row.required else default, **facts)


def _type(row: Param, *, for_tool: bool) -> Any:
    if row.type is int:
        least = max(1, row.least or 0) if row.unbounded else row.least
        return Annotated[int, Field(ge=least, le=row.most)]
    if row.time and not for_tool:
        milliseconds = Annotated[int, Field(strict=True, ge=0, lt=LATEST)]
        return milliseconds | Annotated[str, Field(max_length=64)]
    if row.choices:
        if row.default != "":
            return Literal[row.choices]
        listed_choices: Any = {"enum": [*row.choices]} if for_tool else None
        return Annotated[Literal[("", *row.choices)], Field(json_schema_extra=listed_choices)]
    if row.type is float:
        return Annotated[float, Field(ge=row.least, le=row.most, allow_inf_nan=False)]
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
