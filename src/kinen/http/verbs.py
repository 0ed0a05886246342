"""Verbs as endpoints: GET and POST for those that read, POST for those that write."""

from __future__ import annotations

import re
from functools import cache
from inspect import Parameter, Signature
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Header, Path, Query, Response

from kinen.http.space import CurrentSpace, RequestSpace, json_response, text_response
from kinen.memory import Memory
from kinen.memory.memory import ASK, JOURNAL
from kinen.verbs import requests
from kinen.verbs.catalogue import verbs
from kinen.verbs.requests import Request
from kinen.verbs.verb import Output, Verb

PLAIN = "text/plain"
Accept = Annotated[str, Header(description="`text/plain` for what the command prints")]
AS_TEXT: Any = {
    200: {
        "headers": {
            "X-Kinen-Notes": {"description": "remarks, percent-encoded lines", "schema": {}},
            "X-Kinen-Code": {"description": "1 if there is no hit, else 0", "schema": {}},
        },
        "content": {PLAIN: {"schema": {"type": "string"}, "example": "docs/sessions.md:12"}},
    }
}
"""What the endpoint of a quick verb has besides: its command prints the answer of a daemon."""


@cache
def router(*, described: bool) -> APIRouter:
    """The endpoints of all verbs; with the fields of their answers if they are described."""
    routes = APIRouter()
    for name, verb in verbs():
        if verb.route:
            _add(routes, name, verb, described=described)
    return routes


def _add(routes: APIRouter, name: str, verb: type[Verb], *, described: bool) -> None:
    in_path = re.findall(r"{(\w+)", verb.route)
    title = "".join(word.capitalize() for word in name.split())
    model = requests.request_model(verb, f"{title}Request", Request, omit=in_path)
    called = re.sub(r"\W+", "_", name)
    about: dict[str, Any] = {
        "response_model": requests.schema(verb.result) if described else None,
        "description": requests.summary(verb),
        "responses": AS_TEXT if verb.quick else None,
    }
    for method in verb.methods or (("POST",) if verb.writes else ("POST", "GET")):
        endpoint = _endpoint(verb)
        rows = [("space", CurrentSpace), *((name, _in_path(verb, name)) for name in in_path)]
        if model.model_fields:
            rows.append(("request", Annotated[model, Query()] if method == "GET" else model))
        parameters = [Parameter(key, Parameter.KEYWORD_ONLY, annotation=row) for key, row in rows]
        if verb.quick:
            parameters.append(
                Parameter("accept", Parameter.KEYWORD_ONLY, default="", annotation=Accept)
            )
        endpoint.__signature__ = Signature(parameters)
        key = f"{called}_by_url" if method == "GET" else called
        routes.add_api_route(f"/{verb.route}", endpoint, methods=[method], name=key, **about)


def _in_path(verb: type[Verb], name: str) -> Any:
    kind, _ = requests.field_of(verb.params[name], for_tool=False)
    return Annotated[kind, Path(description=verb.params[name].help)]


def _endpoint(verb: type[Verb]) -> Any:
    async def endpoint(
        space: RequestSpace, request: Any = None, accept: str = "", **in_path: str
    ) -> Response:
        values = requests.values_of(verb, request) if request is not None else {}
        if names := values.get("space"):
            pool = space.backend.pool
            call = requests.call_of(verb, values, None)
            return _response(
                await pool.thread(call.answer_of, names, pool.open_space), verb, accept
            )

        def work(memory: Memory) -> Response:
            output = requests.call_of(verb, {**values, **in_path}, memory).answer(memory)
            if verb.writes:
                space.publish(verb.event or verb.route, memory, output.data)
            return _response(output, verb, accept)

        lane = JOURNAL if verb.journal_only else ASK
        return await space.call(work, apart=verb(**values).is_slow(), lane=lane)

    return endpoint


def _response(output: Output, verb: type[Verb], accept: str) -> Response:
    if not verb.quick:
        return json_response(output.data)
    as_text = PLAIN in accept.lower() and "json" not in accept.lower()
    text = output.rendered() if as_text else ""
    empty = not output.found or (as_text and not text)
    lines = "\n".join(" ".join(note.split()) for note in output.notes)
    headers = {"X-Kinen-Notes": quote(lines), "X-Kinen-Code": "1" if empty else "0"}
    return text_response(text, PLAIN, headers) if as_text else json_response(output.data, headers)
