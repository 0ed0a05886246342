"""Endpoints of the journal: observations, capsules, pins, export and import."""

import contextlib
import io
from collections.abc import AsyncIterator
from tempfile import SpooledTemporaryFile
from typing import IO, Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from kinen.api import entries, requests
from kinen.api.paging import decode_cursor, encode_cursor
from kinen.errors import Busy, Conflict, DiskFull, QueryError, StoreError
from kinen.http.guard import Refused
from kinen.http.space import CurrentSpace, OpenMemory, json_response, milliseconds, with_memory
from kinen.memory import Memory
from kinen.memory.memory import JOURNAL
from kinen.model.journal import Scope
from kinen.privacy.injected import without_injected
from kinen.render.journal import entry_json, loaded_json
from kinen.times import lifetime
from kinen.verbs.refs import pin_target

router = APIRouter()
Id = Annotated[requests.Id, Path(description="an id, or the beginning of one")]
BLOCK_BYTES = 1 << 18
SPOOL_BYTES = 8 << 20
"""Bytes of a bundle that are held in memory; the rest is in a temporary file."""
FORMS = {"json": "application/json", "jsonl": "application/x-ndjson", "html": "text/html"}
BUNDLE = {
    "schema": {"type": "object"},
    "example": {"version": "1.0", "exported_at": 1767225600000, "observations": []},
}


class Spool(SpooledTemporaryFile[bytes]):
    """A bundle that is being sent or received."""

    name = "the bundle"


@router.post("/observations", response_model=entries.NewObservation)
@with_memory(publish="observation", lane=JOURNAL)
def observe(memory: OpenMemory, request: requests.Observe) -> Any:
    """Store an observation, secrets masked; when this answers, it is on disk."""
    duplicate = bool(request.id) and memory.journal.observed(request.id)
    observation = memory.observe(
        without_injected(request.content),
        kind=request.kind,
        scope=_scope(request.scope),
        files=[memory.git.inside(file) for file in request.files],
        capsule=request.capsule,
        provenance=request.provenance,
        at=milliseconds(request.at),
        id=request.id,
    )
    return {**entry_json(observation), "deduplicated": duplicate}


@router.post("/observations/list", response_model=entries.ObservationPage)
@with_memory()
def list_observations(memory: OpenMemory, request: requests.ListObservations) -> Any:
    """Observations, newest first: from `since` on, and before `until`."""
    return _page(
        memory,
        "observations",
        request,
        request.scope,
        kinds=tuple(request.kinds),
        capsule=request.capsule.removeprefix("capsule:"),
        after=milliseconds(request.since),
        before=max(1, milliseconds(request.until) - 1) if request.until != "" else 0,
        redacted=request.include_redacted,
    )


@router.post("/observations/{id}/forget", response_model=entries.Forgotten)
@with_memory(publish="forgotten")
def forget_observation(memory: OpenMemory, id: Id) -> Any:  # noqa: A002
    """Erase an observation from every file of kinen; only a tombstone stays."""
    erased = memory.journal.forget(f"observation:{id}")
    return {"forgotten": erased.refs, **erased._asdict()}


@router.post("/capsules", response_model=entries.Capsule)
@with_memory(publish="capsule", lane=JOURNAL)
def open_capsule(memory: OpenMemory, request: requests.OpenCapsule) -> Any:
    """Open a capsule: a session, or a step of a workflow."""
    capsule = memory.journal.open_capsule(
        request.intent,
        scope=_scope(request.scope),
        type=request.type,
        resume=request.resume,
        id=request.id,
        parent=request.parent,
    )
    return entry_json(capsule)


@router.get("/capsules", response_model=entries.CapsulePage)
@with_memory()
def list_capsules(memory: OpenMemory, request: Annotated[requests.ListCapsules, Query()]) -> Any:
    """Capsules, newest first."""
    return _page(memory, "capsules", request, request, kind=request.type, status=request.status)


@router.get("/capsules/open", response_model=entries.CapsulePage)
@with_memory()
def list_open_capsules(memory: OpenMemory, request: Annotated[requests.ListPins, Query()]) -> Any:
    """Open capsules, newest first."""
    return _page(memory, "capsules", request, request, status="open")


@router.get("/capsules/{id}", response_model=entries.CapsuleDetails)
@with_memory()
def show_capsule(memory: OpenMemory, id: Id) -> Any:  # noqa: A002
    """A capsule with its summaries and observations."""
    capsule, observations, summaries = memory.journal.capsule(f"capsule:{id}")
    return {
        **entry_json(capsule),
        "summaries": [entry_json(summary) for summary in summaries],
        "parts": [entry_json(part) for part in memory.journal.parts(f"capsule:{id}")],
        "observations": [entry_json(observation) for observation in observations],
    }


@router.patch("/capsules/{id}/close", response_model=entries.ClosedCapsule)
@with_memory(publish="capsule")
def close_capsule(memory: OpenMemory, id: Id, request: requests.CloseCapsule) -> Any:  # noqa: A002
    """Close a capsule, with the summary of the request or one made of its observations."""
    summary = without_injected(request.summary)
    capsule, written = memory.journal.close_capsule(
        f"capsule:{id}", summary, confidence=request.confidence
    )
    return {**entry_json(capsule), "summary": entry_json(written) if written else None}


@router.post("/pins", response_model=entries.Pin)
@with_memory(publish="pin")
def pin(memory: OpenMemory, request: requests.Pin) -> Any:
    """Pin a record or a text, so that every recall in a scope begins with it."""
    if bool(request.target) == bool(request.target_type and request.target_id):
        raise QueryError("no target, or two", "send target, or targetType and targetId")
    target = request.target or f"{request.target_type}:{request.target_id}"
    name = pin_target(memory, target)
    ttl = lifetime(request.ttl) if isinstance(request.ttl, str) else request.ttl
    seconds = ttl or request.ttl_ms / 1000
    pinned = memory.journal.pin(name, request.note, ttl=seconds, scope=_scope(request.scope))
    return entry_json(pinned)


@router.get("/pins", response_model=entries.PinPage)
@with_memory()
def list_pins(memory: OpenMemory, request: Annotated[requests.ListPins, Query()]) -> Any:
    """Current pins, newest first."""
    return _page(memory, "pins", request, request)


@router.delete("/pins/{id}", response_model=entries.Unpinned)
@with_memory(publish="pin")
def unpin(memory: OpenMemory, id: Id) -> Any:  # noqa: A002
    """Remove a pin."""
    return {"unpinned": memory.journal.unpin(f"pin:{id}")}


def _scope(scope: requests.Scope) -> Scope:
    return Scope(**{name: getattr(scope, name) for name in requests.SCOPE})


def _page(
    memory: Memory, plural: str, page: Any, scope: requests.Scope, **filters: Any
) -> dict[str, Any]:
    past = decode_cursor(page.cursor)
    rows, last = memory.journal.page(plural, page.limit, scope=_scope(scope), past=past, **filters)
    return {plural: [entry_json(row) for row in rows], "next": encode_cursor(last)}


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={200: {"content": {kind: {"schema": {}} for kind in FORMS.values()}}},
)
async def export(
    request: Annotated[requests.Export, Query()], space: CurrentSpace
) -> StreamingResponse:
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
                after=milliseconds(request.since),
                before=milliseconds(request.until),
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


@router.post(
    "/import",
    response_model=entries.ImportReport,
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
            report = loaded_json(_load(memory, file, on_conflict, dry_run), dry_run)
            space.publish("import", memory, report)
            return report

        return json_response(await space.call(load, apart=True))


def _load(memory: Memory, file: IO[bytes], on_conflict: Any, dry_run: bool) -> Any:
    try:
        return memory.transfer.load(file, on_conflict=on_conflict, dry_run=dry_run)
    except StoreError as error:
        if isinstance(error, (Busy, Conflict, DiskFull)):
            raise
        raise Refused(400, error.fact(), error.hint) from error
