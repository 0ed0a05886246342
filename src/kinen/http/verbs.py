"""Verbs as endpoints: GET and POST for those that read, POST for those that write."""

from __future__ import annotations

import re
from inspect import Parameter, Signature
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from kinen.api import verbs as requests
from kinen.api.requests import Request
from kinen.http.space import CurrentSpace, RequestSpace, json_response
from kinen.memory import Memory
from kinen.memory.memory import ASK, JOURNAL
from kinen.verbs.catalogue import verbs
from kinen.verbs.verb import Verb


def router() -> APIRouter:
    """The endpoints of all verbs."""
    routes = APIRouter()
    for name, verb in verbs():
        if verb.route:
            _add(routes, name, verb)
    return routes


def _add(routes: APIRouter, name: str, verb: type[Verb]) -> None:
    in_path = re.findall(r"{(\w+)", verb.route)
    title = "".join(word.capitalize() for word in name.split())
    model = requests.request_model(verb, f"{title}Request", Request, omit=in_path)
    key = re.sub(r"\W+", "_", name)
    about: dict[str, Any] = {
        "response_model": requests.schema(verb.result),
        "description": requests.summary(verb),
    }
    for method in verb.methods or (("POST",) if verb.writes else ("POST", "GET")):
        endpoint = _endpoint(verb)
        rows = [("space", CurrentSpace), *((name, _in_path(verb, name)) for name in in_path)]
        if model.model_fields:
            rows.append(("request", Annotated[model, Query()] if method == "GET" else model))
        endpoint.__signature__ = Signature(
            [Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind) for name, kind in rows]
        )
        by_url = "_by_url" if method == "GET" else ""
        routes.add_api_route(
            f"/{verb.route}", endpoint, methods=[method], name=f"{key}{by_url}", **about
        )


def _in_path(verb: type[Verb], name: str) -> Any:
    kind, _ = requests.field_of(verb.params[name], for_tool=False)
    return Annotated[kind, Path(description=verb.params[name].help)]


def _endpoint(verb: type[Verb]) -> Any:
    async def endpoint(space: RequestSpace, request: Any = None, **in_path: str) -> Response:
        values = requests.values_of(verb, request) if request is not None else {}

        def call(memory: Memory) -> Response:
            value = requests.answer(verb, {**values, **in_path}, memory).data
            if verb.writes:
                space.publish(verb.event or verb.route, memory, value)
            return json_response(value)

        return await space.call(call, apart=verb.slow, lane=JOURNAL if verb.journal_only else ASK)

    return endpoint
