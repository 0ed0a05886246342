"""The endpoints: those of verbs, vectors, health, status, events, export and import.

A verb that reads has GET and POST, one that writes POST.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import AsyncIterator
from functools import cache
from inspect import Parameter, Signature
from tempfile import SpooledTemporaryFile
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from kinen import __version__, times
from kinen.errors import Busy, Conflict, DiskFull, QueryError, StoreError
from kinen.http.guard import Refused
from kinen.http.space import (
    CurrentSpace,
    LastEvent,
    RequestSpace,
    event_stream,
    json_response,
    text_response,
)
from kinen.journal.schema import LATEST
from kinen.memory import Memory
from kinen.memory.memory import ASK, JOURNAL
from kinen.render.journal import loaded_json
from kinen.render.json import status_json
from kinen.verbs import requests
from kinen.verbs.catalogue import verbs
from kinen.verbs.requests import moment
from kinen.verbs.verb import Output, Verb

ask = APIRouter()
journal = APIRouter()
BYTES = "application/octet-stream"
BLOCK_BYTES = 1 << 18
SPOOL_BYTES = 8 << 20
"""Bytes of a bundle that are held in memory; the rest is in a temporary file."""
FORMS = {"json": "application/json", "jsonl": "application/x-ndjson", "html": "text/html"}
BUNDLE = {
    "schema": {"type": "object"},
    "example": {"version": "1.0", "exported_at": 1767225600000, "observations": []},
}
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
Name = Annotated[str, Field(max_length=500)]
Text = Annotated[str, Field(max_length=20_000)]
Moment = Annotated[int, Field(strict=True, ge=0, lt=LATEST)] | Annotated[str, Field(max_length=64)]


class Embed(requests.Request):
    """Texts to embed with the model of a fingerprint."""

    texts: list[Text] = Field(min_length=1, max_length=64, examples=[["why did we drop redis"]])
    model: Name = Field(description="its fingerprint", examples=["minilm-1f2e3d"])


class Export(requests.Request):
    form: Literal["json", "jsonl", "html"] = "json"
    session: Name = ""
    repo: Name = ""
    since: Moment = Field(
        "", description="not before: ISO, `2h`, `3d`, `today`, or epoch milliseconds"
    )
    until: Moment = Field("", description="before, in the same words")


class Status(requests.Response):
    space: dict[str, Any] | None
    daemon: dict[str, Any]


class Health(requests.Response):
    status: str
    version: str
    daemon: dict[str, Any]


class ImportReport(requests.Response):
    dry_run: bool
    added: dict[str, Any]
    skipped: dict[str, Any]
    replaced: dict[str, Any]
    forgotten: int
    masked: int
    ignored: dict[str, Any]
    notes: list[str]


class Spool(SpooledTemporaryFile[bytes]):
    """A bundle that is being sent or received."""

    name = "the bundle"


@cache
def of_verbs(*, described: bool) -> APIRouter:
    """The endpoints of all verbs; with the fields of their answers if they are described."""
    routes = APIRouter()
    for name, verb in verbs():
        if not verb.route:
            continue
        rows: dict[str, Any] = {"space": CurrentSpace}
        in_path = re.findall(r"{(\w+)", verb.route)
        for part in in_path:
            kind, _ = requests.field_of(verb.params[part], for_tool=False)
            rows[part] = Annotated[kind, Path(description=verb.params[part].help)]
        title = "".join(word.capitalize() for word in name.split())
        model = requests.request_model(verb, f"{title}Request", requests.Request, omit=in_path)
        about: dict[str, Any] = {
            "response_model": requests.schema(verb.result) if described else None,
            "description": requests.summary(verb),
            "responses": AS_TEXT if verb.quick else None,
        }
        for method in verb.methods or (("POST",) if verb.writes else ("POST", "GET")):
            if model.model_fields:
                rows["request"] = Annotated[model, Query()] if method == "GET" else model
            parameters = [
                Parameter(key, Parameter.KEYWORD_ONLY, annotation=row) for key, row in rows.items()
            ]
            if verb.quick:
                parameters.append(
                    Parameter("accept", Parameter.KEYWORD_ONLY, default="", annotation=Accept)
                )
            endpoint = _endpoint(verb)
            endpoint.__signature__ = Signature(parameters)
            called = re.sub(r"\W+", "_", name) + ("_by_url" if method == "GET" else "")
            routes.add_api_route(f"/{verb.route}", endpoint, methods=[method], name=called, **about)
    return routes


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


@ask.post("/vectors", response_model=None, responses={200: {"content": {BYTES: {"schema": {}}}}})
async def vectors(space: CurrentSpace, request: Embed) -> Response:
    """Vectors of texts as rows of little-endian float32; 409 if the space has another model."""
    try:
        rows = await space.call(lambda memory: memory.index.vectors(request.texts, request.model))
    except QueryError as error:
        raise Refused(409, error.message, error.hint) from error
    return Response(rows, media_type=BYTES)


@ask.get("/health", response_model=Health)
async def health(request: Request) -> Response:
    """Whether the daemon answers."""
    state = request.app.state.backend.state()
    return json_response({"status": "ok", "version": __version__, "daemon": state})


@ask.get("/status", response_model=Status)
async def status(space: CurrentSpace) -> Response:
    """The state of the daemon, and of the space if the request names one."""
    state = None
    if space.name:
        state = status_json(await space.call(lambda memory: memory.index.status()))
    return json_response({"space": state, "daemon": space.backend.state()})


@ask.get(
    "/events",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"text/event-stream": {"example": "id: 7\nevent: sync\ndata: {}"}}}
    },
)
async def events(request: Request, last: LastEvent = -1) -> Response:
    """Events from now on, or after the last one that was read, as server-sent events.

    A listener that is far behind loses the oldest; an event `lost` says how many.
    """
    return event_stream(request, last, "end one of them, then try again")


@journal.get(
    "/export",
    response_class=StreamingResponse,
    responses={200: {"content": {kind: {"schema": {}} for kind in FORMS.values()}}},
)
async def export(request: Annotated[Export, Query()], space: CurrentSpace) -> StreamingResponse:
    """The journal, or a part of it, as one bundle or page; the same journal, the same entries."""

    def write(memory: Memory) -> Spool:
        with contextlib.ExitStack() as stack:
            file = stack.enter_context(Spool(SPOOL_BYTES))
            out = io.TextIOWrapper(file, "utf-8", "surrogatepass", newline="\n")
            memory.transfer.export(
                out,
                session=request.session,
                repo=request.repo,
                form=request.form,
                after=times.milliseconds(moment(request.since)),
                before=times.milliseconds(moment(request.until)),
            )
            out.detach()
            file.seek(0)
            stack.pop_all()
        return file

    async def blocks(file: Spool) -> AsyncIterator[bytes]:
        with file:
            while block := await space.backend.pool.thread(file.read, BLOCK_BYTES):
                yield block

    file = await space.call(write, apart=True)
    # A page has scripts of its own: it is saved, and not shown in the place of this server.
    headers = {"Content-Disposition": "attachment"} if request.form == "html" else None
    return StreamingResponse(blocks(file), media_type=FORMS[request.form], headers=headers)


@journal.post(
    "/import",
    response_model=ImportReport,
    openapi_extra={"requestBody": {"required": True, "content": {FORMS["json"]: BUNDLE}}},
)
async def import_(
    request: Request,
    space: CurrentSpace,
    on_conflict: Literal["skip", "overwrite", "error"] = "skip",
    dry_run: bool = False,
) -> Response:
    """Import a bundle of kinen or Kindling, JSON, JSONL or a page: all of it or nothing."""
    with Spool(SPOOL_BYTES) as file:
        async for block in request.stream():
            await space.backend.pool.thread(file.write, block)
        file.seek(0)

        def load(memory: Memory) -> Any:
            try:
                loaded = memory.transfer.load(file, on_conflict=on_conflict, dry_run=dry_run)
            except StoreError as error:
                if isinstance(error, (Busy, Conflict, DiskFull)):
                    raise
                raise Refused(400, error.fact(), error.hint) from error
            report = loaded_json(loaded, dry_run)
            space.publish("import", memory, report)
            return report

        return json_response(await space.call(load, apart=True))
