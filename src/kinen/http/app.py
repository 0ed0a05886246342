"""The HTTP application of the daemon: endpoints, errors in one shape, and the OpenAPI schema."""

from __future__ import annotations

import errno
import logging
import sqlite3
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from kinen import __version__, errors
from kinen.http import routes, routes_web
from kinen.http.guard import BUG, FAULTS, HTML, JSON, PAGES, Access, Guard, Refused, failure
from kinen.http.space import Backend, Hub
from kinen.memory.pool import MemoryPool
from kinen.verbs.requests import Response as Model
from kinen.verbs.requests import complaint, system_error
from kinen.web.page import error_page

STATUS: dict[type, int] = {
    errors.QueryError: 400,
    errors.ConfigError: 400,
    errors.Unreadable: 400,
    errors.SignInError: 401,
    errors.Excluded: 403,
    errors.NotFound: 404,
    errors.SpaceError: 404,
    errors.GitError: 409,
    errors.Conflict: 409,
    errors.DiskFull: 507,
    errors.Busy: 503,
    errors.EmbedError: 503,
}
"""The status of each error that a user can cause and fix."""
DAMAGE = (sqlite3.DatabaseError, sqlite3.OperationalError)
"""What SQLite raises for a damaged file; other errors of it are bugs."""
RETRY_SECONDS = "2"
HINT = "GET /v1/openapi.json has all endpoints"
DESCRIPTION = (
    "The memory of a space over HTTP. A request names its space by `X-Kinen-Space`. Responses have"
    " the fields of the command line's JSON; requests may also use Kindling's (`scopeIds`,"
    " `capsuleId`, `ttlMs`)."
)
TELEMETRY: Any = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
"""What FastAPI could send to an address in the environment: nothing leaves this machine."""
PLACEHOLDERS = {"string": "text", "integer": 1, "number": 0.5, "boolean": False}
"""Examples of fields that have none, by type."""
log = logging.getLogger("kinen.daemon")


class Fault(Model):
    code: str
    message: str
    hint: str


class Failure(Model):
    error: Fault


def create_app(
    pool: MemoryPool,
    *,
    hub: Hub,
    state: Callable[[], dict[str, Any]],
    access: Access | None = None,
    default: str = "",
    used: Callable[[], None] = lambda: None,
    open_port: Callable[[], Awaitable[int]] | None = None,
    restart: Callable[[str], Callable[[], None]] | None = None,
) -> Guard:
    """The application behind its guard.

    Without `access` only requests over a Unix socket are answered. `default` is the folder whose
    space is used if a request names none; `used` is called for each request. `open_port` returns
    the port of the pages, by default the one that `access` has. `restart` returns what replaces
    the daemon and lets the browser with a cookie stay signed in; without it pages have no button.
    """
    access = access or Access()

    async def own_port() -> int:
        return access.port

    app = _application(described=False)
    app.state.backend = Backend(pool, hub, state, default, access, open_port or own_port, restart)
    for kind in (errors.KinenError, Refused, HTTPException, OSError, Exception):
        app.add_exception_handler(kind, _error_response)
    app.add_exception_handler(RequestValidationError, _validation_response)

    def openapi() -> dict[str, Any]:
        app.openapi_schema = app.openapi_schema or describe(_application(described=True).openapi())
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
    return Guard(app, check=access.check, used=used, error_page=error_page)


def _application(*, described: bool) -> FastAPI:
    """All endpoints; those of verbs have the fields of their answers only if they are described.

    Models of these fields take most of the time of a start, and no request needs them.
    """
    app = FastAPI(
        title="kinen",
        version=__version__,
        description=DESCRIPTION,
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        telemetry=TELEMETRY,
    )
    app.include_router(routes.ask, prefix="/v1", tags=["ask"])
    app.include_router(routes.of_verbs(described=described), prefix="/v1", tags=["verbs"])
    app.include_router(routes.journal, prefix="/v1", tags=["journal"])
    app.include_router(routes_web.api, prefix="/v1", tags=["pages"])
    app.include_router(routes_web.pages, include_in_schema=False)
    return app


async def _error_response(request: Request, error: Exception) -> Response:
    status, message, hint = describe_error(request, error)
    if status == 500 and message != BUG[0]:  # the guard logs bugs
        log.error("%s %s: %s", request.method, request.url.path, error)
    headers = {"Retry-After": RETRY_SECONDS} if status == 503 else getattr(error, "headers", None)
    if request.url.path.startswith(PAGES):
        return Response(error_page(status, message, hint), status, headers, HTML.decode())
    return Response(failure(status, message, hint), status, headers, JSON.decode())


def describe_error(request: Request, error: Exception) -> tuple[int, str, str]:
    """The status, message and hint of an error."""
    if isinstance(error, Refused):
        return error.status, error.message, error.hint
    if isinstance(error, errors.KinenError):
        status = next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)
        return status, error.fact(), error.hint
    if isinstance(error, HTTPException):
        messages = {
            404: f"no endpoint {request.url.path}",
            405: f"method {request.method} not allowed",
        }
        message = messages.get(error.status_code, str(error.detail))
        return error.status_code, message, HINT
    if type(error) in DAMAGE:
        return 500, f"a database is damaged: {error}", "run `kinen doctor`"
    if isinstance(error, OSError):
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return 507, "the disk is full", "free some space"
        return 500, system_error(error), ""
    return 500, *BUG


async def _validation_response(_: Request, error: Any) -> Response:
    hint = "send JSON as application/json; GET /v1/openapi.json has the fields"
    message = complaint(error.errors(), prefix=1)
    return Response(failure(400, message, hint), 400, media_type=JSON.decode())


def describe(schema: dict[str, Any]) -> dict[str, Any]:
    """The OpenAPI schema with all errors, and an example of every body."""
    components = schema["components"]
    for name in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(name, None)
    failure_schema = Failure.model_json_schema(ref_template="#/components/schemas/{model}")
    components["schemas"].update(failure_schema.pop("$defs"), Failure=failure_schema)
    components["responses"] = {
        str(status): {
            "description": meaning,
            "content": {
                "application/json": {
                    "schema": {"$ref": "#/components/schemas/Failure"},
                    "example": {"error": {"code": code, "message": meaning, "hint": ""}},
                }
            },
        }
        for status, (code, meaning) in FAULTS.items()
    }
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    schema["security"] = [{}, {"token": []}]
    for path in schema["paths"].values():
        for operation in path.values():
            operation["responses"].pop("422", None)
            for body in (operation.get("requestBody", {}), operation["responses"]["200"]):
                for content in body.get("content", {}).values():
                    refers = {"$ref", "anyOf"} & content.get("schema", {}).keys()
                    if "example" not in content and refers:
                        content["example"] = example(content["schema"], components["schemas"])
            for fault in FAULTS:
                operation["responses"][str(fault)] = {"$ref": f"#/components/responses/{fault}"}
    return schema


def example(schema: dict[str, Any], schemas: dict[str, Any]) -> Any:
    """A value that fits a schema, made of the examples of its fields."""
    if "$ref" in schema:
        return example(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    if schema.get("examples"):
        return schema["examples"][0]
    if "default" in schema:
        return schema["default"]
    if "anyOf" in schema:
        return example(schema["anyOf"][0], schemas)
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    if schema.get("type") in PLACEHOLDERS:
        return PLACEHOLDERS[schema["type"]]
    if schema.get("type") == "array":
        return [example(schema["items"], schemas)]
    required = schema.get("required", ())
    return {
        name: example(field, schemas)
        for name, field in schema.get("properties", {}).items()
        if name in required or "default" not in field or field.get("examples")
    }
