"""Verbs as endpoints: GET and POST for those that read, POST for those that write."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from kinen.api import verbs as requests
from kinen.api.requests import Request
from kinen.http.space import CurrentSpace, json_response
from kinen.memory import Memory
from kinen.verbs.catalogue import verbs
from kinen.verbs.verb import Verb, plain


def router() -> APIRouter:
    """The endpoints of all verbs."""
    routes = APIRouter()
    for name, verb in verbs():
        if verb.route:
            _add(routes, name, verb)
    return routes


def _add(routes: APIRouter, name: str, verb: type[Verb]) -> None:
    title = "".join(word.capitalize() for word in name.split())
    model = requests.request_model(verb, f"{title}Request", Request)

    async def answer(space: CurrentSpace, request: Any) -> Response:
        def call(memory: Memory) -> Response:
            _, result = requests.answer(verb, request, memory)
            value = plain(result)
            if verb.writes:
                space.publish(verb.route, memory, value)
            return json_response(value)

        return await space.call(call, apart=verb.slow, lane=verb.lane)

    async def read(space: CurrentSpace, request: Any) -> Response:
        return await answer(space, request)

    description = (verb.__doc__ or "").partition("\b")[0].strip()
    about: dict[str, Any] = {"response_model": verb.result, "description": description}
    answer.__annotations__["request"] = model
    read.__annotations__["request"] = Annotated[model, Query()]
    key = verb.route.replace("/", "_").replace("-", "_")
    routes.post(f"/{verb.route}", name=key, **about)(answer)
    if not verb.writes:
        routes.get(f"/{verb.route}", name=f"{key}_by_url", **about)(read)
