"""What OpenAPI says of a team's endpoints."""

from __future__ import annotations

from typing import Any

from kinen import __version__
from kinen.team.merge import LONGEST_NAME, NOUNS
from kinen.team.postgres import MOST_VERSIONS
from kinen.verbs.requests import SearchRequest

REF = "#/components/schemas/{model}"
NAME = {"type": "string", "maxLength": LONGEST_NAME}
COUNT = {"type": "integer", "minimum": 0}
FAULTS = {
    400: "A field, parameter or header is invalid.",
    401: "The token is missing, wrong, expired or revoked.",
    403: "The token has no right to do this in this space.",
    405: "The endpoint has other methods.",
    413: "The request is too large.",
    429: "Too many requests; try again after Retry-After seconds.",
    500: "The server lacks a right in its database; `kinen team check` says which.",
    503: "The database does not answer; try again after Retry-After seconds.",
}
SPACE = {
    "name": "X-Kinen-Space",
    "in": "header",
    "required": True,
    "description": "The name of the space in the team, percent-encoded UTF-8.",
    "schema": {"type": "string", "maxLength": 200},
}
PROTOCOL_HEADER = {
    "name": "X-Kinen-Protocol",
    "in": "header",
    "description": "The version of the messages; 1 where it is missing.",
    "schema": {"type": "integer", "minimum": 1},
}
VERSION = {
    "type": "object",
    "required": ["noun", "id", "fields", "stamps"],
    "properties": {
        "noun": {"type": "string", "examples": list(NOUNS)},
        "id": {**NAME, "minLength": 1},
        "author": NAME,
        "machine": NAME,
        "fields": {"type": "object"},
        "stamps": {
            "type": "object",
            "description": "By field: how often the entry had been changed, and the machine.",
            "additionalProperties": {"type": "array", "minItems": 2, "maxItems": 2},
        },
        "forgotten": {**COUNT, "description": "Epoch milliseconds; 0 for a live entry."},
        "cleaned": {"type": "array", "items": {"type": "string"}},
    },
}


def _object(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(fields), "properties": fields}


def _number(name: str, most: int) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": {**COUNT, "maximum": most}}


def _operation(
    summary: str,
    response: dict[str, Any],
    *,
    parameters: tuple[dict[str, Any], ...] = (),
    body: dict[str, Any] | None = None,
    space: bool = True,
    media: str = "application/json",
) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": summary,
        "parameters": [*([SPACE, PROTOCOL_HEADER] if space else []), *parameters],
        "responses": {"200": {"description": "OK", "content": {media: {"schema": response}}}},
    }
    for status, meaning in FAULTS.items():
        content = {"application/json": {"schema": {"$ref": REF.format(model="Failure")}}}
        operation["responses"][str(status)] = {"description": meaning, "content": content}
    if body:
        content = {"application/json": {"schema": body}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _schema() -> dict[str, Any]:
    search = SearchRequest.model_json_schema(ref_template=REF)
    schemas = search.pop("$defs", {})
    hits = _object(results={"type": "array", "items": {"type": "object"}})
    words = {"name": "query", "in": "query", "required": True, "schema": {"type": "string"}}
    text = {"type": "string"}
    detail = _object(code=text, message=text, hint=text)
    version = {"$ref": REF.format(model="Version")}
    versions = {"type": "array", "items": version, "maxItems": MOST_VERSIONS}
    reasons = {
        "type": "object",
        "description": "By ref: why a version was left out.",
        "additionalProperties": text,
    }
    me = _object(person=NAME, space=NAME, rights={"type": "array"}, expires_at={"type": "string"})
    more = {"type": "boolean"}
    page = _object(
        versions=versions, cursor=COUNT, more=more, unread=reasons, epoch=NAME, newest=COUNT
    )
    digests = {"type": "object", "additionalProperties": text}
    compared = {
        "type": "object",
        "properties": {"epoch": NAME, "newest": COUNT, "digests": digests, "prints": digests},
    }
    one_range = {"name": "range", "in": "query", "schema": {"type": "string", "maxLength": 2}}
    refs = {"type": "array", "items": text, "maxItems": MOST_VERSIONS}
    cursor = (_number("after", 1 << 62), _number("limit", MOST_VERSIONS), _number("erased", 1))
    paths = {
        "/v1/health": {
            "get": _operation("Whether the server runs", {"type": "object"}, space=False)
        },
        "/healthz": {"get": _operation("Whether the server runs", {"type": "object"}, space=False)},
        "/readyz": {
            "get": _operation("Whether the database answers", {"type": "object"}, space=False)
        },
        "/v1/team/sign-in": {
            "get": _operation(
                "The provider where people sign in, or null", _object(provider={}), space=False
            )
        },
        "/v1/search": {
            "get": _operation("Search a space by words", hits, parameters=(words,)),
            "post": _operation("Search a space by words", hits, body=search),
        },
        "/v1/team/me": {"get": _operation("What the token is for", me)},
        "/v1/team/pull": {
            "get": _operation("Versions that changed after a cursor", page, parameters=cursor)
        },
        "/v1/team/fetch": {
            "post": _operation(
                "The team's versions of some entries",
                _object(versions=versions, more=more, unread=reasons),
                body=_object(refs=refs),
            )
        },
        "/v1/team/compare": {
            "get": _operation(
                "Digests of what the team holds: by range, or by ref within one",
                compared,
                parameters=(one_range,),
            )
        },
        "/v1/team/news": {
            "post": _operation(
                "Which spaces changed since a machine saw them; waits until one does",
                _object(news=digests, refused={"type": "array", "items": text}),
                body=_object(seen=digests, wait={"type": "number", "minimum": 0}),
                space=False,
            )
        },
        "/v1/team/push": {
            "post": _operation(
                "Merge versions into the team's, each that is valid",
                _object(entries=COUNT, refused=COUNT, invalid=reasons),
                body=_object(versions=versions),
            )
        },
        "/v1/team/withdraw": {
            "post": _operation(
                "Take back what the person of the token wrote",
                _object(entries=COUNT),
                body=_object(machine=NAME),
            )
        },
        "/metrics": {
            "get": _operation(
                "Counters for Prometheus", {"type": "string"}, space=False, media="text/plain"
            )
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "kinen team", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": {**schemas, "Version": VERSION, "Failure": _object(error=detail)},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


SCHEMA = _schema()
