"""Verbs as requests: models made of their parameters, the same for MCP and HTTP.

Other names of fields that agents and the seed projects use (`scopeIds`, `capsuleId`, `ttlMs`,
`question`) are translated before validation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    create_model,
    model_validator,
)

from kinen.errors import QueryError
from kinen.journal.schema import LATEST
from kinen.memory import Memory
from kinen.model import journal
from kinen.privacy.entrance import plain_values
from kinen.text import iso, now, parse_time
from kinen.verbs.params import Param
from kinen.verbs.records import resolve
from kinen.verbs.search import Search
from kinen.verbs.verb import Shape, Verb, add_examples

NAMES = 100
"""The most values of a list, unless a parameter says otherwise."""
COMPLAINTS = 5
"""Complaints in one message."""
SCOPE = ("session", "repo", "agent", "user", "task")
SYNONYMS: dict[str, tuple[str, ...]] = {
    "after": ("since",),
    "artifact": ("path",),
    "at": ("ref",),
    "before": ("until",),
    "brief_id": ("id",),
    "by": ("other",),
    "capsule_id": ("capsule",),
    "commit": ("ref",),
    "content": ("description",),
    "context_chunks": ("context",),
    "description": ("content",),
    "file": ("files", "path"),
    "files": ("paths",),
    "from": ("since",),
    "id": ("path", "ref"),
    "include_deleted": ("deleted",),
    "include_ignored": ("ignored",),
    "into": ("other",),
    "kind": ("type", "kinds"),
    "kinds": ("type",),
    "max_candidates": ("limit",),
    "max_tokens": ("budget",),
    "message": ("content", "description"),
    "name": ("path",),
    "path": ("paths", "file", "ref"),
    "plan": ("content",),
    "plan_id": ("id",),
    "q": ("query",),
    "query": ("error", "command"),
    "question": ("query",),
    "reason": ("note",),
    "ref": ("target", "path", "id"),
    "revision": ("ref",),
    "scope_ids": ("scope",),
    "search": ("query",),
    "spaces": ("space",),
    "summary": ("description",),
    "summary_content": ("summary",),
    "symbol": ("symbols",),
    "tag": ("tags",),
    "target": ("ref",),
    "target_id": ("ref",),
    "text": ("content", "description", "error", "query"),
    "token_budget": ("budget",),
    "to": ("until",),
    "tool": ("command",),
    "ts": ("at",),
    "type": ("kind", "types"),
    "types": ("type",),
    **{f"{name}_id": (name,) for name in SCOPE},
}
"""Other names for fields, in snake case: the first field that the request has is meant."""

STRATEGIES = {"fts-only": "fts", "vector-only": "vector", "semantic-reranking": "rerank"}
"""Names of strategies and the modes that they are."""


def _mode(strategy: Any) -> Any:
    if not isinstance(strategy, str):
        return strategy
    name = re.sub(r"(?<=[a-z])(?=[A-Z])|_", "-", strategy).lower()
    return STRATEGIES.get(name, name)


VALUES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "cursor": ("offset", lambda cursor: cursor),
    "days": ("since", lambda days: f"{days}d" if days else ""),
    "semantic": ("mode", lambda semantic: "semantic" if semantic else ""),
    "strategy": ("mode", _mode),
    "workspace": ("space", lambda name: [] if name == "current" else name),
}
"""Fields of other tools whose values differ too: the field that is meant, and its value, which is
left out if it is empty."""


class Request(BaseModel):
    """A request; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _translate(cls, values: Any) -> Any:
        """Replace other names by fields, and a scope by its fields."""
        if not isinstance(values, dict):
            return values
        fields: dict[str, Any] = {}
        for name, sent in plain_values(dict(values)).items():
            field_name = cls._field_name(name)
            value = sent
            other, convert = VALUES.get(name, ("", None))
            if convert and name not in cls.model_fields and other in cls.model_fields:
                field_name = other
                value = convert(sent)
                if not value:
                    continue
            field = cls.model_fields.get(field_name)
            if field_name in fields:
                raise ValueError(f"{field_name} is given twice")
            if isinstance(value, bool) and field is not None and field.annotation is not bool:
                raise ValueError(f"{field_name} cannot be true or false")
            fields[field_name] = value
        scope = fields.get("scope", {})
        if not isinstance(scope, dict):
            return fields
        fields.pop("scope", None)
        return {**{cls._field_name(name): value for name, value in scope.items()}, **fields}

    @classmethod
    def _field_name(cls, name: str) -> str:
        """The field that a name means; the name itself if there is none."""
        if name in cls.model_fields:
            return name
        snake = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()
        for candidate in (snake, *SYNONYMS.get(snake, ())):
            if candidate in cls.model_fields:
                return candidate
        return SYNONYMS[snake][0] if snake in _SCOPE_NAMES else name


_SCOPE_NAMES = {"scope_ids", *(f"{name}_id" for name in SCOPE)}


def _document(schema: dict[str, Any], _model: object) -> None:
    """Say that there are no other fields, and give examples."""
    schema["additionalProperties"] = False
    add_examples(schema)


class Response(BaseModel):
    model_config = ConfigDict(
        json_schema_extra=_document, json_schema_serialization_defaults_required=True
    )


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


def call_of(
    verb: type[Verb], values: dict[str, Any], memory: Memory | None, client: str = ""
) -> Verb:
    """The call that a request asks for. Its paths are those of the space, never outside of it.

    There is no memory where several spaces are asked.
    """
    for key, value in values.items():
        row = verb.params[key]
        if row.path and not row.loose and value and memory:
            values[key] = (
                [_inside(memory, row, path) for path in value]
                if row.many and not row.joined
                else _inside(memory, row, value)
            )
        elif row.time and isinstance(value, int):
            values[key] = moment(value)
    call = verb(**values)
    call.client = client
    return call


def result_of(kind: Any) -> Any:
    """The type of a verb's answer, also where it is named as `module:type`."""
    if not isinstance(kind, str):
        return kind
    module, _, name = kind.partition(":")
    return getattr(import_module(module), name)


def schema(result: Any) -> Any:
    """The type of a verb's answer as pydantic has it: models for entries of the journal."""
    result = result_of(result)
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
        elif key not in ("by", "successor_by", "question", "edits", "also"):
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
    default = row.request_default if row.default in (None, 0) else row.default
    if default is None:
        default = row.most if row.unbounded else row.default
    if for_tool and row.tool_default is not None:
        default = row.tool_default
    if row.many and not row.joined:
        default = []
    facts: dict[str, Any] = {"description": description} if description else {}
    if row.example is not None:
        facts["examples"] = [row.example]
    return _type(row, for_tool=for_tool), Field(... if row.required else default, **facts)


def _type(row: Param, *, for_tool: bool) -> Any:
    if row.checked:
        facts: Any = {"minimum": row.least, "maximum": row.most}
        if row.choices:
            facts = {"enum": [*([] if for_tool else [""]), *row.choices]}
        return Annotated[row.type, Field(json_schema_extra=facts)]
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
        share: Any = Annotated[float, Field(ge=row.least, le=row.most, allow_inf_nan=False)]
        return share | None if row.default is None else share
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
        with suppress(ValueError):
            return json.loads(value)
    return [item.strip() for item in re.split(rf"[{separator}\n]", value) if item.strip()]


def complaint(errors: Iterable[Mapping[str, Any]], *, prefix: int = 0) -> str:
    """The errors of a pydantic validation as one line.

    `prefix` is the number of leading parts of each location that are not field names.
    """
    lines = [_complaint(error, error["loc"][prefix:]) for error in errors]
    return "; ".join(lines[:COMPLAINTS])


def _complaint(error: Mapping[str, Any], location: Iterable[object]) -> str:
    field = ".".join(map(str, location)) or "the body"
    kind = error["type"]
    if kind == "extra_forbidden":
        return f"unknown field {field!r}"
    if kind == "missing":
        return f"{field} is required"
    if kind == "string_pattern_mismatch":
        return f"{field} has characters that are not allowed"
    message = error["msg"].removeprefix("Value error, ")
    return f"{field}: {message}"


def system_error(error: OSError) -> str:
    """What failed, as the operating system says it."""
    return f"{error.filename or 'the system'}: {error.strerror or error}"


SearchRequest = request_model(Search, "SearchRequest", Request)
"""The search of an endpoint, which pages and teams use, too."""
