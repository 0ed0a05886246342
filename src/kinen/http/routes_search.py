"""Endpoints that read: search, recall, context for agents, records, links, git history."""

from functools import partial
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from kinen import __version__
from kinen.api import requests, responses
from kinen.errors import QueryError
from kinen.http.guard import Refused
from kinen.http.queries import recall_of, search_of
from kinen.http.space import (
    CurrentSpace,
    LastEvent,
    OpenMemory,
    event_stream,
    json_response,
    text_response,
    with_memory,
)
from kinen.memory import Memory
from kinen.memory.federation import recall_spaces, search_spaces
from kinen.model.records import Query as MemoryQuery
from kinen.render.journal import recall_json, recall_text
from kinen.render.json import hits_json, status_json
from kinen.render.screen import Screen
from kinen.render.style import Style
from kinen.render.text import search_text
from kinen.text import now
from kinen.verbs.search import Recalled

router = APIRouter()
PLAIN = "text/plain"
BYTES = "application/octet-stream"
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


@router.get("/search", response_model=responses.SearchResults, responses=AS_TEXT)
async def search_by_url(
    space: CurrentSpace, request: Annotated[requests.Search, Query()], accept: Accept = ""
) -> Response:
    """Search by words and by meaning; the parameters are those of POST."""
    return await search(space, request, accept)


@router.post("/search", response_model=responses.SearchResults, responses=AS_TEXT)
async def search(space: CurrentSpace, request: requests.Search, accept: Accept = "") -> Response:
    """Search by words and by meaning: each hit with its place and the votes behind its score."""

    def query(memory: Memory) -> MemoryQuery:
        return search_of(memory, request)

    pool = space.backend.pool
    if request.space:
        hits = await pool.thread(
            partial(search_spaces, request.space, query, opener=pool.open_space)
        )
    else:
        hits = await space.call(lambda memory: memory.search(query(memory)))
    if not _wants_text(accept):
        return json_response(hits_json(hits), _headers(bool(hits), hits.notes))
    text = search_text(
        hits,
        files=request.files,
        explain=request.explain,
        verbose=request.verbose,
        folder=request.folder,
        screen=Screen(Style(colour=request.colour), request.width, now()),
    )
    return text_response(text, PLAIN, _headers(bool(text), hits.notes))


@router.get("/recall", response_model=Recalled, responses=AS_TEXT)
async def recall_by_url(
    space: CurrentSpace, request: Annotated[requests.Recall, Query()], accept: Accept = ""
) -> Response:
    """Plan, pins, latest summary and hits; the parameters are those of POST."""
    return await recall(space, request, accept)


@router.post("/recall", response_model=Recalled, responses=AS_TEXT)
async def recall(space: CurrentSpace, request: requests.Recall, accept: Accept = "") -> Response:
    """The plan, pins, the latest summary and hits, inside a token budget."""
    query = recall_of(request)
    pool = space.backend.pool
    if request.space and request.slow:
        raise QueryError("a digest is of one space", "omit distill, or name one space")
    if request.space:
        answer = await pool.thread(
            partial(recall_spaces, request.space, query, full=request.full, opener=pool.open_space)
        )
    else:
        distiller = request.distiller or ("configured" if request.distill else "none")
        name = "" if distiller == "none" else distiller
        answer = await space.call(
            lambda memory: memory.recall(query, full=request.full, distiller=name),
            apart=request.slow,
        )
    notes = (*answer.notes, *(answer.digest.notes if answer.digest else ()))
    headers = _headers(bool(answer.items or answer.digest), notes)
    if _wants_text(accept):
        return text_response(recall_text(answer), PLAIN, headers)
    return json_response(recall_json(answer), headers)


def _headers(hits: bool, notes: Any) -> dict[str, str]:
    lines = "\n".join(" ".join(note.split()) for note in notes)
    return {"X-Kinen-Notes": quote(lines), "X-Kinen-Code": "0" if hits else "1"}


def _wants_text(accept: str) -> bool:
    return PLAIN in accept.lower() and "json" not in accept.lower()


@router.post("/vectors", response_model=None, responses={200: {"content": {BYTES: {"schema": {}}}}})
@with_memory()
def vectors(memory: OpenMemory, request: requests.Embed) -> Any:
    """Vectors of texts as rows of little-endian float32; 409 if the space has another model."""
    try:
        return Response(memory.index.vectors(request.texts, request.model), media_type=BYTES)
    except QueryError as error:
        raise Refused(409, error.message, error.hint) from error


@router.get("/health", response_model=responses.Health)
async def health(request: Request) -> Response:
    """Whether the daemon answers."""
    state = request.app.state.backend.state()
    return json_response({"status": "ok", "version": __version__, "daemon": state})


@router.get("/status", response_model=responses.Status)
async def status(space: CurrentSpace) -> Response:
    """The state of the daemon, and of the space if the request names one."""
    state = None
    if space.name:
        state = status_json(await space.call(lambda memory: memory.index.status()))
    return json_response({"space": state, "daemon": space.backend.state()})


@router.get(
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
