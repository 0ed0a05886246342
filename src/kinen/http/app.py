"""The HTTP application of the daemon: endpoints, errors in one shape, and what OpenAPI says."""

from __future__ import annotations

import errno
import logging
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from kinen import __version__, errors
from kinen.http import responses, routes_journal, routes_search
from kinen.http.guard import BROKEN, FAULTS, JSON, Guard, Refused, failure
from kinen.http.space import Door

if TYPE_CHECKING:
    from collections.abc import Callable

    from kinen.http.events import Hub
    from kinen.memory.pool import Spaces

STATUS: dict[type, int] = {
    **dict.fromkeys((errors.QueryError, errors.ConfigError, errors.Unreadable), 400),
    **dict.fromkeys((errors.NotFound, errors.SpaceError), 404),
    **dict.fromkeys((errors.Busy, errors.EmbedError), 503),
    errors.Excluded: 403,
    errors.GitError: 409,
}
"""The status of each failure that a user can cause and mend."""
AGAIN = "2"
"""Seconds after which to try again what is busy."""
HINT = "GET /v1/openapi.json has all endpoints"
ABOUT = (
    "The memory of a space over HTTP. A request names its space by `X-Kinen-Space`. Answers have"
    " the words of `--json`; requests may also use Kindling's (`scopeIds`, `capsuleId`, `ttlMs`)."
)
_MEASURES = ("tracing", "metrics", "logs", "operation_spans", "auto_configure")
TELEMETRY: Any = dict.fromkeys(_MEASURES, False)
"""What FastAPI would send to wherever the environment says: nothing leaves this machine."""
log = logging.getLogger("kinen.daemon")


def create_app(
    spaces: Spaces,
    *,
    hub: Hub,
    state: Callable[[], dict[str, Any]],
    token: str = "",
    port: int = 0,
    default: str = "",
    used: Callable[[], None] = lambda: None,
) -> Guard:
    """The application behind its guard: over a Unix socket for its owner, over TCP by a token."""
    app = FastAPI(
        title="kinen",
        version=__version__,
        description=ABOUT,
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        telemetry=TELEMETRY,
    )
    app.state.door = Door(spaces, hub, state, default)
    for router, tag in ((routes_search.router, "ask"), (routes_journal.router, "journal")):
        app.include_router(router, prefix="/v1", tags=[tag])
    for kind in (errors.KinenError, Refused, HTTPException, OSError, Exception):
        app.add_exception_handler(kind, _failed)
    app.add_exception_handler(RequestValidationError, _invalid)
    plain = app.openapi
    app.openapi = lambda: app.openapi_schema or described(plain())  # type: ignore[method-assign]
    return Guard(app, token=token, port=port, used=used)


# Errors


async def _failed(request: Request, error: Exception) -> Response:
    status, message, hint = told(request, error)
    if status == 500 and message != BROKEN[0]:  # else the guard has it
        log.error("%s %s: %s", request.method, request.url.path, error)
    headers = {"Retry-After": AGAIN} if status == 503 else getattr(error, "headers", None)
    return Response(failure(status, message, hint), status, headers, JSON.decode())


def told(request: Request, error: Exception) -> tuple[int, str, str]:
    """The status, message and hint of a failure."""
    if isinstance(error, Refused):
        return error.status, error.message, error.hint
    if isinstance(error, errors.KinenError):
        status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)
        full = status == 500 and error.hint.startswith("free some space")
        return 507 if full else status, error.message, error.hint
    if isinstance(error, HTTPException):
        path, method = request.url.path, request.method
        said = {404: f"no endpoint {path}", 405: f"not by {method}"}.get(error.status_code)
        return error.status_code, said or str(error.detail), HINT
    if isinstance(error, OSError):
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return 507, "the disk is full", "free some space"
        return 500, f"{error.filename or 'the system'}: {error.strerror or error}", ""
    return 500, *BROKEN


async def _invalid(_: Request, error: Any) -> Response:
    """What is wrong with the fields of a request."""
    said = []
    for one in error.errors():
        where = ".".join(str(part) for part in one["loc"][1:]) or "the body"
        if one["type"] == "extra_forbidden":
            said.append(f"there is no {where!r}")
        elif one["type"] == "missing":
            said.append(f"{where} is missing")
        elif one["type"] == "string_pattern_mismatch":
            said.append(f"{where} has signs that it cannot have")
        else:
            said.append(f"{where}: {one['msg'].removeprefix('Value error, ')}")
    hint = "send JSON as application/json; GET /v1/openapi.json has the fields"
    return Response(failure(400, "; ".join(said[:5]), hint), 400, media_type=JSON.decode())


# What OpenAPI says


def described(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with every error that there is, and an example of every body."""
    parts = schema["components"]
    failure_ref = {"$ref": f"#/components/schemas/{responses.Failure.__name__}"}
    for name in ("HTTPValidationError", "ValidationError"):
        parts["schemas"].pop(name, None)
    parts["schemas"].update(_schemas())
    parts["responses"] = {
        str(status): {
            "description": meaning,
            "content": {
                "application/json": {
                    "schema": failure_ref,
                    "example": {"error": {"code": code, "message": meaning, "hint": ""}},
                }
            },
        }
        for status, (code, meaning) in FAULTS.items()
    }
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    schema["security"] = [{}, {"token": []}]
    for operation in (one for path in schema["paths"].values() for one in path.values()):
        operation["responses"].pop("422", None)
        bodies = [operation.get("requestBody", {}), operation["responses"]["200"]]
        for content in (one for body in bodies for one in body.get("content", {}).values()):
            if "example" not in content and "$ref" in content.get("schema", {}):
                content["example"] = example(content["schema"], parts["schemas"])
        for status in FAULTS:
            operation["responses"][str(status)] = {"$ref": f"#/components/responses/{status}"}
    return schema


def _schemas() -> dict[str, Any]:
    """The models of errors, which no endpoint names."""
    made = responses.Failure.model_json_schema(ref_template="#/components/schemas/{model}")
    return {**made.pop("$defs"), responses.Failure.__name__: made}


def example(schema: dict[str, Any], known: dict[str, Any]) -> Any:
    """A value that fits a schema, made of the examples of its fields."""
    if "$ref" in schema:
        return example(known[schema["$ref"].rpartition("/")[2]], known)
    if schema.get("examples"):
        return schema["examples"][0]
    if "default" in schema:
        return schema["default"]
    if "anyOf" in schema:
        return example(schema["anyOf"][0], known)
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    if schema.get("type") == "array":
        return [example(schema["items"], known)]
    fields = schema.get("properties", {})
    return {
        name: example(one, known)
        for name, one in fields.items()
        if "default" not in one or one.get("examples")
    }
