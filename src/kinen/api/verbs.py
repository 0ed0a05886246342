"""Verbs as requests: models made of their parameters, the same for MCP and HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, Field, JsonValue, create_model, model_validator

from kinen.api.responses import Response
from kinen.errors import QueryError
from kinen.journal.schema import LATEST
from kinen.memory import Memory
from kinen.model import journal
from kinen.text import iso, now, parse_time
from kinen.verbs.params import Param
from kinen.verbs.refs import resolve
from kinen.verbs.verb import Output, Shape, Verb

NAMES = 100
"""The most values of a list, unless a parameter says otherwise."""


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
        if row.is_on("tool" if for_tool else "endpoint") and key not in omit
    }
    more: dict[str, Any] = {}
    if verb.accept is not Verb.accept:
        more["__validators__"] = {"accept": model_validator(mode="before")(verb.accept)}
    return create_model(name, __base__=bases, __doc__=summary(verb), **more, **fields)


def summary(verb: type[Verb]) -> str:
    """What a verb does, without the examples of its command."""
    return (verb.__doc__ or "").partition("\b")[0].strip()


def answer(verb: type[Verb], values: dict[str, Any], memory: Memory, client: str = "") -> Output:
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
    return call.answer(memory)


def schema(result: Any) -> Any:
    """The type of a verb's answer as pydantic has it: models for entries of the journal."""
    if isinstance(result, list):
        return list[schema(result[0])]  # type: ignore[misc]
    if isinstance(result, Shape):
        fields = {key: schema(kind) for key, kind in result.fields.items()}
        return _entry(result.base, result.name, fields)
    if isinstance(result, UnionType):
        return Union[*(schema(kind) for kind in get_args(result))]
    is_entry = isinstance(result, type) and issubclass(result, tuple) and hasattr(result, "ref")
    return _entry(result, result.__name__, {}) if is_entry else result


@cache
def _model(name: str, fields: tuple[tuple[str, Any], ...]) -> Any:
    rows: dict[str, Any] = {key: (kind, ...) for key, kind in fields}
    return create_model(name, __base__=Response, **rows)


def _entry(kind: Any, name: str, more: dict[str, Any]) -> Any:
    """The model of the JSON of an entry (`render.journal.entry_json`), with further fields.

    Names of colleagues are not in it: only entries of a team have them.
    """
    fields: dict[str, Any] = {"ref": str} if kind else {}
    for key, value in (kind.__annotations__ if kind else {}).items():
        if value is journal.Scope:
            fields |= dict.fromkeys(journal.Scope._fields, str)
        elif key == "ts" or key.endswith("_at"):
            fields["at" if key == "ts" else key] = str | None
        elif key not in ("by", "successor_by"):
            shapes: dict[Any, Any] = {tuple: list[str], None: value}
            fields[key] = shapes.get(get_origin(value), dict[str, Any])
    return _model(name, tuple((fields | more).items()))


def values_of(verb: type[Verb], request: BaseModel) -> dict[str, Any]:
    """The parameters of a request."""
    return {key: getattr(request, key) for key in verb.params if key in type(request).model_fields}


def _inside(memory: Memory, row: Param, path: str) -> str:
    if row.free and memory.journal.is_text(path):
        return path
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
    if row.choices and not row.many:
        if row.default != "":
            return Literal[row.choices]
        listed_choices: Any = {"enum": [*row.choices]} if for_tool else None
        return Annotated[Literal[("", *row.choices)], Field(json_schema_extra=listed_choices)]
    if row.type is float:
        return Annotated[float, Field(ge=row.least, le=row.most, allow_inf_nan=False)]
    if row.type is dict:
        return dict[str, JsonValue]
    if row.type is not str:
        return row.type
    least = int(row.required) if row.least is None else row.least
    text = Annotated[str, Field(min_length=least, max_length=row.longest, pattern=row.pattern)]
    if row.seconds and not for_tool:
        number = Field(ge=0, lt=LATEST / 1000, allow_inf_nan=False)
        return Annotated[float, number] | text
    if row.many and not row.joined:
        item: Any = Literal[row.choices] if row.choices else text
        several: Any = Annotated[list[item], Field(min_length=least, max_length=row.most or NAMES)]
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
